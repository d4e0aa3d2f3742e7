//! `weir.toml`: text and environment to a checked configuration, and the difference of two.
//!
//! [`parse`] is a function of its arguments: it must not open a socket or a file, read a clock or the
//! environment, or depend on any crate of Weir but `weir-model`. Only [`load`], in `loader.rs`, touches the
//! file system and the environment. Whatever leaves this crate is checked: a [`Config`] can be acted upon as it
//! is, and no secret of it shows in `Debug`, in a [`Report`] or in [`Changes`].

mod address;
mod build;
mod checks;
mod diff;
mod hints;
mod json;
mod keys;
mod loader;
mod mask;
mod parse;
mod report;
mod schema;
mod secret;
mod types;
mod units;
mod walk;
mod write;

pub use address::{Address, AddressError};
pub use checks::is_plain_name;
pub use diff::{Changes, diff};
pub use json::{rule_from_json, rule_json};
pub use loader::{load, load_admin, load_file, load_text};
pub use parse::{from_backend, parse, parse_rule};
pub use report::{Place, Problem, Report};
pub use schema::schema;
pub use secret::SecretString;
pub use types::{
    Admission, Analytics, Auth, Cache, ClientTls, Compression, Config, HintsFrom, History, Io, Listen, Log,
    LogFormat, LogLevel, Pool, QueryLog, Server, ServerTls, Sharing, TlsMode, User,
};
pub use units::{duration, duration_text};
pub use weir_model::{IpNet, Role, Token, TokenHash};
pub use write::{rule_text, tokens_of, with_rules, with_token, without_token};
