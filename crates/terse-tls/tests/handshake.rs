//! Client against server: full handshakes in every configuration.

use std::sync::Arc;

use terse_testkit::pair::{Pair, Side};
use terse_testkit::pki::Pki;
use terse_tls::{ClientAuthentication, ClientConfig, ServerConfig};

#[test]
fn mutual_authentication() {
    let provider = &terse_rustcrypto::PROVIDER;
    let pki = Pki::shared("p256x3");
    let mut client = ClientConfig::new(provider, pki.trust(provider));
    client.credential = Some(pki.client(provider));
    let mut server = ServerConfig::new(provider, pki.server(provider));
    server.client_authentication = ClientAuthentication::Required(pki.trust(provider));
    let mut pair = Pair::new(&Arc::new(client), &Arc::new(server), 1);
    pair.handshake().unwrap();
    assert_eq!(pair.carry(Side::Client, b"hello").unwrap(), b"hello");
    assert_eq!(pair.carry(Side::Server, b"world").unwrap(), b"world");
    pair.close().unwrap();
    println!("{:#?}", pair.client.summary());
}
