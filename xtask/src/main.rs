//! The project's own tools: `cargo xtask tidy` and `cargo xtask fuzz`.

mod fuzz;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

const USAGE: &str = "\
cargo xtask tidy    check floors, the wall, sizes, words and links; prints file:line: what; why
cargo xtask fuzz [--seconds 30] [--keep] [--build] [target...]
                    run the fuzz targets, all by default; --keep adds what widened the coverage to fuzz/corpus,
                    --build only builds them
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("tidy") => tidy::run(),
        Some("fuzz") => fuzz::run(&args[1..]),
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprint!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::from(2)
    })
}

/// The top folder of the workspace: the parent of this package.
fn root() -> anyhow::Result<PathBuf> {
    let parent = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    Ok(parent.context("xtask lies in a folder of the workspace")?.to_path_buf())
}
