use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_model::ServerFamily;

use super::*;
use crate::base::Base;
use crate::user::{UserValue, UserVariable, charset_of};
use crate::value::Value;
use crate::variable::Server;

const SERVER: Server = Server { family: ServerFamily::MySql, version: 90_704 };

/// Of every kind, one privileged, one that disturbs another.
const VARIABLES: [(&str, [&str; 3]); 9] = [
    ("autocommit", ["ON", "OFF", "ON"]),
    ("character_set_client", ["utf8mb4", "latin1", "gbk"]),
    ("character_set_results", ["utf8mb4", "NULL", "latin1"]),
    ("collation_connection", ["utf8mb4_bin", "latin1_swedish_ci", "gbk_bin"]),
    ("max_join_size", ["18446744073709551615", "5", "6"]),
    ("sql_big_selects", ["ON", "OFF", "ON"]),
    ("max_error_count", ["1024", "0", "64"]),
    ("sql_mode", ["", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "NO_BACKSLASH_ESCAPES"]),
    ("time_zone", ["SYSTEM", "+01:00", "Europe/Zürich"]),
];

fn variable(name: &str) -> Variable {
    Variable::find(name.as_bytes()).unwrap()
}

fn value(i: usize, choice: usize) -> Value {
    let text = VARIABLES[i].1[choice];
    (text != "NULL").then(|| text.as_bytes().into())
}

fn base(choice: usize) -> Arc<Base> {
    Arc::new(Base::new(SERVER, (0..VARIABLES.len()).map(|i| (variable(VARIABLES[i].0), value(i, choice)))))
}

/// A server's session that understands what plans send, and refuses what it is told to.
struct Model {
    schema: Option<Vec<u8>>,
    charset: Vec<u8>,
    /// The collation that columns have, by SET NAMES or the login; None for the default of character_set_results.
    results: Option<Vec<u8>>,
    values: BTreeMap<String, Option<Vec<u8>>>,
    /// What each was set to; and, of numbers of MySQL, under which collation of the connection.
    users: BTreeMap<String, (String, Option<Vec<u8>>)>,
    mysql: bool,
    /// Schemas and variables that it refuses.
    dropped: bool,
    refuses: Vec<(Variable, Option<Vec<u8>>)>,
    revoked: bool,
}

impl Model {
    fn of(actual: &State) -> Self {
        let mut values = BTreeMap::new();
        for v in actual.base().present().iter() {
            // What Weir does not know is something that it would not guess.
            let known = actual.get(v).map_or(Some(b"?".to_vec()), |known| known.map(<[u8]>::to_vec));
            values.insert(v.name().to_owned(), known);
        }
        let schema = match actual.schema() {
            Schema::Known(name) => Some(name.to_vec()),
            _ => None,
        };
        let users = actual.user_variables().iter().map(|UserVariable { name, value, under }| {
            let mut text = Vec::new();
            put_user_value(&mut text, value);
            let under = under.as_deref().map(<[u8]>::to_vec);
            (String::from_utf8(name.to_vec()).unwrap(), (String::from_utf8(text).unwrap(), under))
        });
        let mysql = actual.base().server().family == ServerFamily::MySql;
        let charset = values["character_set_client"].clone().unwrap();
        let users = users.collect();
        let results = match actual.results_collation() {
            ResultsCollation::Named(collation) => collation.as_deref().map(<[u8]>::to_vec),
            ResultsCollation::Default => None,
            ResultsCollation::OfConnection | ResultsCollation::Unknown => Some(b"?".to_vec()),
        };
        let (dropped, refuses, revoked) = (false, Vec::new(), false);
        Self { schema, charset, results, values, users, mysql, dropped, refuses, revoked }
    }

    /// What a client sees of the collation of columns: nothing where character_set_results is NULL, the default where the
    /// collation is of another character set.
    fn shown_collation(&self) -> Option<Vec<u8>> {
        let charset = self.values["character_set_results"].as_deref()?;
        let named = self.results.as_deref().filter(|known| *known == b"?" || charset_of(known) == charset);
        Some(named.map_or_else(|| [charset, b" by default"].concat(), <[u8]>::to_vec))
    }

    /// Runs one step; false is an ERR packet.
    fn run(&mut self, step: &Step) -> bool {
        match &step.send {
            Send::InitDb(_) if self.dropped => false,
            Send::InitDb(name) => {
                assert!(name.is_ascii() || self.charset.starts_with(b"utf8"), "the name would be misread");
                self.schema = Some(name.to_vec());
                true
            }
            Send::Query(text) => self.set(std::str::from_utf8(text).unwrap()),
        }
    }

