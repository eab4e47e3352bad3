#!/bin/sh
# Builds the tests of the packages that are chosen as for `cargo test`, and runs each program of tests once, in two lanes at a
# time: those of the services and of the command, which wait for timers and processes most of their time, and all others. Each
# lane goes on after a failure, and the end says what has failed.
#
#   tools/tests.sh PACKAGES...
set -eu
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}

# Runs the programs of a list, whose lines have a manifest and a program.
run_lane() {
    failed=''
    while read -r manifest program; do
        name=$(basename "$program")
        echo
        echo "     Running $(basename "$(dirname "$manifest")"): ${name%-*}"
        # As Cargo does it.
        (cd "$(dirname "$manifest")" && CARGO_MANIFEST_DIR=$PWD exec "$program" </dev/null) || failed="$failed $name"
    done <"$1"
    [ -z "$failed" ] || fail "failed:$failed"
}

fail() {
    echo "tools/tests.sh: $1" >&2
    exit 1
}

if [ "${1-}" = lane ]; then
    run_lane "$2"
    exit
fi

lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT
"$cargo" test "$@" --no-run --message-format json-render-diagnostics >"$lists/built"
fields='"manifest_path":"\([^"]*\)".*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)"'
sed -n "s/.*\"reason\":\"compiler-artifact\".*$fields.*/\1 \2/p" "$lists/built" >"$lists/all"
services='/crates/terse\(-onboard\)\{0,1\}/Cargo.toml '
grep "$services" "$lists/all" >"$lists/services" || fail 'there are no tests of the services'
grep -v "$services" "$lists/all" >"$lists/others" || fail 'there are no other tests'
echo "$(wc -l <"$lists/all") programs of tests"
tools/beside.sh "tools/tests.sh lane $lists/others" "tools/tests.sh lane $lists/services"
