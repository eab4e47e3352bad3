#!/bin/sh
# Checks that the command is free of test code if it is built as README.md says. Every build of terse-tls with
# `--cfg terse_testing` holds a mark. A debug build of this checkout must have it, which shows that the mark is the right one.
set -eu
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
mark='terse-tls with --cfg terse_testing'

fail() {
    echo "make product: $1" >&2
    exit 1
}

tree=$($cargo tree --edges normal,build --format '{p}')
echo "$tree" | grep terse-testkit && fail "the default members depend on test code"

$cargo build --quiet --release
for product in terse libterse_capi.a; do
    [ -e "$target/release/$product" ] || fail "$target/release/$product was not built"
    grep -qF "$mark" "$target/release/$product" && fail "$target/release/$product has test code in it"
done

# The debug build takes the same packages as `make test`, so that nothing is compiled for this alone.
$cargo build --quiet --workspace --exclude terse-bench --bin terse
grep -qF "$mark" "$target/debug/terse" || fail "$target/debug/terse has no mark of test code: this check cannot fail"
echo "make product: no test code in $target/release/terse"
