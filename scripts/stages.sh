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
stages_output=$(mktemp)
trap stages_exit EXIT

stages_exit() {
  local pid
  for pid in "${stages_ahead[@]}"; do
    kill -- "-$pid" 2>/dev/null
  done
  rm -f "$stages_output"
  [ -n "$stages_nested" ] || rm -f "$WEIR_STAGES"
}

# Such a command can be repeated, and locks what it makes: the stage itself runs it again, waits for it where it is under
# way, finds it done, and reports what fails. It yields to everything else, and ends with the script.
ahead() {
  setsid nice -n 19 "$@" </dev/null >/dev/null 2>&1 &
  stages_ahead+=($!)
}

stage() {
  local name=$1 start=$SECONDS word=passed out tee
  shift
  printf '\n==> %s: %s\n' "$name" "$*"
  exec {out}> >(exec tee "$stages_output")
  tee=$!
  "$@" >&"$out" 2>&1 {out}>&- || word=FAILED
  exec {out}>&-
  # tee ends with the stage, unless a process that the stage left behind still holds the pipe.
  timeout 5 tail --pid="$tee" -f /dev/null
  printf '%s\t%s\t%d\n' "$word" "$name" $((SECONDS - start)) >>"$WEIR_STAGES"
  [ "$word" = passed ] || stages_why "$name" >>"$WEIR_STAGES"
  printf '==> %s: %s after %d s\n' "$name" "$word" $((SECONDS - start))
  [ "$word" = passed ]
}

# The lines of the stage's output that tell most, for the end of a long log.
stages_why() {
  grep -E '^FAIL|FAILED|panicked|CRASH|^error|base64:|assertion|left:|right:' "$stages_output" | grep -v '^==>' |
    tail -n 12 | cut -c 1-300 | awk -v name="$1" '{ printf "WHY\t%s\t%s\n", name, $0 }'
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
    $1 == "WHY" { text = $0; sub(/^WHY\t/, "", text); sub(/\t/, ": ", text); print "        " text; next }
    { printf "%-7s %5d s  %s\n", $1, $3, $2; seconds += $3; if ($1 == "passed") passed++; else failed++ }
    END {
      printf "%d min %02d s in all\n", seconds / 60, seconds % 60
      printf "%d passed, %d failed\n", passed, failed
      exit failed > 0
    }
  ' "$WEIR_STAGES"
}
