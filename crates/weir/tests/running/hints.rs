//! What the command line says where something else was meant.

use serde_json::json;

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

#[tokio::test]
async fn advise_alone_says_what_there_is() {
    let weir = weir(&server(Flavor::MariaDb));
    let said = refused_with(&weir, &["advise"]);
    assert!(said.contains("weir advise cache ") && said.contains("weir advise pins "), "{said}");
    let help = cli(&["advise"]);
    let help = String::from_utf8_lossy(&help.stderr).into_owned();
    assert!(help.contains("pins ") && help.contains("cache "), "{help}");
}

#[tokio::test]
async fn a_digest_in_place_of_a_rule_s_name_names_the_rules_that_match_it() {
    let server = server(Flavor::MariaDb);
    table(&server, "hi_rule").await;
    let mut weir = weir(&server);
    let mut one = client(&weir, "hi_rule").await;
    one.run("SELECT v FROM t WHERE id = 1").await.unwrap();
    let queries = told_json(&weir, &["queries"]);
    let all = queries["queries"].as_array().unwrap();
    let query = all.iter().find(|query| query["digest"] == "SELECT `v` FROM `t` WHERE `id` = ?");
    let id = query.unwrap_or_else(|| panic!("{queries:#}"))["id"].as_str().unwrap().to_owned();
    let verbs = [
        vec!["rules", "remove", &id],
        vec!["rules", "show", &id],
        vec!["rules", "move", &id, "--first"],
        vec!["rules", "edit", &id, "--ttl", "2s"],
        vec!["rules", "replace", &id, "--name", "x", "--match-table", "t", "--ttl", "2s"],
    ];
    for args in &verbs {
        let said = refused_with(&weir, args);
        assert!(said.contains("none that matches this digest"), "{args:?}: {said}");
    }
    told(&weir, &["rules", "add", "--from-digest", &id, "--ttl", "1s"]);
    let name = format!("digest-{id}");
    for args in &verbs {
        let said = refused_with(&weir, args);
        assert!(
            said.contains(&format!("the one that matches this digest is called `{name}`")),
            "{args:?}: {said}"
        );
    }
    told(
        &weir,
        &["rules", "add", "--name", "other", "--match-digest", "SELECT v FROM t WHERE id = 7", "--ttl", "1s"],
    );
    let said = refused_with(&weir, &verbs[0]);
    assert!(said.contains(&format!("are called `{name}`, `other`")), "{said}");
    let said = refused_with(&weir, &["rules", "remove", "none"]);
    assert!(said.contains("there is no rule `none`: `weir rules list` shows all"), "{said}");
    // The statistics begin anew with the process.
    weir.restart().unwrap();
    let said = refused_with(&weir, &["rules", "add", "--from-digest", &id, "--ttl", "1s"]);
    for wanted in ["since the start or the last reset", "--match-digest", "weir queries --window"] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[tokio::test]
async fn entries_past_their_ttl_and_replaced_ones_are_told_apart() {
    let server = server(Flavor::MariaDb);
    table(&server, "hi_past").await;
    let rule = "[[rule]]\nname = \"all\"\nmatch = { kind = \"read\", table = \"hi_past.t\" }\n\
                cache = { ttl = \"1s\", stale_if_error = \"1h\" }\n";
    let weir = sharing(&server, 2, MODES[0], rule);
    let mut one = client(&weir, "hi_past").await;
    let mut ask = async || {
        value(&mut one, 1).await;
        // The questions behind the answer are over, so it is kept.
        shown(&mut one, "client_id").await;
    };
    ask().await;
    let state = told_json(&weir, &["cache", "stats"]);
    assert_eq!((&state["entries"], &state["total"]["replaced"]), (&json!(1), &json!(0)), "{state:#}");
    let past = until("it is past its TTL", async || {
        let state = told_json(&weir, &["cache", "stats"]);
        (state["past_ttl"]["entries"] == 1).then_some(state)
    })
    .await;
    assert_eq!(
        (&past["entries"], &past["past_ttl"]["bytes"]),
        (&json!(1), &past["total"]["bytes"]),
        "{past:#}"
    );
    let said = told(&weir, &["cache", "stats"]);
    assert!(said.contains("past their TTL") && said.contains("1 entry, "), "{said}");
    ask().await;
    let state = told_json(&weir, &["cache", "stats"]);
    let total = &state["total"];
    assert_eq!(
        (&total["fills"], &total["replaced"], &total["expired"], &total["entries"]),
        (&json!(2), &json!(1), &json!(0), &json!(1)),
        "{state:#}"
    );
    let said = told(&weir, &["cache", "stats"]);
    assert!(said.contains("2 answers; 1 replaced by newer ones, 0 too old"), "{said}");
}
