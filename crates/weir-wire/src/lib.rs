//! The MySQL client/server protocol as values and machines, without I/O
