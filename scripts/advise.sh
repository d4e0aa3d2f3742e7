#!/usr/bin/env bash
# The cache advisor against fact: runs workloads through Weir without a rule, takes what the advisor tells of rules, makes
# them, runs the same again, and prints how far each prediction was off. Fails where one, of hits or of stale answers, is off by more than 10 points.
# Each of the five workloads runs up to five times, for 10 s: 4 to 5 minutes, with --seconds 30 some 13, beside building.
#
# Usage: scripts/advise.sh [WORKLOAD...] [OPTION...]     for example skewed --seconds 30
#   e2 e2-paced nontran nontran-paced skewed             the workloads; all without a name
#   --seconds 10   --ttl 1s,10s,1h   --stale 5   --clients 8   --rate 1000   --events 25   --seed 1
# `cargo run --release -p weir-bench -- advise --help` says what each is. WEIR_BIN=FILE is a Weir that is built already.
# The figures are also written to .cache/advise.json. It counts; it measures no time, so any build of Weir will do.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
helped "$@"
case ${1-} in
  '' | -* | e2 | e2-paced | nontran | nontran-paced | skewed) ;;
  *) echo "advise: there is no \"$1\"" >&2; usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/deps.sh
target=${CARGO_TARGET_DIR:-target}
cargo build --release -p weir-bench
if [ -z "${WEIR_BIN-}" ]; then
  cargo build --release -p weir
  export WEIR_BIN=$target/release/weir
fi
mkdir -p .cache
exec "$target/release/weir-bench" advise --json .cache/advise.json "$@"
