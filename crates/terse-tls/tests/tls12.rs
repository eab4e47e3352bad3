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
