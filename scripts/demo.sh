#!/usr/bin/env bash
# Shows Weir at work: starts a throwaway MariaDB server and Weir in front of it, drives sysbench at the server directly
# and through Weir, and prints one table. Nothing outside this folder is touched, except that missing Debian packages
# are installed (scripts/deps.sh).
#
# Usage: scripts/demo.sh        run, then clean up (KEEP=1 leaves the server and Weir running)
#        scripts/demo.sh stop   end what KEEP=1 left running
# WEIR_BIN=FILE is a Weir that is built already. DEMO_SECONDS=5 is how long each of the thirteen measurements takes; DEMO_PORT=6033 is where Weir listens.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/throwaway.sh

home=$PWD/.cache/demo
weir=${WEIR_BIN:-target/release/weir}
seconds=${DEMO_SECONDS:-5}
user=demo password=demo schema=demo
server_pid='' weir_pid='' server_port='' weir_port=''

main() {
  mkdir -p "$home"
  if [ "${1-}" = stop ]; then
    [ -f "$home/running" ] || echo "demo: nothing is running"
    stop_earlier
    exit
  fi
  trap finish EXIT
  trap 'exit 130' INT TERM
  stop_earlier
  step 1 "Packages"
  scripts/deps.sh
  step 2 "Building Weir (a few minutes the first time, then seconds)"
  [ -n "${WEIR_BIN-}" ] || cargo build --release -p weir
  step 3 "A throwaway MariaDB server"
  start_server
  step 4 "Weir in front of it"
  start_weir
  step 5 "Thirteen measurements of $seconds s each"
  measure
  measure_shared
  measure_cached
  print_table
  print_cached
  print_how_to
}

step() { printf '\n[%d/5] %s\n' "$1" "$2"; }
say() { printf '      %s\n' "$*"; }

# ---- the server -----------------------------------------------------------------------------------------------------

start_server() {
  server_port=$(free_port 23306)
  if make_data mariadb "$home/server"; then say "made a data directory"; fi
  cat >"$home/accounts.sql" <<SQL
CREATE DATABASE IF NOT EXISTS $schema;
CREATE OR REPLACE USER $user@'%' IDENTIFIED BY '$password';
GRANT ALL PRIVILEGES ON $schema.* TO $user@'%';
SQL
  launch_server mariadb "$home/server" "$server_port" "--init-file=$home/accounts.sql"
  server_pid=$pid
  say "MariaDB $(server_version mariadb) at 127.0.0.1:$server_port, data in ${home#"$PWD"/}"
  if [ ! -f "$home/server/loaded" ]; then
    say "filling 4 tables with 25,000 rows each"
    sysbench_at "$server_port" oltp_read_write 4 prepare >"$home/prepare.log" 2>&1 ||
      die "sysbench cannot fill the tables" "$home/prepare.log"
    touch "$home/server/loaded"
  fi
}

# ---- Weir -----------------------------------------------------------------------------------------------------------

start_weir() {
  weir_port=$(free_port "${DEMO_PORT:-6033}")
  weir_config "$weir_port" session >"$home/weir.toml"
  launch_weir weir "$weir_port"
  weir_pid=$pid
  say "$weir run -c ${home#"$PWD"/}/weir.toml, at 127.0.0.1:$weir_port"
}

# A second Weir, whose clients share connections, with the configuration $1: its port, its admin port and its process.
second_port='' second_admin='' second_pid=''
start_second() {
  second_port=$(free_port $((weir_port + 1)))
  second_admin=$(free_port $((second_port + 1)))
  weir_config "$second_port" transaction | sed "/^mysql = /a admin = \"127.0.0.1:$second_admin\"" >"$home/$1.toml"
  launch_weir "$1" "$second_port"
  second_pid=$pid
}

end_second() { end_process "$second_pid" "$(birth_of "$second_pid")" || true; }

# A configuration that listens at port $1 and shares connections as $2 says.
weir_config() {
  # The account is listed here because sysbench's client library loads the plugin that an account unknown to Weir needs
  # from several threads at once, and fails. Any other client can log in without it.
  cat <<TOML
[listen]
mysql = ["127.0.0.1:$1"]

[[server]]
name = "demo"
address = "127.0.0.1:$server_port"

[[user]]
name = "$user"
password = "$password"

[pool]
sharing = "$2"
TOML
}

# ---- measuring ------------------------------------------------------------------------------------------------------

