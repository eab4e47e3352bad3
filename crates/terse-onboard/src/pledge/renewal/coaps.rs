//! The renewal of an LDevID by EST-coaps (RFC 9148; draft-ietf-anima-constrained-voucher-31, on re-enrollment).
//!
//! What must always hold: new trust anchors come only from a registrar of the anchors before them, and only with an LDevID that
//! is valid under them; otherwise nothing changes, and the registrar is told.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::{CertificateDer, ServerName};
use terse_brski::coap::{Code, Request, Resource, Response, content_format, multipart};
use terse_brski::est::{MAX_CERTIFICATES, decode_certs_only};
use terse_brski::telemetry::Status;
use terse_brski::{Malformed, certificate};
use terse_net::tokio::DatagramConnector;
use terse_net::{Clock, NetError};
use terse_pki::KeyAlgorithm;
use terse_tls::{Credential, ServerAddress, Trust};

use super::super::connection::connected_socket;
use super::super::{CoapsSettings, CredentialDirectory};
use super::{NotRenewed, Renewal, config, credential, store, text};
use crate::client::{ClientError, CoapsConnection};
use crate::discovery::Place;

/// Renews the LDevID in `credentials` as [`renew`](super::renew) does, over CoAPS. If the registrar has other CA certificates
/// than before, and the new LDevID is valid under them, they become the anchors of the domain.
///
/// # Panics
///
/// The future panics outside of a tokio runtime with network and timer.
pub async fn renew_over_coaps(
    credentials: &CredentialDirectory,
    place: &Place,
    algorithm: KeyAlgorithm,
    settings: &CoapsSettings,
) -> Result<Credential, NotRenewed> {
    let renewal = Renewal::begin(credentials, algorithm)?;
    let mut coaps = connect(place, &renewal, settings).await.map_err(NotRenewed::Connection)?;
    let renewed = request(&mut coaps, &renewal).await;
    if let Err(NotRenewed::Answer(_) | NotRenewed::Chain(_)) = &renewed {
        let status = Status::cbor_without_context(false, Some("the new certificate cannot be used"));
        let told = Request::post(Resource::EnrollStatus, content_format::CBOR, &status);
        let _ = coaps.send(told, LIMIT).await; // what counts is why it was not renewed
    }
    let _ = coaps.close().await; // a registrar that is gone needs no end
    let (credential, anchors) = renewed?;
    store(credentials, &credential, renewal.key, &anchors).await?;
    Ok(credential)
}

async fn connect(place: &Place, renewal: &Renewal, settings: &CoapsSettings) -> Result<CoapsConnection, ClientError> {
    let io = |error| ClientError::Net(NetError::Io(error));
    let mut config = config(renewal.current.clone(), renewal.trust.clone());
    let config = settings.apply(&mut config).build();
    let config = config.map_err(|misuse| ClientError::Net(NetError::Tls(misuse.into())))?;
    let connecting = tokio::time::timeout(LIMIT, connected_socket(place)).await;
    let (socket, address) = connecting.map_err(|_| ClientError::TimedOut)?.map_err(io)?;
    let server = ServerAddress::new(ServerName::IpAddress(address.ip().into()), address.port());
    let clock = Clock::new();
    let connector = DatagramConnector::new(Arc::new(config), clock).with_handshake_limit(LIMIT);
    CoapsConnection::connect(&connector, server, socket, settings.transmission, clock).await
}

