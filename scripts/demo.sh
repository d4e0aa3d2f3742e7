#!/usr/bin/env bash
# Shows Weir at work: starts a throwaway MariaDB server and Weir in front of it, drives sysbench at the server directly
# and through Weir, and prints one table. Nothing outside this folder is touched, except that missing Debian packages
# are installed (scripts/deps.sh).
#
# Usage: scripts/demo.sh        run, then clean up (KEEP=1 leaves the server and a Weir running)
#        scripts/demo.sh stop   end what KEEP=1 left running
# WEIR_BIN=FILE is a Weir that is built already. DEMO_SECONDS=5 is how long each of the thirteen measurements takes; DEMO_PORT=6033 is where
# Weir listens; DEMO_HOME=.cache/demo is the folder of all its files. Two demos of one folder cannot run at a time: one that is left running
# is ended by the next.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
helped "$@"
case $#,${1-} in
  0, | 1,stop) ;;
  *) echo "demo: there is no \"$*\"" >&2; usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/throwaway.sh
# It would be another Weir's.
other_token=${WEIR_TOKEN-}
unset WEIR_TOKEN

home=$(realpath -m "${DEMO_HOME:-.cache/demo}")
weir=${WEIR_BIN:-target/release/weir}
seconds=${DEMO_SECONDS:-5}
user=demo password=demo schema=demo
server_pid='' server_port=''

