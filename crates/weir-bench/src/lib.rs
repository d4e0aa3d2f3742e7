//! The experiments behind make bench
