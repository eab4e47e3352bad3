#!/bin/sh
# Runs two commands at a time, and succeeds if both do. FIRST gives way to SECOND, and what it says is shown at once. What
# SECOND says follows when both have ended, or when this is stopped.
#
#   tools/beside.sh FIRST SECOND
set -u

said=$(mktemp)
$2 >"$said" 2>&1 &
second=$!
trap 'kill "$second" 2>/dev/null; cat "$said"; rm -f "$said"; exit 130' INT TERM

first_failed=0
second_failed=0
nice -n 10 $1 || first_failed=$?
wait "$second" || second_failed=$?
cat "$said"
rm -f "$said"
if [ "$first_failed" != 0 ]; then
    echo "failed, see above: $1" >&2
    exit "$first_failed"
fi
exit "$second_failed"
