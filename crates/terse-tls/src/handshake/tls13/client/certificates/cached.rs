//! What is cached of a server's messages, and so comes as its fingerprint, reduced, or not at all (docs/caching.md, 4).
//!
//! The handshake reaches all this by a pointer, which only a configuration with a cache has.

use alloc::boxed::Box;
use core::fmt;

use super::super::super::certificate;
use super::super::{Negotiated, Secrets, SentClientHello};
use super::ExpectCertificateVerify;
use crate::cache::{Fingerprint, Learned, Parts, Selection};
use crate::cert::Credential;
use crate::config::{ClientConfig, Common};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::caching::{Request, cached_certificate, selected};
use crate::handshake::certificate_types::{CertificateTypes, Presented};
use crate::handshake::signature::{ClaimedPeer, ProvenPeer};
use crate::handshake::{Message, Output, stapling};
use crate::proof::FinishedProof;
use crate::schedule::tls13::ResumptionSecret;
use crate::wire::{
    CachedCertificateRequest, Certificate, CertificateRequest, Extensions, HandshakeType, ProtocolVersion,
};

/// The code for what is cached.
#[allow(clippy::type_complexity)] // the arguments have names in the functions
pub(crate) struct CachedCode {
    /// Returns what the server has selected as cached.
    pub(super) selected: fn(
        Extensions<'_>,
        &ClientConfig,
        CertificateTypes,
        ProtocolVersion,
        &mut Output<'_>,
    ) -> Result<Selection, Error>,
    pub(super) left_out_request: fn(&mut Negotiated, &mut Output<'_>) -> Result<(), Error>,
    /// Handles a cached CertificateRequest. Returns its context.
    pub(super) request: for<'a> fn(Message<'a>, &mut Output<'_>) -> Result<(&'a [u8], Request), Error>,
    /// Handles a Certificate that is reduced, or has the fingerprint in place of the certificate.
    pub(super) certificate:
        fn(&mut Negotiated, &Certificate<'_>, &mut Output<'_>) -> Result<(Option<Fingerprint>, ClaimedPeer), Error>,
    pub(super) left_out_certificate:
        fn(Box<Negotiated>, Box<Secrets>, &mut Output<'_>) -> Result<ExpectCertificateVerify, Error>,
    /// Returns the fingerprint of a CertificateRequest in full.
    pub(super) fingerprint_of_request: fn(&CertificateRequest<'_>) -> Fingerprint,
    /// Returns the fingerprint of a Certificate in full.
    pub(super) fingerprint: fn(&Presented<'_>) -> Fingerprint,
    pub(in crate::handshake::tls13::client) learn:
        fn(&Common, FinishedProof, Subject<'_>, Selection, &ResumptionSecret, &mut Output<'_>) -> Result<(), Error>,
}

/// What the handshake was about: the server's proof, if it has proven its identity with a Certificate, its request, and the credential
/// that the client has proven.
pub(in crate::handshake::tls13::client) type Subject<'a> =
    (Option<&'a ProvenPeer>, Option<Request>, Option<&'a Credential>);

impl CachedCode {
    /// The code for all schemes.
    pub(crate) const CODE: &'static Self = &Self {
        selected,
        left_out_request,
        request,
        certificate,
        left_out_certificate,
        fingerprint_of_request: Fingerprint::of_request,
        fingerprint: |presented| presented.fingerprint(ProtocolVersion::TLS_1_3),
        learn,
    };
}

impl fmt::Debug for CachedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CachedCode")
    }
}

/// Handles a CertificateRequest that is left out. The transcript takes its fingerprint (docs/caching.md, 4.1).
fn left_out_request(state: &mut Negotiated, output: &mut Output<'_>) -> Result<(), Error> {
    let (fingerprint, request) = Request::cached(output)?;
    state.request = Some(request);
    let SentClientHello { config, transcript, .. } = &mut state.hello;
    config.common.bind(transcript, fingerprint);
    Ok(())
}

fn request<'a>(message: Message<'a>, output: &mut Output<'_>) -> Result<(&'a [u8], Request), Error> {
    let (fingerprint, request) = Request::cached(output)?;
    let CachedCertificateRequest { certificate_request_context, hash_value } =
        message.expect(HandshakeType::CERTIFICATE_REQUEST)?;
    if hash_value != fingerprint.0 {
        return Err(PeerMisbehaved::IllegalCachedMessage.into());
    }
    Ok((certificate_request_context, request))
}

