//! Authentication exchanges of both sides, without I/O
