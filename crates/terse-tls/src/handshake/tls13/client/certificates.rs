//! A client in TLS 1.3 between EncryptedExtensions and Finished, in a handshake with certificates (RFC 9846, 4.5), and its own
//! Certificate in the last flight.
//!
//! The handshake reaches all this by a pointer, which only a configuration with trust in certificates has: a firmware with
//! pre-shared keys or identities alone has none of the code.

use alloc::boxed::Box;
use core::fmt;

use super::super::certificate::{self, Signer};
use super::finish::LastFlight;
use super::{ExpectFinished, Negotiated, Proof, Secrets, SentClientHello, State};
use crate::cache::{Fingerprint, Selection};
use crate::error::{ApiMisuse, Error, PeerMisbehaved};
use crate::handshake::caching::Request;
use crate::handshake::certificate_types::CertificateTypes;
use crate::handshake::signature::ClaimedPeer;
use crate::handshake::{Handshake, Message, Output, SignatureRequest, StateMachine, credentials, signature, stapling};
use crate::proof::FinishedProof;
use crate::wire::{
    Certificate, CertificateAuthorities, CertificateRequest, CertificateVerify, ExtensionMessage, Extensions,
    HandshakeType, ProtocolVersion, SignatureAlgorithms, SignatureAlgorithmsCert, StatusRequested,
};

mod answer;
mod cached;

use answer::ExpectSignature;
pub(crate) use cached::CachedCode;

/// The code of handshakes with certificates.
pub(crate) struct CertificateCode {
    /// Continues after EncryptedExtensions.
    #[allow(clippy::type_complexity)] // the arguments have names in `begin`
    pub(super) begin:
        fn(SentClientHello, Box<Secrets>, Extensions<'_>, Message<'_>, &mut Output<'_>) -> Result<Handshake, Error>,
    /// Learns from the server's Certificate, after its Finished was verified.
    pub(super) server_finished: fn(&Negotiated, &Proof, &FinishedProof, &mut Output<'_>),
    /// Sends the client's last flight, with its Certificate if the server has requested it.
    pub(super) answer: fn(Box<LastFlight>, &mut Output<'_>) -> Result<Handshake, Error>,
}

impl CertificateCode {
    /// The code of all handshakes with certificates.
    pub(crate) const CODE: &'static Self = &Self { begin, server_finished, answer: LastFlight::answer };
}

impl fmt::Debug for CertificateCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CertificateCode")
    }
}

/// The state of a client that has verified the server's Certificate, which came in full or is cached.
struct ExpectCertificateVerify {
    state: Box<Negotiated>,
    secrets: Box<Secrets>,
    peer: ClaimedPeer,
    /// The fingerprint of the Certificate, if there is a cache.
    fingerprint: Option<Fingerprint>,
}

/// The state of a client, named after what it waits for.
enum CertificateState {
    /// The client waits for a CertificateRequest or a Certificate.
    CertificateRequest(Box<Negotiated>, Box<Secrets>),
    Certificate(Box<Negotiated>, Box<Secrets>),
    CertificateVerify(Box<ExpectCertificateVerify>),
    /// The client waits for the signature of its own CertificateVerify.
    Signature(Box<ExpectSignature>),
}

#[inline(never)]
fn begin(
    mut hello: SentClientHello,
    secrets: Box<Secrets>,
    extensions: Extensions<'_>,
    message: Message<'_>,
    output: &mut Output<'_>,
) -> Result<Handshake, Error> {
    let types = CertificateTypes::read(&hello.config, extensions)?;
    let selection = match hello.config.cached {
        Some(cached) => (cached.selected)(extensions, &hello.config, types, ProtocolVersion::TLS_1_3, output)?,
        None => Selection::default(),
    };
    hello.transcript.add(message.bytes);
    let mut state = Box::new(Negotiated { hello, types, selection, request: None });
    if selection.leaves_out() && selection.certificate_request {
        (state.cached()?.left_out_request)(&mut state, output)?;
        return Ok(Box::new(CertificateState::Certificate(state, secrets)));
    }
    Ok(Box::new(CertificateState::CertificateRequest(state, secrets)))
}

fn server_finished(state: &Negotiated, server: &Proof, proof: &FinishedProof, output: &mut Output<'_>) {
    server.peer().into_iter().for_each(|peer| state.hello.config.trust.learn(proof, peer));
    if let Some(session) = output.cache.as_deref_mut().filter(|_| server.certificate().is_some()) {
        session.server_finished(!state.selection.uses_ticket);
    }
}

impl StateMachine for CertificateState {
    #[inline(never)]
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        Ok(Box::new(match *self {
            Self::CertificateRequest(state, secrets) | Self::Certificate(state, secrets)
                if state.is_left_out(message.kind) =>
            {
                let state = (state.cached()?.left_out_certificate)(state, secrets, output)?;
                return Ok(Box::new(State::Finished(state.certificate_verify(message, output)?)));
            }
            Self::CertificateRequest(state, secrets) if message.kind == HandshakeType::CERTIFICATE_REQUEST => {
                Self::Certificate(state.certificate_request(message, output)?, secrets)
            }
            Self::CertificateRequest(state, secrets) | Self::Certificate(state, secrets) => {
                Self::CertificateVerify(state.certificate(secrets, message, output)?)
            }
            Self::CertificateVerify(state) => {
                return Ok(Box::new(State::Finished(state.certificate_verify(message, output)?)));
            }
            Self::Signature(_) => return Err(message.unexpected()),
        }))
    }

