use super::*;

const SAID: &str = "\
Threads started!

SQL statistics:
    queries performed:
        read:                            14000
        write:                           4000
        other:                           2000
        total:                           20000
    transactions:                        1000   (333.10 per sec.)
    queries:                             20000  (6662.00 per sec.)
    ignored errors:                      3      (0.99 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.0021s
    total number of events:              1000

Latency (ms):
         min:                                    1.09
         avg:                                    2.99
         max:                                   17.25
         95th percentile:                        4.48
         sum:                                 5993.01
";

#[test]
fn reads_the_summary() {
    let expected = Seen {
        queries: 20_000.0,
        reads: 14_000.0,
        per_second: 6662.0,
        events_per_second: 333.1,
        mean_ms: 2.99,
        p95_ms: 4.48,
        max_ms: 17.25,
        errors: 3.0,
        ..Seen::default()
    };
    assert_eq!(parse(SAID), Some(expected));
}

#[test]
fn a_summary_that_is_cut_is_refused() {
    let (cut, _) = SAID.split_once("95th").unwrap();
    assert_eq!(parse(cut), None);
}

#[test]
fn sysbench_is_told_what_the_load_says() {
    let scripts = Scripts::write().unwrap();
    let login = Login { user: "app", password: "secret", schema: "bench" };
    let tables = Tables { count: 3, rows: 500 };
    let address = "127.0.0.1:3307".parse().unwrap();
    let told = |script, prepared| {
        let load = Load {
            script,
            tables,
            threads: 2,
            seconds: 1,
            prepared,
            uniform: prepared,
            seed: None,
            events_per_second: None,
            address,
            login,
        };
        let command = command(&load, &scripts);
        command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let args = told(Script::ReadOnlySkipTrx, false);
    for wanted in ["oltp_read_only", "--skip-trx=on", "--tables=3", "--table-size=500", "--mysql-port=3307"] {
        assert!(args.iter().any(|arg| arg == wanted), "{wanted} is missing in {args:?}");
    }
    assert!(args.iter().any(|arg| arg == "--db-ps-mode=disable"));
    let args = told(Script::Nontran, true);
    assert!(args[0].ends_with("oltp_nontran.lua") && Path::new(&args[0]).exists());
    assert!(!args.iter().any(|arg| arg.contains("skip-trx")));
    assert!(args.iter().any(|arg| arg == "--db-ps-mode=auto"));
    assert!(args.iter().any(|arg| arg == "--rand-type=uniform"));
}
