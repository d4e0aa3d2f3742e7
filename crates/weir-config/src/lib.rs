//! weir.toml: text and environment to a checked configuration
