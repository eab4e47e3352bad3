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
        setup.client.psk = Some(psk.clone());
        setup.server.psks = Some(Arc::new(MemoryPskStore::new([psk])));
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        assert_eq!(pair.carry(Side::Client, b"hello").unwrap(), b"hello");
        assert_eq!(pair.carry(Side::Server, b"hello").unwrap(), b"hello");
        println!("{:?}", pair.client.summary());
    }
}
