//! `cargo xtask fuzz`: builds the targets of `fuzz/` with coverage instrumentation on stable Rust and runs
//! libFuzzer on each for a while, starting from the committed corpus.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail, ensure};

/// What makes rustc report to libFuzzer which code an input reaches (SanitizerCoverage of LLVM), and which
/// values it is compared with.
const RUSTFLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0 --cfg fuzzing";

/// Targets that run at the same time.
const JOBS: usize = 2;
const SECONDS: u32 = 30;
/// A single input may take this long; real ones take microseconds.
const INPUT_SECONDS: u32 = 10;
/// A parser that takes more than this has lost its bounds.
const MEMORY_MB: u32 = 1024;

struct Options {
    seconds: u32,
    /// Where libFuzzer's random choices begin; without it, somewhere else each time.
    seed: Option<u32>,
    keep: bool,
    build_only: bool,
    targets: Vec<String>,
}

struct Paths {
    root: PathBuf,
    fuzz: PathBuf,
    binaries: PathBuf,
}

/// What a run came to, in one line for people and one bit for the exit status.
struct Outcome {
    ok: bool,
    text: String,
}

pub fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    let root = crate::root()?;
    let fuzz = root.join("fuzz");
    let options = Options::parse(args, &all_targets(&fuzz)?)?;
    let host = host()?;
    build(&fuzz, &host, &options.targets)?;
    if options.build_only {
        return Ok(ExitCode::SUCCESS);
    }
    let paths = Paths { binaries: fuzz.join("target").join(host).join("release"), fuzz, root };
    println!("{} targets, {} s each, {JOBS} at a time", options.targets.len(), options.seconds);
    let queue = Mutex::new(VecDeque::from(options.targets.clone()));
    let failed = Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(target) = next else { break };
                    let outcome = one(&paths, &target, &options);
                    let outcome = outcome.unwrap_or_else(|e| Outcome { ok: false, text: format!("{e:#}") });
                    println!("{target:<22} {}", outcome.text);
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) += usize::from(!outcome.ok);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed > 0 {
        println!("fuzz: {failed} target(s) failed");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

impl Options {
    fn parse(args: &[String], all: &[String]) -> anyhow::Result<Self> {
        let mut options =
            Self { seconds: SECONDS, seed: None, keep: false, build_only: false, targets: Vec::new() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--seconds" => {
                    let value = args.next().context("--seconds needs a number")?;
                    options.seconds = value.parse().with_context(|| format!("--seconds {value}"))?;
                    // libFuzzer takes 0 for "without end".
                    ensure!(options.seconds > 0, "--seconds must be at least 1");
                }
                "--seed" => {
                    let value = args.next().context("--seed needs a number")?;
                    options.seed = Some(value.parse().with_context(|| format!("--seed {value}"))?);
                }
                "--keep" => options.keep = true,
                "--build" => options.build_only = true,
                name if all.iter().any(|t| t == name) => options.targets.push(name.to_owned()),
                other => bail!("{other} is no target and no option; the targets are {}", all.join(" ")),
            }
        }
        if options.targets.is_empty() {
            options.targets = all.to_vec();
        }
        Ok(options)
    }
}