/// Returns the new credential, and the anchors that it is valid under.
async fn request(
    coaps: &mut CoapsConnection,
    renewal: &Renewal,
) -> Result<(Credential, Vec<CertificateDer<'static>>), NotRenewed> {
    let wanted = Request::post(Resource::SimpleReenroll, content_format::PKCS10, &renewal.request);
    let issued = send(coaps, wanted.accept(content_format::PKIX_CERT)).await?.ok_or_else(|| missing("certificate"))?;
    let issued = certificates(&issued).map_err(malformed)?;
    let wanted = Request::get(Resource::CaCerts).accept(content_format::MULTIPART_CORE);
    let authorities = match send(coaps, wanted).await? {
        Some(response) => certificates(&response).map_err(malformed)?,
        None => Vec::new(),
    };
    let (anchors, mut above) = sorted(authorities);
    let is_new = !anchors.is_empty();
    let anchors = if is_new { anchors } else { renewal.anchors.clone() };
    above.extend(renewal.current.chain().iter().skip(1).cloned());
    let trust = match is_new {
        true => Trust::new(&anchors).map_err(|_| NotRenewed::Answer("its CA certificates are no anchors".into()))?,
        false => renewal.trust.clone(),
    };
    let credential = credential(issued, above, renewal.signing.clone(), &trust, &anchors)?;
    Ok((credential, anchors))
}

/// Sends a request, and returns the success, or `None` if there is no such resource.
async fn send(coaps: &mut CoapsConnection, request: Request) -> Result<Option<Response>, NotRenewed> {
    let may_be_missing = request.resource == Resource::CaCerts;
    let response = coaps.send(request, LIMIT).await.map_err(NotRenewed::Connection)?;
    match response.code {
        code if code.is_success() => Ok(Some(response)),
        Code::NOT_FOUND if may_be_missing => Ok(None),
        Code::SERVICE_UNAVAILABLE => Err(NotRenewed::Later(response.max_age.unwrap_or(MAX_AGE).into())),
        code => Err(NotRenewed::RefusedWith(code, text(&response.payload))),
    }
}

/// Reads a certificate, or several of them.
fn certificates(response: &Response) -> Result<Vec<CertificateDer<'static>>, Malformed> {
    let found = match response.content_format {
        Some(content_format::PKIX_CERT) => vec![CertificateDer::from(response.payload.to_vec())],
        Some(content_format::PKCS7_CERTS_ONLY) => decode_certs_only(&response.payload)?,
        Some(content_format::MULTIPART_CORE) => {
            let parts = multipart::decode(&response.payload, MAX_CERTIFICATES)?.into_iter();
            let parts = parts.filter(|(format, _)| *format == content_format::PKIX_CERT);
            parts.map(|(_, certificate)| CertificateDer::from(certificate.to_vec())).collect()
        }
        _ => return Err(Malformed::Invalid("Content-Format")),
    };
    for certificate in &found {
        certificate::public_key(certificate)?;
    }
    Ok(found)
}

/// Returns the anchors among CA certificates, and the others: those that are self-issued, and those whose issuer is not there
/// (draft-ietf-anima-constrained-voucher-31, "Multipart Content-Format for CA certificates").
fn sorted(authorities: Vec<CertificateDer<'static>>) -> (Vec<CertificateDer<'static>>, Vec<CertificateDer<'static>>) {
    let names = |certificate: &CertificateDer<'_>| {
        let name = |name: Result<&[u8], Malformed>| name.unwrap_or_default().to_vec();
        (name(certificate::issuer(certificate)), name(certificate::subject(certificate)))
    };
    let named: Vec<_> = authorities.into_iter().map(|certificate| (names(&certificate), certificate)).collect();
    let subjects: Vec<_> = named.iter().map(|((_, subject), _)| subject.clone()).collect();
    let is_anchor = |(issuer, subject): &(Vec<u8>, Vec<u8>)| issuer == subject || !subjects.contains(issuer);
    let (anchors, others): (Vec<_>, Vec<_>) = named.into_iter().partition(|(names, _)| is_anchor(names));
    let own = |certificates: Vec<(_, CertificateDer<'static>)>| certificates.into_iter().map(|(_, own)| own).collect();
    (own(anchors), own(others))
}

fn missing(what: &str) -> NotRenewed {
    NotRenewed::Answer(format!("it has no {what}"))
}

fn malformed(error: Malformed) -> NotRenewed {
    NotRenewed::Answer(error.to_string())
}

/// The time in which a registrar decides or says that it needs longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Max-Age where it is left out (RFC 7252, 5.10.5).
const MAX_AGE: u32 = 60;
