#!/usr/bin/env bash
# Unpacks MySQL Community Server, the newest in Debian's unstable suite, into a folder: without root, without
# touching the system. About 10 s and 410 MB.
# Usage: scripts/get-mysql.sh [DIR]; DIR defaults to $WEIR_MYSQL_DIR, else .cache/mysql in the repository.
# Gives DIR/bin/{mysqld,mysql,mysqladmin,mysqlbinlog,mysqldump} and the server's files under DIR/root.
# The Debian mirror is the one this machine's apt uses; DEBIAN_MIRROR=URL names another.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$repo/scripts/again.sh"
. "$repo/scripts/usage.sh"
helped "$@"
case ${1-} in -*) echo "get-mysql: there is no option $1" >&2; usage >&2; exit 2 ;; esac
dir=${1:-${WEIR_MYSQL_DIR:-$repo/.cache/mysql}}
if [ -x "$dir/bin/mysqld" ] && "$dir/bin/mysqld" --version >/dev/null 2>&1; then
  echo "get-mysql: already in $dir"
  exit 0
fi

mirror=${DEBIAN_MIRROR:-$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d/ 2>/dev/null | head -1 | tr -d ' ' || true)}
if [ -z "$mirror" ]; then
  echo "get-mysql: no Debian mirror in /etc/apt; set DEBIAN_MIRROR" >&2
  exit 2
fi

# Built beside its place and moved there whole, so that an interrupted run leaves nothing half done.
mkdir -p "$(dirname "$dir")"
parent=$(cd "$(dirname "$dir")" && pwd)
work=$(mktemp -d "$parent/.get-mysql.XXXXXX")
trap 'rm -rf "$work"' EXIT
target=$parent/$(basename "$dir")

apt=$work/apt
mkdir -p "$apt"/{lists/partial,cache/archives/partial,etc} "$work/new/root" "$work/new/bin"
: >"$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$apt/etc/sid.list"
# An apt of our own: its lists, its idea of what is installed (nothing, so every library comes along).
options=(
  -oDir::State="$apt" -oDir::State::Lists="$apt/lists" -oDir::State::status="$apt/status"
  -oDir::Cache="$apt/cache" -oDir::Etc::sourcelist="$apt/etc/sid.list" -oDir::Etc::sourceparts=/dev/null
  -oDir::Etc::preferencesparts=/dev/null -oAPT::Install-Recommends=false -oAPT::Sandbox::User=root
  -oDebug::NoLocking=1 -qq
)
download() {
  apt-get "${options[@]}" update &&
    apt-get "${options[@]}" -y --download-only install mysql-server-core mysql-client-core </dev/null >/dev/null
}
echo "get-mysql: fetching the server and its libraries"
thrice download
echo "get-mysql: unpacking"
for package in "$apt"/cache/archives/*.deb; do
  dpkg-deb -x "$package" "$work/new/root"
done

# The programs run on the libraries they came with, through the loader they came with.
root=$target/root
within() { find "$work/new/root" "$@" | sed "s|^$work/new/root|$root|"; }
loader=$(within -name 'ld-linux-*.so*' | head -1)
libraries=$(within -name '*.so*' -path '*/lib*' ! -path '*/perl*' -printf '%h\n' | sort -u | paste -sd:)
for name in mysqld mysql mysqladmin mysqlbinlog mysqldump; do
  program=$(within -path "*bin/$name" | head -1)
  if [ -z "$program" ]; then
    echo "get-mysql: the packages brought no $name" >&2
    exit 1
  fi
  printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$program" >"$work/new/bin/$name"
  chmod +x "$work/new/bin/$name"
done
rm -rf "$target"
mv "$work/new" "$target"
"$target/bin/mysqld" --version
