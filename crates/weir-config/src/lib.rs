//! `weir.toml`: text and environment to a checked configuration, and the difference of two.
//!
//! [`parse`] is a function of its arguments: it must not open a socket or a file, read a clock or the
//! environment, or depend on any crate of Weir but `weir-model`. Only [`load`], in `loader.rs`, touches the
//! file system and the environment. Whatever leaves this crate is checked: a [`Config`] can be acted upon as it
//! is, and no secret of it shows in `Debug`, in a [`Report`] or in [`Changes`].

mod address;
mod network;
mod report;
mod secret;
mod types;

pub use address::{Address, AddressError};
pub use network::IpNet;
pub use report::{Place, Problem, Report};
pub use secret::SecretString;
pub use types::{
    Auth, ClientTls, Compression, Config, Listen, Log, LogFormat, LogLevel, Server, ServerTls, TlsMode, User,
};
