#!/bin/sh
# tools/sim answers wrong arguments with 2 and what to do, and an interrupt with what it has done.
set -u
sim=$1
failed=0

refused() {
  expected=$1
  shift
  output=$("$sim" "$@" 2>&1)
  status=$?
  case $status,$output in
    2,*"$expected"*) echo "ok: $*" ;;
    *) echo "FAILED: $*: status $status: $output"; failed=1 ;;
  esac
}

refused 'no fault "bogus"' --seed 1 --faults bogus
refused 'schedules' --schedules 0
refused 'seed' --seed banana
refused 'jobs' --schedules 10 --jobs 0
refused 'seed' --seed 1 --schedules 10
refused '--nonsense' --nonsense
refused 'excludes' --original --redlock
refused 'excludes' --tournament --redlock

state=$(mktemp)
echo "something else" > "$state"
refused 'not the state' --schedules 10 --state "$state"
rm -f "$state"

output=$(timeout --preserve-status -s INT 2 "$sim" --schedules 100000000 --quiet)
status=$?
case $status,$output in
  130,*"interrupted"*) echo "ok: $output" ;;
  *) echo "FAILED: an interrupt: status $status: $output"; failed=1 ;;
esac

half=$(mktemp -u)
"$sim" --schedules 1000 --quiet --state "$half" > /dev/null || failed=1
output=$("$sim" --schedules 1100 --quiet --state "$half") || failed=1
rm -f "$half"
case $output in
  "1100 schedules"*) echo "ok: resumed" ;;
  *) echo "FAILED: resumed: $output"; failed=1 ;;
esac
exit $failed
