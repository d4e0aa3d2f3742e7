//! Sockets, TLS, PROXY protocol, scratch buffers