    fn signature_request(&self) -> Option<&SignatureRequest> {
        match self {
            Self::Signature(state) => Some(&state.request),
            _ => None,
        }
    }

    fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
        match *self {
            Self::Signature(state) => state.signed(signature, output),
            _ => Err(ApiMisuse::NoSignatureDue.into()),
        }
    }

    fn ignores_change_cipher_spec(&self) -> bool {
        true
    }
}

impl Negotiated {
    /// Returns the code for what is cached, without which nothing was offered.
    fn cached(&self) -> Result<&'static CachedCode, Error> {
        Ok(self.hello.config.cached.ok_or(PeerMisbehaved::IllegalCachingReply)?)
    }

    /// Handles CertificateRequest (RFC 9846, 4.4.2). If it is cached, the message has its context and fingerprint.
    #[inline(never)]
    fn certificate_request(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        let (context, request) = if self.selection.certificate_request {
            (self.cached()?.request)(message, output)?
        } else {
            let request: CertificateRequest<'_> = message.expect(HandshakeType::CERTIFICATE_REQUEST)?;
            (request.certificate_request_context, self.full_request(&request, message, output)?)
        };
        if !context.is_empty() {
            return Err(PeerMisbehaved::IllegalRequestContext.into());
        }
        self.request = Some(request);
        self.hello.transcript.add(message.bytes);
        Ok(self)
    }

    fn full_request(
        &self,
        request: &CertificateRequest<'_>,
        message: Message<'_>,
        output: &Output<'_>,
    ) -> Result<Request, Error> {
        request.extensions.check_request(ExtensionMessage::CertificateRequest)?;
        let SignatureAlgorithms(schemes) = request.extensions.require()?;
        let authorities = request.extensions.get()?.map(|CertificateAuthorities(names)| names);
        let of_chains = request.extensions.get()?.map(|SignatureAlgorithmsCert(schemes)| schemes);
        let SentClientHello { config, .. } = &self.hello;
        let of_chains = of_chains.as_ref().unwrap_or(&schemes);
        let suitable = credentials::suitable(&config.common, &config.credentials, authorities, of_chains);
        let signature_algorithms = schemes.iter().collect();
        let asks_status = request.extensions.get::<StatusRequested>()?.is_some();
        let cached = config.cached.filter(|_| output.cache.is_some());
        let fingerprint = cached.map(|cached| (cached.fingerprint_of_request)(request));
        let length = u16::try_from(message.bytes.len()).unwrap_or(u16::MAX);
        Ok(Request { signature_algorithms, asks_status, suitable, fingerprint, length })
    }

    /// Handles Certificate (RFC 9846, 4.5.1). If it is cached, it has one entry with the fingerprint in place of the
    /// certificate, or, in the scheme `compact`, with nothing.
    #[inline(never)]
    fn certificate(
        mut self: Box<Self>,
        secrets: Box<Secrets>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectCertificateVerify>, Error> {
        if self.selection.leaves_out_certificate() {
            return Err(message.unexpected());
        }
        let certificate: Certificate<'_> = message.expect(HandshakeType::CERTIFICATE)?;
        self.check_request()?;
        if !certificate.certificate_request_context.is_empty() {
            return Err(PeerMisbehaved::IllegalRequestContext.into());
        }
        let (fingerprint, mut peer) = if self.selection.reduced || self.selection.server_certificate {
            (self.cached()?.certificate)(&mut self, &certificate, output)?
        } else {
            self.full_certificate(&certificate, output)?
        };
        let SentClientHello { config, transcript, .. } = &mut self.hello;
        stapling::check(Some(&config.trust), &mut peer, certificate::staple(&certificate)?, &config.common, output)?;
        transcript.add(message.bytes);
        Ok(Box::new(ExpectCertificateVerify { state: self, secrets, peer, fingerprint }))
    }

    /// Checks that there is a CertificateRequest, if the server has selected one as cached, or a client's Certificate.
    const fn check_request(&self) -> Result<(), PeerMisbehaved> {
        match self.request {
            None if self.selection.certificate_request || self.selection.client_certificate => {
                Err(PeerMisbehaved::IllegalCachingReply)
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the server's Certificate is left out, so that the message of this `kind` is what follows it.
    fn is_left_out(&self, kind: HandshakeType) -> bool {
        self.selection.leaves_out_certificate() && kind == HandshakeType::CERTIFICATE_VERIFY
    }

    #[inline(never)]
    fn full_certificate(
        &self,
        certificate: &Certificate<'_>,
        output: &mut Output<'_>,
    ) -> Result<(Option<Fingerprint>, ClaimedPeer), Error> {
        let SentClientHello { config, server, .. } = &self.hello;
        let asked = stapling::asked(Some(&config.trust));
        let presented = certificate::presented(certificate, self.types.server, asked)?;
        let presented = presented.ok_or(PeerMisbehaved::EmptyServerCertificate)?;
        let peer = presented.verify(&config.trust, config.expect(&server.name), &config.common, output)?;
        let cached = config.cached.filter(|_| output.cache.is_some());
        let fingerprint = cached.map(|cached| (cached.fingerprint)(&presented));
        Ok((fingerprint, peer))
    }
}

impl ExpectCertificateVerify {
    /// Handles CertificateVerify (RFC 9846, 4.5.2).
    #[inline(never)]
    fn certificate_verify(
        mut self,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectFinished>, Error> {
        let verify: CertificateVerify<'_> = message.expect(HandshakeType::CERTIFICATE_VERIFY)?;
        let SentClientHello { config, transcript, .. } = &mut self.state.hello;
        let content = Signer::Server.content(&transcript.current());
        let public_key = self.peer.public_key();
        let valid = signature::verify(&config.common, ProtocolVersion::TLS_1_3, public_key, &verify, &content, output)?;
        transcript.add(message.bytes);
        let Self { state, secrets, peer, fingerprint } = self;
        let proof = peer.proven(fingerprint, valid, output).map_or(Proof::Presented, Proof::Certificate);
        Ok(Box::new(ExpectFinished {
            state,
            secrets,
            proof,
            early_data: false,
            certificates: Some(CertificateCode::CODE),
        }))
    }
}
