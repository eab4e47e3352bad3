//! Debian's wolfSSL 5.5, driven by `c/wolfssl.c`.

use terse_tls::{AlertDescription, ProtocolVersion};

use super::absence::{
    CUTS_NO_HELLO, NO_CCM_WITH_ECDHE, NO_CONNECTION_IDS, NO_CUT_HELLO, NO_OTHER_VERSION, SAYS_NOTHING, absent,
};
use super::driver::Driver;
use super::{Absence, Implementation, Refusal, Remote, Way};
use crate::case::Case;
use crate::compile::{CProgram, Launcher};
use crate::features::Carrier;

/// Both versions of TLS, and DTLS 1.2.
pub(super) struct WolfSsl55;

static DRIVER: Driver = Driver::new(make);

fn make() -> Result<Launcher, String> {
    let program = CProgram {
        name: "wolfssl55",
        source: "c/wolfssl.c",
        settings: &[],
        library: |compiler| {
            compiler.arg("-lwolfssl");
            Ok(())
        },
        packages: "libwolfssl-dev and build-essential",
    };
    program.compile()
}

impl Implementation for WolfSsl55 {
    fn name(&self) -> &'static str {
        "wolfssl55"
    }

    fn version(&self) -> Result<String, String> {
        DRIVER.version()
    }

    fn speaks(&self, version: ProtocolVersion, carrier: Carrier) -> bool {
        carrier == Carrier::Tcp || version == ProtocolVersion::TLS_1_2
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

    /// wolfSSL has compatibility mode only if it is compiled so.
    fn asks_for_compatibility_mode(&self, _: bool) -> bool {
        false
    }

    fn asks_for_a_cookie_alone(&self) -> bool {
        false
    }

    fn sends_cookies_before_it_reads_versions(&self) -> bool {
        true
    }

    fn remembers_groups(&self) -> bool {
        true
    }

    fn refuses_missing_certificate(&self, version: ProtocolVersion) -> Refusal {
        match version {
            ProtocolVersion::TLS_1_3 => Refusal::Alert(AlertDescription::CERTIFICATE_REQUIRED),
            _ => Refusal::Leaves,
        }
    }

    fn alert_about_version(&self, version: ProtocolVersion, carrier: Carrier) -> AlertDescription {
        super::wolfssl::WolfSsl.alert_about_version(version, carrier)
    }
}

const LAST_FLIGHT_ONCE: &str = "its server sends its last flight only once";

const ABSENCES: &[Absence] = &[
    absent("each_datagram_lost_once", LAST_FLIGHT_ONCE).for_our_client(),
    absent("each_datagram_late_once", LAST_FLIGHT_ONCE).for_our_client(),
    absent("fragmented_client_hello", NO_CUT_HELLO).for_our_client(),
    absent("fragmented_client_hello", CUTS_NO_HELLO).for_our_server(),
    absent("mtu_127", NO_CUT_HELLO).for_our_client(),
    absent("server_refuses_missing_certificate", SAYS_NOTHING).for_our_client().dtls(),
    absent("connection_id_of_both", NO_CONNECTION_IDS),
    absent("connection_id_of_ours", NO_CONNECTION_IDS),
    absent("connection_id_of_the_peer", NO_CONNECTION_IDS),
    absent("only_our_side_is_limited_to_it", NO_OTHER_VERSION).dtls(),
    absent("X25519MLKEM768", "wolfSSL has it from 5.7.4 on"),
    absent("compatibility_mode_on", "wolfSSL has it only if it is compiled so"),
    absent("record_size_limit_of_ours", "wolfSSL has no record_size_limit"),
    absent("record_size_limit_of_the_peer", "wolfSSL has no record_size_limit"),
    absent("resumption_of_kept_sessions", "wolfSSL's server seals its TLS 1.3 sessions").for_our_client().tls13(),
    absent("early_data", "Debian's wolfSSL is compiled without early data"),
    absent("pre_shared_key_with_ecdhe", NO_CCM_WITH_ECDHE),
    absent("pre_shared_key", "Debian's wolfSSL has no plain PSK suites").tls12(),
    absent("raw_public_keys", "wolfSSL has raw public keys from 5.6.4 on"),
    absent("extended_master_secret_missing", "wolfSSL 5.5's server always uses it").for_our_client(),
    absent("renegotiation_is_refused", "Debian's wolfSSL is compiled without renegotiation"),
];
