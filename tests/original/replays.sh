#!/bin/sh
# replays.sh SIM DOCUMENT NUMBER
# Each of so many schedules of others' algorithms in a document shows the flaw that it names. If the
# simulator has changed so that a seed is another schedule now, `tools/sim --original` (or
# --tournament, --redlock) prints seeds to take instead.
set -u
sim=$1
document=$2
number=$3
failed=0
replays=$(sed -n 's/^`tools\/sim \(--[otr][a-z]* [^`]*\)` → \([a-z_]*\)$/\2 \1/p' "$document")
quoted=$(echo "$replays" | wc -l)
test "$quoted" -eq "$number" || { echo "FAILED: $document quotes $quoted of $number"; exit 1; }
while read -r flaw arguments; do
  # The arguments are words.
  # shellcheck disable=SC2086
  if "$sim" $arguments | grep -q "^$flaw at "; then
    echo "ok: $flaw: $arguments"
  else
    echo "FAILED: not $flaw: $sim $arguments"
    failed=1
  fi
done <<EOF
$replays
EOF
exit $failed