rows=()
measure() {
  local work clients direct through
  for work in oltp_point_select oltp_read_write; do
    for clients in 8 64; do
      printf '      %-18s %2d clients   direct ' "$work" "$clients"
      direct=$(sysbench_run "$server_port" "$server_pid" "$work" "$clients")
      printf '%8s/s   through Weir ' "$(digits "${direct%% *}")"
      through=$(sysbench_run "$weir_port" "$weir_pid" "$work" "$clients")
      printf '%8s/s\n' "$(digits "${through%% *}")"
      rows+=("$work $clients $direct $through")
    done
  done
}

# 256 clients on the connections that they need, through a Weir of their own.
shared_row='' shared_connections=0
measure_shared() {
  local direct through work=oltp_point_select clients=256 watch
  start_second shared
  printf '      %-18s %3d clients  direct ' "$work" "$clients"
  direct=$(sysbench_run "$server_port" "$server_pid" "$work" "$clients")
  printf '%8s/s   sharing      ' "$(digits "${direct%% *}")"
  : >"$home/connections"
  (while sleep 0.2; do connections_at "$second_admin"; done >>"$home/connections") &
  watch=$!
  through=$(sysbench_run "$second_port" "$second_pid" "$work" "$clients")
  kill "$watch"
  wait "$watch" 2>/dev/null || true
  printf '%8s/s\n' "$(digits "${through%% *}")"
  shared_connections=$(sort -n "$home/connections" | tail -n 1)
  shared_row="$work $clients $direct $through"
  end_second
}

# The same work three times: directly, through Weir, and through Weir with one rule that is added while it runs.
cached_rows=()
measure_cached() {
  local work=oltp_read_only clients=64 direct through cached before
  start_second cached
  # What is read often: a thousand rows.
  more=(--skip-trx=on --tables=1 --table-size=1000)
  printf '      %-18s %3d clients  direct ' "$work" "$clients"
  direct=$(sysbench_run "$server_port" "$server_pid" "$work" "$clients")
  printf '%8s/s   through Weir ' "$(digits "${direct%% *}")"
  through=$(sysbench_run "$second_port" "$server_pid" "$work" "$clients")
  printf '%8s/s\n' "$(digits "${through%% *}")"
  say "weir rules add -c ${home#"$PWD"/}/cached.toml --name reads --match-kind read --match-schema $schema --ttl 1h"
  "$weir" rules add -c "$home/cached.toml" --name reads --match-kind read --match-schema "$schema" --ttl 1h \
    >"$home/rules.log" 2>&1 || die "the rule could not be added" "$home/rules.log"
  before=$(cache_counts "$second_admin")
  printf '      %-18s %3d clients  with that rule ' "$work" "$clients"
  cached=$(sysbench_run "$second_port" "$server_pid" "$work" "$clients")
  printf '%8s/s\n' "$(digits "${cached%% *}")"
  more=()
  cached_rows=("directly|$direct|-" "through Weir|$through|-" "with the rule|$cached|$(hit_ratio "$before" "$(cache_counts "$second_admin")")")
  end_second
}

# Hits and misses of the Weir whose metrics are at port $1.
cache_counts() {
  metrics_at "$1" | awk '/^weir_cache_hits_total[ {]/ { h += $NF } /^weir_cache_misses_total[ {]/ { m += $NF } END { print h + 0, m + 0 }'
}

hit_ratio() {
  awk -v before="$1" -v after="$2" 'BEGIN {
    split(before, b); split(after, a); hits = a[1] - b[1]; all = hits + a[2] - b[2]
    printf "%.0f%%\n", all ? 100 * hits / all : 0
  }'
}

# The server connections of the Weir whose metrics are at port $1.
connections_at() {
  metrics_at "$1" | awk '/^weir_server_connections_open[ {]/ { sum += $NF } END { print sum + 0 }'
}

