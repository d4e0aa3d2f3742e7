#!/usr/bin/env bash
# Sends the API of a running Weir what its OpenAPI document allows and what it forbids, with each role, and compares every answer
# with the document: statuses, types, shapes, and no error 500. Schemathesis (https://schemathesis.io) makes the requests.
#
# Usage: scripts/schemathesis.sh [SECONDS]     for each role; 30 without it
# WEIR_BIN=FILE is a Weir that is built already. SEED=1 makes the same requests again.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
helped "$@"
[[ $# -eq 0 || $# -eq 1 && $1 =~ ^[1-9][0-9]*$ ]] || { echo "schemathesis: there is no \"$*\"" >&2; usage >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/throwaway.sh
. scripts/again.sh

seconds=${1:-30}
home=$PWD/.cache/schemathesis
weir=${WEIR_BIN:-target/debug/weir}
version=4.32.5
tool=$home/venv/bin/schemathesis

main() {
  mkdir -p "$home"
  trap end_started EXIT
  install
  start_all
  failed=0
  for role in read operate admin; do
    run_as "$role" || failed=1
  done
  [ "$failed" = 0 ] || exit 1
}

# Into a folder of its own, in the version that was tried.
install() {
  [ "$("$tool" --version 2>/dev/null)" = "schemathesis, version $version" ] && return
  echo "schemathesis: installing version $version into ${home#"$PWD"/}"
  python3 -m venv --clear "$home/venv" || die "python3 cannot make an environment: scripts/deps.sh installs what that takes" /dev/null
  thrice "$home/venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version" >"$home/pip.log" 2>&1 ||
    die "schemathesis could not be installed" "$home/pip.log"
}

# A server with statements behind it, so that there is something to tell.
start_all() {
  local server_port weir_port
  make_data mariadb "$home/db" || true
  server_port=$(free_port 15410)
  launch_server mariadb "$home/db" "$server_port"
  mariadb -S "$home/db/server.sock" -u root -e \
    "CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY 'app'; GRANT ALL ON *.* TO app@'%'; CREATE DATABASE IF NOT EXISTS shop"
  weir_port=$(free_port 16410)
  admin_port=$(free_port 17410)
  cat >"$home/weir.toml" <<END
[listen]
mysql = ["127.0.0.1:$weir_port"]
admin = "127.0.0.1:$admin_port"
[[server]]
name = "db1"
address = "127.0.0.1:$server_port"
tls = { mode = "disabled" }
[pool]
sharing = "transaction"
[history]
file = "$home/history.sqlite"
[[rule]]
name = "reads"
match = { kind = "read", schema = "shop" }
cache = { ttl = "1m" }
END
  launch_weir weir "$weir_port"
  for role in read operate; do
    "$weir" token add "$role" --role "$role" -c "$home/weir.toml" >"$home/$role.token" 2>/dev/null
  done
  echo "$WEIR_TOKEN" >"$home/admin.token"
  "$weir" reload -c "$home/weir.toml" >/dev/null
  mariadb -h 127.0.0.1 -P "$weir_port" -u app -papp --force shop >/dev/null 2>&1 <<'END' || true
CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, v VARCHAR(20));
REPLACE INTO t VALUES (1, 'one'), (2, 'two');
SELECT v FROM t WHERE id = 1;
SELECT v FROM t WHERE id = 1;
SELECT nothing FROM t;
SELECT GET_LOCK('a', 1);
END
}

run_as() {
  local role=$1 log=$home/$1.log
  echo "schemathesis: $seconds s with the role $role"
  # What is a rule or a digest, and what not, no document can say: so whether a body is accepted is not asked here.
  if "$tool" run "http://127.0.0.1:$admin_port/api/v1/openapi.json" --url "http://127.0.0.1:$admin_port/api/v1" \
    -H "Authorization: Bearer $(cat "$home/$role.token")" \
    --checks "${CHECKS:-not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method}" \
    --phases examples,coverage,fuzzing --max-time "$seconds" --seed "${SEED:-1}" --request-timeout 20 \
    --continue-on-failure --warnings off --output-sanitize true >"$log" 2>&1; then
    grep -E 'test cases|generated' "$log" | tail -n 1
    return
  fi
  cat "$log"
  return 1
}

main
