//! A device meets the registrar of a network that it does not know, with the certificates that both have (RFC 8995, 5.1):
//! each takes the other unverified, and verifies afterwards what it was shown.

use terse_net::Clock;
use terse_net::pki_types::CertificateDer;
use terse_net::tokio::Connector;
use terse_pki::{Authority, AuthorityOptions, IdevidOptions, RegistrarOptions, Validity};
use terse_tls::summary::AuthenticatedBy;
use terse_tls::{
    CertificateError, CertificateType, ClientAuthentication, ClientConfig, Credential, Expect, KeyPurposeId,
    ServerConfig, Trust,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::world::{NAME, connect, listener, validity};

#[tokio::test]
async fn a_device_and_its_registrar_verify_each_other_after_the_handshake() {
    let provider = &terse_aws_lc::PROVIDER;
    let clock = Clock::new();
    let ca = |name: &str, validity| {
        let options = AuthorityOptions::new("p256x3".parse().unwrap(), validity);
        Authority::new(&AuthorityOptions { name: name.into(), key_identifiers: true, ..options }).unwrap()
    };
    let (begin, unverified) = (validity().not_before, Trust::unverified(&[CertificateType::X509]).unwrap());
    let (maker, plant) = (ca("Maker", Validity::without_end(begin)), ca("Plant", validity()));
    let credential = |issued: &terse_pki::Credential| {
        Credential::new(issued.chain().to_vec(), provider.load_key(issued.key()).unwrap()).unwrap()
    };
    let idevid = maker.issue_idevid(&IdevidOptions::new("WI-3005", begin)).unwrap();
    let registrar = plant.issue_registrar(&RegistrarOptions::new(NAME, validity())).unwrap();

    let mut device = ClientConfig::builder(provider);
    device.trust(unverified.clone()).credential(credential(&idevid)).send_server_name(false);
    let mut server = ServerConfig::builder(provider);
    server.credential(credential(&registrar)).client_authentication(ClientAuthentication::Required(unverified));
    let server = server.build().unwrap().into();
    let mut acceptor = terse_net::tokio::Acceptor::builder(server, clock).start(listener().await);
    let address = acceptor.local_addr().unwrap();
    let connector = Connector::new(device.build().unwrap().into(), clock);
    let (at_device, mut at_registrar) = connect(&connector, &mut acceptor, address).await;
    let mut at_device = at_device.unwrap();
    at_device.write_all(b"may I join?").await.unwrap();
    at_device.shutdown().await.unwrap();
    let mut request = String::new();
    at_registrar.read_to_string(&mut request).await.unwrap();
    assert_eq!(request, "may I join?");

    let now = clock.now().unix;
    let trust = |authority: &Authority| Trust::new(&[authority.root().clone()]).unwrap();
    for (stream, issued, authority, expect) in [
        (&at_device, &registrar, &plant, Expect::Usage(KeyPurposeId::CMC_RA)),
        (&at_registrar, &idevid, &maker, Expect::Client),
    ] {
        let connection = stream.connection();
        assert_eq!(connection.summary().peer.authenticated_by, AuthenticatedBy::Presented);
        let chain: Vec<CertificateDer<'_>> = connection.presented().unwrap().chain().collect();
        assert_eq!(chain, issued.chain());
        assert_eq!(trust(authority).check(provider, &chain, expect, now).unwrap().anchor, 0);
        // The other CA has not issued it, and the device is no registrar.
        let other = if core::ptr::eq(authority, &plant) { &maker } else { &plant };
        let refused = trust(other).check(provider, &chain, expect, now);
        assert_eq!(refused.err(), Some(CertificateError::UnknownIssuer));
    }
    let refused = trust(&maker).check(provider, idevid.chain(), Expect::Usage(KeyPurposeId::CMC_RA), now);
    assert_eq!(refused.err(), Some(CertificateError::WrongUsage));
}
