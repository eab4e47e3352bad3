//! What is tried over datagrams alone, or looks different there.

use terse_tls::crypto::CryptoProvider;

use super::{Cell, Feature};
use crate::case::Case;
use crate::datagrams::Datagrams;

mod caching;
mod connection_ids;
mod extensions;
mod hello_retry;
mod keys;
mod network;
mod resumption;
mod traffic;
mod versions;

const RUSTCRYPTO: &CryptoProvider = &terse_rustcrypto::PROVIDER;
const AWS_LC: &CryptoProvider = &terse_aws_lc::PROVIDER;

pub(super) fn features() -> Vec<Feature> {
    [
        network::features(),
        hello_retry::features(),
        extensions::features(),
        traffic::features(),
        versions::features(),
        connection_ids::features(),
        keys::features(),
        resumption::features(),
        caching::features(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What dimpl is tried with: it is made for WebRTC, with ECDSA alone, no resumption, and nobody to be refused by it.
pub(super) const FOR_DIMPL: [&str; 22] = [
    "mutual_rustcrypto",
    "mutual_aws_lc",
    "ca_names_in_certificate_request",
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

fn case() -> Case {
    Case::mutual(AWS_LC)
}

/// The same with `datagrams`.
fn with(datagrams: Datagrams) -> Case {
    Case { datagrams: Some(datagrams), ..case() }
}
