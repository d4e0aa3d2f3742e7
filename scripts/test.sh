#!/usr/bin/env bash
# Everything that `make test` runs, in stages with their times. A stage whose program is missing fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/stages.sh

# What failed says where; a backtrace of the test runner only pushes it out of the part of a long log that is kept.
export RUST_BACKTRACE=0

# All of them on one server, as short as they can be: that they work is asked, and not how fast.
experiments() {
  # It goes with the other files of this run.
  local folder=$stages_folder/experiments
  "$built/weir-bench" experiments --servers mariadb --threads 4 --seconds 1 --warmup 1 --tables 1 --rows 200 --point-tables 1 \
    --point-rows 200 --weir "$built/weir" --dir "$folder" || return
  [ -s "$folder/report.html" ] || { echo "FAILED: no report was written"; return 1; }
}

needed "packages" scripts/deps.sh
needed "MySQL" scripts/get-mysql.sh
# Everything is built once, with the same features; `cargo run` would build parts of it with others again.
# Not the release build: the tests ask for correctness, and it costs minutes on a cold machine.
needed "build" cargo build --quiet --workspace --all-targets
built=${CARGO_TARGET_DIR:-target}/debug
# Most tests wait for servers and timers, so more of them run at a time than there are cores; not by what nproc says, which knows
# nothing of the share of a machine that a container has.
RUST_TEST_THREADS=4 stage "unit and integration tests" cargo test --quiet --workspace --no-fail-fast
# What builds and installs for minutes begins behind the tests that count on a machine that answers at once.
ahead tests/drivers/setup
ahead "$built/xtask" fuzz --build
# Of the workspace with one feature more, so that little is built again.
stage "schedules of the pool" cargo test --quiet --workspace --features weir-pool/shuttle --test schedules
stage "tidy" "$built/xtask" tidy
# The build's lock is free from here on: nothing below calls cargo for the workspace.
ahead cargo clippy --quiet --workspace --all-targets -- -D warnings
shared=(--sharing transaction --connections 8 --pinned 6 --without-listed)
# They wait for servers, sleep and install more than they compute; a busy machine may take its time. Those of one server beside much that
# takes as long, and the others' beside the rest.
drivers() {
  beside "drivers, $1" "$built/drivers" --family "$1" -- --jobs 2 --timeout 600
  beside "drivers sharing connections, $1" "$built/drivers" --family "$1" --sharing -- --jobs 2 --timeout 600
}
drivers mariadb
beside "result cache, all at once, kept at the second asking" "$built/cacherace" --seconds 6 --admission second
# Of the model 50,000 steps in all: most on the second server, for much is built and installed beside the first.
declare -A steps=([mariadb]=4000 [mysql]=17500) narrow=([mariadb]=6000 [mysql]=17500)
for family in mariadb mysql; do
  stage "differential, $family" "$built/differential" --spawn --family "$family" --statements 20000
  stage "differential sharing connections, $family" \
    "$built/differential" --spawn --family "$family" --statements 20000 "${shared[@]}"
  stage "differential sharing connections, fresh hints, $family" \
    "$built/differential" --spawn --family "$family" --statements 20000 "${shared[@]}" --fresh
  stage "differential sharing connections, all pinned, $family" \
    "$built/differential" --spawn --family "$family" --statements 20000 --sharing transaction --all-pinned --without-listed
  stage "result cache against a model, $family" "$built/cachemodel" --family "$family" --steps "${steps[$family]}"
  stage "result cache against a model, hashes of 8 bits, $family" \
    "$built/cachemodel" --family "$family" --steps "${narrow[$family]}" --seed 2 --hash-bits 8
  stage "result cache against a model, kept at the second asking, connections of their own, $family" \
    "$built/cachemodel" --family "$family" --steps 2500 --seed 3 --admission second --sharing session
  stage "result cache, all at once, $family" "$built/cacherace" --family "$family" --seconds 6 --hash-bits 8
done
joined
drivers mysql
for family in mariadb mysql; do
  WEIR_BIN=$built/weir WORDPRESS_POSTS=60 stage "pages of WordPress, $family" scripts/wordpress.sh --family "$family" --compare
done
DIGESTS_BIN=$built/digests stage "digests against the server's" scripts/digests.sh
WEIR_BIN=$built/weir stage "the API against its document" scripts/schemathesis.sh
# Each target of the fuzzer has its time, whatever else runs.
KEEP= WEIR_BIN=$built/weir DEMO_SECONDS=3 DEMO_HOME=.cache/test/demo beside "demo" scripts/demo.sh
export built stages_folder
export -f experiments
beside "experiments" experiments
# From one place each time, so that what fails here fails at a desk; `cargo xtask fuzz` alone searches elsewhere.
stage "fuzz" "$built/xtask" fuzz --seconds 15 --seed 1
joined
# Healthy clients are timed.
alone
for family in mariadb mysql; do
  stage "hostile clients, $family" "$built/hostile" --weir-bin "$built/weir" --family "$family"
  stage "aborts where connections are shared, $family" \
    "$built/hostile" --weir-bin "$built/weir" --family "$family" --sharing --only aborts
done
summary
