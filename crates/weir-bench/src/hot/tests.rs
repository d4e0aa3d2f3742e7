use super::*;

#[test]
fn each_runs_and_is_found_by_its_name() {
    for hot in &ALL {
        (find(hot.name).unwrap().run)(3).unwrap();
    }
    assert!(find("walk").is_err());
}

#[test]
fn a_thousand_rules_cost_a_statement_as_much_as_one() {
    let expected = include_str!("../../benches/instructions.txt");
    let count = |name: &str| -> f64 {
        let line = expected.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not counted")).parse().unwrap()
    };
    for (one, many) in
        [("select_of_1_rule", "select_of_1000_rules"), ("decide_of_1_rule", "decide_of_1000_rules")]
    {
        assert!(count(many) <= count(one) * 1.1 + 20.0, "{one} {many}");
    }
}
