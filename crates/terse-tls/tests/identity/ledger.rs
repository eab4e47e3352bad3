//! How many bytes identity-based handshakes take: of all records, over datagrams with the last ACK. Identities of 8 bytes,
//! no SNI, one suite with tags of 16 bytes, one group and one signature scheme (docs/identity.md, its table).

use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::{CipherSuite, EndpointLimits, NamedGroup, SignatureScheme};

use super::{falling_back, in_datagrams, setup};

/// The cases of the table: what is known before, and whether fall-back is offered.
#[derive(Clone, Copy)]
struct Case {
    algorithm: IdentityAlgorithm,
    is_known: bool,
    falls_back: bool,
}

const BLS: Case = Case { algorithm: IdentityAlgorithm::Bls12381, is_known: false, falls_back: true };
const FIRST: Case = Case { algorithm: IdentityAlgorithm::Ristretto255, is_known: false, falls_back: true };
const KNOWN: Case = Case { is_known: true, ..FIRST };
const ALONE: Case = Case { falls_back: false, ..KNOWN };

fn sized(case: Case) -> Setup {
    let mut setup = if case.falls_back { falling_back(case.algorithm) } else { setup(case.algorithm) };
    setup.client.send_server_name(false);
    for side in Side::BOTH {
        let common = setup.common(side);
        common.set_versions(vec![terse_tls::ProtocolVersion::TLS_1_3]);
        common.set_suites(vec![CipherSuite::TLS_AES_128_GCM_SHA256]);
        common.set_groups(vec![NamedGroup::X25519]);
        common.set_signature_schemes(vec![SignatureScheme::ED25519]);
    }
    setup
}

fn known(case: Case, setup: Setup) -> Setup {
    if case.is_known { setup.with_known_peers() } else { setup }
}

#[test]
fn of_tls() {
    let cases = [(BLS, [153, 173, 58]), (FIRST, [169, 189, 58]), (KNOWN, [137, 157, 58]), (ALONE, [115, 157, 58])];
    for (case, [hello, answer, finished]) in cases {
        let mut pair = known(case, sized(case)).pair(1);
        pair.handshake().unwrap();
        assert_eq!(pair.from_client.len(), hello + finished);
        assert_eq!(pair.from_server.len(), answer);
    }
}

#[test]
fn of_dtls_with_the_last_ack() {
    for (case, expected) in [(BLS, 472), (FIRST, 504), (KNOWN, 440), (ALONE, 418)] {
        let mut pair = known(case, in_datagrams(sized(case))).datagram_pair(1);
        pair.run_well().unwrap();
        let bytes: usize = pair.sent.iter().map(|datagram| datagram.bytes.len()).sum();
        assert_eq!(bytes, expected);
    }
}

/// At a server that anybody can reach, which validates addresses with a cookie. It asks for everything at once.
#[test]
fn of_dtls_with_a_cookie() {
    for (case, expected) in [(BLS, 813), (FIRST, 861), (KNOWN, 765), (ALONE, 721)] {
        let setup = known(case, in_datagrams(sized(case)));
        let bytes = super::retries::through_endpoint(&setup, EndpointLimits::default());
        assert_eq!(bytes, expected);
    }
}

/// What early data adds to the last line of the table: a ticket of 16 bytes in the ClientHello (or 4 bytes of time at first
/// contact), `early_data` in two messages, EndOfEarlyData over a stream; and a ticket after the handshake.
#[test]
fn of_early_data() {
    const DATA: &[u8] = &[7; 28];
    let record = DATA.len() + 22;
    let sized = || sized(ALONE);
    let mut pair = sized().with_frozen_secret_ticket(DATA).pair(1);
    pair.handshake().unwrap();
    assert_eq!(pair.early_data, DATA);
    assert_eq!((pair.from_client.len(), pair.from_server.len()), (115 + 22 + record + 26 + 58, 157 + 4 + 100));
    let mut pair = sized().with_first_contact(DATA).pair(1);
    pair.handshake().unwrap();
    assert_eq!(pair.early_data, DATA);
    assert_eq!((pair.from_client.len(), pair.from_server.len()), (115 + 10 + record + 26 + 58, 157 + 4));
}
