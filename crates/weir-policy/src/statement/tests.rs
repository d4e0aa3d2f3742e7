use super::*;

#[test]
fn rules_and_statements_have_the_same_words_for_kinds() {
    assert_eq!(StatementKind::ALL.len(), RuleKind::ALL.len());
    for kind in StatementKind::ALL {
        assert_eq!(rule_kind(kind).as_str(), kind.as_str());
    }
}
