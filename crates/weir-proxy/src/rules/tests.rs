use super::*;
use crate::doing::Doing;
use crate::worker::Learned;
use weir_cache::CacheLimits;
use weir_model::rule::{CacheShare, Ratio, RuleCommand, RuleMatch};
use weir_policy::Connection;
use weir_sql::{Facts, StatementKind};

fn rule(name: &str, user: Option<&str>, mode: CacheMode) -> Rule {
    Rule {
        name: name.to_owned(),
        matches: RuleMatch { user: user.map(str::to_owned), ..RuleMatch::default() },
        cache: Some(weir_model::rule::CacheRule {
            mode,
            ttl: Duration::from_secs(1),
            soft_ttl: None,
            stale_if_error: Duration::ZERO,
            share: CacheShare::User,
            views: false,
            own_writes: true,
            verify: Ratio::ZERO,
        }),
        rewrite: None,
        deny: None,
        limit: None,
        timeout: None,
        continues: false,
    }
}

fn make(maker: &RuleMaker, list: Vec<Rule>) -> Result<Rules, Vec<RuleError>> {
    maker.make(list, &Cache::new(CacheLimits::default(), 1), LexMode::new(ServerFamily::MySql, 90_704))
}

#[test]
fn counts_stay_with_the_name_of_a_rule() {
    let maker = RuleMaker::default();
    let rules =
        make(&maker, vec![rule("a", None, CacheMode::Serve), rule("b", None, CacheMode::Serve)]).unwrap();
    rules.hit(RuleIndex(0), 0);
    rules.hit(RuleIndex(0), 1);
    rules.hit(RuleIndex(1), 9);
    rules.took(RuleIndex(0), 5, 0);
    rules.took(RuleIndex(0), 7, 1);
    let next =
        make(&maker, vec![rule("b", None, CacheMode::Serve), rule("a", None, CacheMode::Off)]).unwrap();
    assert!(next.generation > rules.generation);
    let counts = next.counts().into_iter().map(|c| (c.name, c.hits, c.last_hit.is_some(), c.took.as_nanos()));
    assert_eq!(counts.collect::<Vec<_>>(), [("b".to_owned(), 1, true, 0), ("a".to_owned(), 2, true, 12)]);
    make(&maker, Vec::new()).unwrap();
    let anew = make(&maker, vec![rule("a", None, CacheMode::Serve)]).unwrap();
    assert_eq!(anew.counts().first().map(|c| (c.hits, c.last_hit)), Some((0, None)));
}

/// Also where the cache still knows the name, for it has entries.
#[test]
fn what_the_cache_has_counted_stays_with_a_rule_and_ends_with_it() {
    let (maker, cache) = (RuleMaker::default(), Cache::new(CacheLimits::default(), 1));
    let make = |list: &[Rule]| maker.make(list.to_vec(), &cache, LexMode::new(ServerFamily::MySql, 90_704));
    let (a, b) = (rule("a", None, CacheMode::Serve), rule("b", None, CacheMode::Serve));
    let rules = make(std::slice::from_ref(&a)).unwrap();
    let cached = rules.cached(RuleIndex(0)).unwrap();
    let passed =
        || cache.stats().rules.iter().find(|rule| &*rule.name == "a").map(|rule| rule.refused.clone());
    let passed = || passed().map(|refused| refused.iter().map(|(_, count)| count).sum::<u64>());
    cached.refuse(weir_cache::Refusal::Bypass);
    let key = cache.key(b"key");
    let scope = Arc::new(weir_cache::Scope::new(Arc::clone(cached), 1, "x"));
    let terms = weir_cache::Terms::ttl(Duration::from_secs(60));
    let ask = weir_cache::Ask { key, scope: &scope, terms, floor: None };
    let weir_cache::Lookup::Miss(ticket) = cache.lookup(&ask, Instant::now()) else { panic!() };
    let answer =
        weir_cache::Answer { packets: b"1", warning_packets: &[], about: weir_cache::About::default() };
    assert!(matches!(ticket.fill(&answer, Instant::now()), weir_cache::Fill::Stored(_)));
    // Edited, or moved: it is the same.
    make(&[b.clone(), rule("a", Some("x"), CacheMode::Serve)]).unwrap();
    assert_eq!(passed(), Some(1));
    make(&[b]).unwrap();
    assert_eq!(passed(), Some(1), "it is gone, and has an entry");
    make(&[a]).unwrap();
    assert_eq!(passed(), Some(0));
    assert_eq!(cache.stats().entries, 1);
}

