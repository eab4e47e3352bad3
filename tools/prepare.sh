#!/bin/sh
# Installs what the tests need and is missing: Debian packages with apt-get (as root or through sudo), Rust targets with
# rustup, Python packages with pip in a folder of this checkout, Java libraries with Maven. It prints each with its reason
# before it installs it. It says plainly what cannot be installed; with TERSE_REQUIRE_ALL=1 that is an error.
#
#   tools/prepare.sh                    install
#   tools/prepare.sh packages           install Debian packages alone
#   tools/prepare.sh has-target NAME    succeed if Rust can build for NAME
#   tools/prepare.sh has-go             succeed if there is a Go, of whatever version
#   tools/prepare.sh has-firmware       succeed if images for Cortex-M can be built, and run in QEMU
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

# Packages that are missing and can be installed, and the command or file that each brings.
packages=''
needed=''

need() { # command-or-file package why
    has "$1" && return
    packages="$packages $2"
    needed="$needed $1=$2"
    echo "prepare: $2 is missing: $3"
}

# All at once, which takes a fraction of the time of one after the other.
install_packages() {
    [ -n "$packages" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        say_missing 'and there is no apt-get'
        return
    fi
    if [ "$(id -u)" = 0 ]; then
        sudo=
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        sudo=sudo
    else
        say_missing "to have them, run: sudo apt-get install$packages"
        return
    fi
    echo "prepare: apt-get installs, with what they depend on:$packages"
    # shellcheck disable=SC2086 # words
    install_all $packages || for package in $packages; do install_all "$package" || true; done
    say_missing 'apt-get could not install it'
    packages=''
    needed=''
}

install_all() { # package...
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null 2>&1 ||
        { $sudo apt-get update -qq >/dev/null 2>&1 || true
          $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null; }
}

say_missing() { # why
    for one in $needed; do
        has "${one%=*}" || missing "${one%=*} of ${one#*=} is not there, $1: its tests are skipped"
    done
}

install_target() {
    has_target "$1" && return
    command -v rustup >/dev/null 2>&1 || { missing "no rustup: not building for $1"; return; }
    echo "prepare: rustup adds the target $1, for the device crates and the images of firmware/"
    rustup target add "$1" >/dev/null 2>&1 || missing "rustup could not add $1: not building for it"
}

fetch_java() { # pom
    command -v mvn >/dev/null 2>&1 || return 0
    echo "prepare: Maven fetches the libraries of $1 into its own cache, unless they are there"
    mvn --quiet --batch-mode --file "$(dirname "$0")/../$1" dependency:build-classpath -Dmdep.outputFile=/dev/null ||
        missing "Maven could not fetch what $1 names: its tests are skipped"
}

install_python() { # module package==version...
    python="${CARGO_TARGET_DIR:-$(dirname "$0")/../target}/python"
    "$python/bin/python" -c "import $1" >/dev/null 2>&1 && return
    shift
    echo "prepare: pip installs $* into $python, as a peer of CoAP or COSE"
    { mkdir -p "$(dirname "$python")" && python3 -m venv "$python" &&
        "$python/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; } >/dev/null 2>&1 ||
        missing "pip could not install $*: the tests against it are skipped"
}

install_component() { # cargo-command component
    cargo "$1" --version >/dev/null 2>&1 && return
    echo "prepare: rustup adds the component $2, for lints"
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

if [ "${1:-}" = has-firmware ]; then
    has qemu-system-arm || { missing 'skipping the images of firmware/: there is no qemu-system-arm (apt-get install qemu-system-arm)'; exit 1; }
    has /usr/lib/arm-none-eabi/include/string.h && has arm-none-eabi-gcc || {
        missing 'skipping the images of firmware/: there is no C compiler for Cortex-M (apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi)'
        exit 1
    }
    "$0" has-target thumbv7m-none-eabi || exit 1
    exec "$0" has-target thumbv7em-none-eabihf
fi

need cc build-essential "a C compiler, for AWS-LC and for peers in C"
need cmake cmake "builds AWS-LC and peers in C"
need valgrind valgrind "memory of C programs; instructions of benchmarks"
need arm-none-eabi-gcc gcc-arm-none-eabi "C compiler for images of firmware/"
need /usr/lib/arm-none-eabi/include/stdio.h libnewlib-arm-none-eabi "C library for images of firmware/"
need qemu-system-arm qemu-system-arm "runs images of firmware/"
need /usr/include/lwip/lwip/sockets.h liblwip-dev "declarations for the C example on FreeRTOS"
need openssl openssl "peer of the matrix; makes and verifies certificates"
need curl curl "client of the services of onboarding"
need ip iproute2 "network namespaces for tests of sockets"
need avahi-browse avahi-utils "finds registrars by mDNS"
need coap-client-gnutls libcoap3-bin "libcoap's client meets the registrar"
need /usr/bin/pg_ctlcluster postgresql "a database of registrar and MASA"
need /usr/sbin/avahi-daemon avahi-daemon "answers by mDNS"
need dbus-daemon dbus-daemon "avahi needs it"
need softhsm2-util softhsm2 "a PKCS #11 module for the key of a CA"
need pkcs11-tool opensc "fills that module"
need p11-kit p11-kit "a PKCS #11 module behind a process"
need unshare util-linux "runs tests in namespaces of their own"
need gnutls-cli gnutls-bin "peer of the matrix"
need /usr/include/wolfssl/ssl.h libwolfssl-dev "peer of the matrix"
need /usr/include/mbedtls/ssl.h libmbedtls-dev "peer of the matrix"
need /usr/include/openssl/ssl.h libssl-dev "headers for programs in C that meet OpenSSL"
need /usr/include/gnutls/gnutls.h libgnutls28-dev "headers for the peer GnuTLS"
need javac default-jdk-headless "peers in Java"
need /usr/share/java/bctls.jar libbctls-java "peer of the matrix"
need /usr/share/java/bcpkix.jar libbcpkix-java "client of EST"
need mvn maven "fetches Scandium and Californium"
need go golang-go "BoringSSL's test runner"
need tshark tshark "reads captures of the simulator"
need tcpdump tcpdump "captures on real interfaces"
need ethtool ethtool "switches offloading off where packets are counted"
need parallel parallel "runs the shards of a sweep as its page says"
need chromium chromium "walks the status pages"
need chromedriver chromium-driver "drives chromium"
need python3 python3 "tools/check; peers in Python"
need /usr/lib/python3/dist-packages/cryptography_vectors/x509/PKITS_data python3-cryptography-vectors "the corpus PKITS"
python3 -c "import ensurepip, venv" >/dev/null 2>&1 || {
    packages="$packages python3-venv"
    echo "prepare: python3-venv is missing: keeps aiocoap and pycose apart from the system's Python"
}
install_packages
[ "${1:-}" != packages ] || exit 0
fetch_java interop/java/scandium/pom.xml
fetch_java crates/terse-onboard/tests/foreign/pom.xml
install_python pycose pycose==1.1.0 cbor2==5.9.0
install_target thumbv7em-none-eabihf
install_target thumbv7m-none-eabi
install_component fmt rustfmt
install_component clippy clippy
install_python aiocoap aiocoap==0.4.17