main() {
  mkdir -p "$home"
  if [ "${1-}" = stop ]; then
    [ -f "$home/running" ] || echo "demo: nothing is running"
    stop_earlier
    exit
  fi
  trap finish EXIT
  trap 'exit 130' INT TERM
  warn_of_earlier
  stop_earlier
  step 1 "Packages"
  scripts/deps.sh
  step 2 "Building Weir (a few minutes the first time, then seconds)"
  [ -n "${WEIR_BIN-}" ] || cargo build --release -p weir
  step 3 "A throwaway MariaDB server"
  start_server
  step 4 "Weir in front of it"
  start_weirs
  step 5 "Thirteen measurements of $seconds s each"
  measure
  end_plain
  measure_shared
  measure_cached
  print_table
  print_cached
  print_gain
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

# The one that is shown, whose clients share connections, and until it has been measured a plain one, in which each has its own.
weir_port='' weir_pid='' plain_port='' plain_pid=''
start_weirs() {
  weir_port=$(free_port "${DEMO_PORT:-6033}")
  weir_config "$weir_port" transaction "$(admin_address)" >"$home/weir.toml"
  launch_weir weir "$weir_port"
  weir_pid=$pid
  plain_port=$(free_port "$(beside "$weir_port")")
  weir_config "$plain_port" session >"$home/plain.toml"
  launch_weir plain "$plain_port"
  plain_pid=$pid
  say "$weir run -c ${home#"$PWD"/}/plain.toml, at 127.0.0.1:$plain_port: each client has a server connection of its own"
  say "$weir run -c ${home#"$PWD"/}/weir.toml, at 127.0.0.1:$weir_port: clients share connections"
}

end_plain() { end_process "$plain_pid" "$(birth_of "$plain_pid")" || true; }

# Where Weir's verbs ask: a socket beside the configuration, which needs no token of this user; or a port, where its path is too long.
admin_address() {
  if is_socket_path "$home/admin.sock"; then echo "unix:admin.sock"; else echo "127.0.0.1:$(free_port "$(beside "$weir_port")")"; fi
}

# A port to begin with beside $1.
beside() { echo $(($1 < 65000 ? $1 + 1 : $1 - 500)); }

# A configuration that listens at port $1, shares connections as $2 says, and has the admin address $3 if there is one.
weir_config() {
  # The account is listed here because sysbench's client library loads the plugin that an account unknown to Weir needs
  # from several threads at once, and fails. Any other client can log in without it.
  cat <<TOML
[listen]
mysql = ["127.0.0.1:$1"]
${3:+admin = \"$3\"
}
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
      through=$(sysbench_run "$plain_port" "$plain_pid" "$work" "$clients")
      printf '%8s/s\n' "$(digits "${through%% *}")"
      rows+=("$work $clients $direct $through")
    done
  done
}

# 256 clients on the connections that they need.
shared_row='' shared_connections=0
measure_shared() {
  local direct through work=oltp_point_select clients=256
  printf '      %-18s %3d clients  direct ' "$work" "$clients"
  direct=$(sysbench_run "$server_port" "$server_pid" "$work" "$clients")
  printf '%8s/s   sharing      ' "$(digits "${direct%% *}")"
  : >"$home/connections"
  (while sleep 0.2; do connections || true; done >>"$home/connections") &
  watch=$!
  through=$(sysbench_run "$weir_port" "$weir_pid" "$work" "$clients")
  kill "$watch"
  wait "$watch" 2>/dev/null || true
  watch=
  printf '%8s/s\n' "$(digits "${through%% *}")"
  shared_connections=$(sort -n "$home/connections" | tail -n 1)
  shared_row="$work $clients $direct $through"
}

# The same work three times: directly, through the Weir whose clients share connections, and through it with one rule that is added
# while it runs.
cached_rows=() cached_direct='' cached_with='' cached_hits=''
measure_cached() {
  local work=oltp_read_only clients=64 direct through cached before
  # What is read often: a thousand rows.
  more=(--skip-trx=on --tables=1 --table-size=1000)
  printf '      %-18s %3d clients  direct ' "$work" "$clients"
  direct=$(sysbench_run "$server_port" "$server_pid" "$work" "$clients")
  printf '%8s/s   sharing      ' "$(digits "${direct%% *}")"
  through=$(sysbench_run "$weir_port" "$server_pid" "$work" "$clients")
  printf '%8s/s\n' "$(digits "${through%% *}")"
  say "weir rules add -c ${home#"$PWD"/}/weir.toml --name reads --match-kind read --match-schema $schema --ttl 1h"
  "$weir" rules add -c "$home/weir.toml" --name reads --match-kind read --match-schema "$schema" --ttl 1h \
    >"$home/rules.log" 2>&1 || die "the rule could not be added" "$home/rules.log"
  before=$(cache_counts)
  printf '      %-18s %3d clients  with that rule ' "$work" "$clients"
  cached=$(sysbench_run "$weir_port" "$server_pid" "$work" "$clients")
  printf '%8s/s\n' "$(digits "${cached%% *}")"
  more=()
  cached_direct=${direct##* } cached_with=${cached##* } cached_hits=$(hit_ratio "$before" "$(cache_counts)")
  [ "$cached_hits" != 0% ] || die "the rule has answered nothing" "$home/weir.log"
  cached_rows=("directly|$direct|-" "through Weir, sharing connections|$through|-" "the same with the rule|$cached|$cached_hits")
}

# Hits and misses so far.
cache_counts() {
  "$weir" cache stats --json -c "$home/weir.toml" |
    awk -F '[:,]' '/"total":/ { total = 1 } total && /"hits":/ { h = $2 } total && /"misses":/ { m = $2 } END { print h + 0, m + 0 }'
}

hit_ratio() {
  awk -v before="$1" -v after="$2" 'BEGIN {
    split(before, b); split(after, a); hits = a[1] - b[1]; all = hits + a[2] - b[2]
    printf "%.0f%%\n", all ? 100 * hits / all : 0
  }'
}

# The server connections that are open.
connections() { "$weir" status --json -c "$home/weir.toml" | awk -F '[:,]' '/"open":/ { print $2 + 0 }'; }

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
  local row work clients rate p95 cpu weir_rate weir_p95 line format='%-17s %7s | %11s | %8s | %11s | %9s | %8s | %11s\n'
  line=$(printf '%.0s-' {1..103})
  printf '\n%s\n' "$line"
  # shellcheck disable=SC2059 # a format of its own
  {
    printf "$format" '' '' 'direct' 'direct' 'via Weir' 'via Weir' 'via Weir' 'CPU of Weir'
    printf "$format" 'work' 'clients' 'queries/s' 'p95 ms' 'queries/s' 'of direct' 'p95 ms' 'us/query'
    echo "$line"
    for row in "${rows[@]}" "$shared_row"; do
      read -r work clients rate p95 _ weir_rate weir_p95 cpu <<<"$row"
      printf "$format" "$work" "$clients" "$(digits "$rate")" "$p95" "$(digits "$weir_rate")" "$((100 * weir_rate / rate))%" "$weir_p95" "$cpu"
    done
  }
  echo "$line"
  echo "In the last row clients share server connections ([pool] sharing = \"transaction\"): 256 clients through Weir used at most"
  echo "$shared_connections connections to the server; directly each has its own. p95 is of a transaction, which is 20 queries in oltp_read_write."
  echo "sysbench, the server and Weir share the $(nproc) cores of this machine: what Weir uses, the others lack."
  echo "On machines of their own the throughput differs less. make bench compares with other proxies."
}

