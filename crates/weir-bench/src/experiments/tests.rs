use super::*;

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

pub(super) fn args(words: &[&str]) -> Args {
    let cli: Cli = clap::Parser::parse_from([&["weir-bench"], words].concat());
    cli.args
}

pub(super) fn parameters(words: &[&str]) -> Parameters {
    args(words).parameters("weir 1".into(), (1, 2), 2)
}

pub(super) fn group(sweep: &[u32]) -> Group {
    let mut groups = plan::groups(&args(&["e1", "--servers", "mariadb"]));
    Group { sweep: sweep.to_vec(), ..groups.swap_remove(0) }
}

#[test]
fn the_plan_has_all_variants_of_a_number_of_clients_together() {
    let groups = plan::groups(&args(&["e4", "e1", "--servers", "mysql,mariadb", "--threads", "8,1,8"]));
    let names: Vec<_> = groups.iter().map(|g| (g.server.name(), g.experiment.key(), g.script)).collect();
    assert_eq!(
        names,
        [
            ("MariaDB", "e1", Script::ReadOnly),
            ("MariaDB", "e1", Script::ReadWrite),
            ("MariaDB", "e4", Script::PointSelect),
            ("MySQL", "e1", Script::ReadOnly),
            ("MySQL", "e1", Script::ReadWrite),
            ("MySQL", "e4", Script::PointSelect),
        ]
    );
    let steps: Vec<_> = groups[0].steps().map(|step| (step.threads, step.variant.key())).collect();
    let expected = [(1, "direct"), (1, "weir"), (1, "cached"), (8, "direct"), (8, "weir"), (8, "cached")];
    assert_eq!(steps, expected);
    // MySQL has no query cache that could be switched on.
    assert!(
        groups[2].variants.contains(&Variant::QueryCache)
            && !groups[5].variants.contains(&Variant::QueryCache)
    );
}

#[test]
fn the_sweep_is_of_powers_of_two() {
    assert_eq!(args(&[]).sweep(), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
    assert_eq!(args(&["--max-threads", "4096"]).sweep().last(), Some(&4096));
    assert_eq!(args(&["--quick"]).sweep(), [1, 8, 64]);
}

#[test]
fn weir_is_configured_as_the_variant_says() {
    let backend = "127.0.0.1:3306".parse().unwrap();
    let config = |variant, words: &[&str]| stage::config(variant, backend, &parameters(words), 256);
    let plain = config(Variant::Weir, &[]);
    assert!(!plain.contains("[[rule]]") && plain.contains("max_connections = 100\n"), "{plain}");
    let cached = config(Variant::Cached, &["--ttl", "5m", "--sharing", "session"]);
    assert!(
        cached.contains("cache = { ttl = \"5m\" }") && cached.contains("max_connections = 356\n"),
        "{cached}"
    );
    assert!(config(Variant::CachedLoose, &[]).contains("own_writes = false"));
}

#[test]
fn figures_are_differences_between_the_marks() {
    let at = |seconds: u64, hits| Mark {
        server: Cpu { user: Duration::from_secs(seconds), sys: Duration::from_secs(seconds / 2) },
        weir: Some(Cpu { user: Duration::from_secs(seconds), sys: Duration::ZERO }),
        machine: Duration::from_secs(3 * seconds),
        cache: Some(CacheCounts { hits, misses: 5.0 }),
    };
    let client = Cpu { user: Duration::from_secs(1), sys: Duration::from_secs(1) };
    let seen = load::Seen {
        queries: 200.0,
        reads: 100.0,
        per_second: 50.0,
        wall: 4.0,
        client,
        ..Default::default()
    };
    let figures = figures(&seen, &at(10, 20.0), &at(14, 95.0));
    assert_eq!(figures.server, Cores { user: 1.0, sys: 0.5 });
    assert_eq!(figures.weir, Some(Cores { user: 1.0, sys: 0.0 }));
    assert_eq!(figures.client, Cores { user: 0.25, sys: 0.25 });
    assert_eq!((figures.machine, figures.reads_per_second), (3.0, 25.0));
    assert_eq!((figures.hits, figures.misses), (Some(75.0), Some(0.0)));
}
