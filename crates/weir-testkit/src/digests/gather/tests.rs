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
