//! `weir rules edit`: with flags, from a file, and in an editor.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use weir_testkit::weir::ADMIN_TOKEN;

use crate::api_kit::*;
use crate::kit::*;
use crate::terminal::Screen;

const RULE: &str = "# --- edited\n\n# about t\n[[rule]]\nname = \"t\" # mine\nmatch = { table = \"ed.t\" }\ncache = { ttl = \"1h\", soft_ttl = \"30m\" }\n";

/// A Weir with that rule.
fn with_rule() -> Weir {
    weir_with(&server(Flavor::MariaDb), RULE)
}

/// An editor: this script, which is given the file as `$1`.
fn editor(weir: &Weir, script: &str) -> String {
    let path = weir.home().join("editor");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// `weir rules edit t` with an editor that does this.
fn edited(weir: &Weir, script: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(["rules", "edit", "t", "-c"]).arg(weir.home().join("weir.toml")).stdin(Stdio::null());
    command.env("WEIR_TOKEN", ADMIN_TOKEN).env("EDITOR", editor(weir, script)).env_remove("VISUAL");
    command.env("TMPDIR", weir.home()).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn ttl(weir: &Weir) -> String {
    told_json(weir, &["rules", "show", "t"])["rule"]["cache"]["ttl"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn flags_change_what_they_say_and_leave_the_rest() {
    let weir = with_rule();
    let args = ["rules", "edit", "t", "--ttl", "2h", "--match-user", "app"];
    let output = cli(&[&args[..], &["--admin", &weir.admin_addr().to_string()]].concat());
    let told_of = said(&output);
    assert!(
        output.status.success() && told_of.contains("rule t changed, now at place 1; written to "),
        "{told_of}"
    );
    assert!(told_of.contains("-cache = ") && told_of.contains("+cache = "), "{told_of}");
    let rule = &told_json(&weir, &["rules", "show", "t"])["rule"];
    assert_eq!(rule["cache"], serde_json::json!({"ttl": "2h", "soft_ttl": "30m"}));
    assert_eq!(rule["match"], serde_json::json!({"table": "ed.t", "user": "app"}));
    let output = cli(&["rules", "edit", "t", "--soft-ttl", "", "--admin", &weir.admin_addr().to_string()]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(told_json(&weir, &["rules", "show", "t"])["rule"]["cache"], serde_json::json!({"ttl": "2h"}));
    assert_eq!(told(&weir, &["rules", "edit", "t", "--ttl", "2h"]), "nothing was changed\n");
    let expected = "# --- edited\n\n# about t\n[[rule]]\nname = \"t\" # mine\n\
                    match = { table = \"ed.t\", user = \"app\" }\ncache = { ttl = \"2h\" }\n";
    assert!(file(&weir).contains(expected), "{}", file(&weir));
    let refused = refused_with(&weir, &["rules", "edit", "t", "--ttl", "soon"]);
    assert!(refused.contains("soon"), "{refused}");
    let refused = refused_with(&weir, &["rules", "edit", "gone", "--ttl", "1h"]);
    assert!(refused.contains("there is no rule `gone`"), "{refused}");
    assert_eq!(ttl(&weir), "2h");
}

#[tokio::test]
async fn an_editor_changes_a_rule_or_leaves_it() {
    let weir = with_rule();
    let before = file(&weir);
    for script in ["true", "touch \"$1\"", ": > \"$1\""] {
        let output = edited(&weir, script);
        assert_eq!((output.status.code(), &*said(&output)), (Some(0), "nothing was changed\n"), "{script}");
    }
    let output = edited(&weir, "exit 3");
    assert!(output.status.code() == Some(1) && said(&output).contains("nothing was changed"), "{output:?}");
    assert_eq!(file(&weir), before);
    let output = edited(&weir, "sed -i 's/\"1h\".*/\"5h\" } # longer/' \"$1\"");
    let told_of = said(&output);
    assert!(output.status.success() && told_of.contains("rule t changed"), "{told_of}");
    let difference: Vec<&str> = told_of.lines().filter(|line| line.starts_with(['-', '+'])).collect();
    assert_eq!(difference.len(), 2, "{told_of}");
    assert!(difference[0].contains("1h") && difference[1].contains("5h"), "{told_of}");
    assert_eq!(ttl(&weir), "5h");
    let expected = "# --- edited\n\n# about t\n[[rule]]\nname = \"t\" # mine\n\
                    match = { table = \"ed.t\" }\ncache = { ttl = \"5h\" } # longer\n";
    assert!(file(&weir).contains(expected) && !file(&weir).contains("#: "), "{}", file(&weir));
}

#[tokio::test]
async fn what_is_wrong_is_said_in_the_editor_which_is_opened_again() {
    let weir = with_rule();
    let seen = weir.home().join("seen").display().to_string();
    // First a wrong TTL, which this side sees; then a regular expression that is none, which Weir sees; then a good one.
    let script = format!(
        "cat \"$1\" >> {seen}\n\
         if grep -q 'sooner' \"$1\"; then sed -i 's/sooner/9h/; s/table = \"ed.t\"/pattern = \"(\"/' \"$1\"\n\
         elif grep -q 'pattern = \"(\"' \"$1\"; then sed -i 's/pattern = \"(\"/pattern = \"good\"/' \"$1\"\n\
         else sed -i s/1h/sooner/ \"$1\"; fi"
    );
    let output = edited(&weir, &script);
    assert!(output.status.success(), "{}", said(&output));
    let seen = std::fs::read_to_string(&seen).unwrap();
    let notes: Vec<&str> = seen.lines().filter(|line| line.starts_with("#: ")).collect();
    assert_eq!(seen.matches("This cannot be").count(), 2, "{seen}");
    assert!(notes.iter().any(|line| line.contains("sooner")), "{notes:#?}");
    let rule = &told_json(&weir, &["rules", "show", "t"])["rule"];
    assert_eq!(
        (rule["match"]["pattern"].as_str(), rule["cache"]["ttl"].as_str()),
        (Some("good"), Some("9h"))
    );

    // Left wrong a second time: given up, and the text is kept.
    let output = edited(&weir, "sed -i s/9h/never/ \"$1\"");
    let told_of = said(&output);
    assert!(
        output.status.code() == Some(1) && told_of.contains("nothing was changed; your text is in "),
        "{told_of}"
    );
    let kept = told_of.trim().rsplit(' ').next().unwrap();
    assert!(std::fs::read_to_string(kept).unwrap().contains("never"), "{told_of}");
    assert_eq!(ttl(&weir), "9h");
}

#[tokio::test]
async fn who_edits_while_somebody_else_changes_the_rules_loses_no_text() {
    let weir = with_rule();
    let add = format!(
        "{} rules add --name other --match-table o --ttl 1m --admin {} >/dev/null && sed -i s/1h/7h/ \"$1\"",
        env!("CARGO_BIN_EXE_weir"),
        weir.admin_addr()
    );
    let output = edited(&weir, &add);
    let told_of = said(&output);
    assert_eq!(output.status.code(), Some(1), "{told_of}");
    assert!(
        told_of.contains("somebody else has changed the rules") && told_of.contains("your text is in "),
        "{told_of}"
    );
    let kept = told_of.trim().rsplit(' ').next().unwrap();
    assert!(std::fs::read_to_string(kept).unwrap().contains("7h"), "{told_of}");
    assert_eq!((ttl(&weir).as_str(), names(&weir)), ("1h", vec!["t".to_owned(), "other".to_owned()]));
}

/// Editors save, and fail behind that; or save what is no text; or Weir ends meanwhile.
#[tokio::test]
async fn what_was_written_is_kept_whatever_fails() {
    let mut weir = with_rule();
    let pid = weir.pid();
    for (then, why) in [
        (
            "exit 3".to_owned(),
            "ended with exit status: 3: set EDITOR to one that is there, or use flags\nnothing was changed; ",
        ),
        ("printf '\\377' >>\"$1\"".to_owned(), "what the editor has written: "),
        // It may be asked still, and then nobody knows whether it has.
        (format!("kill -9 {pid}"), &*weir.admin_addr().to_string()),
    ] {
        let output = edited(&weir, &format!("sed -i s/1h/6h/ \"$1\"; {then}"));
        let told_of = said(&output);
        assert!(output.status.code() == Some(1) && told_of.contains(why), "{told_of}");
        let kept = told_of.trim().rsplit_once("your text is in ").expect(&told_of).1;
        let text = String::from_utf8_lossy(&std::fs::read(kept).unwrap()).into_owned();
        assert!(
            text.contains("6h") && (text.contains("\u{fffd}") || !text.contains("#: ")),
            "{told_of}: {text}"
        );
    }
    weir.restart().unwrap();
    assert_eq!(ttl(&weir), "1h");
}

#[tokio::test]
async fn on_a_terminal_the_difference_is_shown_and_asked_about() {
    let weir = with_rule();
    let editor = editor(&weir, "sed -i s/1h/3h/ \"$1\"");
    let command = format!(
        "WEIR_TOKEN={ADMIN_TOKEN} VISUAL={editor} {} rules edit t --admin {}",
        env!("CARGO_BIN_EXE_weir"),
        weir.admin_addr()
    );
    let screen = Screen::run(100, 30, &command);
    screen.shows("put this in force? y(es), n(o), e(dit again):");
    assert!(screen.text().contains("+cache = { ttl = \"3h\""), "{}", screen.text());
    assert_eq!(ttl(&weir), "1h");
    screen.press(&["x", "Enter"]);
    screen.until("asked again", |text| text.matches("put this in force?").count() == 2);
    screen.press(&["y", "Enter"]);
    screen.shows("rule t changed");
    assert_eq!(ttl(&weir), "3h");
    // The end of the input is no answer.
    assert_eq!(self::editor(&weir, "sed -i s/3h/4h/ \"$1\""), editor);
    let screen = Screen::run(100, 30, &command);
    screen.shows("put this in force?");
    screen.press(&["C-d"]);
    screen.shows("nothing was changed; your text is in ");
    assert_eq!(ttl(&weir), "3h");
}

/// Colours are for a terminal whose user has not said no.
#[tokio::test]
async fn only_a_terminal_that_takes_colours_is_given_any() {
    let weir = with_rule();
    let (red, green) = ("\x1b[31m", "\x1b[32m");
    let args = |ttl: &str| format!("rules edit t --ttl {ttl} --admin {}", weir.admin_addr());
    for (ttl, before, behind, colored) in [
        ("2h", "", "", true),
        ("3h", "NO_COLOR=1", "", false),
        ("4h", "NO_COLOR=", "", true),
        ("5h", "TERM=dumb", "", false),
        ("6h", "", "2>&1 | cat", false),
        ("7h", "", "| cat", false),
    ] {
        let command = format!(
            "env -u NO_COLOR WEIR_TOKEN={ADMIN_TOKEN} {before} {} {} {behind}",
            env!("CARGO_BIN_EXE_weir"),
            args(ttl)
        );
        let screen = Screen::run(200, 30, &command);
        screen.shows("rule t changed");
        let shown = screen.colored();
        assert!(shown.contains("+cache = ") && shown.contains("-cache = "), "{command}: {shown}");
        assert_eq!((shown.contains(red), shown.contains(green)), (colored, colored), "{command}: {shown:?}");
    }
    let output = cli(&args("8h").split(' ').collect::<Vec<_>>());
    assert!(output.status.success() && !said(&output).contains('\x1b'), "{output:?}");
}
