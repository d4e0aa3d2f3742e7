//! The Weir binary.
fn main() {}
