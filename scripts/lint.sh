#!/usr/bin/env bash
# What needs no server: format, warnings, licences, floors and sizes. `make lint` runs it.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/stages.sh

# Each script that takes words says how it is called, and begins nothing where it is asked for what it does not know.
usages() {
  local script word status bad=0
  for script in advise bench demo deps digests dist experiments get-mysql schemathesis wordpress; do
    timeout 10 "scripts/$script.sh" --help | grep -q "$script.sh\|weir-bench" || { echo "$script.sh --help does not say how it is called"; bad=1; }
    [ "$script" = get-mysql ] || for word in no-such-word "stop it"; do
      status=0
      # shellcheck disable=SC2086 # words
      timeout 10 "scripts/$script.sh" $word >/dev/null 2>&1 || status=$?
      [ "$status" -eq 2 ] || { echo "$script.sh $word ends with status $status in place of 2"; bad=1; }
    done
  done
  return "$bad"
}

# clippy runs the build scripts of C libraries.
needed "packages" scripts/deps.sh
ahead scripts/cargo-deny.sh
stage "how scripts are called" usages
stage "format" cargo fmt --all --check
stage "clippy" cargo clippy --quiet --workspace --all-targets -- -D warnings
# After `make test` in the same run it has been done.
grep -q $'^passed\ttidy\t' "$WEIR_STAGES" || stage "tidy" cargo xtask tidy
stage "cargo-deny is there" scripts/cargo-deny.sh &&
  stage "licences, bans, sources" scripts/cargo-deny.sh --all-features check -A license-not-encountered licenses bans sources
summary
