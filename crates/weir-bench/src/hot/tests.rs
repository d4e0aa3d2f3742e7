use super::*;

#[test]
fn each_runs_and_is_found_by_its_name() {
    for hot in &ALL {
        (find(hot.name).unwrap().run)(3).unwrap();
    }
    assert!(find("walk").is_err());
}