print_cached() {
  local row name figures hits rate p95 cpu base=0 line format='%-34s | %11s | %9s | %8s | %9s | %13s\n'
  line=$(printf '%.0s-' {1..99})
  printf '\n%s\n' "oltp_read_only, 64 clients, 1,000 rows, no transactions. Both rows through Weir are with [pool] sharing = \"transaction\"."
  echo "$line"
  # shellcheck disable=SC2059 # a format of its own
  {
    printf "$format" '' '' '' '' '' 'CPU of server'
    printf "$format" '' 'queries/s' 'of direct' 'p95 ms' 'hit ratio' 'us/query'
    echo "$line"
    for row in "${cached_rows[@]}"; do
      IFS='|' read -r name figures hits <<<"$row"
      read -r rate p95 cpu <<<"$figures"
      [ "$base" -ne 0 ] || base=$rate
      printf "$format" "$name" "$(digits "$rate")" "$((100 * rate / base))%" "$p95" "$hits" "$cpu"
    done
  }
  echo "$line"
  echo "The CPU of the server is for each query that a client sent; p95 is of 14 of them. The rule was added while Weir ran."
}

# What the rule was good for, in words.
print_gain() {
  local place
  place=$(awk -v direct="$cached_direct" -v rule="$cached_with" 'BEGIN {
    printf "in place of %s", direct
    if (rule > 0 && direct >= 1.1 * rule) printf " (%.*f times less)", direct < 9.95 * rule, direct / rule
  }')
  echo
  echo "With one rule ${cached_hits%"%"} % of the reads are answered by Weir: the server spends $cached_with us of CPU per query $place."
  echo "This is what a cache takes off a server. Queries per second show it only where Weir has cores that neither server nor clients need."
}

print_how_to() {
  local config=${home#"$PWD"/}/weir.toml
  echo
  if [ -n "${KEEP-}" ]; then
    echo "The server and the Weir with the rule keep running. Try these here:"
    if [ -n "${WEIR_TOKEN-}" ]; then
      (umask 077; echo "$WEIR_TOKEN" >"$home/token")
      echo "  export WEIR_TOKEN=\$(cat ${home#"$PWD"/}/token)"
    elif [ -n "$other_token" ]; then
      echo "  unset WEIR_TOKEN                 it is that of another Weir"
    fi
    echo "  $weir status -c $config          how it is"
    echo "  $weir queries -c $config         which statements cost what"
    echo "  $weir rules list -c $config      what the rule does"
    echo "  $weir advise cache -c $config    which rules would be worth their while"
    echo "  $weir top -c $config             the same live; here is some load for it:"
    echo "  sysbench oltp_read_only --skip-trx=on --mysql-host=127.0.0.1 --mysql-port=$weir_port --mysql-user=$user --mysql-password=$password \\"
    echo "    --mysql-db=$schema --tables=4 --table-size=1000 --threads=8 --time=60 run"
    echo "Your own client, and what Weir has logged:"
    echo "  mariadb -h 127.0.0.1 -P $weir_port -u $user -p$password $schema        (mysql: the same)"
    echo "  ${home#"$PWD"/}/weir.log"
    echo "End both (the next demo ends them too, and writes $config anew):"
    echo "  scripts/demo.sh stop"
  else
    echo "Try Weir's commands on it, and your own client: KEEP=1 make demo leaves Weir and the server running and tells you how."
  fi
  echo "In front of your own server, with your own accounts and no configuration file:"
  echo "  $weir run --backend HOST:3306 --listen 127.0.0.1:6033"
}

# ---- the end --------------------------------------------------------------------------------------------------------

# What counts connections while a measurement runs.
watch=
finish() {
  local status=$?
  [ -z "$watch" ] || kill "$watch" 2>/dev/null || true
  if [ "$status" -eq 0 ] && [ -n "${KEEP-}" ]; then
    printf '%s\n' "${started[@]}" >"$home/running"
    disown -a
    return
  fi
  end_started
}

# Two demos would use the same folder and data.
warn_of_earlier() {
  local pid birth alive=()
  [ -f "$home/running" ] || return 0
  while read -r pid birth; do
    [ "$(birth_of "$pid")" != "$birth" ] || alive+=("$(cat "/proc/$pid/comm") ($pid)")
  done <"$home/running"
  [ ${#alive[@]} -gt 0 ] || return 0
  echo "demo: KEEP=1 left ${alive[*]} running; this run ends it, for both use ${home#"$PWD"/}, and writes weir.toml there anew."
  if [ -t 0 ] && [ -t 1 ]; then
    # Its status is not 0 where nothing was typed.
    read -r -t 10 -p "      Ctrl-C within 10 s keeps it; Enter goes on. " || echo
  else
    echo "      To keep it, run a demo beside it in a clone of its own."
  fi
}

stop_earlier() {
  [ -f "$home/running" ] || return 0
  local pid birth name
  while read -r pid birth; do
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || true
    ! end_process "$pid" "$birth" || echo "demo: ended the $name of an earlier run"
  done < <(tac "$home/running")
  rm -f "$home/running" "$home/token"
}

main "$@"
