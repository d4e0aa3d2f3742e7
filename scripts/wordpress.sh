#!/usr/bin/env bash
# A blog of WordPress, from Debian's package, read directly and through Weir with cache rules: every page must be the same, byte by
# byte; then it is measured how long pages take and what the server does for each. Prints one table. Its status is 1 when a page differs.
#
# Usage: scripts/wordpress.sh [--family mysql] [--compare]
#   --family mysql   on MySQL instead of MariaDB
#   --compare        only compare the pages
# WEIR_BIN=FILE is a Weir that is built already. WORDPRESS_POSTS=2000 is the size of the blog, which is kept in .cache/wordpress for the
# next run; WORDPRESS_ROUNDS=6 how often each page is read in each measurement; WORDPRESS_SHARING=transaction how Weir shares connections.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
helped "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/throwaway.sh
. scripts/again.sh
. scripts/unpack.sh

family=mariadb measures=yes
while [ $# -gt 0 ]; do
  case $1,${2-} in
    --family,mariadb | --family,mysql) family=$2; shift ;;
    --compare,*) measures='' ;;
    *) echo "wordpress: there is no \"$1${2:+ $2}\"" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
posts=${WORDPRESS_POSTS:-2000} rounds=${WORDPRESS_ROUNDS:-6} sharing=${WORDPRESS_SHARING:-transaction}
home=$PWD/.cache/wordpress/$family
# WordPress itself, of every family.
root=$PWD/.cache/wordpress/root
blog=$root/usr/share/wordpress
weir=${WEIR_BIN:-target/release/weir}
packages=(wordpress wordpress-theme-twentytwentyone)

main() {
  mkdir -p "$home"
  trap end_started EXIT
  trap 'exit 130' INT TERM
  step "Packages"
  get_packages
  if [ -z "${WEIR_BIN-}" ]; then
    step "Building Weir (a few minutes the first time, then seconds)"
    cargo build --release -p weir
  fi
  step "A blog of $posts posts on $family"
  start_server
  step "Weir in front of it, once without rules and once with these"
  start_weirs
  step "WordPress three times: on the server, through Weir, and through Weir with the rules"
  start_blogs
  step "Comparing pages"
  visit compare
  [ -z "$measures" ] || { step "Measuring"; visit measure "$rounds"; }
  step "Comparing pages while the server is away"
  visit away
}

step() { printf '\n==> %s\n' "$*"; }
say() { printf '      %s\n' "$*"; }

get_packages() {
  scripts/deps.sh
  [ "$family" = mariadb ] || scripts/get-mysql.sh
  tests/drivers/setup php
  # Beside the system: the package itself would install a web server.
  unpack "$root" "${packages[@]}" || die "the packages cannot be unpacked" "$root.log"
  cp scripts/wordpress/wp-config.php "$blog/"
}

# ---- the server -----------------------------------------------------------------------------------------------------

server_pid='' server_port=''
start_server() {
  server_port=$(free_port 23406)
  make_data "$family" "$home/server" || true
  cat >"$home/accounts.sql" <<SQL
CREATE DATABASE IF NOT EXISTS wordpress CHARACTER SET utf8mb4;
$(for account in pages editors; do
    echo "CREATE USER IF NOT EXISTS $account@'%' IDENTIFIED BY 'wordpress';"
    echo "GRANT ALL PRIVILEGES ON wordpress.* TO $account@'%';"
  done)
SQL
  launch_server "$family" "$home/server" "$server_port" "--init-file=$home/accounts.sql"
  server_pid=$pid
  say "$family $(server_version "$family") at 127.0.0.1:$server_port, data in ${home#"$PWD"/}"
  [ "$(cat "$home/server/posts" 2>/dev/null)" = "$posts" ] || fill
}

fill() {
  say "filling it"
  rm -f "$home/server/posts"
  root_sql "DROP DATABASE wordpress; CREATE DATABASE wordpress CHARACTER SET utf8mb4"
  WORDPRESS_SERVER=127.0.0.1:$server_port php scripts/wordpress/fill.php "$blog" "$posts" >"$home/pages" 2>"$home/fill.log" ||
    die "WordPress cannot be filled" "$home/fill.log"
  # So that plans are those of a blog that has been there for a while.
  root_sql "ANALYZE TABLE $(root_sql "SHOW TABLES FROM wordpress" | sed 's/^/wordpress./' | paste -sd,)" >/dev/null
  echo "$posts" >"$home/server/posts"
}

root_sql() { mariadb --no-defaults -u root --protocol=socket -S "$home/server/server.sock" -BN -e "$1"; }

# ---- Weir -----------------------------------------------------------------------------------------------------------

weir_port='' rules_port='' rules_admin=''
start_weirs() {
  weir_port=$(free_port 6133)
  weir_config "$weir_port" >"$home/weir.toml"
  launch_weir weir "$weir_port"
  rules_port=$(free_port $((weir_port + 1)))
  rules_admin=$(free_port $((rules_port + 1)))
  { weir_config "$rules_port" "$rules_admin"; cat scripts/wordpress/rules.toml; } >"$home/rules.toml"
  grep -v '^#' scripts/wordpress/rules.toml | sed 's/^/      /'
  launch_weir rules "$rules_port"
}

# A configuration that listens at port $1, and for the API at port $2.
weir_config() {
  cat <<TOML
[listen]
mysql = ["127.0.0.1:$1"]
${2:+admin = \"127.0.0.1:$2\"}

[[server]]
name = "blog"
address = "127.0.0.1:$server_port"

[[user]]
name = "pages"
password = "wordpress"

[[user]]
name = "editors"
password = "wordpress"

[pool]
sharing = "$sharing"

[auth]
revalidate = "10m"

TOML
  # What needs no server because it was answered before, each worker learns for itself: where few pages are read, one of them must have
  # learned all before the server goes away.
  [ -n "$measures" ] || printf '[runtime]\nworkers = 1\n\n'
}

# ---- WordPress ------------------------------------------------------------------------------------------------------

# "name port pid", of what serves pages from each way to the server.
blogs=()
start_blogs() {
  local name port=8100
  for name in "directly $server_port" "through-Weir $weir_port" "with-rules $rules_port"; do
    port=$(free_port $((port + 1)))
    WORDPRESS_SERVER=127.0.0.1:${name#* } PHP_CLI_SERVER_WORKERS=4 start "$home/${name% *}.log" \
      php -d opcache.enable=1 -d opcache.enable_cli=1 -d display_errors=stderr -S "127.0.0.1:$port" -t "$blog"
    await_port "$port" "PHP" "$home/${name% *}.log"
    blogs+=("${name% *} $port $pid")
  done
}

# Compares or measures, by scripts/wordpress/pages.php.
visit() {
  local verb=$1
  shift
  WORDPRESS_SOCKET=$home/server/server.sock WORDPRESS_SERVER_PID=$server_pid WORDPRESS_WEIR=$weir WORDPRESS_ADMIN=127.0.0.1:$rules_admin \
    php scripts/wordpress/pages.php "$verb" "$home/pages" "${blogs[*]}" "$@"
}

main "$@"
