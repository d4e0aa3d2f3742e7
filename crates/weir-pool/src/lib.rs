//! Server connections: dial, log in, greeting cache
