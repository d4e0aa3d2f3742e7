//! What is asked once: whether an answer is kept at its first asking or at its second.

use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

const SECOND: &str = "[cache]\nadmission = \"second\"\n";
const PASSED: &str = "weir_cache_refused_total{rule=\"all\",reason=\"seldom_asked_again\"}";
const MATCHED: &str = "weir_rule_hits_total{rule=\"all\"}";

/// Asks for rows that are not there, and says how many of the statements passed the cache by.
async fn ask(weir: &Weir, client: &mut Client, ids: std::ops::Range<u32>) -> u32 {
    let before = metric(weir, PASSED).await;
    for id in ids {
        assert!(client.run(&format!("SELECT v FROM t WHERE id={id}")).await.unwrap().err().is_none());
    }
    (metric(weir, PASSED).await - before) as u32
}

#[tokio::test]
async fn what_is_asked_for_the_second_time_is_kept_where_the_configuration_says_so() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["cd_second_t", "cd_second_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, &format!("{SECOND}{ALL}"));
            let [mut one, mut two] = clients(&weir, name).await;
            assert_eq!(value(&mut one, 1).await, "one", "{flavor:?} {mode}");
            change(server, &format!("UPDATE {name}.t SET v='second'")).await;
            assert_eq!(value(&mut two, 1).await, "second", "{flavor:?} {mode}: the first is not kept");
            assert_eq!(value(&mut two, 2).await, "second", "{flavor:?} {mode}: the same but for its number");
            change(server, &format!("UPDATE {name}.t SET v='third'")).await;
            assert_eq!(value(&mut one, 1).await, "second", "{flavor:?} {mode}: the second is kept");
            assert_eq!(value(&mut one, 2).await, "third", "{flavor:?} {mode}");
            assert_eq!(metric(&weir, PASSED).await, 2.0, "{flavor:?} {mode}");
            let hinted = "/*weir: tag=x*/ SELECT v FROM t WHERE id=3";
            assert_eq!(row(&mut one, hinted).await, "third", "{flavor:?} {mode}");
            change(server, &format!("UPDATE {name}.t SET v='fourth'")).await;
            assert_eq!(row(&mut one, hinted).await, "third", "{flavor:?} {mode}: a hint asks for it");
        }
    }
}

#[tokio::test]
async fn of_what_is_prepared_the_second_execution_with_the_same_values_is_kept() {
    for (flavor, server) in &both() {
        table(server, "cd_prepared").await;
        let weir = sharing(server, 4, "", &format!("{SECOND}{ALL}"));
        let [mut client] = clients(&weir, "cd_prepared").await;
        let id = client.prepare("SELECT v FROM t WHERE id=?").await.unwrap().id;
        let int = |n: i64| [command::Param::Int(n)];
        // The types come with the first, and the key knows them.
        let first = execute(&mut client, id, &int(1), true).await;
        change(server, "UPDATE cd_prepared.t SET v='second'").await;
        let second = execute(&mut client, id, &int(1), false).await;
        assert!(first.rows().next() != second.rows().next(), "{flavor:?}: the first is not kept");
        change(server, "UPDATE cd_prepared.t SET v='third'").await;
        assert_eq!(execute(&mut client, id, &int(1), false).await, second, "{flavor:?}");
        assert_eq!(metric(&weir, PASSED).await, 1.0, "{flavor:?}");
    }
}

#[tokio::test]
async fn weir_finds_out_what_is_seldom_asked_again_and_when_that_has_changed() {
    let server = server(Flavor::MariaDb);
    table(&server, "cd_adaptive").await;
    let weir = sharing(&server, 4, "", ALL);
    let [mut client] = clients(&weir, "cd_adaptive").await;
    assert_eq!(ask(&weir, &mut client, 1_000..2_000).await, 0);
    // The last of the 1,024 lookups are among them.
    let passed = ask(&weir, &mut client, 2_000..2_200).await;
    assert!(passed > 100, "{passed} of 200 passed the cache by");
    let (passed, matched) = (ask(&weir, &mut client, 3_000..3_300).await, metric(&weir, MATCHED).await);
    assert!((240..=300).contains(&passed), "{passed} of 300, where one in 64 is kept");
    assert!(matched >= 1_500.0, "a statement that passes is one of the rule's: {matched}");
    let hits = metric(&weir, "weir_cache_hits_total{rule=\"all\"}").await;
    // Few have lost their marks to one another.
    let passed = ask(&weir, &mut client, 3_000..3_300).await;
    assert!(passed < 10, "what was asked before is looked for, but for {passed}");
    ask(&weir, &mut client, 3_000..3_300).await;
    assert!(metric(&weir, "weir_cache_hits_total{rule=\"all\"}").await >= hits + 280.0, "and kept");
    // Those of the sample are asked again, too.
    for round in 0.. {
        assert!(round < 20, "what is asked again is not kept at its first asking");
        ask(&weir, &mut client, 4_000..4_700).await;
        let fresh = 10_000 + round * 100;
        if ask(&weir, &mut client, fresh..fresh + 50).await == 0 {
            break;
        }
    }
}

#[tokio::test]
async fn what_may_stand_in_for_a_failed_answer_is_kept_at_once() {
    let server = server(Flavor::MariaDb);
    table(&server, "cd_stale").await;
    let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", stale_if_error = \"1h\"");
    let weir = sharing(&server, 4, "", &format!("{SECOND}{rules}"));
    let [mut client] = clients(&weir, "cd_stale").await;
    assert_eq!(value(&mut client, 1).await, "one");
    change(&server, "UPDATE cd_stale.t SET v='changed'").await;
    assert_eq!(value(&mut client, 1).await, "one");
}