    fn set(&mut self, text: &str) -> bool {
        assert!(text.is_ascii() && !text.contains(['\\', '"']), "{text}");
        let list = split(text.strip_prefix("SET ").unwrap());
        let mut next = (self.values.clone(), self.users.clone(), self.results.clone());
        for item in list {
            if let Some(names) = item.strip_prefix("NAMES ") {
                let (charset, collation) = names.split_once(" COLLATE ").unwrap();
                let (charset, collation) = (read(charset), read(collation));
                assert_eq!(charset.as_deref(), collation.as_deref().map(charset_of), "error 1253: {text}");
                for (name, value) in
                    [("character_set_client", &charset), ("collation_connection", &collation)]
                {
                    if self.refuses.contains(&(variable(name), value.clone())) {
                        return false;
                    }
                    next.0.insert(name.to_owned(), value.clone());
                }
                next.0.insert("character_set_results".to_owned(), charset);
                next.2 = collation;
                continue;
            }
            let (name, written) = item.split_once('=').unwrap();
            if let Some(user) = name.strip_prefix("@`") {
                let is_number = written.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                let is_number = is_number && !written.starts_with("0x");
                let under = next.0["collation_connection"].clone().filter(|_| self.mysql && is_number);
                next.1.insert(user.trim_end_matches('`').to_owned(), (written.to_owned(), under));
                continue;
            }
            let name = name.strip_prefix("@@SESSION.").unwrap();
            let read = read(written);
            let v = variable(name);
            if (self.revoked && v.may_fail()) || self.refuses.contains(&(v, read.clone())) {
                return false;
            }
            if name == "max_join_size" {
                next.0.insert("sql_big_selects".to_owned(), Some(b"disturbed".to_vec()));
            }
            if v.kind() == crate::variable::Kind::Numeric {
                assert!(!written.starts_with('\''), "error 1232: {text}");
            }
            if name == "character_set_results" {
                next.2 = None;
            }
            next.0.insert(name.to_owned(), read);
        }
        (self.values, self.users, self.results) = next;
        self.charset = self.values["character_set_client"].clone().unwrap();
        true
    }
}

/// At commas outside of quotes.
fn split(list: &str) -> Vec<&str> {
    let mut inside = false;
    list.split(|c| {
        inside ^= c == '\'';
        c == ',' && !inside
    })
    .collect()
}

fn read(written: &str) -> Option<Vec<u8>> {
    if let Some(hex) = written.strip_prefix("_utf8mb4 X'") {
        let digits = hex.trim_end_matches('\'').as_bytes();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        return Some(digits.chunks(2).map(byte).collect());
    }
    (written != "NULL").then(|| written.trim_matches('\'').as_bytes().to_vec())
}

#[derive(Debug, Clone)]
struct Session {
    base: usize,
    sets: Vec<(usize, usize)>,
    forgets: Vec<usize>,
    schema: usize,
    users: Vec<(usize, usize)>,
    results: usize,
}

impl Session {
    fn state(&self) -> State {
        let schemas =
            [Schema::None, Schema::Known(b"a"[..].into()), Schema::Known("zürich".as_bytes().into())];
        let mut state = State::new(base(self.base), schemas[self.schema].clone());
        // One under the collation of before.
        set_users(&mut state, self.users.get(..1).unwrap_or_default());
        for &(i, choice) in &self.sets {
            state.set(variable(VARIABLES[i].0), value(i, choice));
        }
        let named = |collation: &str| ResultsCollation::Named(Some(collation.as_bytes().into()));
        match self.results {
            0 => {}
            1 => state.set_results_collation(ResultsCollation::Default),
            2 => state.set_results_collation(named("utf8mb4_bin")),
            3 => state.set_results_collation(named("latin1_swedish_ci")),
            4 => state.set_results_collation(ResultsCollation::Unknown),
            _ => state.set_results_collation(ResultsCollation::OfConnection),
        }
        self.forgets.iter().for_each(|i| state.forget(variable(VARIABLES[*i].0)));
        set_users(&mut state, self.users.get(1..).unwrap_or_default());
        state
    }
}

