//! `compact` over DTLS 1.3: how many bytes it takes, and every datagram lost, doubled and late. (`modes` has it over DTLS
//! 1.2.) What is left out takes no number, so messages stay consecutive.

use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::cache::Schemes;
use terse_tls::crypto::CryptoProvider;
use terse_tls::summary::{CachedObject, Mode};
use terse_tls::{CipherSuite, Datagrams, HandshakeType, NamedGroup, ProtocolVersion, SignatureScheme, Summary};

use crate::modes::{CHAIN, PROVIDER, SIZES};
use crate::outcome::SEED;

const EVERYTHING: [CachedObject; 3] =
    [CachedObject::CertificateRequest, CachedObject::ServerCertificate, CachedObject::ClientCertificate];

fn setup(max_datagram: usize) -> Setup {
    let datagrams = Datagrams { max_datagram, ..Datagrams::default() };
    let setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).over(ProtocolVersion::TLS_1_3, datagrams);
    setup.with_frozen_cache(Schemes::COMPACT)
}

#[test]
fn every_datagram_lost_doubled_and_late() {
    for size in SIZES {
        let setup = setup(size);
        let mut pair = setup.datagram_pair(SEED);
        pair.run_well().unwrap();
        let count = pair.sent.len();
        assert!(count >= 3, "{count}");
        for number in 0..count {
            for copies in [0, 2, 3] {
                let mut pair = setup.datagram_pair(SEED);
                pair.run(|datagram| match (datagram.number == number, copies) {
                    (false, _) => datagram.arrives(),
                    (true, 0) => Vec::new(),
                    (true, 2) => [datagram.arrives(), datagram.arrives()].concat(),
                    (true, _) => datagram.arrives_after(2_500),
                })
                .unwrap_or_else(|failed| panic!("{size}, {copies} of {number}: {failed:?}"));
                for side in Side::BOTH {
                    let summary = pair.side(side).0.summary();
                    let found = (summary.mode, &summary.cached[..]);
                    assert_eq!(found, (Mode::Compact, &EVERYTHING[..]), "{size}, {copies} of {number}");
                }
            }
        }
    }
}

/// The length of a side's signature.
fn signature_len(summary: &Summary) -> usize {
    let verify = summary.sent.messages.iter().find(|(kind, _)| *kind == HandshakeType::CERTIFICATE_VERIFY);
    verify.expect("it signed").1 as usize - 8
}

/// All datagrams of a handshake, less the signatures: mutual, x25519, no SNI, one suite, group and signature algorithm,
/// 16-byte tags, no cookie round trip, with the last ACK.
fn record_bytes(provider: &'static CryptoProvider, chain: &str, scheme: SignatureScheme) -> usize {
    let mut setup = Setup::mutual(provider, provider, chain).over(ProtocolVersion::TLS_1_3, Datagrams::default());
    setup.client.send_server_name = false;
    for side in Side::BOTH {
        let common = setup.common(side);
        common.suites = vec![CipherSuite::TLS_AES_128_GCM_SHA256];
        common.groups = vec![NamedGroup::X25519];
        common.signature_schemes = vec![scheme];
    }
    let mut pair = setup.with_frozen_cache(Schemes::COMPACT).datagram_pair(SEED);
    pair.run_well().unwrap();
    assert_eq!(pair.client.summary().cached, EVERYTHING);
    assert_eq!(pair.sent.last().expect("the ACK").from, Side::Server);
    let bytes: usize = pair.sent.iter().map(|datagram| datagram.bytes.len()).sum();
    bytes - signature_len(pair.client.summary()) - signature_len(pair.server.summary())
}

#[test]
fn bytes() {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        let p256 = record_bytes(provider, "p256x3", SignatureScheme::ECDSA_SECP256R1_SHA256) + 2 * 72;
        let ed25519 = record_bytes(provider, "ed25519x3", SignatureScheme::ED25519) + 2 * 64;
        assert_eq!((p256, ed25519), (603, 587));
    }
}
