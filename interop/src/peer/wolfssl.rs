//! The current wolfSSL, driven by `c/wolfssl.c`. Its sources are in the crate `wolfssl-sys`, which itself is never built,
//! because that needs autotools, and leaves out early data and raw public keys.

use std::path::{Path, PathBuf};

use terse_tls::{AlertDescription, ProtocolVersion};

use super::absence::{CUTS_NO_HELLO, NO_CCM_WITH_ECDHE, NO_CUT_HELLO, absent};
use super::driver::Driver;
use super::{Absence, Implementation, Remote, Way};
use crate::case::Case;
use crate::compile::objects::Compiler;
use crate::compile::{CProgram, Launcher, OPTIMISATION, own, shipped};
use crate::features::Carrier;

/// Everything that our engine speaks.
pub(super) struct WolfSsl;

static DRIVER: Driver = Driver::new(make);

/// Returns the command that runs the program, for tests that give it words of their own.
pub fn program() -> Result<std::process::Command, String> {
    DRIVER.command()
}

fn make() -> Result<Launcher, String> {
    let program = CProgram {
        name: "wolfssl",
        source: "c/wolfssl.c",
        settings: &["c/wolfssl/user_settings.h", "Cargo.toml", "src/peer/wolfssl.rs"],
        library: |compiler| {
            let wolfssl = shipped("wolfssl-sys")?.join("wolfssl-src");
            compiler.args(FLAGS).arg("-I").arg(own("c/wolfssl")).arg("-isystem").arg(&wolfssl);
            compiler.args(objects(&wolfssl)?).arg("-lm");
            Ok(())
        },
        packages: "build-essential",
    };
    program.compile()
}

impl Implementation for WolfSsl {
    fn name(&self) -> &'static str {
        "wolfssl"
    }

    fn version(&self) -> Result<String, String> {
        DRIVER.version()
    }

    fn speaks(&self, _: ProtocolVersion, _: Carrier) -> bool {
        true
    }

    fn server(&self, case: &Case) -> Option<(Box<dyn Remote>, u16)> {
        Some(DRIVER.server(case))
    }

    fn client(&self, case: &Case, way: Way) -> Option<Box<dyn Remote>> {
        Some(DRIVER.client(case, way))
    }

    fn absences(&self) -> &'static [Absence] {
        ABSENCES
    }

    /// wolfSSL's client asks for compatibility mode only if it is compiled so.
    fn asks_for_compatibility_mode(&self, _: bool) -> bool {
        false
    }

    fn sends_cookies_before_it_reads_versions(&self) -> bool {
        true
    }

    fn remembers_groups(&self) -> bool {
        true
    }

    fn alert_about_version(&self, version: ProtocolVersion, carrier: Carrier) -> AlertDescription {
        match (version, carrier) {
            (ProtocolVersion::TLS_1_3, Carrier::Tcp) => AlertDescription::HANDSHAKE_FAILURE,
            _ => AlertDescription::PROTOCOL_VERSION,
        }
    }
}

const NO_IMPORTED_KEYS: &str = "wolfSSL imports no keys (RFC 9258)";

const NOT_ALLOWED: &str = "our server allows no early data where it asks for a cookie";

const REFUSES_FIRST: &str = "its client refuses a HelloVerifyRequest before our server can refuse it";

const ABSENCES: &[Absence] = &[
    absent("fragmented_client_hello", NO_CUT_HELLO).for_our_client().tls12(),
    absent("fragmented_client_hello", CUTS_NO_HELLO).for_our_server(),
    absent("mtu_127", NO_CUT_HELLO).for_our_client().tls12(),
    absent("imported_pre_shared_key", NO_IMPORTED_KEYS),
    absent("early_data_lost_to_a_cookie", NOT_ALLOWED).for_our_server(),
    absent("compatibility_mode_on", "wolfSSL's client asks for it only if it is compiled so").for_our_server(),
    absent("record_size_limit_of_ours", "wolfSSL has no record_size_limit"),
    absent("record_size_limit_of_the_peer", "wolfSSL has no record_size_limit"),
    absent("resumption_of_kept_sessions", "wolfSSL's server seals its TLS 1.3 sessions").for_our_client().tls13(),
    absent("pre_shared_key_with_ecdhe", NO_CCM_WITH_ECDHE),
    absent("renegotiation_is_refused", "compiled without renegotiation"),
    absent("no_version_in_common", REFUSES_FIRST).for_our_server().dtls().tls13(),
];

/// Compiles wolfSSL, which takes half a minute, once.
fn objects(wolfssl: &Path) -> Result<Vec<PathBuf>, String> {
    eprintln!("compiling the current wolfSSL, once");
    let sources: Vec<PathBuf> = SOURCES.iter().map(|source| wolfssl.join(source)).collect();
    let mut settings: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    settings.extend([own("c/wolfssl").as_path(), wolfssl].map(|directory| format!("-I{}", directory.display())));
    Compiler { options: [OPTIMISATION, "-w"].map(str::to_owned).into(), settings }.objects(&sources)
}

const FLAGS: &[&str] = &["-DWOLFSSL_USER_SETTINGS"];

/// The source files that TLS needs, in portable C.
pub const SOURCES: &[&str] = &[
    "src/ssl.c", // the largest first
    "src/internal.c",
    "src/tls13.c",
    "src/tls.c",
    "src/dtls.c",
    "src/dtls13.c",
    "src/keys.c",
    "src/wolfio.c",
    "wolfcrypt/src/aes.c",
    "wolfcrypt/src/asn.c",
    "wolfcrypt/src/chacha.c",
    "wolfcrypt/src/chacha20_poly1305.c",
    "wolfcrypt/src/coding.c",
    "wolfcrypt/src/curve25519.c",
    "wolfcrypt/src/ecc.c",
    "wolfcrypt/src/ed25519.c",
    "wolfcrypt/src/error.c",
    "wolfcrypt/src/evp.c",
    "wolfcrypt/src/fe_operations.c",
    "wolfcrypt/src/ge_operations.c",
    "wolfcrypt/src/hash.c",
    "wolfcrypt/src/hmac.c",
    "wolfcrypt/src/kdf.c",
    "wolfcrypt/src/logging.c",
    "wolfcrypt/src/md5.c",
    "wolfcrypt/src/memory.c",
    "wolfcrypt/src/poly1305.c",
    "wolfcrypt/src/pwdbased.c",
    "wolfcrypt/src/random.c",
    "wolfcrypt/src/rsa.c",
    "wolfcrypt/src/sha.c",
    "wolfcrypt/src/sha256.c",
    "wolfcrypt/src/sha3.c",
    "wolfcrypt/src/sha512.c",
    "wolfcrypt/src/signature.c",
    "wolfcrypt/src/sp_int.c",
    "wolfcrypt/src/wc_encrypt.c",
    "wolfcrypt/src/wc_mlkem.c",
    "wolfcrypt/src/wc_mlkem_poly.c",
    "wolfcrypt/src/wc_port.c",
    "wolfcrypt/src/wolfmath.c",
];
