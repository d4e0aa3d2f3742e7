use super::*;
use weir_model::ServerFamily;
use weir_model::rule::{Rule, RuleMatch};

const MODE: fn() -> LexMode = || LexMode::new(ServerFamily::MySql, 90_704);

fn of(judgements: &mut Judgements, sql: &str) -> Found {
    judgements.of(sql.as_bytes(), None, MODE(), (|| StatementKind::Read, RuleCommand::Query))
}

#[test]
fn texts_that_differ_in_numbers_are_judged_once() {
    let mut judgements = Judgements::new(1);
    let one = of(&mut judgements, "SELECT c FROM t WHERE id=1");
    let two = of(&mut judgements, "SELECT c FROM t WHERE id=20");
    assert!(Arc::ptr_eq(&one.judged, &two.judged) && !two.exact);
    assert_eq!(one.judged.facts.verdict, Ok(()));
    let text = of(&mut judgements, "SELECT c FROM t WHERE id='a'");
    assert!(!Arc::ptr_eq(&one.judged, &text.judged));
}

#[test]
fn a_number_that_stands_for_a_column_is_no_literal() {
    let mut judgements = Judgements::new(1);
    for sql in
        ["SELECT a, b FROM t ORDER BY 0", "SELECT a, b FROM t ORDER BY 1", "SELECT a, b FROM t ORDER BY 2"]
    {
        let found = of(&mut judgements, sql);
        assert!(found.exact, "{sql}");
        assert_eq!(found.judged.digest, Digest::of(sql.as_bytes(), MODE()), "{sql}");
    }
}

#[test]
fn a_number_that_is_a_name_is_no_literal() {
    let mut judgements = Judgements::new(1);
    for (first, second) in [
        ("SELECT 5 FROM `0`", "SELECT 5 FROM `18`"),
        ("SELECT 7 FROM t ORDER BY 0", "SELECT 7 FROM t ORDER BY 2"),
        ("SELECT a FROM t WHERE b=3 ORDER BY 0", "SELECT a FROM t WHERE b=4 ORDER BY 1"),
    ] {
        of(&mut judgements, first);
        let found = of(&mut judgements, second);
        assert_eq!(found.judged.digest, Digest::of(second.as_bytes(), MODE()), "{second}");
    }
    let one = of(&mut judgements, "SELECT c FROM t10 WHERE id=1");
    let two = of(&mut judgements, "SELECT c FROM t10 WHERE id=0");
    assert!(Arc::ptr_eq(&one.judged, &two.judged) && !two.exact);
}

#[test]
fn a_command_and_a_mode_are_judged_apart() {
    let mut judgements = Judgements::new(1);
    let sql = b"SELECT \"a\" FROM t";
    let text = judgements.of(sql, None, MODE(), (|| StatementKind::Read, RuleCommand::Query));
    let ansi = LexMode { ansi_quotes: true, ..MODE() };
    let name = judgements.of(sql, None, ansi, (|| StatementKind::Read, RuleCommand::Query));
    assert_ne!(text.judged.digest, name.judged.digest);
    let execute = judgements.of(sql, None, MODE(), (|| StatementKind::Read, RuleCommand::Execute));
    assert_eq!(execute.judged.command, RuleCommand::Execute);
}

#[test]
fn hints_are_read_before_the_statement_only() {
    let hints = |sql: &str| read_hints(sql.as_bytes(), MODE());
    assert_eq!(hints("SELECT 1"), CacheHints::default());
    assert_eq!(hints("SELECT 1 /*nocache*/"), CacheHints::default());
    assert_eq!(hints("/*nocache*/ SELECT 1"), CacheHints { bypass: true, ..CacheHints::default() });
    assert_eq!(hints("/* WIPE */SELECT 1"), CacheHints { wipe: true, ..CacheHints::default() });
    let both = hints("/*weir: ttl=5s tag=product:42, tag=b*/ /*wipe*/ SELECT 1");
    let tags = vec!["product:42".to_owned(), "b".to_owned()];
    assert_eq!(both, CacheHints { bypass: false, wipe: true, ttl: Some(Duration::from_secs(5)), tags });
    assert_eq!(hints("/*weir: ttl=soon*/ SELECT 1"), CacheHints::default());
}