#[test]
fn a_user_whom_no_rule_concerns_is_told() {
    let maker = RuleMaker::default();
    let caches = |list: Vec<Rule>, user: &str| make(&maker, list).unwrap().caches_for(user.as_bytes());
    assert!(caches(vec![rule("a", None, CacheMode::Serve)], "x"));
    assert!(!caches(vec![rule("a", None, CacheMode::Off)], "x"));
    assert!(caches(vec![rule("a", Some("x"), CacheMode::Shadow)], "x"));
    assert!(!caches(vec![rule("a", Some("y"), CacheMode::Serve)], "x"));
    assert!(!Rules::none().caches_for(b"x"));
}

#[test]
fn two_rules_of_one_name_are_refused_and_change_nothing() {
    let maker = RuleMaker::default();
    let twice = vec![rule("a", None, CacheMode::Serve), rule("a", None, CacheMode::Serve)];
    assert!(make(&maker, twice).is_err());
    assert_eq!(make(&maker, Vec::new()).unwrap().generation, 1);
}

#[test]
fn a_worker_follows_the_rules_and_the_server() {
    let maker = RuleMaker::default();
    let mut quoted = rule("a", None, CacheMode::Serve);
    quoted.matches.digest = Some("SELECT /*!90000 a, */ b FROM t".to_owned());
    let rules = Arc::new(make(&maker, vec![quoted]).unwrap());
    let mut worker = WorkerRules::none();
    worker.follow(&rules, (ServerFamily::MySql, 90_704));
    assert_eq!(worker.set.generation(), rules.generation);
    let digest = |set: &RuleSet, sql: &str, mode| {
        let digest = weir_sql::Digest::of(sql.as_bytes(), mode);
        let statement = weir_policy::Statement {
            digest: digest.id,
            digest_text: &digest.text,
            text: sql.as_bytes(),
            reads: &[],
            writes: &[],
            kind: weir_model::rule::RuleKind::Read,
            command: weir_model::rule::RuleCommand::Query,
        };
        !set.select(&statement).is_empty()
    };
    let new = LexMode::new(ServerFamily::MySql, 90_704);
    let old = LexMode::new(ServerFamily::MySql, 80_036);
    assert!(digest(&worker.set, "select a, b from t", new));
    worker.follow(&rules, (ServerFamily::MySql, 80_036));
    assert!(!digest(&worker.set, "select a, b from t", old));
    assert!(digest(&worker.set, "select b from t", old));
}

/// Not even by texts that never come again.
#[test]
fn nothing_keeps_rules_that_are_not_in_force_any_more() {
    let (maker, server) = (RuleMaker::default(), (ServerFamily::MySql, 90_704));
    let mode = LexMode::new(server.0, server.1);
    let mut learned = Learned::new(7);
    let rules = Arc::new(make(&maker, vec![rule("a", None, CacheMode::Serve)]).unwrap());
    learned.follow(&rules, server);
    let sql = b"SELECT v FROM t WHERE id=1";
    assert!(learned.texts.find(sql, mode).is_none());
    let facts = Facts::of(sql, mode, true);
    learned.texts.keep(&facts, &Doing::of_text(sql, facts.clone()), mode);
    let kind = (|| StatementKind::Read, RuleCommand::Query);
    let found = learned.judgements.of(sql, learned.texts.last(), mode, kind);
    let set = &learned.rules.set;
    let at = Connection { user: b"app", schema: None, schema_unknown: false, client_ip: None };
    let connection = set.connection(&at);
    let selection = found.judged.selection(set, sql, mode, found.exact);
    let decision = set.decide_known(&selection, &connection);
    learned.texts.pass(mode, &found, &rules, (&decision, &connection), server);
    let passes = |learned: &mut Learned| learned.texts.find(sql, mode).map(|text| text.passing.is_some());
    assert_eq!(passes(&mut learned), Some(true));
    let gone = Arc::downgrade(&rules);
    drop(rules);
    let next = Arc::new(make(&maker, Vec::new()).unwrap());
    learned.follow(&next, server);
    assert_eq!((passes(&mut learned), gone.upgrade().is_none()), (Some(false), true));
}
