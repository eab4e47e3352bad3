#!/bin/sh
# Runs a sweep as a whole, then in four shards at a time, each of which is killed twice and resumed, merges these, and compares
# both files byte for byte. It ends with an error if they differ.
#
#   tools/sweep-killed.sh [RUNS]        10000 runs unless given; a multiple of 20
set -eu
cd "$(dirname "$0")/.."

runs=${1:-10000}
cargo=${CARGO:-cargo}
terse=${CARGO_TARGET_DIR:-target}/release/terse
shards='1 2 3 4'

fail() {
    echo "sweep-killed: $1" >&2
    exit 1
}

case $runs in
    *[!0-9]* | '') fail "$runs is no number of runs" ;;
esac
[ "$runs" -ge 20 ] && [ $((runs % 20)) = 0 ] || fail "$runs is no multiple of 20, which is the number of rows"

$cargo build --quiet --release --bin terse
folder=$(mktemp -d)
pid=
trap 'kill $pid 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

cat >"$folder/scenario.toml" <<'TOML'
title = "Four shards, each killed twice"
peers = "engine"
loss.fragments = 0.05
[matrix]
engine.version = ["TLS 1.3", "DTLS 1.3"]
engine.mode = ["full", "compact"]
topology.hops = [1, 2, 3, 4, 5]
TOML

now() {
    date +%s
}

sweep() { # folder options
    out=$folder/$1
    shift
    "$terse" sim sweep "$folder/scenario.toml" --seeds $((runs / 20)) --out "$out" "$@"
}

done_runs() { # shard: the lines of its partial file, but for the first
    cat "$folder/parts/shard-$1-of-4.partial" 2>/dev/null | tail -n +2 | wc -l
}

# Runs a shard until so many runs are done, and kills it.
kill_after() { # shard runs
    "$terse" sim sweep "$folder/scenario.toml" --seeds $((runs / 20)) --out "$folder/parts" --jobs 1 --shard "$1/4" \
        >/dev/null 2>&1 &
    pid=$!
    while [ "$(done_runs "$1")" -lt "$2" ]; do
        kill -0 "$pid" 2>/dev/null || fail "shard $1 ended before it was killed: try more runs"
        sleep 0.05
    done
    kill -9 "$pid" || fail "shard $1 ended before it was killed: try more runs"
    wait "$pid" 2>/dev/null || true
    echo "shard $1 was killed with $(done_runs "$1") of about $((runs / 4)) runs done"
}

began=$(now)
sweep whole >/dev/null
echo "the whole sweep of $runs runs took $(($(now) - began)) s"

began=$(now)
pids=
for shard in $shards; do
    # Shards run side by side, each of which is killed after about a third and two thirds of its runs.
    { kill_after "$shard" $((runs / 12)) && kill_after "$shard" $((runs / 6)) &&
        sweep parts --jobs 1 --shard "$shard/4" >/dev/null; } &
    pids="$pids $!"
done
for each in $pids; do
    wait "$each" || fail "a shard has failed, see above"
done
echo "four shards, each killed twice and resumed, took $(($(now) - began)) s"

began=$(now)
"$terse" sim merge "$folder/parts" --out "$folder/merged.parquet"
echo "merging them took $(($(now) - began)) s"

cmp "$folder/whole/shard-1-of-1.parquet" "$folder/merged.parquet" || fail "the files differ"
echo "both files are the same: $(wc -c <"$folder/merged.parquet") bytes, SHA-256 $(sha256sum <"$folder/merged.parquet" | cut -d ' ' -f 1)"
