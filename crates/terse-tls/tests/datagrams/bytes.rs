//! How many bytes cached handshakes take over DTLS: of all datagrams, with the last ACK in DTLS 1.3. Mutual, x25519, no SNI,
//! one suite, group and signature algorithm, 16-byte tags, 72-byte signatures of ECDSA.

use alloc::sync::Arc;

use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::crypto::CryptoProvider;
use terse_tls::summary::{CachedObject, Mode};
use terse_tls::{
    CipherSuite, Datagrams, EndpointLimits, HandshakeType, NamedGroup, ProtocolVersion, SignatureScheme, Summary,
};

use super::modes::{BOTH_VERSIONS, PROVIDER};
use super::outcome::SEED;
use super::world::{World, address};

/// How the shared PKI calls it, what its keys sign with, and the longest of its signatures.
type Chain = (&'static str, SignatureScheme, usize);

const P256: Chain = ("p256x3", SignatureScheme::ECDSA_SECP256R1_SHA256, 72);
const ED25519: Chain = ("ed25519x3", SignatureScheme::ED25519, 64);

fn setup(provider: &'static CryptoProvider, (chain, scheme, _): Chain, version: ProtocolVersion) -> Setup {
    let mut setup = Setup::mutual(provider, provider, chain).over(version, Datagrams::default());
    setup.client.send_server_name(false);
    for side in Side::BOTH {
        let common = setup.common(side);
        common.set_suites(vec![match version {
            ProtocolVersion::TLS_1_3 => CipherSuite::TLS_AES_128_GCM_SHA256,
            _ => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        }]);
        common.set_groups(vec![NamedGroup::X25519]);
        if version == ProtocolVersion::TLS_1_2 && scheme == P256.1 {
            common.edit_groups(|groups| groups.push(NamedGroup::SECP256R1)); // of the certificates
        }
        common.set_signature_schemes(vec![scheme]);
    }
    setup
}

/// How much longer the signatures of both sides could have been.
fn missing(summaries: [&Summary; 2], (_, _, longest): Chain) -> usize {
    let of = |summary: &Summary, kind| {
        let signed = summary.sent.messages.iter().find(|(sent, _)| *sent == kind);
        signed.map(|(_, len)| *len as usize)
    };
    let lengths = summaries.map(|summary| match of(summary, HandshakeType::SERVER_KEY_EXCHANGE) {
        Some(len) => len - (12 + 4 + 32 + 4), // the header, the curve and the key, scheme and length
        None => of(summary, HandshakeType::CERTIFICATE_VERIFY).expect("it signed") - 16,
    });
    lengths.iter().map(|len| longest - len).sum()
}

/// One to one.
fn of_pair(provider: &'static CryptoProvider, chain: Chain) -> usize {
    let setup = setup(provider, chain, ProtocolVersion::TLS_1_3).with_frozen_cache(Schemes::COMPACT);
    let mut pair = setup.datagram_pair(SEED);
    pair.run_well().unwrap();
    let everything =
        [CachedObject::CertificateRequest, CachedObject::ServerCertificate, CachedObject::ClientCertificate];
    assert_eq!(pair.client.summary().cached, everything);
    assert_eq!(pair.sent.last().expect("the ACK").from, Side::Server);
    let bytes: usize = pair.sent.iter().map(|datagram| datagram.bytes.len()).sum();
    bytes + missing([pair.client.summary(), pair.server.summary()], chain)
}

#[test]
fn of_compact_one_to_one() {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        assert_eq!((of_pair(provider, P256), of_pair(provider, ED25519)), (619, 603));
    }
}

/// At a server that anybody can reach: of a second connection, and what it would take with a cookie.
fn of_endpoint(chain: Chain, version: ProtocolVersion, schemes: Schemes) -> [usize; 2] {
    [true, false].map(|tickets_prove_addresses| {
        let mut setup = setup(PROVIDER, chain, version);
        setup.client.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(1)), schemes)));
        setup.server.cache(Some(ServerCache::new(Arc::new(MemoryServerStore::new(4)), schemes)));
        let limits = EndpointLimits::default().tickets_prove_addresses(tickets_prove_addresses);
        let mut world = World::new(setup, limits);
        let (client, handle) = world.connected(address(1, 4000));
        assert_eq!(world.heard_by(handle, b"data"), [client]);
        world.clients[client].connection.close();
        world.run();
        world.endpoint.remove(handle);
        world.clients.clear();
        let (client, handle) = world.connected(address(1, 4000));
        assert_eq!(world.endpoint.counters().cookies_sent, 2 - u32::from(tickets_prove_addresses));
        let server = world.endpoint.connection(handle).unwrap().summary().clone();
        assert_ne!(server.mode, Mode::Full);
        let client = &world.clients[client];
        client.traffic.iter().sum::<usize>() + missing([client.connection.summary(), &server], chain)
    })
}

#[test]
fn at_a_server_for_all() {
    let mut found = Vec::new();
    for version in BOTH_VERSIONS {
        for schemes in [Schemes::BITHAC, Schemes::COMPACT] {
            found.push([P256, ED25519].map(|chain| of_endpoint(chain, version, schemes)));
        }
    }
    let tls13 = [[[767, 1_128], [751, 1_112]], [[619, 940], [603, 924]]];
    let tls12 = [[[748, 941], [730, 921]], [[620, 773], [602, 753]]];
    assert_eq!(found, [tls13, tls12].concat());
}