fn certificate(
    state: &mut Negotiated,
    certificate: &Certificate<'_>,
    output: &mut Output<'_>,
) -> Result<(Option<Fingerprint>, ClaimedPeer), Error> {
    match state.selection.reduced {
        true => reduced_certificate(state, certificate, output),
        false => whole_fingerprint(state, certificate, output),
    }
}

/// Handles a Certificate with one entry, which has the fingerprint.
fn whole_fingerprint(
    state: &Negotiated,
    certificate: &Certificate<'_>,
    output: &mut Output<'_>,
) -> Result<(Option<Fingerprint>, ClaimedPeer), Error> {
    let asked = stapling::asked(Some(&state.hello.config.trust));
    let mut entries = certificate::cert_data(certificate, asked)?.into_iter();
    let (fingerprint, peer) = cached_certificate(state.types.server, ProtocolVersion::TLS_1_3, output)?;
    if entries.next().is_none_or(|hash| *hash != fingerprint.0) || entries.next().is_some() {
        return Err(PeerMisbehaved::IllegalCachedMessage.into());
    }
    Ok((Some(fingerprint), peer))
}

/// Handles a reduced Certificate. The transcript takes the fingerprint of the full one, then the reduced message
/// (docs/caching.md, 4.1).
fn reduced_certificate(
    state: &mut Negotiated,
    certificate: &Certificate<'_>,
    output: &mut Output<'_>,
) -> Result<(Option<Fingerprint>, ClaimedPeer), Error> {
    certificate::reduced(certificate, stapling::asked(Some(&state.hello.config.trust)))?;
    let (fingerprint, peer) = cached_certificate(state.types.server, ProtocolVersion::TLS_1_3, output)?;
    let SentClientHello { config, transcript, .. } = &mut state.hello;
    config.common.bind(transcript, fingerprint);
    Ok((Some(fingerprint), peer))
}

/// Handles a Certificate that is left out. The transcript takes its fingerprint (docs/caching.md, 4.1).
fn left_out_certificate(
    mut state: Box<Negotiated>,
    secrets: Box<Secrets>,
    output: &mut Output<'_>,
) -> Result<ExpectCertificateVerify, Error> {
    state.check_request()?;
    let (fingerprint, mut peer) = cached_certificate(state.types.server, ProtocolVersion::TLS_1_3, output)?;
    let SentClientHello { config, transcript, .. } = &mut state.hello;
    stapling::check(Some(&config.trust), &mut peer, None, &config.common, output)?;
    config.common.bind(transcript, fingerprint);
    Ok(ExpectCertificateVerify { state, secrets, peer, fingerprint: Some(fingerprint) })
}

/// Leaves what was learned to the cache, once the server's Finished was verified.
fn learn(
    common: &Common,
    proof: FinishedProof,
    (server, request, credential): Subject<'_>,
    selection: Selection,
    resumption: &ResumptionSecret,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let Some(session) = output.cache.as_deref_mut() else { return Ok(()) };
    let Some(ProvenPeer { peer, fingerprint: Some(fingerprint) }) = server else {
        session.resumed();
        return Ok(());
    };
    let version = ProtocolVersion::TLS_1_3;
    let subject = session.names(Parts {
        server_certificate: *fingerprint,
        certificate_request: request.as_ref().and_then(|request| request.fingerprint),
        client_certificate: credential.map(|own| own.fingerprint(version)),
    });
    let sha256 = common.provider.sha256;
    let ticket = subject.map(|subject| resumption.ticket(sha256, &subject).map(|ticket| (ticket, subject)));
    let ticket = ticket.transpose()?;
    let server_certificate = session.entry(*fingerprint, version, peer);
    let server_certificate = server_certificate.filter(|_| !selection.server_certificate);
    let request = request.filter(|_| !selection.certificate_request);
    let certificate_request = request.and_then(|request| request.entry(version));
    output.learned = Some(Box::new(Learned { proof, server_certificate, certificate_request, ticket }));
    Ok(())
}
