//! `weir top` on a terminal, in front of a running Weir.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;
use crate::terminal::Screen;

const POINT: &str = "SELECT `v` FROM `t` WHERE `id` = ?";

fn admin(weir: &Weir) -> String {
    weir.admin_addr().to_string()
}

/// Statements until it is dropped, on a thread of its own: the test itself waits for a terminal.
struct Load {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Load {
    fn start(weir: &Weir, database: &str) -> Self {
        let options = app(weir.addr()).database(database);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let run = async move {
            let mut client = options.connect().await.unwrap();
            for at in 0.. {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                if at % 10 == 9 {
                    client.query("SELECT nothing FROM t").await.unwrap();
                }
                client.run(&format!("SELECT v FROM t WHERE id={}", at % 3 + 1)).await.unwrap();
                // Others need the machine too.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        Self { stop, thread: Some(std::thread::spawn(move || runtime.block_on(run))) }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the load failed");
    }
}

#[tokio::test]
async fn top_shows_what_happens_and_makes_a_rule_of_it() {
    let server = server(Flavor::MariaDb);
    table(&server, "top_live").await;
    let weir = sharing(&server, 4, "", "");
    let load = Load::start(&weir, "top_live");
    let screen = Screen::weir(80, 24, &["top", "--interval", "1", "--admin", &admin(&weir)]);
    let rates = |text: &str| !text.contains("statements 0/s") && !text.contains("errors 0/s");
    let text = screen.until("rates", |text| {
        text.contains("clients 1 ") && text.contains("SELECT `v` FROM") && rates(text)
    });
    for wanted in [
        &format!("weir {} at {}, every 1 s", env!("CARGO_PKG_VERSION"), admin(&weir))[..],
        "server db1 at ",
        "[c]alls/s [t]ime/s  [m]ean [r]ows/s [e]rr/s [h]its digest (",
        "cache - hits   holds ",
        "q quit",
    ] {
        assert!(text.contains(wanted), "{wanted}:\n{text}");
    }

    screen.press(&["/"]);
    screen.press(&["-l", "where `id`"]);
    screen.shows("filter: where `id`_");
    screen.press(&["Enter"]);
    screen.shows("digest (1 with \"where `id`\")");
    screen.press(&["Enter"]);
    let details = screen.shows("esc back");
    assert!(details.contains(POINT) && details.contains("p99"), "{details}");
    screen.press(&["End"]);
    screen.shows("user app, schema top_live, server db1");
    screen.press(&["Escape"]);
    screen.shows("digest (1 with");

    // Declined first: nothing is changed.
    screen.press(&["a"]);
    screen.shows("for how long?");
    screen.press(&["-l", "5m"]);
    screen.press(&["Enter"]);
    let asked = screen.shows("add this rule? y adds it");
    assert!(asked.contains(&format!("match = {{ digest = \"{POINT}\" }}")), "{asked}");
    assert!(asked.contains("cache = { ttl = \"5m\" }"), "{asked}");
    screen.press(&["n"]);
    screen.shows("nothing was changed");
    assert_eq!(names(&weir), Vec::<String>::new());

    screen.press(&["a"]);
    screen.press(&["-l", "5m"]);
    screen.press(&["Enter"]);
    screen.shows("add this rule? y adds it");
    screen.press(&["y"]);
    screen.shows("added, written to ");
    assert_eq!(names(&weir).len(), 1);
    let rule = told_json(&weir, &["rules", "show", &names(&weir)[0]]);
    assert_eq!(
        (rule["rule"]["match"]["digest"].as_str(), rule["rule"]["cache"]["ttl"].as_str()),
        (Some(POINT), Some("5m"))
    );
    assert!(file(&weir).contains("ttl = \"5m\""), "{}", file(&weir));
    // And its effect is seen. A statement right behind an error is left to the server, so not all are hits.
    screen.until("hits", |text| {
        let row = text.lines().find(|line| line.contains("% SELECT `v`")).unwrap_or_default();
        let hits = row.split(" % ").next().and_then(|row| row.split_whitespace().last());
        hits.is_some_and(|hits| hits.parse::<u32>().unwrap() > 50) && text.contains("cache 100.0 % hits")
    });
    drop(load);
    screen.press(&["p"]);
    screen.shows("PAUSED");
    screen.press(&["q"]);
    screen.shows("ended with 0");
}

#[tokio::test]
async fn a_rule_that_somebody_else_was_faster_with_is_refused_and_said() {
    let server = server(Flavor::MariaDb);
    table(&server, "top_race").await;
    let weir = sharing(&server, 4, "", "");
    let [mut client] = clients(&weir, "top_race").await;
    client.run("SELECT v FROM t WHERE id=1").await.unwrap();
    let screen = Screen::weir(100, 30, &["top", "-i", "1", "--admin", &admin(&weir)]);
    screen.until("rates", |text| text.contains("SELECT `v` FROM"));
    screen.press(&["/"]);
    screen.press(&["-l", "from `t`"]);
    screen.press(&["Enter", "a"]);
    screen.press(&["-l", "soon"]);
    screen.press(&["Enter"]);
    screen.shows("`soon` is no TTL");
    screen.press(&["Escape"]);
    screen.until("the list", |text| !text.contains("TTL: "));
    screen.press(&["a"]);
    screen.press(&["-l", "9999d"]);
    screen.press(&["Enter"]);
    screen.shows("add this rule?");
    screen.press(&["y"]);
    let refused = screen.shows("not added: ");
    assert!(refused.contains("ttl"), "{refused}");
    screen.press(&["Escape", "a"]);
    screen.press(&["-l", "1h"]);
    screen.press(&["Enter"]);
    screen.shows("add this rule?");
    told(&weir, &["rules", "add", "--name", "other", "--match-table", "x", "--ttl", "1h"]);
    screen.press(&["y"]);
    screen.shows("somebody else has changed the rules meanwhile");
    assert_eq!(names(&weir), ["other"]);
}

#[tokio::test]
async fn top_says_that_weir_is_gone_and_goes_on_when_it_is_back() {
    let server = server(Flavor::MariaDb);
    let rules = "[[rule]]\nname = \"all\"\nmatch = {}\ndeny = \"no\"\n[[rule]]\nname = \"late\"\nmatch = {}\ndeny = \"x\"\n";
    let mut weir = weir_with(&server, rules);
    let screen = Screen::weir(60, 15, &["top", "-i", "1", "--admin", &admin(&weir)]);
    screen.until("figures", |text| text.contains("clients 0 ") && !text.contains("measuring"));
    let status = told_json(&weir, &["status"]);
    let warning = &status["warnings"][0];
    assert_eq!(warning["warning"], "idle_rules", "{status:#}");
    screen.shows(&format!("! {}", &warning["text"].as_str().unwrap()[..20]));
    weir.kill9().unwrap();
    screen.shows("no answer for ");
    screen.resize(30, 8);
    screen.shows("too small");
    screen.resize(140, 40);
    screen.shows("no answer for ");
    weir.restart().unwrap();
    screen.until("figures", |text| !text.contains("no answer") && text.contains("clients 0 "));
    screen.press(&["C-c"]);
    screen.shows("ended with 0");
}

/// What ends it from outside leaves a terminal on which one can type.
#[tokio::test]
async fn top_leaves_the_terminal_as_it_was_when_a_signal_ends_it() {
    let server = server(Flavor::MariaDb);
    let weir = weir(&server);
    let pid_file = weir.home().join("pid");
    for (signal, status) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let command = format!(
            "stty -a >{home}/before; WEIR_TOKEN={token} sh -c 'echo $$ >{pid}; exec {weir} top --admin {admin}'; \
             status=$?; stty -a >{home}/after; (exit $status)",
            home = weir.home().display(),
            token = weir_testkit::weir::ADMIN_TOKEN,
            pid = pid_file.display(),
            weir = env!("CARGO_BIN_EXE_weir"),
            admin = admin(&weir),
        );
        let screen = Screen::run(80, 24, &command);
        screen.shows("q quit");
        let pid = std::fs::read_to_string(&pid_file).unwrap();
        let killed = std::process::Command::new("kill").args(["-s", signal, pid.trim()]).status().unwrap();
        assert!(killed.success(), "{signal}");
        let text = screen.shows(&format!("ended with {status}"));
        assert!(!text.contains("q quit"), "{signal}: the screen is not what it was:\n{text}");
        let settings = |name: &str| std::fs::read_to_string(weir.home().join(name)).unwrap();
        assert!(settings("before").contains(" icanon") && settings("before").contains(" echo "));
        assert_eq!(settings("after"), settings("before"), "{signal}");
    }
}

#[tokio::test]
async fn top_needs_a_terminal_and_a_weir() {
    let server = server(Flavor::MariaDb);
    let weir = weir(&server);
    let said = refused_with(&weir, &["top"]);
    assert!(said.contains("draws on a terminal") && said.contains("`weir queries`"), "{said}");
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let screen = Screen::weir(80, 24, &["top", "--admin", &gone]);
    screen.shows("ended with 1");
    assert!(screen.text().contains("error: no Weir answers at"), "{}", screen.text());
}
