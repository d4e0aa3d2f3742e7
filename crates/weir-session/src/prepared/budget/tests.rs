use super::*;
use crate::base::Base;
use crate::prepared::{ClientStatements, Needs, PreparedKey, ServerStatements};
use crate::state::{Schema, State};
use crate::variable::Server;
use weir_model::ServerFamily;

/// A server connection with what the server has of it.
struct Connection {
    statements: ServerStatements,
    there: Vec<u32>,
    next: u32,
}

impl Connection {
    fn new(budget: &Arc<StatementBudget>) -> Self {
        Self { statements: ServerStatements::new(budget, 0), there: Vec::new(), next: 1 }
    }

    fn closes(&mut self) {
        for id in self.statements.take_to_close() {
            let at = self.there.iter().position(|there| *there == id);
            self.there.remove(at.expect("what is closed is there"));
        }
    }

    /// Executes a text; true if it had to be prepared.
    fn execute(&mut self, text: u32) -> bool {
        let key = key(text);
        if self.statements.id(&key).is_some() {
            let mut client = ClientStatements::default();
            let id = client.add(key, 0, 1).unwrap();
            assert!(matches!(self.statements.need(client.get(id).unwrap()), Needs::Nothing { .. }));
            self.statements.make_room_for_others();
            self.closes();
            return false;
        }
        self.statements.make_room();
        self.closes();
        self.there.push(self.next);
        self.statements.prepared(key, self.next);
        self.next += 1;
        true
    }

    fn execute_all(&mut self, texts: std::ops::Range<u32>) {
        for text in texts {
            self.execute(text);
        }
    }
}

fn key(text: u32) -> Arc<PreparedKey> {
    let server = Server { family: ServerFamily::MariaDb, version: 110_800 };
    let state = State::new(Arc::new(Base::new(server, [])), Schema::None);
    Arc::new(PreparedKey::new(text.to_le_bytes()[..].into(), &state, 7).unwrap())
}

fn on_the_server(connections: &[Connection]) -> usize {
    connections.iter().map(|connection| connection.there.len()).sum()
}

fn open(budget: &Arc<StatementBudget>, count: usize) -> Vec<Connection> {
    (0..count).map(|_| Connection::new(budget)).collect()
}

#[test]
fn a_budget_is_divided_between_floors_and_the_rest() {
    assert_eq!(divided(12_000, 100), (40, 8_000));
    assert_eq!(divided(12_000, 1), (4_000, 8_000));
    assert_eq!(divided(12_000, 3_000), (1, 9_000));
    assert_eq!(divided(12_000, 12_000), (1, 0));
    assert_eq!(divided(12_000, 100_000), (1, 0));
    assert_eq!(divided(12_000, 0), divided(12_000, 1));
    assert_eq!(divided(1, 1), (1, 0));
}

#[test]
fn few_connections_of_many_that_there_may_be_keep_what_they_need() {
    let budget = Arc::new(StatementBudget::new(12_000, 3_000));
    let mut few = open(&budget, 4);
    for connection in &mut few {
        assert!((0..500).all(|text| connection.execute(text)));
        assert!(!(0..500).any(|text| connection.execute(text)));
    }
    assert_eq!(on_the_server(&few), 2_000);
    let one = &mut few[0];
    one.execute_all(0..2 * EACH as u32);
    assert_eq!(one.there.len(), EACH);
}

#[test]
fn there_are_never_more_on_the_server_than_all_may_have() {
    for (statements, max) in [(300, 10), (300, 100), (300, 300), (12_000, 40)] {
        let budget = Arc::new(StatementBudget::new(statements, max));
        let mut all = open(&budget, max as usize);
        let mut text = 0;
        // Some come late, and find that the others have taken everything.
        for active in [1, max as usize / 2, max as usize] {
            for _ in 0..200 {
                for connection in &mut all[..active] {
                    text += 1;
                    assert!(connection.execute(text));
                }
            }
            assert!(on_the_server(&all) <= statements as usize, "{statements} {max} {active}");
        }
        assert!(all.iter().all(|connection| !connection.there.is_empty()), "{statements} {max}");
        drop(all);
        assert_eq!(budget.beyond.load(Ordering::Relaxed), 0);
        assert_eq!(budget.connections.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn who_has_more_than_its_part_gives_it_up_for_those_who_have_none() {
    let budget = Arc::new(StatementBudget::new(1_200, 100));
    let mut all = open(&budget, 10);
    let (first, others) = all.split_first_mut().unwrap();
    first.execute_all(0..900);
    assert_eq!(first.there.len(), 804, "a floor of 4, and all the room");
    // It prepares nothing any more, and is used all the same.
    for round in 0..200 {
        first.execute(899);
        for other in &mut *others {
            other.execute_all(round % 2..40 + round % 2);
        }
    }
    assert!(!first.execute(899), "it keeps what it uses");
    assert!(first.there.len() < 804 - 8 * 40, "{}", first.there.len());
    for other in others {
        assert!(!(0..40).any(|text| other.execute(text + 1)), "all have room for what they use");
    }
    assert!(on_the_server(&all) <= 1_200);
}

#[test]
fn what_a_lost_or_a_reset_connection_had_is_free_again() {
    let budget = Arc::new(StatementBudget::new(60, 10));
    let mut one = Connection::new(&budget);
    one.execute_all(0..100);
    assert!(budget.is_full());
    one.statements.clear();
    assert_eq!(budget.beyond.load(Ordering::Relaxed), 0);
    one.there.clear();
    one.execute_all(0..100);
    assert!(budget.is_full());
    // Handed from a session to the pool, it is counted once.
    let mut elsewhere = ServerStatements::nowhere();
    std::mem::swap(&mut elsewhere, &mut one.statements);
    drop(one);
    assert!(budget.is_full());
    drop(elsewhere);
    assert_eq!(budget.beyond.load(Ordering::Relaxed), 0);
}

#[test]
fn a_statement_that_the_server_refused_to_prepare_is_counted_until_it_says_so() {
    let budget = Arc::new(StatementBudget::new(30, 10));
    let mut one = Connection::new(&budget);
    one.execute(0);
    for _ in 0..100 {
        one.statements.make_room();
        one.closes();
    }
    assert_eq!(one.there, [1]);
    assert_eq!(budget.beyond.load(Ordering::Relaxed), 1);
    one.statements.prepared_none();
    assert_eq!(budget.beyond.load(Ordering::Relaxed), 0);
}

#[test]
fn other_limits_hold_for_connections_that_there_are() {
    let budget = Arc::new(StatementBudget::new(1_000, 10));
    let mut all = open(&budget, 2);
    for connection in &mut all {
        connection.execute_all(0..400);
    }
    budget.set_limits(100, 10);
    for round in 0..100 {
        for connection in &mut all {
            connection.execute(round % 10);
        }
    }
    assert!(on_the_server(&all) <= 100, "{}", on_the_server(&all));
}
