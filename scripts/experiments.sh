#!/usr/bin/env bash
# Repeats the published experiments E1, E2 and E4 with sysbench: builds Weir as it is packaged (scripts/dist.sh) and
# weir-bench, measures, and writes a report with graphs. A run that was interrupted goes on where it stopped.
# Arguments go to `weir-bench experiments`: e1 e2 e4, --quick (3 minutes instead of 20), --max-threads 4096, --fresh,
# --dry-run; `cargo run --release -p weir-bench -- experiments --help` shows all. MySQL is measured as well where
# WEIR_MYSQL_DIR names its folder (scripts/get-mysql.sh).
# Everything is written to .cache/experiments: report.html, results.csv, results.json, state.jsonl.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
helped "$@"
case ${1-} in
  '' | -* | e1 | e2 | e4) ;;
  *) echo "experiments: there is no \"$1\"" >&2; usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/deps.sh
target=${CARGO_TARGET_DIR:-target}
cargo build --release -p weir-bench
if [ -z "${WEIR_BIN-}" ]; then
  scripts/dist.sh
  export WEIR_BIN=$target/dist/weir
fi
# A proxy needs two descriptors for each client; the default of many systems is 1,024.
ulimit -n "$(ulimit -Hn)"
exec "$target/release/weir-bench" experiments "$@"
