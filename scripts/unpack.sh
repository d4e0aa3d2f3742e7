# Debian packages beside the system, for scripts that need files of them and not what they would start. Sourced, not run, behind again.sh.

# Unpacks packages ($2 and on) into folder $1, unless that has been done: nothing is installed. Its status is not 0 where they cannot be
# had; $1.log says why.
unpack() {
  local root=$1 package
  shift
  [ "$(cat "$root/complete" 2>/dev/null)" != "$*" ] || return 0
  rm -rf "$root"
  mkdir -p "$root/packages"
  download "$root" "$@" || thrice download_anew "$root" "$@" || return
  for package in "$root"/packages/*.deb; do dpkg-deb -x "$package" "$root" || return; done
  rm -r "$root/packages"
  echo "$*" >"$root/complete"
}

download() { (cd "$1/packages" && apt-get download -qq "${@:2}") >"$1.log" 2>&1; }

# Old lists name packages that are gone.
download_anew() { as_root apt-get update -qq && download "$@"; }

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }
