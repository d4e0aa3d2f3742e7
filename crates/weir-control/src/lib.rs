//! Reload, drain, service notifications
