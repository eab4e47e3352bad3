//! Certificates authenticate both sides, with each of our crypto providers.

use terse_pki::KeyAlgorithm;
use terse_tls::SignatureScheme;
use terse_tls::crypto::CryptoProvider;

use super::{Carrier, Cell, Feature};
use crate::case::{Asks, Case};
use crate::peer::Role;
use crate::pki::Holder;

const RUSTCRYPTO: &CryptoProvider = &terse_rustcrypto::PROVIDER;
const AWS_LC: &CryptoProvider = &terse_aws_lc::PROVIDER;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("server_only_rustcrypto", |cell| server_only(cell, RUSTCRYPTO)).and_dtls(),
        Feature::new("server_only_aws_lc", |cell| server_only(cell, AWS_LC)).and_dtls(),
        Feature::new("mutual_rustcrypto", |cell| mutual(cell, RUSTCRYPTO)).and_dtls(),
        Feature::new("mutual_aws_lc", |cell| mutual(cell, AWS_LC)).and_dtls(),
        Feature::new("optional_client_certificate", optional).and_dtls(),
        Feature::new("ca_names_in_certificate_request", ca_names).and_dtls(),
        Feature::new("rsa_ca_signs_p256_leaf", mixed_chain).and_dtls(),
    ]
}

fn server_only(cell: Cell, provider: &'static CryptoProvider) {
    if cell.carrier == Carrier::Udp {
        return cell.succeeds(&Case::new(provider));
    }
    let summary = cell.complete(&Case::new(provider));
    if cell.is_tls13() && cell.role == Role::Client && cell.peer.sends_tickets_unasked() {
        // The server sends tickets, though our client has not said that it can use any; they must do no harm.
        assert!(summary.received.post_handshake_bytes > 0, "the peer's server sends tickets");
    }
}

fn mutual(cell: Cell, provider: &'static CryptoProvider) {
    if cell.carrier == Carrier::Udp {
        return cell.succeeds(&Case::mutual(provider));
    }
    let summary = cell.complete(&Case::mutual(provider));
    assert_eq!(summary.signatures_verified, 2, "a leaf and an intermediate");
}

/// The server requests a certificate and does not require one: the client has one, or has none.
fn optional(cell: Cell) {
    for client in [Some(Holder::Member), None] {
        cell.succeeds(&Case { asks: Asks::Optional, client, ..Case::new(AWS_LC) });
    }
}

fn ca_names(cell: Cell) {
    cell.succeeds(&Case { ca_names: true, ..Case::mutual(AWS_LC) });
}

/// The chain is signed with PKCS #1, which CertificateVerify must not use.
fn mixed_chain(cell: Cell) {
    for provider in [RUSTCRYPTO, AWS_LC] {
        let schemes = vec![SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::RSA_PKCS1_SHA256];
        let leaf = Some(KeyAlgorithm::P256);
        cell.succeeds(&Case { chain: "rsa2048x3", leaf, schemes, ..Case::mutual(provider) });
    }
}
