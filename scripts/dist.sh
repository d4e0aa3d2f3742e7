#!/usr/bin/env bash
# Builds Weir as it is packaged: profile dist, laid out after a profile of itself at work. For that it is built twice: with
# counters, weir-bench's loads run through it for two minutes, and then with what the counters tell of which branches are
# taken and which functions belong together. What changed nothing is not done again.
#
# Usage: scripts/dist.sh [--plain]     the result is target/dist/weir
#   --plain                            without the profile: one build, no load
# Profiles of rustc are read by llvm-profdata of the same LLVM: rustup's component llvm-tools or Debian's package llvm-NN, which
# is installed where there is one. Where there is none, it says so, and builds without.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
helped "$@"
case $#,${1-} in
  0, | 1,--plain) ;;
  *) echo "dist: there is no \"$*\"" >&2; usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# As a whole path: each crate is compiled in a folder of its own.
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
host=$(rustc -vV | sed -n 's/^host: //p')
llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
profiles=$target/profiles
# The loads: all ways of a query, logins, streams. What runs under valgrind is left out, and what waits more than it works.
loads=point_select,oltp,connect,latency,opening,stream,cached_point_select,cached_read_only,cached_replay,cached_writer

plain() {
  cargo build --profile dist -p weir
  exit
}

reader() {
  local found
  for found in "$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata" "/usr/lib/llvm-$llvm/bin/llvm-profdata"; do
    [ -x "$found" ] && echo "$found" && return
  done
  return 1
}

# Flags are for Weir's own machine code, not for what runs while it is built: hence the target. $1: their name, $2: the flags.
built() {
  RUSTFLAGS="${RUSTFLAGS-} $2" cargo build --profile dist -p weir --target "$host" --target-dir "$target/$1"
}

[ "${1-}" = --plain ] && plain
scripts/deps.sh
if ! profdata=$(reader); then
  scripts/deps.sh --profiles "$llvm" || true
  if ! profdata=$(reader); then
    echo "dist: nothing here reads profiles of LLVM $llvm (rustup component add llvm-tools, or Debian's llvm-$llvm): built without one" >&2
    plain
  fi
fi

built counting "-Cprofile-generate=$profiles/raw"
counting=$target/counting/$host/dist/weir
sum=$(sha256sum "$counting" | cut -c1-16)
profile=$profiles/$sum.profdata
if [ ! -e "$profile" ]; then
  cargo build --release -p weir-bench
  rm -rf "$profiles"
  mkdir -p "$profiles/raw"
  echo "dist: running weir-bench's loads through a Weir that counts"
  ulimit -n "$(ulimit -Hn)"
  LLVM_PROFILE_FILE="$profiles/raw/%p.profraw" WEIR_BIN=$counting \
    "$target/release/weir-bench" run --quick --rounds 1 --only "$loads" >"$profiles/loads.log"
  "$profdata" merge -o "$profile.part" "$profiles"/raw/*.profraw
  mv "$profile.part" "$profile"
  rm -r "$profiles/raw"
fi
built profiled "-Cprofile-use=$profile"
mkdir -p "$target/dist"
# A Weir that runs from there goes on with the old file.
cp "$target/profiled/$host/dist/weir" "$target/dist/weir.new"
mv "$target/dist/weir.new" "$target/dist/weir"
echo "dist: $target/dist/weir"