more=()
# Prints "queries-per-second p95-in-ms microseconds-of-CPU-per-query" of the process that was driven.
sysbench_run() {
  local port=$1 pid=$2 work=$3 clients=$4 log=$home/sysbench.log before=0 after line
  : >"$log"
  while IFS= read -r line; do
    # From here on every client is connected: logins are not counted as queries.
    [ "$line" != "Threads started!" ] || before=$(cpu_ns "$pid")
    printf '%s\n' "$line" >>"$log"
  done < <(sysbench_at "$port" "$work" "$clients" run 2>&1)
  after=$(cpu_ns "$pid") || die "process $pid has ended" "$home/weir.log"
  awk -v ns=$((after - before)) '
    $1 == "queries:" { queries = $2; sub(/\(/, "", $3); rate = $3 }
    $1 == "95th" { p95 = $3 }
    END { if (queries + 0 == 0) exit 1; printf "%.0f %.2f %.1f\n", rate, p95, ns / 1000 / queries }
  ' "$log" || die "sysbench $work failed" "$log"
}

sysbench_at() {
  local port=$1 work=$2 clients=$3 verb=$4
  sysbench "$work" --db-driver=mysql --mysql-host=127.0.0.1 "--mysql-port=$port" "--mysql-user=$user" \
    "--mysql-password=$password" "--mysql-db=$schema" --tables=4 --table-size=25000 "--threads=$clients" \
    "--time=$seconds" ${more[@]+"${more[@]}"} "$verb"
}

# CPU time of all threads of a process in nanoseconds.
cpu_ns() { cat "/proc/$1"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }'; }

print_table() {
  local row work clients rate p95 cpu weir_rate weir_p95 line
  line=$(printf '%.0s-' {1..98})
  printf '\n%s\n' "$line"
  printf '%-17s %7s | %11s %8s | %11s %8s %9s %16s\n' '' '' 'direct' '' 'via Weir' '' '' 'CPU of Weir'
  printf '%-17s %7s | %11s %8s | %11s %8s %9s %16s\n' 'work' 'clients' \
    'queries/s' 'p95 ms' 'queries/s' 'p95 ms' 'of direct' 'us per query'
  printf '%s\n' "$line"
  for row in "${rows[@]}" "$shared_row"; do
    read -r work clients rate p95 _ weir_rate weir_p95 cpu <<<"$row"
    printf '%-17s %7d | %11s %8s | %11s %8s %8d%% %16s\n' "$work" "$clients" "$(digits "$rate")" "$p95" \
      "$(digits "$weir_rate")" "$weir_p95" $((100 * weir_rate / rate)) "$cpu"
  done
  printf '%s\n' "$line"
  echo "In the last row clients share server connections ([pool] sharing = \"transaction\"): 256 clients through Weir used at most"
  echo "$shared_connections connections to the server; directly each has its own."
  echo "sysbench, the server and Weir share the $(nproc) cores of this machine: what Weir uses, the others lack."
  echo "On machines of their own the throughput differs less. make bench compares with other proxies."
}

print_cached() {
  local row name figures hits rate p95 cpu base=0
  echo
  printf '%-34s | %11s %9s %8s %10s %16s\n' 'oltp_read_only, 64 clients, 1000 ids' 'queries/s' 'of direct' 'p95 ms' 'hit ratio' 'CPU of server us'
  for row in "${cached_rows[@]}"; do
    IFS='|' read -r name figures hits <<<"$row"
    read -r rate p95 cpu <<<"$figures"
    [ "$base" -ne 0 ] || base=$rate
    printf '%-37s | %11s %8d%% %8s %10s %16s\n' "$name" "$(digits "$rate")" $((100 * rate / base)) "$p95" "$hits" "$cpu"
  done
  echo "The CPU of the server is for each query that a client sent. The rule was added while Weir ran, and keeps answers for an hour."
}

print_how_to() {
  echo
  if [ -n "${KEEP-}" ]; then
    echo "Weir and the server keep running. Your own client:"
    echo "  mariadb -h 127.0.0.1 -P $weir_port -u $user -p$password $schema        (mysql: the same)"
    echo "  Weir's log: ${home#"$PWD"/}/weir.log"
    echo "Stop both:"
    echo "  scripts/demo.sh stop"
  else
    echo "Try it with your own client: KEEP=1 make demo leaves Weir and the server running and tells you how."
  fi
  echo "In front of your own server, with your own accounts and no configuration file:"
  echo "  target/release/weir run --backend HOST:3306 --listen 127.0.0.1:6033"
}

# ---- the end --------------------------------------------------------------------------------------------------------

finish() {
  local status=$?
  if [ "$status" -eq 0 ] && [ -n "${KEEP-}" ]; then
    printf '%s\n' "${started[@]}" >"$home/running"
    disown -a
    return
  fi
  end_started
}

stop_earlier() {
  [ -f "$home/running" ] || return 0
  local pid birth name
  while read -r pid birth; do
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || true
    ! end_process "$pid" "$birth" || echo "demo: ended the $name of an earlier run"
  done < <(tac "$home/running")
  rm -f "$home/running"
}

main "$@"
