#!/bin/sh
# Coverage-guided fuzzing with libFuzzer, on stable Rust.
#
#   tools/fuzz.sh build                       build all targets; say where they are
#   tools/fuzz.sh run SECONDS [TARGET...]     fuzz each target, or those, for so long; a finding is an error
#   tools/fuzz.sh replay TARGET FILE...       run these inputs once
#   tools/fuzz.sh minimise TARGET DIRECTORY   put into fuzz/corpus what of DIRECTORY reaches more than others
#   tools/fuzz.sh seed                        add recordings of handshakes, and other seeds, to fuzz/corpus
set -eu
cd "$(dirname "$0")/.."

all="records messages client server pair datagram_client datagram_server endpoint reassembler replay cache_file certificates path identity jpy artefacts coap"
targets=$all
host=$(rustc -vV | sed -n 's/^host: //p')
cargo=${CARGO:-cargo}
binaries=${CARGO_TARGET_DIR:-target}/$host/fuzz

# These flags do what `cargo fuzz` does, without a nightly compiler: they add coverage counters and traced comparisons to all
# crates. With --target, build scripts get none of this.
build() {
    RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
        -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing --cfg terse_testing" \
        $cargo build --quiet --profile fuzz --target "$host" -p terse-fuzz --features libfuzzer \
        $(printf ' --bin %s' $all)
}

# Longer inputs are slower, and find no more.
max_len() {
    case $1 in
        coap | jpy | records | messages | reassembler | replay) echo 2048 ;;
        *) echo 6144 ;;
    esac
}

run() { # seconds target
    found=${CARGO_TARGET_DIR:-target}/findings/$2
    new=$(mktemp -d)
    mkdir -p "$found"
    log=$(mktemp)
    if [ -d /dev/shm ]; then
        export TMPDIR=/dev/shm # for `cache_file`, which writes files
    fi
    status=0
    "$binaries/$2" -max_total_time="$1" -max_len="$(max_len "$2")" -rss_limit_mb=1024 -timeout=10 \
        -artifact_prefix="$found/" "$new" "fuzz/corpus/$2" >"$log" 2>&1 || status=$?
    runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
    coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    grown=$(find "$new" -type f | wc -l)
    rm -rf "$new"
    if [ "$status" != 0 ]; then
        cat "$log"
        file=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
        rm -f "$log"
        echo "fuzz: $2: a finding; to replay it: tools/fuzz.sh replay $2 $file"
        return 1
    fi
    rm -f "$log"
    printf 'fuzz: %-15s %9s inputs in %s s, %s edges covered, %s inputs reached more than the corpus\n' \
        "$2" "$runs" "$1" "$coverage" "$grown"
}

merge() { # target directory
    # Inputs are chosen by edges alone: a corpus that is checked in is to be small.
    "$binaries/$1" -merge=1 -use_counters=0 -max_len="$(max_len "$1")" "fuzz/corpus/$1" "$2" 2>&1 | grep '^MERGE-OUTER'
}

command=${1:-help}
[ "$#" = 0 ] || shift
case $command in
    build)
        build
        echo "$binaries"
        ;;
    run)
        seconds=$1
        shift
        [ "$#" = 0 ] || targets=$*
        echo "fuzz: building the targets"
        build
        # As many targets run at a time as there are processors.
        findings=$(mktemp)
        running=0
        for target in $targets; do
            { run "$seconds" "$target" || printf ' %s' "$target" >>"$findings"; } &
            running=$((running + 1))
            [ "$((running % $(nproc)))" != 0 ] || wait
        done
        wait
        if [ -s "$findings" ]; then
            echo "fuzz: findings in:$(cat "$findings")"
            rm -f "$findings"
            exit 1
        fi
        rm -f "$findings"
        echo "fuzz: no findings in: $targets"
        ;;
    replay)
        build
        target=$1
        shift
        "$binaries/$target" "$@"
        ;;
    minimise)
        build
        merge "$1" "$2"
        ;;
    seed)
        build
        seeds=$(mktemp -d)
        $cargo run --quiet -p terse-fuzz --bin seed -- "$seeds"
        for target in $targets; do
            mkdir -p "fuzz/corpus/$target"
            case $target in
                # A recording of every mode is kept under the mode's name: tests count on them.
                client | server | pair | datagram_client | datagram_server | endpoint) cp "$seeds/$target"/* "fuzz/corpus/$target" ;;
                *) merge "$target" "$seeds/$target" ;;
            esac
        done
        rm -rf "$seeds"
        ;;
    *)
        sed -n 's/^# \{0,1\}//p' "$0" | sed 1d
        exit 2
        ;;
esac
