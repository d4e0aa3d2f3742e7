#!/usr/bin/env bash
# Builds Weir as it is packaged (scripts/dist.sh: 13 minutes the first time) and weir-bench, measures, and counts the instructions of the hot
# functions. Arguments go to `weir-bench run`: --quick (3 minutes instead of 20), --only point_select, --rounds 5;
# `cargo run --release -p weir-bench -- run --help` shows all. With --bless the counts are written down instead.
# All figures are also written to .cache/bench.json. The machine should have nothing else to do: the spread in the
# tables tells whether it had.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
helped "$@"
case ${1-} in
  '' | -*) ;;
  *) echo "bench: there is no \"$1\"" >&2; usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/deps.sh
scripts/get-mysql.sh
cargo build --release -p weir-bench
if [ "${1-}" = --bless ]; then
  exec target/release/weir-bench count --bless
fi
if [ -z "${WEIR_BIN-}" ]; then
  scripts/dist.sh
  export WEIR_BIN=${CARGO_TARGET_DIR:-target}/dist/weir
fi
mkdir -p .cache
# A proxy needs two descriptors for each of 10,000 idle clients; the default of many systems is 1,024.
ulimit -n "$(ulimit -Hn)"
target/release/weir-bench run --json .cache/bench.json "$@"
echo
echo "All figures: .cache/bench.json"
echo
target/release/weir-bench count
