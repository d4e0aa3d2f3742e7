# Named stages with their times, for scripts that check Weir. Sourced, not run.
#
#   stage NAME COMMAND...   runs the command, notes how it ended, and goes on either way
#   needed NAME COMMAND...  the same, but ends the script with the summary when the command fails
#   ahead COMMAND...        starts what a later stage will do, in the background, while stages wait for servers
#   summary                 prints all stages, then "N passed, M failed"; its status is 1 when one failed
#
# When WEIR_STAGES names a file, stages of several scripts gather there and only the first script prints the summary.

stages_ahead=()
stages_nested=yes
if [ -z "${WEIR_STAGES-}" ]; then
  stages_nested=
  WEIR_STAGES=$(mktemp)
  export WEIR_STAGES
fi
trap stages_exit EXIT

stages_exit() {
  local pid
  for pid in "${stages_ahead[@]}"; do
    kill -- "-$pid" 2>/dev/null
  done
  [ -n "$stages_nested" ] || rm -f "$WEIR_STAGES"
}

# Such a command can be repeated, and locks what it makes: the stage itself runs it again, waits for it where it is under
# way, finds it done, and reports what fails. It yields to everything else, and ends with the script.
ahead() {
  setsid nice -n 19 "$@" </dev/null >/dev/null 2>&1 &
  stages_ahead+=($!)
}

stage() {
  local name=$1 start=$SECONDS word=passed
  shift
  printf '\n==> %s: %s\n' "$name" "$*"
  "$@" || word=FAILED
  printf '%s\t%s\t%d\n' "$word" "$name" $((SECONDS - start)) >>"$WEIR_STAGES"
  printf '==> %s: %s after %d s\n' "$name" "$word" $((SECONDS - start))
  [ "$word" = passed ]
}

needed() {
  stage "$@" || { summary; exit 1; }
}

summary() {
  if [ -n "$stages_nested" ]; then
    ! grep -q '^FAILED' "$WEIR_STAGES"
    return
  fi
  awk -F '\t' '
    BEGIN { print "" }
    { printf "%-7s %5d s  %s\n", $1, $3, $2; seconds += $3; if ($1 == "passed") passed++; else failed++ }
    END {
      printf "%d min %02d s in all\n", seconds / 60, seconds % 60
      printf "%d passed, %d failed\n", passed, failed
      exit failed > 0
    }
  ' "$WEIR_STAGES"
}
