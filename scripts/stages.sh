# Named stages with their times, for scripts that check Weir. Sourced, not run.
#
#   stage NAME COMMAND...   runs the command, notes how it ended, and goes on either way
#   needed NAME COMMAND...  the same, but ends the script with the summary when the command fails
#   beside NAME COMMAND...  starts a stage that mostly waits; other stages run beside it
#   joined                  waits for the stages that were started with `beside`, and reports them
#   ahead COMMAND...        starts what a later stage will do, in the background, while stages wait for servers
#   alone                   waits until nothing runs any more that was started with `ahead`: for a stage that measures times
#   summary                 prints all stages, then "N passed, M failed"; its status is 1 when one failed. In a script that another has
#                           started it prints only those that failed.
#
# When WEIR_STAGES names a file, stages of several scripts gather there and only the first script prints the summary.

stages_ahead=()
stages_beside=()
stages_nested=yes
if [ -z "${WEIR_STAGES-}" ]; then
  stages_nested=
  WEIR_STAGES=$(mktemp)
  export WEIR_STAGES
fi
stages_output=$(mktemp)
stages_folder=$(mktemp -d)
trap stages_exit EXIT

stages_exit() {
  local pid
  for pid in "${stages_ahead[@]}" "${stages_beside[@]}"; do
    kill -- "-$pid" 2>/dev/null
  done
  rm -f "$stages_output"
  rm -rf "$stages_folder"
  [ -n "$stages_nested" ] || rm -f "$WEIR_STAGES"
}

# Such a command can be repeated, and locks what it makes: the stage itself runs it again, waits for it where it is under
# way, finds it done, and reports what fails. It yields to everything else, the disk too where that can be had, and ends with the script.
ahead() {
  local yields=(nice -n 19)
  ! command -v ionice >/dev/null || yields+=(ionice -c 3 -t)
  setsid "${yields[@]}" "$@" </dev/null >/dev/null 2>&1 &
  stages_ahead+=($!)
}

# How it ended tells the stage that needs it.
alone() {
  local pid
  for pid in "${stages_ahead[@]}"; do
    wait "$pid" 2>/dev/null
  done
  stages_ahead=()
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
  stages_ended "$word" "$name" $((SECONDS - start))
}

# Notes how the stage $2, whose output is in stages_output, has ended after $3 s: $1 is "passed" or "FAILED".
stages_ended() {
  printf '%s\t%s\t%d\n' "$1" "$2" "$3" >>"$WEIR_STAGES"
  [ "$1" = passed ] || stages_why "$2" >>"$WEIR_STAGES"
  printf '==> %s: %s after %d s\n' "$2" "$1" "$3"
  [ "$1" = passed ]
}

# Its output is shown when it is joined, so that outputs do not mix.
beside() {
  local name=$1 at=$stages_folder/${#stages_beside[@]}
  shift
  rm -f "$at".*
  printf '%s\n' "$name" >"$at.name"
  printf '\n==> %s (beside what follows): %s\n' "$name" "$*"
  setsid bash -c 'at=$1; shift; SECONDS=0; "$@" >"$at.output" 2>&1; echo "$? $SECONDS" >"$at.end"' - "$at" "$@" </dev/null &
  stages_beside+=($!)
}

joined() {
  local i status seconds word good=yes
  for i in "${!stages_beside[@]}"; do
    wait "${stages_beside[i]}" 2>/dev/null
    # Without this file the stage was ended from outside.
    status=1 seconds=0 word=passed
    [ ! -f "$stages_folder/$i.end" ] || read -r status seconds <"$stages_folder/$i.end"
    [ "$status" = 0 ] || word=FAILED good=
    printf '\n==> %s\n' "$(cat "$stages_folder/$i.name")"
    tee "$stages_output" <"$stages_folder/$i.output"
    stages_ended "$word" "$(cat "$stages_folder/$i.name")" "$seconds"
  done
  stages_beside=()
  [ -n "$good" ]
}

# The lines of the stage's output that tell most, for the end of a long log.
stages_why() {
  grep -E '^FAIL|FAILED|panicked|CRASH|^error|base64:|assertion|left:|right:|^seed|^  difference|^direct:|^weir:|^  (direct|weir):' "$stages_output" | grep -v '^==>' |
    tail -n 12 | cut -c 1-300 | awk -v name="$1" '{ printf "WHY\t%s\t%s\n", name, $0 }'
}

needed() {
  stage "$@" || { summary; exit 1; }
}

summary() {
  if [ -n "$stages_nested" ]; then
    # Said here too: whoever keeps only a part of a long log keeps what stands around the first error.
    ! grep -E '^(FAILED|WHY)' "$WEIR_STAGES"
    return
  fi
  awk -F '\t' -v seconds="$SECONDS" '
    BEGIN { print "" }
    $1 == "WHY" { text = $0; sub(/^WHY\t/, "", text); sub(/\t/, ": ", text); print "        " text; next }
    { printf "%-7s %5d s  %s\n", $1, $3, $2; if ($1 == "passed") passed++; else failed++ }
    END {
      printf "%d min %02d s in all\n", seconds / 60, seconds % 60
      printf "%d passed, %d failed\n", passed, failed
      exit failed > 0
    }
  ' "$WEIR_STAGES"
}