fn set_users(state: &mut State, users: &[(usize, usize)]) {
    for &(name, choice) in users {
        let text = |bytes: &[u8], collation: &[u8]| UserValue::Text {
            bytes: bytes.into(),
            collation: collation.into(),
        };
        let values = [
            UserValue::Number(b"-1.50"[..].into()),
            UserValue::Binary(b"\0'\\"[..].into()),
            text(b"o'clock", b"latin1_swedish_ci"),
            text("é".as_bytes(), b"utf8mb4_bin"),
            UserValue::Null,
        ];
        // NULL over a value is refused, which is part of the game.
        let _ = state.set_user_variable([b"a", b"b"][name], values[choice].clone());
    }
}

fn session(unknown: bool) -> impl Strategy<Value = Session> {
    let n = VARIABLES.len();
    let forgets = proptest::collection::vec(0..n, 0..if unknown { 3 } else { 1 });
    let sets = proptest::collection::vec((0..n, 0..3usize), 0..6);
    let users = proptest::collection::vec((0..2usize, 0..5usize), 0..3);
    let results = 0..if unknown { 6usize } else { 4 };
    (0..2usize, sets, forgets, 0..3usize, users, results).prop_map(
        |(base, sets, forgets, schema, users, results)| Session {
            base,
            sets,
            forgets,
            schema,
            users,
            results,
        },
    )
}

fn check_applied(model: &Model, wanted: &State) {
    for v in wanted.base().present().iter() {
        let expected = wanted.get(v).unwrap().map(<[u8]>::to_vec);
        assert_eq!(model.values[v.name()], expected, "{}", v.name());
    }
    assert_eq!(Model::of(wanted).users, model.users);
    assert_eq!(Model::of(wanted).schema, model.schema);
    assert_eq!(Model::of(wanted).shown_collation(), model.shown_collation());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_plan_makes_the_connection_what_is_wanted(
        wanted in session(false),
        actual in session(true),
        accepted_values in proptest::collection::vec((0..VARIABLES.len(), 0..3usize), 0..20),
    ) {
        let (wanted, mut actual) = (wanted.state(), actual.state());
        let mut memory = Memory::new(1);
        accepted_values.iter().for_each(|&(i, c)| memory.accept(variable(VARIABLES[i].0), value(i, c)));
        let mut model = Model::of(&actual);
        match plan_sync(&wanted, &actual, &memory) {
            Plan::Nothing => check_applied(&model, &wanted),
            Plan::Sync(steps) => {
                prop_assert!(!wanted.same_as(&actual) && !steps.is_empty());
                prop_assert!(steps.iter().all(|step| model.run(step)));
                check_applied(&model, &wanted);
                synced(&steps, &wanted, &mut actual, &mut memory);
                prop_assert_eq!(plan_sync(&wanted, &actual, &memory), Plan::Nothing);
            }
            Plan::Reset(_) => {
                let theirs = actual.user_variables();
                let mut mine = theirs.iter().map(|known| wanted.user_variables().get(&known.name));
                let cannot = mine.any(|mine| matches!(mine, None | Some(UserValue::Null)));
                prop_assert!(cannot);
            }
            Plan::ChangeUser(_) => prop_assert_eq!(wanted.schema(), &Schema::None),
            Plan::Stay(_) => prop_assert!(false, "everything wanted is known"),
        }
    }

    #[test]
    fn what_can_be_refused_is_awaited(
        wanted in session(false),
        actual in session(true),
        accepted_values in proptest::collection::vec((0..VARIABLES.len(), 0..3usize), 0..20),
        revoked: bool,
        dropped: bool,
    ) {
        let (wanted, mut actual) = (wanted.state(), actual.state());
        let mut memory = Memory::new(2);
        accepted_values.iter().for_each(|&(i, c)| memory.accept(variable(VARIABLES[i].0), value(i, c)));
        let mut model = Model::of(&actual);
        (model.revoked, model.dropped) = (revoked, dropped);
        // It may refuse whatever it has not accepted before.
        for (i, (name, values)) in VARIABLES.iter().enumerate() {
            for choice in 0..values.len() {
                let (v, value) = (variable(name), value(i, choice));
                let utf8_client = v == Variable::CHARACTER_SET_CLIENT && choice == 0;
                if !memory.accepts(v, &value) && !utf8_client {
                    model.refuses.push((v, value.map(|text| text.to_vec())));
                }
            }
        }
        let Plan::Sync(steps) = plan_sync(&wanted, &actual, &memory) else { return Ok(()) };
        let (mut failed, mut reset) = (false, false);
        let before = model.users.clone();
        for step in &steps {
            if model.run(step) {
                reset |= accepted(step, &wanted, &mut actual);
            } else {
                prop_assert!(step.must_await, "{:?}", step);
                reset |= refused(step, &mut actual);
                failed = true;
            }
        }
        // What Weir believes afterwards is true, as far as it believes anything.
        for v in actual.base().present().iter() {
            if let Some(known) = actual.get(v) {
                prop_assert_eq!(model.values[v.name()].as_deref(), known, "{}", v.name());
            }
        }
        let named = matches!(
            actual.results_collation(),
            ResultsCollation::Named(_) | ResultsCollation::Default
        );
        if named && actual.get(Variable::CHARACTER_SET_RESULTS).is_some() {
            prop_assert_eq!(Model::of(&actual).shown_collation(), model.shown_collation());
        }
        prop_assert!(reset || model.users == before, "user variables changed unseen");
        if !failed {
            synced(&steps, &wanted, &mut actual, &mut memory);
            check_applied(&model, &wanted);
        }
    }
}

