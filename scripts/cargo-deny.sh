#!/usr/bin/env bash
# Runs cargo-deny with these arguments; builds it into .cache/tools first where it is missing. Without arguments, only that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/again.sh
tools=$PWD/.cache/tools
PATH=$PATH:$tools/bin

mkdir -p "$tools"
exec 9>"$tools/lock"
flock 9
if ! cargo deny --version >/dev/null 2>&1; then
  echo "cargo-deny is missing: building it into ${tools#"$PWD"/}, which takes some minutes once"
  # A build without optimisation or debug information: compiling takes a third of the time, and reading a lock file takes none.
  CARGO_PROFILE_DEV_DEBUG=0 thrice cargo install --quiet --locked --debug --root "$tools" cargo-deny
fi
flock -u 9
[ $# -eq 0 ] || exec cargo deny "$@"
