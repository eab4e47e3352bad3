//! A server judges the OCSP response that a client staples, if it asked for one in its CertificateRequest (RFC 9846, 4.4.2.1).

use terse_testkit::pair::Side;
use terse_testkit::pki::Pki;
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::summary::{CachedObject, Mode, Staple};
use terse_tls::{CertificateError, Error, StapleError, Stapling};

use super::staples::{CHAIN, PROTOCOLS, PROVIDER, SCHEMES, TLS13, all, connect, own, server_asks, setup};

#[test]
fn every_response_is_judged_in_every_handshake() {
    let pki = Pki::shared(CHAIN);
    let responses = all(pki.client.leaf(), pki.server.leaf());
    for (datagrams, (schemes, mode)) in [false, true].into_iter().flat_map(|link| SCHEMES.map(|scheme| (link, scheme)))
    {
        let mut setup = setup((TLS13, datagrams), Stapling::Off);
        server_asks(&mut setup, Stapling::Require);
        let setup = if schemes == Schemes::OFF { setup } else { setup.with_frozen_cache(schemes) };
        for (name, response, expected) in &responses {
            let what = format!("{name}, {mode}, over datagrams: {datagrams}");
            own(&setup, Side::Client).set_any_staple(response);
            let done = connect(&setup, 7);
            match expected {
                Ok(()) => {
                    done.result.unwrap_or_else(|failed| panic!("{what}: {failed:?}"));
                    assert_eq!(
                        (done.server.peer.staple, done.client.peer.staple),
                        (Staple::Good, Staple::None),
                        "{what}"
                    );
                    assert_eq!((done.client.mode, done.server.mode), (mode, mode), "{what}");
                    // What is left out altogether has no place for a response: `compact` has the certificate sent.
                    let is_cached = done.client.cached.contains(&CachedObject::ClientCertificate);
                    assert_eq!(is_cached, mode == Mode::Cached(Scheme::Bithac), "{what}");
                }
                Err(error) => {
                    let failed = done.result.expect_err(&what);
                    assert_eq!((failed.side, failed.error), (Side::Server, Error::Certificate(*error)), "{what}");
                }
            }
        }
    }
}

#[test]
fn none_at_all() {
    for (protocol, (schemes, mode)) in
        PROTOCOLS.into_iter().flat_map(|protocol| SCHEMES.map(|scheme| (protocol, scheme)))
    {
        let what = format!("{protocol:?}, {mode}");
        let mut setup = setup(protocol, Stapling::Off);
        server_asks(&mut setup, Stapling::Ask);
        let setup = if schemes == Schemes::OFF { setup } else { setup.with_frozen_cache(schemes) };
        own(&setup, Side::Client).set_staple(PROVIDER, None).unwrap();
        let done = connect(&setup, 7);
        done.result.unwrap_or_else(|failed| panic!("{what}: {failed:?}"));
        assert_eq!((done.server.mode, done.server.peer.staple), (mode, Staple::None), "{what}");
    }
}

/// In TLS 1.2 a client has no way to send an OCSP response, even if it has one.
#[test]
fn required_and_missing() {
    for protocol in PROTOCOLS {
        let mut setup = setup(protocol, Stapling::Off);
        server_asks(&mut setup, Stapling::Require);
        if protocol.0 == TLS13 {
            own(&setup, Side::Client).set_staple(PROVIDER, None).unwrap();
        }
        let failed = connect(&setup, 7).result.expect_err("missing");
        let missing = Error::Certificate(CertificateError::Staple(StapleError::Missing));
        assert_eq!((failed.side, failed.error), (Side::Server, missing), "{protocol:?}");
    }
}

/// A client without a certificate has nothing that could be revoked.
#[test]
fn a_client_that_need_not_have_a_certificate() {
    for protocol in PROTOCOLS {
        let mut setup = setup(protocol, Stapling::Off);
        let trust = Pki::shared(CHAIN).trust().with_stapling(Stapling::Require);
        setup.server.client_authentication(terse_tls::ClientAuthentication::Optional(trust));
        setup.client.credentials(Vec::new());
        connect(&setup, 7).result.unwrap();
    }
}
