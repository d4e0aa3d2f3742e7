#!/usr/bin/env bash
# What needs no server: format, warnings, licences, floors and sizes. `make lint` runs it.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/stages.sh

# clippy runs the build scripts of C libraries.
needed "packages" scripts/deps.sh
ahead scripts/cargo-deny.sh
stage "format" cargo fmt --all --check
stage "clippy" cargo clippy --quiet --workspace --all-targets -- -D warnings
# After `make test` in the same run it has been done.
grep -q $'^passed\ttidy\t' "$WEIR_STAGES" || stage "tidy" cargo xtask tidy
stage "cargo-deny is there" scripts/cargo-deny.sh &&
  stage "licences, bans, sources" scripts/cargo-deny.sh --all-features check -A license-not-encountered licenses bans sources
summary
