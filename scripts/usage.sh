# Sourced, not run.
#
#   usage             prints the head of the script that was called, which says how to call it
#   helped "$@"       prints it and ends the script where --help or -h is among the arguments

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[-1]}"; }

helped() {
  local word
  for word; do
    case $word in -h | --help) usage; exit 0 ;; esac
  done
}
