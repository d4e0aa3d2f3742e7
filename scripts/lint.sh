#!/usr/bin/env bash
# What needs no server: format, warnings, licences, floors and sizes. `make lint` runs it.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/stages.sh

tools=$PWD/.cache/tools
PATH=$PATH:$tools/bin

# A build without optimisation: compiling takes a third of the time, and reading a lock file takes none.
install_cargo_deny() {
  cargo deny --version 2>/dev/null && return
  echo "cargo-deny is missing: building it into ${tools#"$PWD"/}, which takes some minutes once"
  cargo install --quiet --locked --debug --root "$tools" cargo-deny
}

# clippy runs the build scripts of C libraries.
needed "packages" scripts/deps.sh
stage "format" cargo fmt --all --check
stage "clippy" cargo clippy --quiet --workspace --all-targets -- -D warnings
stage "tidy" cargo xtask tidy
stage "cargo-deny is there" install_cargo_deny &&
  stage "licences, bans, sources" cargo deny --all-features check -A license-not-encountered licenses bans sources
summary
