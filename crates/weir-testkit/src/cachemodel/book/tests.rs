use super::*;

const TTL: Duration = Duration::from_millis(100);

fn key(user: &str) -> Key {
    let statement = b"SELECT 1".to_vec();
    Key { user: user.into(), session: Vec::new(), shape: 0, statement, bound: None, behind: "" }
}

fn about(table: &str) -> About {
    let named = vec![table.to_owned()];
    About {
        tables: named.clone(),
        named,
        rule: "r",
        user: "u".into(),
        tag: None,
        statement: "SELECT 1".into(),
    }
}

fn packets(n: u8) -> Vec<Packet> {
    vec![Packet { seq: 1, frames: 1, payload: vec![n] }]
}

fn at(start: Instant, ms: u64) -> [Instant; 2] {
    let time = start + Duration::from_millis(ms);
    [time, time + Duration::from_millis(2)]
}

fn allowed(book: &Book, asked: &Asked<'_>, n: u8) -> bool {
    matches!(book.judge(asked, &packets(n)), Judgement::Allowed(_))
}

#[test]
fn an_answer_is_allowed_until_its_ttl_is_over_and_only_in_an_equal_session() {
    let (start, mine, other) = (Instant::now(), key("a"), key("b"));
    let mut book = Book::default();
    let filled = Asked { key: &mine, floor: 0, time: at(start, 0), ttl: TTL };
    book.note(&filled, 5, packets(1), about("s.t"));
    assert!(allowed(&book, &Asked { time: at(start, 90), ..filled }, 1));
    assert!(allowed(&book, &Asked { time: at(start, 101), ..filled }, 1), "it may be 99 ms old");
    assert!(!allowed(&book, &Asked { time: at(start, 102), ..filled }, 1));
    assert!(!allowed(&book, &Asked { time: at(start, 50), ..filled }, 2), "it never was");
    assert!(!allowed(&book, &Asked { key: &other, time: at(start, 50), ..filled }, 1));
    assert!(!allowed(&book, &Asked { floor: 5, time: at(start, 50), ..filled }, 1), "its own write");
    assert!(!allowed(&book, &Asked { ttl: TTL / 4, time: at(start, 50), ..filled }, 1), "a hint");
}

#[test]
fn what_was_wiped_is_not_allowed_and_what_came_after_is() {
    let (start, mine) = (Instant::now(), key("a"));
    let mut book = Book::default();
    let filled = Asked { key: &mine, floor: 0, time: at(start, 0), ttl: TTL };
    book.note(&filled, 1, packets(1), about("s.t"));
    assert_eq!(book.end(&Covers::Table("s.other".into()), "a wipe"), 0);
    assert!(book.could_hit(&filled) && allowed(&book, &filled, 1));
    assert_eq!(book.end(&Covers::Table("s.t".into()), "a wipe"), 1);
    assert!(!book.could_hit(&filled));
    assert_eq!(
        book.judge(&filled, &packets(1)),
        Judgement::Forbidden("it was never the answer, but for what was ended by: a wipe".into())
    );
    book.note(&filled, 2, packets(2), about("s.t"));
    assert!(allowed(&book, &filled, 2));
    book.end_key(&mine, "a hint");
    assert!(!allowed(&book, &filled, 2));
}

#[test]
fn a_wipe_ends_what_it_names_and_nothing_else() {
    let (start, mine) = (Instant::now(), key("a"));
    for (covers, ends) in [
        (Covers::Schema("s"), 1),
        (Covers::Schema("s.t"), 0),
        (Covers::Digest("SELECT 1".into()), 1),
        (Covers::Digest("SELECT".into()), 0),
        (Covers::Rule("r"), 1),
        (Covers::User("other".into()), 0),
    ] {
        let mut book = Book::default();
        let filled = Asked { key: &mine, floor: 0, time: at(start, 0), ttl: TTL };
        book.note(&filled, 1, packets(1), about("s.t"));
        assert_eq!(book.end(&covers, "a wipe"), ends, "{covers:?}");
        assert_eq!(allowed(&book, &filled, 1), ends == 0, "{covers:?}");
    }
}