fn all_targets(fuzz: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(fuzz.join("src/bin")).context("fuzz/src/bin")? {
        let path = entry?.path();
        names.extend(path.file_stem().and_then(|s| s.to_str()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The triple of this machine. Given as `--target`, it keeps the flags away from build scripts and macros.
fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc -vV")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|l| l.strip_prefix("host: ")).context("rustc -vV names no host")?;
    Ok(host.to_owned())
}

fn build(fuzz: &Path, host: &str, targets: &[String]) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target", host, "--manifest-path"]).arg(fuzz.join("Cargo.toml"));
    for target in targets {
        cargo.args(["--bin", target]);
    }
    // In place of whatever stands in the environment: both would otherwise be mixed, and all is built twice.
    cargo.env("CARGO_TARGET_DIR", fuzz.join("target")).env("RUSTFLAGS", RUSTFLAGS);
    cargo.env_remove("CARGO_ENCODED_RUSTFLAGS");
    ensure!(cargo.status().context("cargo build")?.success(), "the fuzz targets do not build");
    Ok(())
}

/// Runs one target. What it finds goes to `fuzz/target/corpus`, so that a run changes no committed file.
fn one(paths: &Paths, target: &str, options: &Options) -> anyhow::Result<Outcome> {
    let seeds = paths.fuzz.join("corpus").join(target);
    let found = paths.fuzz.join("target/corpus").join(target);
    let artifacts = paths.fuzz.join("artifacts").join(target);
    for folder in [&seeds, &found, &artifacts] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let binary = paths.binaries.join(target);
    let mut fuzzer = Command::new(&binary);
    fuzzer.args(options.seed.map(|seed| format!("-seed={seed}")));
    let output = fuzzer
        .arg(format!("-max_total_time={}", options.seconds))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([&found, &seeds])
        .output()
        .with_context(|| binary.display().to_string())?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let log_path = paths.fuzz.join("target").join(format!("{target}.log"));
    fs::write(&log_path, &log).with_context(|| log_path.display().to_string())?;
    let mut outcome = judge(&log, output.status.success(), &binary, &log_path);
    outcome.text = outcome.text.replace(&format!("{}/", paths.root.display()), "");
    if outcome.ok && options.keep {
        let merged = Command::new(&binary).arg("-merge=1").args([&seeds, &found]).output()?;
        ensure!(merged.status.success(), "the corpus could not be merged");
    }
    Ok(outcome)
}

/// Reads libFuzzer's log. Its lines are `#<inputs> <what> cov: <edges> ft: ... exec/s: ...`.
fn judge(log: &str, success: bool, binary: &Path, log_path: &Path) -> Outcome {
    let coverage: Vec<u64> = log.lines().filter_map(|line| number_after(line, "cov: ")).collect();
    let inputs = log.lines().rev().find_map(|line| number_after(line.strip_prefix('#').map(|_| line)?, "#"));
    let inputs = inputs.unwrap_or(0);
    let (first, last) = (coverage.first().copied().unwrap_or(0), coverage.last().copied().unwrap_or(0));
    let numbers = format!("{inputs:>11} inputs  cov {first:>5} -> {last:<5}");
    if !success {
        let artifact = log.lines().find_map(|l| l.split("Test unit written to ").nth(1)).unwrap_or("none");
        let base64 = log.lines().find_map(|l| l.strip_prefix("Base64: ")).unwrap_or("unknown");
        let cause = cause(log);
        let (binary, log_path) = (binary.display(), log_path.display());
        let text = format!(
            "{numbers} CRASH\n  cause:  {cause}\n  input:  {artifact}\n  base64: {base64}\n  replay: {binary} {artifact}\n  log:    {log_path}"
        );
        return Outcome { ok: false, text };
    }
    if last == 0 {
        let text = format!("{numbers} NO COVERAGE: the build is not instrumented, this run proves nothing");
        return Outcome { ok: false, text };
    }
    Outcome { ok: true, text: format!("{numbers} ok") }
}

/// The panic with its message, or libFuzzer's own error.
fn cause(log: &str) -> String {
    let mut lines = log.lines().skip_while(|l| !l.contains("panicked at") && !l.contains("ERROR: "));
    let first = lines.next().unwrap_or("unknown").to_owned();
    let message = lines.take(4).take_while(|l| !l.starts_with("stack backtrace") && !l.starts_with("=="));
    message.fold(first, |text, line| text + "\n          " + line)
}

/// The number that follows `key` in a line.
fn number_after(line: &str, key: &str) -> Option<u64> {
    let rest = line.split(key).nth(1)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests;
