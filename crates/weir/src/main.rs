//! The Weir binary: arguments to a configuration, a configuration to a running proxy.

mod build;
mod cli;
mod control;
mod history;
mod logging;
mod metrics;
mod pulse;
mod query_log;
mod run;
mod verbs;

use clap::Parser;
use cli::{Cli, Command, Source};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use weir_config::{Config, Report};
use weir_model::ServerFamily;
use weir_sql::LexMode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit status for a configuration that cannot be used.
const BAD_CONFIG: u8 = 2;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(source) => match load(source) {
            Ok((config, file)) => started(run::run(config, file)),
            Err(report) => bad(&report),
        },
        Command::Check(args) => checked(&args.or_exit()),
        Command::Rules(verb) => started(verbs::rules(*verb)),
        Command::Cache(verb) => started(verbs::cache(verb)),
        Command::Queries(args) => started(verbs::queries(args)),
        Command::Sessions(args) => started(verbs::sessions(args)),
        Command::Status { at } => started(verbs::status(&at)),
        Command::Kill(args) => started(verbs::kill(args)),
        Command::Advise(args) => started(verbs::advise(args)),
        Command::History(args) => started(verbs::history(args)),
        Command::Explain(args) => started(verbs::explain(args)),
        Command::Reload { at } => started(verbs::reload(&at)),
        Command::Completion { shell } => started(verbs::print(&Cli::completion(shell))),
        Command::Top(args) => started(verbs::top(&args)),
        Command::Token(verb) => started(verbs::token(verb)),
        Command::ConfigSchema => started(verbs::print(&format!("{:#}", weir_config::schema()))),
    }
}

/// `weir check`
fn checked(path: &Path) -> ExitCode {
    let config = match weir_config::load(path) {
        Ok(config) => config,
        Err(report) => return bad(&report),
    };
    if let Err(error) = check(&config) {
        eprintln!("error: {error:#}");
        return ExitCode::from(BAD_CONFIG);
    }
    println!("{}: the configuration is good", path.display());
    ExitCode::SUCCESS
}

/// What only building tells. Warns of what is good and does nothing.
fn check(config: &Config) -> anyhow::Result<()> {
    build::target(config)?;
    // The server is not asked here; no error depends on it.
    let mode = LexMode::new(ServerFamily::MySql, 0);
    weir_policy::RuleSet::compile(&config.rules, 1, mode).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow::anyhow!(texts.join("\nerror: "))
    })?;
    weir_policy::lint(&config.rules).iter().for_each(|warning| eprintln!("warning: {warning}"));
    build::settings(config, None)?;
    missing_folders(config).iter().for_each(|warning| eprintln!("warning: {warning}"));
    Ok(())
}

/// What the running Weir tries again and again to write, and cannot.
fn missing_folders(config: &Config) -> Vec<String> {
    let history = config.history.file.as_ref().filter(|_| config.history.enabled);
    let files = [("history.file", history), ("query_log.file", config.query_log.file.as_ref())];
    let lacks = files.into_iter().filter_map(|(key, file)| {
        let folder = file?.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())?;
        Some(format!("{key}: there is no folder {}: make it, or nothing is written there", folder.display()))
    });
    lacks.collect()
}

/// The configuration, and the file that it stands in.
fn load(source: Source) -> Result<(Config, Option<PathBuf>), Report> {
    let (listen, admin) = (source.listen.as_deref(), source.admin.as_deref());
    if let Some(backend) = &source.backend {
        return weir_config::from_backend(backend, listen, admin).map(|config| (config, None));
    }
    let path = cli::config_for_run(source.config);
    weir_config::load(&path).map(|config| (config, Some(path)))
}

fn bad(report: &Report) -> ExitCode {
    eprintln!("{}", report.render(std::io::stderr().is_terminal()));
    ExitCode::from(BAD_CONFIG)
}

fn started(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // What is said of a file begins with the word already.
            let said = format!("{error:#}");
            eprintln!("error: {}", said.strip_prefix("error: ").unwrap_or(&said));
            ExitCode::FAILURE
        }
    }
}
