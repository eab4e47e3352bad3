#!/bin/sh
# Coverage-guided fuzzing with libFuzzer, on stable Rust.
#
#   tools/fuzz.sh build                       build all targets; say where they are
#   tools/fuzz.sh check [TARGET...]           each target, or those: the corpus and as many other inputs, the same every time
#   tools/fuzz.sh run SECONDS [TARGET...]     fuzz each target, or those, for so long, from a random seed or SEED
#   tools/fuzz.sh replay TARGET FILE...       run these inputs once
#   tools/fuzz.sh minimise TARGET DIRECTORY   put into fuzz/corpus what of DIRECTORY reaches more than others
#   tools/fuzz.sh seed                        add recordings of handshakes, and other seeds, to fuzz/corpus
set -eu
cd "$(dirname "$0")/.."

all="records messages client server pair datagram_client datagram_server endpoint reassembler replay cache_file certificates path identity jpy artefacts requests services coap"
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

# So many inputs, with those of the corpus, take about three seconds of an idle core.
runs() {
    case $1 in
        pair | datagram_client | datagram_server | endpoint) echo 4500 ;;
        client | server | services) echo 15000 ;;
        *) echo 60000 ;;
    esac
}

check() { # target
    # A directory does not determine an order of its files, which libFuzzer takes for those of one length.
    inputs=$(mktemp)
    find "fuzz/corpus/$1" -type f | LC_ALL=C sort | paste -sd, | tr -d '\n' >"$inputs"
    status=0
    # libFuzzer would learn from all that is compared, of which addresses and numbers of files are others in each process. An
    # input that never ends is a finding, but not one that waits for a processor.
    fuzz "$1" "tools/fuzz.sh check $1" "$binaries/$1" -seed=1 -runs="$(runs "$1")" -use_cmp=0 -timeout=300 -reload=0 \
        -seed_inputs="@$inputs" || status=$?
    rm -f "$inputs"
    return "$status"
}

run() { # target
    # libFuzzer takes 0 for no seed.
    seed=${SEED:-$(($(od -An -N3 -tu4 /dev/urandom) + 1))}
    new=$(mktemp -d)
    status=0
    fuzz "$1" "SEED=$seed tools/fuzz.sh run $seconds $1" "$binaries/$1" -seed="$seed" -max_total_time="$seconds" -timeout=10 \
        "$new" "fuzz/corpus/$1" || status=$?
    rm -rf "$new"
    return "$status"
}

# Runs libFuzzer, by a command that is completed here, and says what it reached. `again` does the same another time.
fuzz() { # target again command...
    target=$1
    again=$2
    shift 2
    found=${CARGO_TARGET_DIR:-target}/findings/$target
    mkdir -p "$found"
    log=$(mktemp)
    if [ -d /dev/shm ]; then
        export TMPDIR=/dev/shm # for `cache_file`, which writes files
    fi
    status=0
    "$@" -max_len="$(max_len "$target")" -rss_limit_mb=1024 -artifact_prefix="$found/" >"$log" 2>&1 || status=$?
    if [ "$status" != 0 ]; then
        cat "$log"
        file=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
        rm -f "$log"
        echo "fuzz: $target: a finding"
        echo "fuzz: $target: its input alone: tools/fuzz.sh replay $target $file"
        echo "fuzz: $target: all again: $again"
        return 1
    fi
    inputs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
    took=$(sed -n 's/^Done .* in \([0-9]*\) second.*/\1/p' "$log")
    seed=$(sed -n 's/^INFO: Seed: //p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    grown=$(grep -c '^#[0-9]*.NEW ' "$log" || :)
    rm -f "$log"
    printf 'fuzz: %-15s %9s inputs in %s s from seed %s, %s edges covered, %s inputs reached more than the corpus\n' \
        "$target" "$inputs" "$took" "$seed" "$edges" "$grown"
}

# Runs a command for each target, as many at a time as there are processors.
each() { # command
    echo "fuzz: building the targets"
    build
    findings=$(mktemp)
    running=0
    for target in $targets; do
        { "$1" "$target" || printf ' %s' "$target" >>"$findings"; } &
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
    check)
        [ "$#" = 0 ] || targets=$*
        each check
        ;;
    run)
        seconds=$1
        shift
        [ "$#" = 0 ] || targets=$*
        each run
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
