//! Debian's Mbed TLS 2.28, driven by `c/mbedtls.c`.

use terse_tls::{AlertDescription, ProtocolVersion};

use super::absence::{CUTS_NO_HELLO, NO_CCM_WITH_ECDHE, NO_CUT_HELLO, NO_OTHER_VERSION, SAYS_NOTHING, absent};
use super::driver::Driver;
use super::{Absence, Implementation, Refusal, Remote, Way};
use crate::case::Case;
use crate::compile::{CProgram, Launcher};
use crate::features::Carrier;

/// TLS 1.2 and DTLS 1.2.
pub(super) struct MbedTls;

static DRIVER: Driver = Driver::new(make);

fn make() -> Result<Launcher, String> {
    let program = CProgram {
        name: "mbedtls",
        source: "c/mbedtls.c",
        settings: &[],
        library: |compiler| {
            compiler.args(["-lmbedtls", "-lmbedx509", "-lmbedcrypto"]);
            Ok(())
        },
        packages: "libmbedtls-dev and build-essential",
    };
    program.compile()
}

impl Implementation for MbedTls {
    fn name(&self) -> &'static str {
        "mbedtls"
    }

    fn version(&self) -> Result<String, String> {
        DRIVER.version()
    }

    fn speaks(&self, version: ProtocolVersion, _: Carrier) -> bool {
        version == ProtocolVersion::TLS_1_2
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

    fn can_be_told_rsa_pss(&self) -> bool {
        false
    }

    /// Over TCP, Mbed TLS 2.28 takes no Certificate that is cut; over datagrams, it takes no less.
    fn max_fragment_length(&self) -> usize {
        1024
    }

    fn refuses_missing_certificate(&self, _: ProtocolVersion) -> Refusal {
        Refusal::Leaves
    }

    fn alert_about_version(&self, _: ProtocolVersion, _: Carrier) -> AlertDescription {
        AlertDescription::HANDSHAKE_FAILURE
    }
}

const MBEDTLS_HASH: &str = "Mbed TLS 2.28's client signs with the hash of the suite, whatever the server accepts";

const EARLY_CONNECTION_IDS: &str = "Mbed TLS 2.28 has those of a draft, and Debian's not even that";

const ABSENCES: &[Absence] = &[
    absent("fragmented_client_hello", NO_CUT_HELLO).for_our_client(),
    absent("fragmented_client_hello", CUTS_NO_HELLO).for_our_server(),
    absent("mtu_127", NO_CUT_HELLO).for_our_client(),
    absent("server_refuses_missing_certificate", SAYS_NOTHING).for_our_client().dtls(),
    absent("connection_id_of_both", EARLY_CONNECTION_IDS),
    absent("connection_id_of_ours", EARLY_CONNECTION_IDS),
    absent("connection_id_of_the_peer", EARLY_CONNECTION_IDS),
    absent("only_our_side_is_limited_to_it", NO_OTHER_VERSION).dtls(),
    absent("ed25519", "Mbed TLS has no Ed25519"),
    absent("rsa_pss_rsae_sha256", "Mbed TLS 2.28 has no RSASSA-PSS in TLS"),
    absent("rsa_pss_rsae_sha384", "Mbed TLS 2.28 has no RSASSA-PSS in TLS"),
    absent("rsa_pss_rsae_sha512", "Mbed TLS 2.28 has no RSASSA-PSS in TLS"),
    absent("ecdsa_secp384r1_sha384", MBEDTLS_HASH).for_our_server(),
    absent("rsa_pkcs1_sha384", MBEDTLS_HASH).for_our_server(),
    absent("rsa_pkcs1_sha512", MBEDTLS_HASH).for_our_server(),
    absent("record_size_limit_of_ours", "Mbed TLS 2.28 has no record_size_limit"),
    absent("record_size_limit_of_the_peer", "Mbed TLS 2.28 has no record_size_limit"),
    absent("pre_shared_key_with_ecdhe", NO_CCM_WITH_ECDHE),
    absent("raw_public_keys", "Mbed TLS has no raw public keys"),
    absent("renegotiation_is_refused", "its program here does not renegotiate"),
    absent("no_version_in_common", "Mbed TLS 2.28 has no other version").tcp(),
];
