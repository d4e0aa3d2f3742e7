# Throwaway servers with Weir in front of them, for scripts that show Weir at work. Sourced, not run. Such a script sets
# `home`, the folder of all its files, and `weir`, the program; and calls `end_started` when it exits.

# Each process that was started, in this order: its number, and its birth, by which it is told from a later one of that number.
started=()
PATH=$PATH:/usr/sbin:/sbin

# Says what went wrong ($1), shows the end of the log that tells why ($2), and ends the script.
die() {
  printf '\n%s: %s; the end of %s:\n' "$(basename "$0" .sh)" "$1" "${2#"$PWD"/}" >&2
  tail -n 20 "$2" >&2
  exit 1
}

# ---- servers --------------------------------------------------------------------------------------------------------

# The server program of a family, with what it needs to be told of its files.
server_program() {
  case $1 in
    mariadb) echo mariadbd --no-defaults ;;
    mysql)
      local dir=${WEIR_MYSQL_DIR:-$PWD/.cache/mysql}
      echo "$dir/bin/mysqld" --no-defaults "--basedir=$dir/root/usr" "--lc-messages-dir=$dir/root/usr/share/mysql" \
        "--plugin-dir=$dir/root/usr/lib/mysql/plugin" --mysqlx=0
      ;;
  esac
}

server_version() { $(server_program "$1") --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+(-MariaDB)?' | head -n 1; }

# Makes a data directory for a server of family $1 in folder $2, unless there is one of this version.
# Its status is 1 when there was one.
make_data() {
  local family=$1 folder=$2 version
  version=$(server_version "$family")
  [ "$(cat "$folder/version" 2>/dev/null)" != "$version" ] || return 1
  rm -rf "$folder"
  mkdir -p "$folder"
  case $family in
    mariadb)
      mariadb-install-db --no-defaults "--user=$(id -un)" --auth-root-authentication-method=normal --skip-test-db \
        "--datadir=$folder/data" >"$folder/install.log" 2>&1 || die "mariadb-install-db failed" "$folder/install.log"
      ;;
    mysql)
      $(server_program mysql) --initialize-insecure "--user=$(id -un)" "--datadir=$folder/data" >"$folder/install.log" 2>&1 ||
        die "mysqld --initialize failed" "$folder/install.log"
      ;;
  esac
  echo "$version" >"$folder/version"
}

# Starts a server of family $1 on the data in folder $2, at port $3; more options may follow. Its process is in `pid`.
launch_server() {
  local family=$1 folder=$2 port=$3 socket=$2/server.sock
  shift 3
  # Servers take it from their data directory.
  is_socket_path "$socket" || socket=../server.sock
  # shellcheck disable=SC2046 # words of a command
  start "$folder/server.log" $(server_program "$family") "--user=$(id -un)" "--datadir=$folder/data" \
    "--socket=$socket" "--pid-file=$folder/server.pid" --bind-address=127.0.0.1 "--port=$port" --skip-name-resolve \
    --secure-file-priv= --max-connections=500 --innodb-buffer-pool-size=256M --innodb-flush-log-at-trx-commit=0 --skip-log-bin "$@"
  await_port "$port" "the $family server" "$folder/server.log"
}

# ---- Weir -----------------------------------------------------------------------------------------------------------

# Starts Weir on $home/$1.toml, which has it listen at port $2. Its process is in `pid`. Where its admin address is a port, WEIR_TOKEN
# is a token for it.
launch_weir() {
  if grep -q '^admin = "127' "$home/$1.toml"; then
    WEIR_TOKEN=$("$weir" token add scripts --role admin -c "$home/$1.toml" 2>"$home/token.log") ||
      die "no token could be made" "$home/token.log"
    export WEIR_TOKEN
  fi
  start "$home/$1.log" "$weir" run -c "$home/$1.toml"
  await_port "$2" "Weir" "$home/$1.log"
}

# ---- processes ------------------------------------------------------------------------------------------------------

# Starts a program that writes to log $1. Its process is in `pid`. It has a session of its own, so that Ctrl-C here does not
# end it before this script has spoken.
start() {
  local log=$1
  shift
  setsid "$@" </dev/null >"$log" 2>&1 &
  pid=$!
  started+=("$pid $(birth_of "$pid")")
}

# Waits up to 120 s until port $1 is served by the process `pid`, which is $2 and writes to log $3.
await_port() {
  local i
  for ((i = 0; i < 1200; i++)); do
    kill -0 "$pid" 2>/dev/null || break
    ! listens "$1" || return 0
    sleep 0.1
  done
  die "$2 did not start" "$3"
}

# When a process that still runs was started, in ticks since the machine was.
birth_of() { sed -E 's/^.*\) [^Z] ([0-9-]+ ){18}([0-9]+) .*$/\2/;t;d' "/proc/$1/stat" 2>/dev/null; }

# Ends what was started, the last first.
end_started() {
  local i
  for ((i = ${#started[@]} - 1; i >= 0; i--)); do
    # shellcheck disable=SC2086 # number and birth
    end_process ${started[i]} || true
  done
}

# Ends process $1 and its children if it still is the one that was born at $2, and waits until it is gone.
end_process() {
  local i
  [ -n "${2-}" ] && [ "$(birth_of "$1")" = "$2" ] && kill -- "-$1" 2>/dev/null || return 1
  for ((i = 0; i < 300; i++)); do
    [ "$(birth_of "$1")" = "$2" ] || return 0
    sleep 0.1
  done
  kill -KILL -- "-$1" 2>/dev/null || true
}

# Whether path $1 can be that of a unix socket: the system takes 107 bytes at most.
is_socket_path() { [ "$(printf '%s' "$1" | wc -c)" -le 107 ]; }

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

free_port() {
  local port=$1
  while listens "$port"; do port=$((port + 1)); done
  echo "$port"
}

# 12345 -> 12,345
digits() { printf '%s' "$1" | sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta'; }