#[test]
fn unknown_wanted_state_stays_where_it_is() {
    let known = State::new(base(0), Schema::None);
    let mut wanted = known.clone();
    wanted.forget(Variable::SQL_MODE);
    assert_eq!(plan_sync(&wanted, &known, &Memory::new(0)), Plan::Stay(Obstacle::WantedUnknown));
}

#[test]
fn p47a_a_schema_is_awaited_and_accepted_values_are_not() {
    let mut wanted = State::new(base(0), Schema::None);
    let actual = wanted.clone();
    wanted.set(Variable::SQL_MODE, Some(b"ANSI_QUOTES"[..].into()));
    let mut memory = Memory::new(0);
    assert!(plan_sync(&wanted, &actual, &memory).must_await());
    memory.accept(Variable::SQL_MODE, Some(b"ANSI_QUOTES"[..].into()));
    let Plan::Sync(steps) = plan_sync(&wanted, &actual, &memory) else { panic!() };
    let text = b"SET @@SESSION.sql_mode='ANSI_QUOTES'".to_vec();
    let sets = [Variable::SQL_MODE].into_iter().collect();
    assert_eq!(steps, [Step { send: Send::Query(text), must_await: false, sets }]);
    wanted.set_schema(Schema::Known(b"shop"[..].into()));
    assert!(plan_sync(&wanted, &actual, &memory).must_await());
    // A privileged one is awaited however often it was accepted.
    let mut wanted = actual.clone();
    wanted.set(variable("max_error_count"), Some(b"1"[..].into()));
    memory.accept(variable("max_error_count"), Some(b"1"[..].into()));
    assert!(plan_sync(&wanted, &actual, &memory).must_await());
}

/// The one text of a plan from one state to the other, and whether it is awaited.
fn only_text(wanted: &State, actual: &State, memory: &Memory) -> (String, bool) {
    let Plan::Sync(steps) = plan_sync(wanted, actual, memory) else { panic!("no sync") };
    let [Step { send: Send::Query(text), must_await, .. }] = &steps[..] else { panic!("{steps:?}") };
    (String::from_utf8(text.clone()).unwrap(), *must_await)
}

