//! Handshake caching between our own client and server.

use std::sync::Arc;

use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::pki::Pki;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::summary::Mode;
use terse_tls::{ClientAuthentication, ClientConfig, ServerConfig};

#[test]
fn second_handshake_is_cached() {
    let provider = &terse_rustcrypto::PROVIDER;
    let pki = Pki::shared("p256x3");
    let mut client = ClientConfig::new(provider, pki.trust(provider));
    client.credential = Some(pki.client(provider));
    client.send_server_name = false;
    client.common.groups.truncate(1);
    client.common.suites = vec![terse_tls::CipherSuite::TLS_AES_128_CCM_SHA256];
    client.common.signature_schemes.truncate(1);
    client.cache = Some(ClientCache { store: Arc::new(MemoryClientStore::new(4)), schemes: Schemes::BITHAC });
    let mut server = ServerConfig::new(provider, pki.server(provider));
    server.common.signature_schemes.truncate(1);
    server.client_authentication = ClientAuthentication::Required(pki.trust(provider));
    server.cache = Some(ServerCache { store: Arc::new(MemoryServerStore::new(4)), schemes: Schemes::BITHAC });
    let (client, server) = (Arc::new(client), Arc::new(server));
    for round in 0..3 {
        let mut pair = Pair::at(&client, &server, round, at(round));
        pair.handshake().unwrap();
        pair.carry(Side::Client, b"hello").unwrap();
        pair.carry(Side::Server, b"world").unwrap();
        pair.close().unwrap();
        let summary = pair.client.summary();
        println!(
            "{} {:?} {:?} {} {}",
            summary.mode, summary.cached, summary.fallback, summary.sent.record_bytes, summary.received.record_bytes
        );
        println!("{:?}", pair.server.summary());
        assert_eq!(summary.mode, if round == 0 { Mode::Full } else { Mode::Bithac });
    }
}
