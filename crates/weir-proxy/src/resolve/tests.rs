use super::columns;

#[test]
fn columns_are_counted_where_each_has_a_line_that_shows_its_name() {
    let tail = "\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4\n PARTITION BY HASH (`a`)\nPARTITIONS 4";
    for (body, found) in [
        ("  `a` int(11) NOT NULL,\n  `b` int(11) GENERATED ALWAYS AS (@`id`) VIRTUAL", Some(2)),
        ("  \"a\" int NOT NULL,\n  PRIMARY KEY (\"a\"),\n  UNIQUE KEY \"k\" (\"a\")", Some(1)),
        ("  `a` int,\n  CONSTRAINT `c` CHECK (`a` > 1),\n  PERIOD FOR SYSTEM_TIME (`s`, `e`)", Some(1)),
        // sql_quote_show_create = 0 quotes only what must be.
        ("  `key` int(11) DEFAULT NULL,\n  v int(11) GENERATED ALWAYS AS (@id) VIRTUAL", None),
        ("  period int(11) DEFAULT NULL", None),
    ] {
        assert_eq!(columns(&format!("CREATE TABLE `g` (\n{body}{tail}")), found, "{body}");
    }
}
