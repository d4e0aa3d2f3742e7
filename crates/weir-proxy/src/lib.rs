//! One query, step by step
