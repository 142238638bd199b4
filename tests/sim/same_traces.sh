#!/bin/sh
# Two processes, the same thousand seeds: their traces must be the same, byte by byte.
set -eu
sim=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for run in 1 2; do
  "$sim" --schedules 1000 --traces | cksum > "$dir/$run"
done
cat "$dir/1"
cmp "$dir/1" "$dir/2"
test "$(cut -d ' ' -f 2 "$dir/1")" -gt 1000000
