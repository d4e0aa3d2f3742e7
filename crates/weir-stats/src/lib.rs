//! Counters and histograms, one writer each, readable from any thread
