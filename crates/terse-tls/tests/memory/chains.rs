//! The heap of a side whose peer sends as many or as long certificates as it may, verified and unverified.

use pki_types::CertificateDer;
use terse_testkit::pair::Side;
use terse_testkit::pki::Pki;
use terse_testkit::setup::Setup;
use terse_tls::{CertificateError, CertificateType, ClientAuthentication, Credential, Memory, ProtocolVersion, Trust};

use crate::{Victim, configurations};

/// The chains of a peer, each a Certificate message of the largest size: the certificates after the leaf have `len` bytes
/// each.
fn long_chain(
    leaf: &CertificateDer<'static>,
    limit: usize,
    version: ProtocolVersion,
    len: usize,
) -> Vec<CertificateDer<'static>> {
    let (of_message, of_entry) = if version == ProtocolVersion::TLS_1_3 { (4, 5) } else { (3, 3) };
    let mut left = limit - of_message - of_entry - leaf.len();
    let mut chain = vec![leaf.clone()];
    while left > of_entry {
        let len = len.min(left - of_entry);
        chain.push(vec![0x30; len].into());
        left -= of_entry + len;
    }
    chain
}

/// Gives the peer of `side` a chain of the largest size; the side verifies it or takes it unverified.
fn with_long_chain(setup: &Setup, memory: &Memory, side: Side, len: usize, is_unverified: bool) -> (Setup, usize) {
    let provider = &terse_rustcrypto::PROVIDER;
    let pki = Pki::shared("p256x3");
    let version = if memory.tls12 { ProtocolVersion::TLS_1_2 } else { ProtocolVersion::TLS_1_3 };
    let mut setup = setup.clone();
    let issued = if side == Side::Client { &pki.server } else { &pki.client };
    let chain = long_chain(issued.leaf(), memory.max_handshake_message, version, len);
    let count = chain.len();
    let credential = Credential::new(chain, provider.load_key(issued.key()).unwrap()).unwrap();
    let unverified = Trust::unverified(&[CertificateType::X509]).unwrap();
    match side {
        Side::Client => _ = setup.server.credentials(vec![credential]),
        Side::Server => _ = setup.client.credentials(vec![credential]),
    }
    match side {
        Side::Client if is_unverified => _ = setup.client.trust(unverified),
        Side::Server => {
            let trust = if is_unverified { unverified } else { pki.trust() };
            setup.server.client_authentication(ClientAuthentication::Required(trust));
        }
        Side::Client => {}
    }
    (setup, count)
}

/// The certificates of a Certificate message take more memory than they have bytes, while the message is handled. There may
/// be a hundred of them.
#[test]
fn as_many_and_as_long_certificates_as_a_message_can_have() {
    for (name, setup, memory) in configurations().into_iter().filter(|(name, ..)| *name != "rsa2048x3") {
        if name == "device" && memory.tls12 {
            continue; // the message comes in one record, which is refused
        }
        for (side, is_unverified) in Side::BOTH.into_iter().flat_map(|side| [(side, false), (side, true)]) {
            let heap = memory.unverified(is_unverified).heap();
            // The last but one makes nearly a hundred of them, if the message may be long.
            for len in [1, 20, 100, memory.max_handshake_message / 99, usize::MAX] {
                let (setup, count) = with_long_chain(&setup, &memory, side, len, is_unverified);
                let expected = match is_unverified {
                    _ if count > 100 => Err(CertificateError::TooManyCertificates.into()),
                    true => Ok(()),
                    false => Err(CertificateError::Malformed.into()),
                };
                let mut victim = Victim::new(&setup, side, heap);
                let case = format!("{name}, TLS 1.2 {}, {side:?}, {len}, {is_unverified}", memory.tls12);
                assert_eq!(victim.try_handshake(usize::MAX), expected, "{case}");
                assert!(victim.peak() <= heap as i64, "{case}: {} of {heap}", victim.peak());
            }
        }
    }
}

/// Once the handshake is complete, an unverified peer takes as much more as its Certificate message was long at most.
#[test]
fn an_unverified_chain_is_kept_once() {
    for (name, setup, memory) in configurations().into_iter().filter(|(name, ..)| *name == "ed25519x3") {
        for side in Side::BOTH {
            let kept = |setup: &Setup| {
                let mut victim = Victim::new(setup, side, memory.unverified(true).heap());
                victim.handshake(usize::MAX);
                victim.kept()
            };
            let (longest, _) = with_long_chain(&setup, &memory, side, usize::MAX, true);
            let (without, with) = (kept(&setup), kept(&longest));
            let more = with - without;
            let limit = memory.max_handshake_message as i64;
            assert!((limit - 1_000..=limit).contains(&more), "{name}, {side:?}: {without}, {with}");
        }
    }
}
