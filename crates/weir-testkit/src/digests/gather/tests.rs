use super::*;

fn found(by: fn(&[u8], &mut BTreeSet<Vec<u8>>), text: &str) -> Vec<String> {
    let mut statements = BTreeSet::new();
    by(text.as_bytes(), &mut statements);
    statements.into_iter().map(|s| String::from_utf8(s).expect("UTF-8")).collect()
}

#[test]
fn a_script_falls_into_its_statements() {
    let text = "# no\n--echo no\nSELECT 1;\nSELECT\n  2;\ndelimiter //;\nCREATE PROCEDURE p() BEGIN SELECT 3; END//\n\
        delimiter ;//\nlet $x = 1;\nSELECT $x;\nDROP TABLE t;\nnonsense here;\n";
    let expected = ["CREATE PROCEDURE p() BEGIN SELECT 3; END", "DROP TABLE t", "SELECT\n  2", "SELECT 1"];
    assert_eq!(found(script, text), expected);
}

#[test]
fn a_program_holds_statements_in_its_strings() {
    let text = r#"$x = "SELECT * FROM {$wpdb->posts} WHERE id = %d AND a = 'b\'c'"; f('it', "no"); g('DELETE FROM t%d');"#;
    let expected = ["DELETE FROM t1", "SELECT * FROM some_name WHERE id = 1 AND a = 'b'c'"];
    assert_eq!(found(strings, text), expected);
}

#[test]
fn a_sample_has_so_many_one_of_each_stretch_and_others_with_another_seed() {
    let all: Vec<_> = (0..1000u32).map(|n| n.to_be_bytes().to_vec()).collect();
    let number =
        |text: &Vec<u8>| u32::from_be_bytes(text.as_slice().try_into().expect("four bytes")) as usize;
    for most in [1, 3, 7, 300, 999] {
        let some = spread(all.clone(), most, 5);
        assert_eq!(some.len(), most);
        for (n, text) in some.iter().enumerate() {
            assert!((n * 1000 / most..(n + 1) * 1000 / most).contains(&number(text)), "{most}: {n}");
        }
        assert_eq!(spread(all.clone(), most, 5), some);
    }
    assert_ne!(spread(all.clone(), 300, 5), spread(all.clone(), 300, 6));
    assert_eq!(spread(all.clone(), 1000, 5), all);
    assert_eq!(spread(all.clone(), 5000, 5), all);
    assert!(spread(Vec::new(), 5, 5).is_empty() && spread(all, 0, 5).is_empty());
}
