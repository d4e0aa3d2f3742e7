use super::*;
use weir_stats::digests::DigestText;

fn brief(at: usize, id: u64, calls: u64, mean_ns: u64) -> Brief {
    Brief { at, lines: 1, id: DigestId(id), calls, total_ns: calls * mean_ns, rank: calls }
}

#[test]
fn a_row_is_often_or_slow_against_the_medians() {
    let all = [(9, 900), (9, 100), (2, 900), (2, 100), (5, 500)];
    let briefs: Vec<Brief> =
        all.iter().enumerate().map(|(at, (calls, mean))| brief(at, 1, *calls, *mean)).collect();
    let middle = Middle::of(&briefs);
    use Quadrant::*;
    let told: Vec<Quadrant> = briefs.iter().map(|brief| middle.quadrant(brief)).collect();
    assert_eq!(told, [OftenSlow, OftenFast, SeldomSlow, SeldomFast, SeldomFast]);
    let sums = quadrants(&briefs, &middle);
    let of =
        |wanted| sums.iter().find(|sum| sum.quadrant == wanted).map(|sum| (sum.rows, sum.calls)).unwrap();
    assert_eq!(
        [of(OftenSlow), of(OftenFast), of(SeldomSlow), of(SeldomFast)],
        [(1, 9), (1, 9), (1, 2), (2, 7)]
    );
}

#[test]
fn lines_of_one_digest_are_one_row() {
    let lines = || vec![brief(0, 7, 2, 50), brief(1, 3, 5, 10), brief(2, 7, 6, 10)];
    let rows = |sort| added_up(lines(), sort, |members| members.iter().sum::<usize>() as u64 + 100);
    let (calls, members) = rows(SortBy::Calls);
    assert_eq!(members, [1, 0, 2]);
    assert_eq!(
        calls,
        [brief(0, 3, 5, 10), Brief { at: 1, lines: 2, id: DigestId(7), calls: 8, total_ns: 160, rank: 8 }]
    );
    let ranks = |sort| rows(sort).0.iter().map(|row| row.rank).collect::<Vec<_>>();
    assert_eq!(ranks(SortBy::Mean), [10, 20]);
    assert_eq!(ranks(SortBy::P99), [5, 102], "of one line it is known, of several it is that of all");
    let (rows, members) = placed(lines());
    assert_eq!((rows, members), (lines(), vec![0, 1, 2]));
}

#[test]
fn regret_is_the_time_of_what_came_again_unchanged() {
    let origin = |user: &[u8]| {
        Arc::new(Origin { user: user.into(), schema: b"s".as_slice().into(), server: "db".into() })
    };
    let line = |is_cacheable, user: &[u8]| Line {
        digest: DigestText::new(DigestId(1), b"SELECT ?", is_cacheable),
        origin: origin(user),
        sample: Box::default(),
        sums: Sums::default(),
    };
    let known = Unchanged([((DigestId(1), origin(b"app")), 700)].into());
    assert_eq!(known.regret_ns(&line(true, b"app")), 700);
    assert_eq!(known.regret_ns(&line(false, b"app")), 0, "nothing can be done about it");
    assert_eq!(known.regret_ns(&line(true, b"other")), 0, "it never came");
    let mut whole = Whole::of(line(true, b"app"), &known);
    whole.add(&line(true, b"other"), &known);
    assert_eq!(whole.regret_ns, 700);
    assert_eq!(whole.together(), Together { rows: 2, users: 2, schemas: 1, servers: 1 });
    let row = query(&whole, By::Digest, Quadrant::OftenFast, UNIX_EPOCH);
    assert_eq!((row.user.as_str(), row.schema.as_str(), row.server.as_str()), ("", "s", "db"));
}
