#!/bin/sh
# Checks that each published crate can be packaged, without a warning and with a README and both licences. Nothing is
# compiled, and no registry is asked: cargo takes the dependencies that Cargo.lock names from what an earlier build loaded.
set -eu
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
# The project has no address yet.
allowed='warning: manifest has no documentation, homepage or repository'

fail() {
    echo "make product: $1" >&2
    exit 1
}

name_of() { # manifest
    sed -n 's/^name = "\(.*\)"$/\1/p' "$1" | head -n 1
}

content() { # package file
    tar -xOf "$target/package/$1.crate" "$1/$2" 2>/dev/null
}

unpublished=
for manifest in $(grep -lx 'publish = false' ./*/Cargo.toml crates/*/Cargo.toml); do
    unpublished="$unpublished --exclude $(name_of "$manifest")"
done

# shellcheck disable=SC2086 # options
log=$($cargo package --offline --color never --no-verify --allow-dirty --workspace $unpublished 2>&1) || fail "$log"
warnings=$(echo "$log" | grep '^warning' | grep -vxF "$allowed" || true)
[ -z "$warnings" ] || fail "cargo package warns: $warnings"

packages=$(echo "$log" | sed -n 's/^ *Packaging \([^ ]*\) v\([^ ]*\) .*/\1-\2/p')
[ -n "$packages" ] || fail "cargo package has packaged nothing"
rust=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
for package in $packages; do
    content "$package" README.md | grep -qF "Rust $rust or newer" || fail "$package has no README.md that says: Rust $rust or newer"
    for licence in LICENSE-APACHE LICENSE-MIT; do
        content "$package" "$licence" | cmp -s - "$licence" || fail "$package does not have $licence as the project has it"
    done
done
echo "make product: cargo packages$(printf ' %s' $packages)"
