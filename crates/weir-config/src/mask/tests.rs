use super::*;

/// The excerpt of the first place where `what` stands in `text`, and the highlighted part of it.
fn excerpt(text: &str, what: &str) -> (String, String) {
    let (document, errors) = DeTable::parse_recoverable(text);
    let at = text.find(what).unwrap();
    let place = Masked::new(text, document.get_ref(), !errors.is_empty()).place(&(at..at + what.len()));
    (place.excerpt.clone(), place.excerpt[place.highlight].to_owned())
}

#[test]
fn what_may_be_a_secret_is_masked_and_nothing_else() {
    for (text, what, line, highlight) in [
        ("[[user]]\nname = \"a\" # x\n", "name", "name = \"a\" # ***", "name"),
        ("[[user]]\nname = \"a#b\" # x\n", "\"a#b\"", "name = \"a#b\" # ***", "\"a#b\""),
        ("[[user]]\npassword = \"p\"\r\n", "password", "password = \"***\"", "password"),
        ("[[user]]\npassword = \"p\"", "\"p\"", "password = \"***\"", "\"***\""),
        ("[[user]]\npassword = { file = \"f\" }\n", "\"f\"", "password = { file = \"f\" }", "\"f\""),
        ("[[user]]\npassword = { fil = \"f\" }\n", "fil", "password = { fil = \"***\" }", "fil"),
        ("user = [{ password = \"p\", x = 1 }]\n", "x", "user = [{ password = \"***\", x = \"***\" }]", "x"),
        ("[[user]]\npassword = \"\"\"\np\np\"\"\"\n", "p\np", "\"***\"", "\"***\""),
        ("[[server]]\naddress = \"u:p@h:1\"\n", "address", "address = \"***\"", "address"),
        ("[[user]]\n\"p q\" = 1\n", "\"p q\"", "\"***\" = \"***\"", "\"***\""),
        ("[listen]\nmysql = 1.2.3\n[[user]]\npassword = p\n", "1.2.3", "mysql = 1.2.3", "1.2.3"),
        ("[listen]\nmysql = 1.2.3\n[[user]]\npassword = p\n", "p\n", "password = \"***\"", "\"***\""),
        ("[listen]\nmysql = 1.2.3 # x\nx = 3\n", "x = 3", "\"***\"", "\"***\""),
    ] {
        assert_eq!(excerpt(text, what), (line.to_owned(), highlight.to_owned()), "{text}");
    }
}
