# Sourced, not run.
#
#   thrice COMMAND...   runs the command, and up to two times more where it fails, with a pause before: for what comes over a network

thrice() {
  local pause
  for pause in 10 30; do
    "$@" && return
    echo "$1 failed; once more in $pause s" >&2
    sleep "$pause"
  done
  "$@"
}
