//! Hints in comments: whose are followed, and what each does.

use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

/// Each hint; to follow it means to ask the server.
const HINTS: [&str; 4] = ["/*nocache*/", "/*wipe*/", "/*weir: ttl=1ms*/", "/*weir: tag=red*/"];

#[tokio::test]
async fn hints_are_followed_in_the_statements_of_those_whom_the_configuration_names() {
    for (flavor, server) in &both() {
        table(server, "ca_hinted").await;
        for sql in [
            "DROP USER IF EXISTS ca_hinted",
            "CREATE USER ca_hinted IDENTIFIED BY 'hinted-pw'",
            "GRANT SELECT ON ca_hinted.* TO ca_hinted",
        ] {
            change(server, sql).await;
        }
        let user = "[[user]]\nname = \"ca_hinted\"\npassword = \"hinted-pw\"\n";
        for (hints, followed) in [
            ("hints = \"all\"\n", [true, true]),
            ("hints = \"listed\"\nhint_users = [\"ca_hinted\"]\n", [false, true]),
            ("hints = \"listed\"\nhint_users = [\"app\"]\n", [true, false]),
            ("hints = \"off\"\n", [false, false]),
        ] {
            let weir = sharing(server, 8, "", &format!("[cache]\n{hints}{user}{ALL}"));
            let [one] = clients(&weir, "ca_hinted").await;
            let two = ConnectOptions::tcp(weir.addr(), "ca_hinted", "hinted-pw").database("ca_hinted");
            let two = two.connect().await.unwrap();
            for ((mut client, followed), user) in
                [one, two].into_iter().zip(followed).zip(["app", "ca_hinted"])
            {
                for (n, hint) in HINTS.into_iter().enumerate() {
                    let at = format!("{flavor:?} {hints} {user} {hint}");
                    let sql = format!("SELECT v AS c{n} FROM t WHERE id=1");
                    change(server, "UPDATE ca_hinted.t SET v='kept'").await;
                    assert_eq!(row(&mut client, &sql).await, "kept", "{at}");
                    change(server, "UPDATE ca_hinted.t SET v='now'").await;
                    // Longer than the time that one of them gives.
                    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
                    let told = row(&mut client, &format!("{hint} {sql}")).await;
                    assert_eq!(told, if followed { "now" } else { "kept" }, "{at}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_is_wiped_by_a_statement_that_is_not_to_be_kept_is_gone() {
    for (flavor, server) in &both() {
        table(server, "ca_wiped_by").await;
        let weir = sharing(server, 4, "", ALL);
        let [mut one, mut two] = clients(&weir, "ca_wiped_by").await;
        let plain = "SELECT v FROM t WHERE id=1";
        for hints in ["/*wipe*/ /*nocache*/", "/*nocache*/ /*wipe*/"] {
            change(server, "UPDATE ca_wiped_by.t SET v='kept' WHERE id=1").await;
            row(&mut one, &format!("/*wipe*/ {plain}")).await;
            change(server, "UPDATE ca_wiped_by.t SET v='asked' WHERE id=1").await;
            assert_eq!(row(&mut two, plain).await, "kept", "{flavor:?} {hints}: from memory");
            assert_eq!(row(&mut one, &format!("{hints} {plain}")).await, "asked", "{flavor:?} {hints}");
            change(server, "UPDATE ca_wiped_by.t SET v='later' WHERE id=1").await;
            assert_eq!(row(&mut two, plain).await, "later", "{flavor:?} {hints}: neither is kept");
        }
    }
}

#[tokio::test]
async fn an_answer_that_a_hint_gives_a_time_is_served_within_it_and_to_nobody_behind_it() {
    for (flavor, server) in &both() {
        table(server, "ca_timed").await;
        let weir = sharing(server, 4, "", ALL);
        let [mut one, mut two] = clients(&weir, "ca_timed").await;
        let (plain, timed) = ("SELECT v FROM t WHERE id=1", "/*weir: ttl=1h*/ SELECT v FROM t WHERE id=1");
        assert_eq!(row(&mut one, timed).await, "one", "{flavor:?}");
        // What is asked behind the answer is over, and it is kept: nobody waits for it any more.
        shown(&mut one, "client_id").await;
        change(server, "UPDATE ca_timed.t SET v='two'").await;
        let hits = "weir_cache_hits_total{rule=\"all\"}";
        let before = metric(&weir, hits).await;
        assert_eq!(row(&mut two, timed).await, "one", "{flavor:?}: from memory");
        assert_eq!(row(&mut two, plain).await, "one", "{flavor:?}: from memory");
        assert_eq!(metric(&weir, hits).await, before + 2.0, "{flavor:?}");
        // What it stores itself is kept no longer, whoever asks.
        let short = "/*wipe*/ /*weir: ttl=300ms*/ SELECT v FROM t WHERE id=1";
        assert_eq!(row(&mut one, short).await, "two", "{flavor:?}");
        change(server, "UPDATE ca_timed.t SET v='three'").await;
        until("its time is over", async || (row(&mut two, plain).await == "three").then_some(())).await;
    }
}
