//! Any text as `weir.toml`: a report or a configuration, and neither shows a secret.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_config::{diff, parse};

const FROM_ENV: &str = "secret-of-the-environment";
const FROM_FILE: &str = "secret-of-a-file";

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let env = |name: &str| (name.len() % 2 == 0).then(|| FROM_ENV.to_owned());
    let shown = match parse("weir.toml", text, &env, &|_| Ok(FROM_FILE.to_owned())) {
        Ok(config) => {
            assert!(diff(&config, &config).is_empty());
            format!("{config:?}")
        }
        Err(report) => {
            assert!(!report.problems().is_empty());
            report.render(true) + &report.to_string()
        }
    };
    for secret in [FROM_ENV, FROM_FILE] {
        assert!(!shown.contains(secret) || text.contains(secret), "a secret is shown: {shown}");
    }
});
