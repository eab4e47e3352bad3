//! The renewal of an LDevID: Simple Re-enroll (RFC 7030, 4.2.2), over HTTPS or by EST-coaps ([`coaps`]).
//!
//! The device authenticates itself with the LDevID that it has, and asks for the same subject and the same names, for a new
//! key. The server is one of the domain that may enrol (RFC 7030, 3.6.1), whatever its name is.
//!
//! What must always hold: the old credential stays until the new one is valid under the anchors of the domain, and is stored.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use terse_aws_lc::PROVIDER;
use terse_brski::certificate;
use terse_brski::certificate::is_unprintable;
use terse_brski::coap::Code;
use terse_brski::est::{UnsignedRequest, decode_body, decode_certs_only_ber, encode_body};
use terse_net::tokio::Connector;
use terse_net::{Clock, NetError, OsRng};
use terse_pki::KeyAlgorithm;
use terse_tls::crypto::SigningKey;
use terse_tls::{
    CertificateError, ClientConfig, ConfigBuilder, Credential, Expect, KeyPurposeId, ServerAddress, Trust,
};
use tokio::net::TcpStream;
use x509_cert::Certificate;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode as _, Encode as _};
use zeroize::Zeroizing;

use super::{CredentialDirectory, CredentialError};
use crate::client::{ClientError, HttpsConnection, Incoming, Outgoing, ResponseLimits};
use crate::discovery::Place;

mod coaps;

pub use coaps::renew_over_coaps;

/// Why an LDevID is not renewed. It displays as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotRenewed {
    /// The credential cannot be read or stored.
    Credential(CredentialError),
    /// The certificate, the key or the anchors cannot be used for a request.
    Request(String),
    /// The registrar cannot be reached, or is none of the domain.
    Connection(ClientError),
    /// The registrar has not decided yet. The same is to be tried again after so many seconds.
    Later(u64),
    /// The registrar refuses, with this HTTP status and this text.
    Refused(u16, String),
    /// The registrar refuses over CoAPS, with this code and this text.
    RefusedWith(Code, String),
    /// The answer has no certificate for the new key.
    Answer(String),
    /// The new certificate is not valid under the anchors of the domain.
    Chain(CertificateError),
}

/// Renews the LDevID in `credentials` at the registrar at `place`, with a new key of this algorithm. The anchors of the domain
/// stay as they are.
///
/// # Panics
///
/// The future panics outside of a tokio runtime with network and timer.
pub async fn renew(
    credentials: &CredentialDirectory,
    place: &Place,
    algorithm: KeyAlgorithm,
) -> Result<Credential, NotRenewed> {
    let Renewal { current, anchors, trust, key, signing, request } = Renewal::begin(credentials, algorithm)?;
    let mut https = connect(place, current.clone(), trust.clone()).await.map_err(NotRenewed::Connection)?;
    let mut above = ca_certificates(&mut https).await?;
    above.extend(current.chain().iter().skip(1).cloned());
    let outgoing = Outgoing {
        body: Some(encode_body(&request)),
        path: "/.well-known/est/simplereenroll",
        content_type: Some("application/pkcs10"),
        accept: Some("application/pkcs7-mime"),
        authorization: None,
    };
    let response = https.send(outgoing, LIMITS).await.map_err(NotRenewed::Connection)?;
    let credential = credential(certificates(&response)?, above, signing, &trust, &anchors)?;
    store(credentials, &credential, key, &anchors).await?;
    Ok(credential)
}

/// What a device has for its renewal.
struct Renewal {
    current: Credential,
    anchors: Vec<CertificateDer<'static>>,
    trust: Trust,
    /// The new key, and the same as one that signs.
    key: Zeroizing<PrivateKeyDer<'static>>,
    signing: Arc<dyn SigningKey>,
    request: Vec<u8>,
}

impl Renewal {
    fn begin(credentials: &CredentialDirectory, algorithm: KeyAlgorithm) -> Result<Self, NotRenewed> {
        let (current, anchors) = credentials.read().map_err(NotRenewed::Credential)?;
        let unusable = |error: &dyn fmt::Display| NotRenewed::Request(error.to_string());
        let trust = Trust::new(&anchors).map_err(|error| unusable(&error))?;
        let key = algorithm.new_key().map_err(|error| unusable(&error))?;
        let signing = PROVIDER.load_key(&key).map_err(|error| unusable(&error))?;
        let request = request(&current, &*signing)?;
        Ok(Self { current, anchors, trust, key, signing, request })
    }
}

/// Makes the certification request: subject and subjectAltName as they are (RFC 7030, 4.2.2).
fn request(current: &Credential, key: &dyn SigningKey) -> Result<Vec<u8>, NotRenewed> {
    let unusable = |error: &dyn fmt::Display| NotRenewed::Request(error.to_string());
    let leaf = current.chain().first().ok_or_else(|| unusable(&"there is no certificate"))?;
    let subject = certificate::subject(leaf).map_err(|error| unusable(&error))?;
    let parsed = Certificate::from_der(leaf).map_err(|error| unusable(&error))?;
    let extensions = parsed.tbs_certificate().extensions().into_iter().flatten();
    let names: Result<Vec<_>, _> =
        extensions.filter(|extension| extension.extn_id == SUBJECT_ALT_NAME).map(|names| names.to_der()).collect();
    let names = names.map_err(|error| unusable(&error))?;
    let scheme = *key.schemes().first().ok_or_else(|| unusable(&"the key cannot sign"))?;
    let unsigned = UnsignedRequest::new(subject, key, scheme, &names).map_err(|error| unusable(&error))?;
    unsigned.sign(key, &mut OsRng).map_err(|error| unusable(&error))
}

