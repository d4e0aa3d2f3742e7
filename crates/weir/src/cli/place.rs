//! Where the configuration is, and the running Weir.

use clap::Args;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use weir_config::Address;

/// The configuration file of the service (contrib/weir.service).
const CONFIG: &str = "/etc/weir/weir.toml";
/// The variables that say where else it is, and where the running Weir answers.
const CONFIG_VARIABLE: &str = "WEIR_CONFIG";
const ADMIN_VARIABLE: &str = "WEIR_ADMIN";

/// The configuration file.
#[derive(Debug, Args)]
pub struct ConfigArg {
    /// The configuration file [default: what the variable WEIR_CONFIG names, else /etc/weir/weir.toml]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The file that `weir check` looks at: `-c` may be left out before it.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The configuration file, as with --config
    #[arg(value_name = "FILE", conflicts_with = "config")]
    file: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArg,
}

/// Where the running Weir is, and how it is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "The running Weir")]
pub struct At {
    #[command(flatten)]
    pub place: AtPlace,
    /// A file that holds nothing but a token, for where one is needed; the variable WEIR_TOKEN does the same
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Print the API's answer as JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct AtPlace {
    /// The configuration file of the running Weir; only `admin` of [listen] is read
    /// [default: what the variable WEIR_CONFIG names, else /etc/weir/weir.toml]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Its admin address, as [listen] has it, or as `weir run --admin` was given it [default: the variable WEIR_ADMIN]
    #[arg(long, value_name = "HOST:PORT|unix:/PATH")]
    admin: Option<Address>,
}

/// Where to look for the running Weir.
#[derive(Debug, PartialEq)]
pub enum Place {
    Admin(Address),
    /// A configuration file says it.
    File(PathBuf),
}

/// As it is written on the command line, with a blank before it; nothing where nothing was written.
impl std::fmt::Display for AtPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.config, &self.admin) {
            (Some(file), _) => write!(f, " -c {}", file.display()),
            (None, Some(admin)) => write!(f, " --admin {admin}"),
            (None, None) => Ok(()),
        }
    }
}

impl ConfigArg {
    /// The path. As of every command line that lacks something, the program ends with exit status 2 where there is none.
    pub fn or_exit(&self) -> PathBuf {
        or_exit(found(self.config.clone(), &variable, Path::new(CONFIG)))
    }
}

impl CheckArgs {
    /// The path, as [`ConfigArg::or_exit`] has it.
    pub fn or_exit(self) -> PathBuf {
        self.file.unwrap_or_else(|| self.config.or_exit())
    }
}

impl AtPlace {
    /// Where the command line says, else where the variables say, else where the service has it; else the program ends with exit
    /// status 2.
    pub fn or_exit(&self) -> Place {
        or_exit(self.place(&variable, Path::new(CONFIG)))
    }

    fn place(&self, variable: &dyn Fn(&str) -> Option<OsString>, usual: &Path) -> Result<Place, String> {
        if let Some(admin) = &self.admin {
            return Ok(Place::Admin(admin.clone()));
        }
        if let Some(admin) = variable(ADMIN_VARIABLE).filter(|_| self.config.is_none()) {
            let text = admin.to_string_lossy();
            let address = text
                .parse()
                .map_err(|wrong| format!("the variable {ADMIN_VARIABLE} is `{text}`: {wrong}"))?;
            return Ok(Place::Admin(address));
        }
        let file = found(self.config.clone(), variable, usual);
        file.map(Place::File).map_err(|lacks| {
            format!("{lacks}; or say where the running Weir answers, with --admin ADDRESS or the variable {ADMIN_VARIABLE}")
        })
    }
}

/// The configuration file for `weir run` without --backend.
pub fn config_for_run(given: Option<PathBuf>) -> PathBuf {
    let found = found(given, &variable, Path::new(CONFIG));
    or_exit(found.map_err(|lacks| format!("{lacks}; or begin without a file: weir run --backend HOST:PORT")))
}

fn found(
    given: Option<PathBuf>,
    variable: &dyn Fn(&str) -> Option<OsString>,
    usual: &Path,
) -> Result<PathBuf, String> {
    if let Some(path) = given.or_else(|| variable(CONFIG_VARIABLE).map(PathBuf::from)) {
        return Ok(path);
    }
    // What cannot be looked at is named by who reads it.
    if usual.try_exists().unwrap_or(true) {
        return Ok(usual.to_owned());
    }
    Err(format!(
        "there is no configuration file: --config is not given, the variable {CONFIG_VARIABLE} is not set, and {} is not there",
        usual.display()
    ))
}

/// An empty one is none.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn or_exit<T>(found: Result<T, String>) -> T {
    found.unwrap_or_else(|lacks| clap::Error::raw(ErrorKind::MissingRequiredArgument, lacks + "\n").exit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found with these variables and this file in the usual place.
    fn place(
        config: Option<&str>,
        admin: Option<&str>,
        set: &[(&str, &str)],
        usual: &Path,
    ) -> Result<Place, String> {
        let at =
            AtPlace { config: config.map(PathBuf::from), admin: admin.map(|text| text.parse().unwrap()) };
        let variable =
            |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| OsString::from(value));
        at.place(&variable, usual)
    }

    #[test]
    fn what_is_given_comes_before_what_is_set_and_that_before_what_is_usual() {
        let folder = tempfile::tempdir().unwrap();
        let (usual, gone) = (folder.path().join("weir.toml"), folder.path().join("gone.toml"));
        std::fs::write(&usual, "").unwrap();
        let set = [("WEIR_CONFIG", "set.toml"), ("WEIR_ADMIN", "unix:/set")];
        let file = |path: &str| Ok(Place::File(PathBuf::from(path)));
        let admin = |text: &str| Ok(Place::Admin(text.parse().unwrap()));
        assert_eq!(place(Some("a.toml"), None, &set, &usual), file("a.toml"));
        assert_eq!(place(None, Some("127.0.0.1:1"), &set, &usual), admin("127.0.0.1:1"));
        assert_eq!(place(None, None, &set, &usual), admin("unix:/set"));
        assert_eq!(place(None, None, &set[..1], &usual), file("set.toml"));
        assert_eq!(place(None, None, &[], &usual), Ok(Place::File(usual.clone())));
        let lacks = place(None, None, &[], &gone).unwrap_err();
        for looked in ["--config", "WEIR_CONFIG", "gone.toml", "--admin", "WEIR_ADMIN"] {
            assert!(lacks.contains(looked), "{looked} is not in: {lacks}");
        }
        let wrong = place(None, None, &[("WEIR_ADMIN", "6034")], &usual).unwrap_err();
        assert!(wrong.contains("WEIR_ADMIN") && wrong.contains("6034"), "{wrong}");
    }
}
