#!/bin/sh
# Installs what the tests need and is missing: Debian packages with apt-get (as root or through sudo), Rust targets with
# rustup, Python packages with pip, beside what Cargo builds. What cannot be installed is said plainly; with
# TERSE_REQUIRE_ALL=1 it is an error.
#
#   tools/prepare.sh                    install
#   tools/prepare.sh has-target NAME    succeed if Rust can build for NAME
#   tools/prepare.sh has-go             succeed if there is a Go, of whatever version
set -eu

missing() {
    echo "prepare: $1" >&2
    if [ "${TERSE_REQUIRE_ALL:-}" = 1 ]; then
        exit 1
    fi
}

has_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1" ]
}

has() { # a command, or a file
    command -v "$1" >/dev/null 2>&1 || [ -e "$1" ]
}

install_package() { # command-or-file package
    has "$1" && return
    command -v apt-get >/dev/null 2>&1 || { missing "$1 is not there, nor apt-get: its tests are skipped"; return; }
    if [ "$(id -u)" = 0 ]; then
        sudo=
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        sudo=sudo
    else
        missing "$1 is not there: its tests are skipped; to have them, run: sudo apt-get install $2"
        return
    fi
    echo "prepare: installing $2"
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null 2>&1 ||
        { $sudo apt-get update -qq >/dev/null 2>&1 || true
          $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null; } ||
        missing "$2 could not be installed: the tests against $1 are skipped"
}

install_target() {
    has_target "$1" && return
    command -v rustup >/dev/null 2>&1 || { missing "no rustup: not building for $1"; return; }
    rustup target add "$1" >/dev/null 2>&1 || missing "rustup could not add $1: not building for it"
}

fetch_java() { # pom
    command -v mvn >/dev/null 2>&1 || return 0
    mvn --quiet --batch-mode --file "$(dirname "$0")/../$1" dependency:build-classpath -Dmdep.outputFile=/dev/null ||
        missing "Maven could not fetch what $1 names: its tests are skipped"
}

install_python() { # module package==version...
    python="${CARGO_TARGET_DIR:-$(dirname "$0")/../target}/python"
    "$python/bin/python" -c "import $1" >/dev/null 2>&1 && return
    shift
    python3 -c "import ensurepip, venv" >/dev/null 2>&1 || install_package /usr/share/doc/python3-venv python3-venv
    { mkdir -p "$(dirname "$python")" && python3 -m venv "$python" &&
        "$python/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; } >/dev/null 2>&1 ||
        missing "pip could not install $*: the tests against it are skipped"
}

install_component() { # cargo-command component
    cargo "$1" --version >/dev/null 2>&1 && return
    rustup component add "$2" >/dev/null 2>&1 || missing "no $2: install it with: rustup component add $2"
}

if [ "${1:-}" = has-target ]; then
    has_target "$2" || { missing "skipping $2: Rust cannot build for it (rustup target add $2)"; exit 1; }
    exit 0
fi

if [ "${1:-}" = has-go ]; then
    has go || { missing "skipping BoringSSL's protocol tests: there is no Go, of whatever version (apt-get install golang-go)"; exit 1; }
    exit 0
fi

install_package cc build-essential
install_package cmake cmake
install_package openssl openssl
install_package curl curl
install_package ip iproute2
install_package avahi-browse avahi-utils
install_package coap-client-gnutls libcoap3-bin
install_package /usr/bin/pg_ctlcluster postgresql
install_package /usr/sbin/avahi-daemon avahi-daemon
install_package dbus-daemon dbus-daemon
install_package unshare util-linux
install_package gnutls-cli gnutls-bin
install_package /usr/include/wolfssl/ssl.h libwolfssl-dev
install_package /usr/include/mbedtls/ssl.h libmbedtls-dev
install_package /usr/include/openssl/ssl.h libssl-dev
install_package /usr/include/gnutls/gnutls.h libgnutls28-dev
install_package javac default-jdk-headless
install_package /usr/share/java/bctls.jar libbctls-java
install_package /usr/share/java/bcpkix.jar libbcpkix-java
install_package mvn maven
install_package go golang-go
install_package tshark tshark
install_package tcpdump tcpdump
install_package ethtool ethtool
install_package parallel parallel
install_package python3 python3
fetch_java interop/java/scandium/pom.xml
fetch_java crates/terse-onboard/tests/foreign/pom.xml
install_python pycose pycose==1.1.0 cbor2==5.9.0
install_target thumbv7em-none-eabihf
install_target thumbv7m-none-eabi
install_component fmt rustfmt
install_component clippy clippy
install_python aiocoap aiocoap==0.4.17
