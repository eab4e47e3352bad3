//! TLS 1.2, client against server.

use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::ProtocolVersion;

#[test]
fn smoke() {
    for chain in ["p256x3", "ed25519x3", "rsa2048x3"] {
        let provider = &terse_aws_lc::PROVIDER;
        let mut setup = Setup::mutual(provider, provider, chain);
        setup.client.common.versions = vec![ProtocolVersion::TLS_1_2];
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        assert_eq!(pair.carry(Side::Client, b"hello").unwrap(), b"hello");
        assert_eq!(pair.carry(Side::Server, b"hello").unwrap(), b"hello");
        println!("{:?}", pair.client.summary());
    }
}

#[test]
fn psk_smoke() {
    use std::sync::Arc;
    use terse_tls::CipherSuite;
    use terse_tls::resume::{ExternalPsk, MemoryPskStore};
    for suite in [CipherSuite::TLS_PSK_WITH_AES_128_CCM_8, CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256] {
        let provider = &terse_aws_lc::PROVIDER;
        let mut setup = Setup::mutual(provider, provider, "p256x3");
        setup.client.common.versions = vec![ProtocolVersion::TLS_1_2];
        setup.client.common.suites = vec![suite];
        let psk = ExternalPsk::new(b"sensor", &[7; 16]).unwrap();
        setup.client.psks = vec![psk.clone()];
        setup.server.psks = Some(Arc::new(MemoryPskStore::new([psk])));
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        assert_eq!(pair.carry(Side::Client, b"hello").unwrap(), b"hello");
        assert_eq!(pair.carry(Side::Server, b"hello").unwrap(), b"hello");
        println!("{:?}", pair.client.summary());
    }
}

#[test]
fn raw_public_keys_smoke() {
    use std::sync::Arc;
    use terse_testkit::pki::Pki;
    use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
    use terse_tls::{ClientAuthentication, Credential, Trust};
    let provider = &terse_aws_lc::PROVIDER;
    let pki = Pki::shared("p256x3");
    let raw = |issued: &terse_pki::Credential| {
        Credential::raw_public_key(provider, (provider.load_key)(issued.key()).unwrap()).unwrap()
    };
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let mut setup = Setup::mutual(provider, provider, "p256x3");
        let (client, server) = (raw(&pki.client), raw(&pki.server));
        setup.client.common.versions = vec![version];
        setup.client.trust = Trust::raw_public_keys(provider, &[server.public_key()]).unwrap();
        setup.server.client_authentication =
            ClientAuthentication::Required(Trust::raw_public_keys(provider, &[client.public_key()]).unwrap());
        setup.client.credential = Some(client);
        setup.server.credentials.push(server);
        setup.client.cache = Some(ClientCache { store: Arc::new(MemoryClientStore::new(4)), schemes: Schemes::BITHAC });
        setup.server.cache = Some(ServerCache { store: Arc::new(MemoryServerStore::new(4)), schemes: Schemes::BITHAC });
        for _ in 0..3 {
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            assert_eq!(pair.carry(Side::Server, b"hello").unwrap(), b"hello");
            println!("{:?}", pair.client.summary());
        }
    }
}

#[test]
fn resumption_smoke() {
    use std::sync::Arc;
    use terse_tls::resume::{ClientResumption, MemoryClientSessions, MemorySessionStore, ServerResumption, TicketKeys};
    let provider = &terse_aws_lc::PROVIDER;
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        for stateful in [true, false] {
            let mut setup = Setup::mutual(provider, provider, "p256x3");
            setup.client.common.versions = vec![version];
            setup.client.resumption = Some(ClientResumption::new(Arc::new(MemoryClientSessions::new(4))));
            setup.server.resumption = Some(if stateful {
                ServerResumption::Stateful { store: Arc::new(MemorySessionStore::new(4)), lifetime_seconds: 7200 }
            } else {
                let aead = provider.tls13_suites[0].aead;
                ServerResumption::Stateless(Arc::new(TicketKeys::new(aead, 7200, 16).unwrap()))
            });
            for mode in ["full", "resumed", "resumed"] {
                let mut pair = setup.pair(1);
                pair.handshake().unwrap();
                assert_eq!(pair.carry(Side::Client, b"hello").unwrap(), b"hello");
                assert_eq!(pair.carry(Side::Server, b"hello").unwrap(), b"hello");
                let (client, server) = (pair.client.summary(), pair.server.summary());
                assert_eq!((client.mode.name(), server.mode.name()), (mode, mode), "{version} {stateful}");
                assert_eq!(client.sent.record_bytes, server.received.record_bytes);
                assert_eq!(client.received.record_bytes, server.sent.record_bytes);
                assert_eq!(
                    server.peer.identity.as_ref().map(|i| i.to_string()),
                    Some("sensor-17.plant.example".into())
                );
                println!(
                    "{version} {stateful} {mode} {} {} +{} {}",
                    client.sent.record_bytes,
                    client.received.record_bytes,
                    server.sent.post_handshake_bytes,
                    client.received.post_handshake_bytes
                );
            }
        }
    }
}
