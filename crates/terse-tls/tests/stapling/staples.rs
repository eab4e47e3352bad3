//! Says what a peer may staple, what becomes of it, and makes connections over either link.

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use terse_pki::{LeafOptions, OcspHash, OcspOptions, OcspStatus, Usage};
use terse_testkit::pair::{Failed, Side};
use terse_testkit::pki::{DAY, NOW, Pki, validity};
use terse_testkit::setup::Setup;
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::crypto::CryptoProvider;
use terse_tls::summary::Mode;
use terse_tls::{
    CertificateError, ClientAuthentication, Credential, Datagrams, Date, ProtocolVersion, StapleError, Stapling,
    Summary,
};

pub(crate) const PROVIDER: &CryptoProvider = &terse_rustcrypto::PROVIDER;
pub(crate) const CHAIN: &str = "p256x3";
pub(crate) const TLS12: ProtocolVersion = ProtocolVersion::TLS_1_2;
pub(crate) const TLS13: ProtocolVersion = ProtocolVersion::TLS_1_3;

/// TLS and DTLS, 1.2 and 1.3.
pub(crate) const PROTOCOLS: [(ProtocolVersion, bool); 4] =
    [(TLS13, false), (TLS12, false), (TLS13, true), (TLS12, true)];

/// The full handshake and each scheme, with the mode of a connection in which the scheme has something to leave out.
pub(crate) const SCHEMES: [(Schemes, Mode); 4] = [
    (Schemes::OFF, Mode::Full),
    (Schemes::RFC7924, Mode::Cached(Scheme::Rfc7924)),
    (Schemes::BITHAC, Mode::Cached(Scheme::Bithac)),
    (Schemes::COMPACT, Mode::Cached(Scheme::Compact)),
];

/// Mutual authentication, where the client's policy for staples is `stapling`. Both have good ones.
pub(crate) fn setup((version, datagrams): (ProtocolVersion, bool), stapling: Stapling) -> Setup {
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
    setup = match datagrams {
        true => setup.over(version, Datagrams::default()),
        false => setup.only(version),
    };
    setup.client.trust(setup.client.config().trust().clone().with_stapling(stapling));
    let pki = Pki::shared(CHAIN);
    own(&setup, Side::Server).set_staple(PROVIDER, Some(&good(pki.server.leaf()))).unwrap();
    own(&setup, Side::Client).set_staple(PROVIDER, Some(&good(pki.client.leaf()))).unwrap();
    setup
}

/// Has the server ask its clients for OCSP responses.
pub(crate) fn server_asks(setup: &mut Setup, stapling: Stapling) {
    let trust = Pki::shared(CHAIN).trust().with_stapling(stapling);
    setup.server.client_authentication(ClientAuthentication::Required(trust));
}

/// Returns the credential with which `side` proves its identity.
pub(crate) fn own(setup: &Setup, side: Side) -> &Credential {
    match side {
        Side::Client => &setup.client.config().credentials()[0],
        Side::Server => &setup.server.config().credentials()[0],
    }
}

/// A connection that is over, whether it succeeded or failed.
pub(crate) struct Done {
    pub(crate) result: Result<(), Failed>,
    pub(crate) client: Summary,
    pub(crate) server: Summary,
}

/// Makes a connection over the link that `setup` is for.
pub(crate) fn connect(setup: &Setup, seed: u64) -> Done {
    if setup.client.config().common().datagrams().is_some() {
        let mut pair = setup.datagram_pair(seed);
        let result = pair.run_well();
        assert!(result.is_err() || (pair.client.is_connected() && pair.server.is_connected()));
        return Done { result, client: pair.client.summary().clone(), server: pair.server.summary().clone() };
    }
    let mut pair = setup.pair(seed);
    let result = pair.run();
    assert!(result.is_err() || (pair.client.is_connected() && pair.server.is_connected()));
    Done { result, client: pair.client.summary().clone(), server: pair.server.summary().clone() }
}

/// Returns a response of the CA about `leaf`, valid from yesterday on and for a week.
pub(crate) fn good(leaf: &CertificateDer<'_>) -> Vec<u8> {
    respond(leaf, OcspOptions::good(NOW - DAY, 7))
}

