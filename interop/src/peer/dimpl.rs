//! The crate `dimpl`, driven by the program `dimpl-peer` of this package.

use terse_tls::ProtocolVersion;

use super::absence::absent;
use super::driver::Driver;
use super::{Absence, Implementation, Remote, Way};
use crate::case::Case;
use crate::compile::{Launcher, built_by_cargo};
use crate::features::Carrier;

/// DTLS 1.3.
pub(super) struct Dimpl;

static DRIVER: Driver = Driver::new(make);

fn make() -> Result<Launcher, String> {
    built_by_cargo("dimpl-peer").map(Launcher::from)
}

impl Implementation for Dimpl {
    fn name(&self) -> &'static str {
        "dimpl"
    }

    fn version(&self) -> Result<String, String> {
        DRIVER.version()
    }

    fn speaks(&self, version: ProtocolVersion, carrier: Carrier) -> bool {
        (version, carrier) == (ProtocolVersion::TLS_1_3, Carrier::Udp)
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

    fn only_features(&self) -> Option<&'static [&'static str]> {
        Some(FEATURES)
    }

    fn sends_intermediates(&self) -> bool {
        false
    }
}

const ABSENCES: &[Absence] =
    &[absent("mtu_127", "dimpl 0.9.0 panics at the thirteenth record of a flight").for_our_client()];

/// The features that dimpl is tried with. It is made for WebRTC: it has ECDSA alone and no resumption, and refuses nobody.
const FEATURES: &[&str] = &[
    "mutual_rustcrypto",
    "mutual_aws_lc",
    "ca_names_in_certificate_request",
    "fall_back_from_identity",
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "mtu_127",
    "mtu_256",
    "mtu_576",
    "mtu_1280",
    "mtu_1500",
    "each_datagram_lost_once",
    "each_datagram_late_once",
    "one_datagram_of_five_lost",
    "one_datagram_of_eight_lost_mtu_256",
    "several_connections",
    "hello_retry_request",
    "hello_retry_request_with_cookie",
    "key_update_by_ours",
    "only_the_peer_is_limited_to_it",
    "peer_without_rfc7924",
    "peer_without_bithac",
];
