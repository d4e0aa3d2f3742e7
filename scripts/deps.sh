#!/usr/bin/env bash
# Installs what Weir's build, tests and demo need from Debian's own packages, and nothing that is there already.
# Usage: scripts/deps.sh [--dry-run | --profiles NN]. Safe to run again; needs root only when something is missing.
#   --profiles NN    also what reads profiles of LLVM NN, for scripts/dist.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/again.sh"
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
helped "$@"
case $#,${1-} in
  0, | 1,--dry-run | 2,--profiles) ;;
  *) echo "deps: there is no \"$*\"" >&2; usage >&2; exit 2 ;;
esac

# program or file to look for | package that brings it | what it is for
needs=(
  "cc|gcc|builds the C parts of aws-lc, zstd and mimalloc"
  "/usr/include/stdio.h|libc6-dev|headers for the same"
  "c++|g++|builds libFuzzer for the fuzz targets"
  "make|make|make demo, make test"
  "mariadbd|mariadb-server|a real MariaDB server for the tests and the demo"
  "/usr/lib/mysql/plugin/auth_ed25519.so|mariadb-server|its ed25519 accounts"
  "mariadb|mariadb-client|its command line client"
  "haproxy|haproxy|the TCP relay that Weir is measured against"
  "sysbench|sysbench|load for the demo, the benchmarks and the experiments"
  "redis-server|redis-server|the in-memory store that cache hits are measured against"
  "redis-benchmark|redis-tools|load for the same"
  "ps|procps|process figures"
  "valgrind|valgrind|counts instructions in make bench"
  "python3|python3|runs schemathesis against the API"
  "/usr/lib/python3.*/ensurepip/__init__.py|python3-venv|an environment for it"
  "tmux|tmux|a terminal for the tests of weir top"
  "dpkg-deb|dpkg|unpacks MySQL beside the system, see scripts/get-mysql.sh"
)
[ "${1-}" = --profiles ] && needs+=("/usr/lib/llvm-$2/bin/llvm-profdata|llvm-$2|reads profiles for scripts/dist.sh")

PATH=$PATH:/usr/sbin:/sbin
missing=()
for need in "${needs[@]}"; do
  IFS='|' read -r probe package purpose <<<"$need"
  case $probe in
    # A pattern stands for any version of it.
    /*) compgen -G "$probe" >/dev/null && continue ;;
    *) command -v "$probe" >/dev/null && continue ;;
  esac
  [[ " ${missing[*]-} " == *" $package "* ]] && continue
  echo "deps: $package is missing ($purpose)"
  missing+=("$package")
done

if ! command -v cargo >/dev/null; then
  echo "deps: no cargo found; install a Rust toolchain (1.95 or newer) first" >&2
  exit 1
fi
if [ ${#missing[@]} -eq 0 ]; then
  echo "deps: everything is here"
  exit 0
fi
if [ "${1-}" = --dry-run ]; then
  echo "deps: would install ${missing[*]}"
  exit 0
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "deps: run as root: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi

# The servers are started by the tests, on folders of their own; the packages must not start theirs.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi

# With the lists read anew each time: a package that has moved on is not found by old ones.
install() {
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null
}
echo "deps: installing ${missing[*]}"
thrice install
echo "deps: done"