fn respond(leaf: &CertificateDer<'_>, options: OcspOptions<'_>) -> Vec<u8> {
    Pki::shared(CHAIN).authority.ocsp_response(leaf, &options).expect("of this CA")
}

/// Returns a responder that `pki` certifies.
fn responder(pki: &Pki, usage: Usage) -> terse_pki::Credential {
    let options = LeafOptions { usage, ..LeafOptions::new("ocsp.plant.example", validity()) };
    pki.authority.issue(&options).expect("a valid name")
}

/// Returns all kinds of responses about `leaf`, and what becomes of them; `other` is another certificate of the same CA.
pub(crate) fn all(
    leaf: &CertificateDer<'_>,
    other: &CertificateDer<'_>,
) -> Vec<(&'static str, Vec<u8>, Result<(), CertificateError>)> {
    let pki = Pki::shared(CHAIN);
    let good_options = OcspOptions::good(NOW - DAY, 7);
    let refused = |error| Err(CertificateError::Staple(error));
    let by = |responder| respond(leaf, OcspOptions { responder: Some(responder), ..good_options });
    let mut forged = good(leaf);
    *forged.last_mut().expect("a signature") ^= 1;
    let until = |this_update, next_update| respond(leaf, OcspOptions { this_update, next_update, ..good_options });
    vec![
        ("good", good(leaf), Ok(())),
        ("by SHA-256", respond(leaf, OcspOptions { hash: OcspHash::Sha256, ..good_options }), Ok(())),
        ("fresh, without nextUpdate", until(NOW - DAY + 60, None), Ok(())),
        ("its last second", until(NOW - DAY, Some(NOW)), Ok(())),
        ("its first second", until(NOW, Some(NOW + DAY)), Ok(())),
        ("named by its key", respond(leaf, OcspOptions { by_key: true, ..good_options }), Ok(())),
        (
            "delegated, named by its key",
            respond(
                leaf,
                OcspOptions { by_key: true, responder: Some(&responder(&pki, Usage::OcspSigning)), ..good_options },
            ),
            Ok(()),
        ),
        ("delegated", by(&responder(&pki, Usage::OcspSigning)), Ok(())),
        (
            "revoked",
            respond(leaf, OcspOptions { status: OcspStatus::Revoked(NOW - DAY), ..good_options }),
            Err(CertificateError::Revoked),
        ),
        (
            "unknown",
            respond(leaf, OcspOptions { status: OcspStatus::Unknown, ..good_options }),
            refused(StapleError::UnknownStatus),
        ),
        (
            "expired",
            respond(leaf, OcspOptions::good(NOW - 9 * DAY, 7)),
            refused(StapleError::OutOfDate(Date::of(seconds(NOW - 2 * DAY)))),
        ),
        (
            "old, without nextUpdate",
            until(NOW - DAY - 1, None),
            refused(StapleError::OutOfDate(Date::of(seconds(NOW - 1)))),
        ),
        (
            "not yet valid",
            until(NOW + DAY, Some(NOW + 2 * DAY)),
            refused(StapleError::NotYetValid(Date::of(seconds(NOW + DAY)))),
        ),
        ("of another certificate", good(other), refused(StapleError::OtherCertificate)),
        ("forged", forged, refused(StapleError::NotFromIssuer)),
        ("by a server", by(&responder(&pki, Usage::Server)), refused(StapleError::NotFromIssuer)),
        ("by a certificate without a use", by(&responder(&pki, Usage::Both)), refused(StapleError::NotFromIssuer)),
        (
            "by a stranger's responder",
            by(&responder(&Pki::new(CHAIN), Usage::OcspSigning)),
            refused(StapleError::NotFromIssuer),
        ),
        ("garbage", b"no response".to_vec(), refused(StapleError::Malformed)),
        ("cut short", good(leaf)[..100].to_vec(), refused(StapleError::Malformed)),
        // The OCSPResponseStatus is tryLater.
        ("without an answer", vec![0x30, 3, 0x0a, 1, 3], refused(StapleError::NotSuccessful)),
    ]
}

fn seconds(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}