#[test]
fn what_names_stand_for_is_believed_for_a_time_and_until_something_changes() {
    let mut judgements = Judgements::new(1);
    let judged = of(&mut judgements, "SELECT c FROM t WHERE id=1").judged;
    let (schema, now) = (Schema::Known(b"s"[..].into()), Instant::now());
    assert_eq!(judged.names(b"u", (&schema, false), 0, now), None);
    judged.keep_names(Names {
        schema: schema.clone(),
        views: false,
        hidden_from: None,
        epoch: 0,
        at: now,
        verdict: Ok(Reads::Tables),
    });
    assert_eq!(judged.names(b"u", (&schema, false), 0, now), Some(Ok(Reads::Tables)));
    assert_eq!(judged.names(b"u", (&Schema::None, false), 0, now), None);
    assert_eq!(
        judged.names(b"u", (&schema, true), 0, now),
        None,
        "a rule that trusts views asks something else"
    );
    assert_eq!(judged.names(b"u", (&schema, false), 1, now), None);
    assert_eq!(judged.names(b"u", (&schema, false), 0, now + BELIEVED), None);
    judged.keep_names(Names {
        schema: schema.clone(),
        views: false,
        hidden_from: None,
        epoch: 1,
        at: now,
        verdict: Err(Refusal::View),
    });
    assert_eq!(judged.names(b"u", (&schema, false), 1, now), Some(Err(Refusal::View)));
    assert_eq!(
        of(&mut judgements, "SELECT 1").judged.names(b"u", (&schema, false), 0, now),
        Some(Ok(Reads::Tables))
    );
}

#[test]
fn what_one_user_is_not_told_of_names_is_no_verdict_for_another() {
    let mut judgements = Judgements::new(1);
    let judged = of(&mut judgements, "SELECT c FROM t WHERE id=1").judged;
    let (schema, at) = (Schema::Known(b"s"[..].into()), Instant::now());
    let keep = |from: Option<&str>, verdict| {
        let hidden_from = from.map(|user| user.as_bytes().into());
        judged.keep_names(Names { schema: schema.clone(), views: false, hidden_from, epoch: 0, at, verdict });
    };
    let told = |user: &str| judged.names(user.as_bytes(), (&schema, false), 0, at);
    keep(Some("report"), Err(Refusal::Unresolved));
    assert_eq!((told("report"), told("app")), (Some(Err(Refusal::Unresolved)), None));
    keep(None, Ok(Reads::Views));
    assert_eq!((told("report"), told("app")), (Some(Ok(Reads::Views)), Some(Ok(Reads::Views))));
    // However many are not told, what holds for all is not forgotten for that.
    for user in 0..100 {
        keep(Some(&user.to_string()), Err(Refusal::View));
    }
    assert_eq!(told("app"), Some(Ok(Reads::Views)));
}

#[test]
fn rules_are_chosen_once_for_texts_that_differ_in_numbers_unless_a_pattern_sees_these() {
    for (pattern, matches) in [("^SELECT .* FROM t", [true, true]), ("id=1$", [true, false])] {
        let matched = RuleMatch { pattern: Some(pattern.to_owned()), ..RuleMatch::default() };
        let rule = Rule {
            name: "one".to_owned(),
            matches: matched,
            cache: None,
            rewrite: None,
            deny: Some("no".to_owned()),
            limit: None,
            timeout: None,
            continues: false,
        };
        let Ok(set) = RuleSet::compile(&[rule], 1, MODE()) else { panic!("{pattern} is a pattern") };
        let mut judgements = Judgements::new(1);
        for (sql, expected) in
            ["SELECT c FROM t WHERE id=1", "SELECT c FROM t WHERE id=20"].iter().zip(matches)
        {
            let found = of(&mut judgements, sql);
            let selection = found.judged.selection(&set, sql.as_bytes(), MODE(), found.exact);
            assert_eq!(!selection.is_empty(), expected, "{pattern}: {sql}");
            assert_eq!(found.judged.selection.lock().is_some(), matches == [true, true], "{pattern}");
        }
    }
}
