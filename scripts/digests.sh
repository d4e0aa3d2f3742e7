#!/usr/bin/env bash
# Compares the digests that Weir makes of statements with those of a real MySQL (STATEMENT_DIGEST_TEXT): a sample of those in MariaDB's own
# tests, in WordPress and in sysbench, from Debian's packages, which are unpacked in .cache/digests. Its status is 1 when a digest differs
# that has no name of more than 64 bytes, or when fewer than 2,000 are compared. See docs/digests.md.
#
# Usage: scripts/digests.sh [--all]
#   --all    all statements, some 190,000, in place of a sample
# DIGESTS_BIN=FILE is the program that compares, where it is built already. DIGESTS_MOST=60000 is the size of the sample, DIGESTS_SEED=1
# chooses another one.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
helped "$@"
sample=(--most "${DIGESTS_MOST:-60000}" --seed "${DIGESTS_SEED:-1}")
case $#,${1-} in
  0,) ;;
  1,--all) sample=() ;;
  *) echo "digests: there is no \"$*\"" >&2; usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/again.sh
. scripts/unpack.sh

root=$PWD/.cache/digests/root
scripts/deps.sh
scripts/get-mysql.sh
# The packages themselves would install a web server, and all that MariaDB's tests need to run.
unpack "$root" mariadb-test-data wordpress || { tail "$root.log" >&2; echo "digests: the packages cannot be unpacked" >&2; exit 1; }
program=${DIGESTS_BIN-}
if [ -z "$program" ]; then
  cargo build --quiet -p weir-testkit --bin digests
  program=${CARGO_TARGET_DIR:-target}/debug/digests
fi
"$program" "${sample[@]}" --least 2000 --only-long-names --from "$root/usr/share/mysql/mysql-test" --from "$root/usr/share/wordpress" \
  --from /usr/share/sysbench