/// Returns the configuration of connections with the LDevID to servers of the domain that may enrol.
fn config(current: Credential, trust: Trust) -> ConfigBuilder<ClientConfig> {
    let mut config = ClientConfig::builder(&PROVIDER);
    config.trust(trust).credentials(vec![current]).server_usage(KeyPurposeId::CMC_RA).send_server_name(false);
    config
}

async fn connect(place: &Place, current: Credential, trust: Trust) -> Result<HttpsConnection, ClientError> {
    let config = config(current, trust).build();
    let config = config.map_err(|misuse| ClientError::Net(NetError::Tls(misuse.into())))?;
    let io = |error| ClientError::Net(NetError::Io(error));
    let connecting = TcpStream::connect((place.host(), place.port()));
    let transport = tokio::time::timeout(LIMITS.time, connecting).await.map_err(|_| ClientError::TimedOut)?;
    let transport = transport.map_err(io)?;
    let address = transport.peer_addr().map_err(io)?;
    let server = ServerAddress::new(ServerName::IpAddress(address.ip().into()), address.port());
    let connector = Connector::new(Arc::new(config), Clock::new());
    HttpsConnection::connect(&connector, server, &place.authority(), transport).await
}

/// Returns the certificates of the CA, among which are those between the new LDevID and an anchor (RFC 7030, 4.2.3): the
/// answer to a request for one may have nothing but it.
async fn ca_certificates(https: &mut HttpsConnection) -> Result<Vec<CertificateDer<'static>>, NotRenewed> {
    let accept = Some("application/pkcs7-mime");
    let outgoing = Outgoing { path: "/.well-known/est/cacerts", accept, ..Outgoing::default() };
    let response = https.send(outgoing, LIMITS).await.map_err(NotRenewed::Connection)?;
    match response.status {
        204 | 404 => Ok(Vec::new()),
        _ => certificates(&response),
    }
}

/// Reads an answer with certificates.
fn certificates(response: &Incoming) -> Result<Vec<CertificateDer<'static>>, NotRenewed> {
    match response.status {
        200 => {}
        202 | 503 => return Err(NotRenewed::Later(response.retry_after.unwrap_or(60))),
        status => return Err(NotRenewed::Refused(status, text(&response.body))),
    }
    let malformed = |error: terse_brski::Malformed| NotRenewed::Answer(error.to_string());
    let der = decode_body(&response.body, "certificates").map_err(malformed)?;
    decode_certs_only_ber(&der).map_err(malformed)
}

/// Returns the new credential: the certificate for the new key, which is among `answer`, and those between it and an anchor,
/// in their order.
fn credential(
    answer: Vec<CertificateDer<'static>>,
    above: Vec<CertificateDer<'static>>,
    key: Arc<dyn SigningKey>,
    trust: &Trust,
    anchors: &[CertificateDer<'static>],
) -> Result<Credential, NotRenewed> {
    let is_own = |certificate: &CertificateDer<'_>| {
        certificate::public_key(certificate).is_ok_and(|own| own == key.public_key().as_ref())
    };
    let (mut chain, mut others): (Vec<_>, Vec<_>) = answer.into_iter().partition(is_own);
    if chain.len() != 1 {
        return Err(NotRenewed::Answer(format!("it has {} certificates for the new key", chain.len())));
    }
    others.extend(above);
    others.retain(|certificate| !anchors.contains(certificate));
    while let Some(next) = chain.last().and_then(|last| issuer_of(last, &others)) {
        chain.push(others.swap_remove(next)); // `others` gets shorter each time
    }
    trust.check(&PROVIDER, &chain, Expect::Client, Clock::new().now().unix).map_err(NotRenewed::Chain)?;
    Credential::new(chain, key).map_err(|error| NotRenewed::Answer(error.to_string()))
}

/// Returns the place of the certificate among `others` whose subject is the issuer of `certificate`.
fn issuer_of(certificate: &CertificateDer<'_>, others: &[CertificateDer<'_>]) -> Option<usize> {
    let issuer = certificate::issuer(certificate).ok()?;
    others.iter().position(|other| certificate::subject(other).is_ok_and(|subject| subject == issuer))
}

async fn store(
    credentials: &CredentialDirectory,
    credential: &Credential,
    key: Zeroizing<PrivateKeyDer<'static>>,
    anchors: &[CertificateDer<'static>],
) -> Result<(), NotRenewed> {
    credentials.store(credential.chain(), key, anchors).await.map_err(NotRenewed::Credential)
}

/// Returns the beginning of a text for people, which the registrar has written.
fn text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    text.chars().filter(|c| !is_unprintable(*c)).take(MAX_TEXT_LEN).collect()
}

impl fmt::Display for NotRenewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credential(error) => error.fmt(f),
            Self::Request(problem) => write!(f, "the certification request cannot be made: {problem}"),
            Self::Connection(error) => error.fmt(f),
            Self::Later(seconds) => write!(f, "the registrar has not decided yet; try again in {seconds} s"),
            Self::Refused(status, text) => write!(f, "the registrar refuses with HTTP status {status}: {text}"),
            Self::RefusedWith(code, text) => write!(f, "the registrar refuses with {code}: {text}"),
            Self::Answer(problem) => write!(f, "the answer of the registrar cannot be used: {problem}"),
            Self::Chain(error) => write!(f, "the new certificate is not valid under the domain's anchors: {error}"),
        }
    }
}

impl core::error::Error for NotRenewed {}

/// The limits of the response: the time in which a registrar decides or says that it needs longer.
const LIMITS: ResponseLimits = ResponseLimits { body: terse_brski::est::MAX_BODY_LEN, time: Duration::from_secs(60) };

/// The most characters of a registrar's text that are shown.
const MAX_TEXT_LEN: usize = 200;

/// id-ce-subjectAltName (RFC 5280, 4.2.1.6).
const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
