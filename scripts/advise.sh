#!/usr/bin/env bash
# The cache advisor against fact: runs workloads through Weir without a rule, takes what the advisor tells of rules, makes
# them, runs the same again, and prints how far each prediction was off. Fails where one is off by more than 10 points.
# Arguments go to `weir-bench advise`: e2 e2-paced nontran nontran-paced skewed, --seconds 10, --ttl 1s,10s,1h, --rate, --seed; --help shows all.
# The figures are also written to .cache/advise.json. It counts; it measures no time, so any build of Weir will do.
set -euo pipefail
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
