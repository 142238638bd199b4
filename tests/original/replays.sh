#!/bin/sh
# Each schedule of others' algorithms in a document shows what the document says that it shows. If
# the simulator has changed so that a seed is another schedule now, `tools/sim --original` (or
# --tournament, --redlock) prints seeds to take instead.
set -u
sim=$1
document=$2
failed=0
replays=$(sed -n 's/^`tools\/sim \(--[otr][a-z]* [^`]*\)` → \([a-z_]*\)$/\2 \1/p' "$document")
test "$(echo "$replays" | wc -l)" -ge 4 || { echo "FAILED: $document quotes too few"; exit 1; }
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
