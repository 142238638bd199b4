#!/bin/sh
# Runs every schedule of kept_seeds.txt again.
set -eu
sim=$1
grep -v '^#' "$(dirname "$0")/kept_seeds.txt" | while IFS=: read -r name arguments; do
  # The arguments are words.
  # shellcheck disable=SC2086
  if ! "$sim" $arguments > /dev/null; then
    echo "FAILED: $name: $sim $arguments"
    exit 1
  fi
  echo "ok: $name"
done
