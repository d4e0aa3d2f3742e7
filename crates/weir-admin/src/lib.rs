//! HTTP: health, readiness, metrics
