#!/usr/bin/env bash
# Everything that `make test` runs, in stages with their times. A stage whose program is missing fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/stages.sh

needed "packages" scripts/deps.sh
needed "MySQL" scripts/get-mysql.sh
# Not the release build: the tests ask for correctness, and it costs minutes on a cold machine.
needed "build" cargo build --quiet -p weir
stage "unit and integration tests" cargo test --quiet --workspace --no-fail-fast
stage "tidy" cargo xtask tidy
for family in mariadb mysql; do
  stage "differential, $family" cargo run --quiet -p weir-testkit --bin differential -- \
    --spawn --family "$family" --statements 20000
  stage "hostile clients, $family" cargo run --quiet -p weir-testkit --bin hostile -- \
    --weir-bin "${CARGO_TARGET_DIR:-target}/debug/weir" --family "$family"
  stage "drivers, $family" cargo run --quiet -p weir-testkit --bin drivers -- --family "$family"
done
stage "fuzz" cargo xtask fuzz --seconds 30
summary