#[test]
fn the_collation_of_results_is_given_back_in_the_way_it_came() {
    let fresh = State::new(base(0), Schema::None);
    let mut default = fresh.clone();
    default.set_results_collation(ResultsCollation::Default);
    let mut named = fresh.clone();
    named.set_results_collation(ResultsCollation::Named(Some(b"utf8mb4_general_ci"[..].into())));
    let mut latin = fresh.clone();
    for (name, value) in [
        ("character_set_client", "latin1"),
        ("character_set_results", "latin1"),
        ("collation_connection", "latin1_swedish_ci"),
    ] {
        latin.set(variable(name), Some(value.as_bytes().into()));
    }
    latin.names_follow_connection();
    let mut null = fresh.clone();
    null.set(Variable::CHARACTER_SET_RESULTS, None);
    null.set_results_collation(ResultsCollation::Default);
    let mut client = fresh.clone();
    client.set_client_collation(ResultsCollation::Default);
    let mut neither = client.clone();
    neither.set_results_collation(ResultsCollation::Default);
    let names = "SET NAMES utf8mb4 COLLATE utf8mb4_bin,@@SESSION.collation_connection=utf8mb4_bin";
    for (wanted, actual, expected) in [
        (&default, &fresh, "SET @@SESSION.character_set_results=utf8mb4"),
        (&default, &named, "SET @@SESSION.character_set_results=utf8mb4"),
        (&null, &fresh, "SET @@SESSION.character_set_results=NULL"),
        (&fresh, &default, names),
        (&fresh, &named, names),
        (&fresh, &null, names),
        (&fresh, &latin, names),
        // The connection keeps another collation than that of the results.
        (
            &named,
            &fresh,
            "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci,@@SESSION.character_set_client=utf8mb4,\
            @@SESSION.collation_connection=utf8mb4_bin",
        ),
        (
            &latin,
            &fresh,
            "SET NAMES latin1 COLLATE latin1_swedish_ci,@@SESSION.collation_connection=latin1_swedish_ci",
        ),
        // That of the client.
        (&client, &fresh, "SET @@SESSION.character_set_client=utf8mb4"),
        (&fresh, &client, names),
        (&fresh, &neither, names),
        (&neither, &default, "SET @@SESSION.character_set_client=utf8mb4"),
        (
            &default,
            &neither,
            "SET NAMES utf8mb4 COLLATE utf8mb4_bin,@@SESSION.character_set_results=utf8mb4,\
            @@SESSION.collation_connection=utf8mb4_bin",
        ),
        (
            &client,
            &neither,
            "SET NAMES utf8mb4 COLLATE utf8mb4_bin,@@SESSION.character_set_client=utf8mb4,\
            @@SESSION.collation_connection=utf8mb4_bin",
        ),
    ] {
        assert_eq!(only_text(wanted, actual, &Memory::new(0)), (expected.to_owned(), true));
        let mut after = actual.clone();
        let mut memory = Memory::new(0);
        let Plan::Sync(steps) = plan_sync(wanted, actual, &memory) else { panic!("no sync") };
        synced(&steps, wanted, &mut after, &mut memory);
        assert_eq!(plan_sync(wanted, &after, &memory), Plan::Nothing);
    }
}

#[test]
fn a_collation_of_results_is_awaited_until_all_of_it_was_accepted() {
    let fresh = State::new(base(0), Schema::None);
    let mut default = fresh.clone();
    default.set_results_collation(ResultsCollation::Default);
    let mut memory = Memory::new(0);
    for (name, value) in [("collation_connection", "utf8mb4_bin"), ("character_set_client", "utf8mb4")] {
        assert!(only_text(&fresh, &default, &memory).1);
        memory.accept(variable(name), Some(value.as_bytes().into()));
    }
    assert!(!only_text(&fresh, &default, &memory).1);
    // `binary` is a reserved word.
    let mut binary = fresh.clone();
    binary.set(Variable::CHARACTER_SET_RESULTS, Some(b"binary"[..].into()));
    binary.set_results_collation(ResultsCollation::Named(Some(b"binary"[..].into())));
    assert!(only_text(&binary, &fresh, &memory).0.starts_with("SET NAMES 'binary' COLLATE 'binary',"));
}

#[test]
fn a_refused_collation_of_results_is_not_known() {
    let fresh = State::new(base(0), Schema::None);
    let mut wanted = fresh.clone();
    wanted.set_results_collation(ResultsCollation::Default);
    let Plan::Sync(steps) = plan_sync(&wanted, &fresh, &Memory::new(0)) else { panic!("no sync") };
    let mut actual = fresh.clone();
    assert!(!refused(&steps[0], &mut actual));
    assert_eq!(actual.results_collation(), &ResultsCollation::Unknown);
    assert!(!accepted(&steps[0], &wanted, &mut actual) && actual.same_as(&wanted));
    // Where the step was about something else, it is as it was.
    wanted = fresh.clone();
    wanted.set(Variable::SQL_MODE, Some(b"ANSI"[..].into()));
    let Plan::Sync(steps) = plan_sync(&wanted, &fresh, &Memory::new(0)) else { panic!("no sync") };
    let mut actual = fresh.clone();
    assert!(!refused(&steps[0], &mut actual));
    assert_eq!(actual.results_collation(), fresh.results_collation());
}

#[test]
fn character_sets_are_found_in_collations() {
    assert_eq!(charset_of(b"utf8mb4_0900_ai_ci"), b"utf8mb4");
}
