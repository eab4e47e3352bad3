//! A client in TLS 1.3, after the ServerHello (RFC 9846, 2 and 4).
//!
//! ```text
//!                        <--  EncryptedExtensions    what the server selects as cached stands here
//!                             CertificateRequest*    maybe as its fingerprint, or left out
//!                             Certificate            maybe as its fingerprint, or left out
//!                             CertificateVerify
//!                             Finished
//! EndOfEarlyData*        -->                         if the server takes early data
//! Certificate*                                       maybe reduced or left out, under a ticket
//! CertificateVerify*
//! Finished
//!                        <--  NewSessionTicket*
//! ```
//! With a pre-shared key or an identity the server's Finished follows EncryptedExtensions.
//!
//! What must always hold: a Certificate is believed because its chain was verified, now or before it entered the cache;
//! CertificateVerify is checked in every handshake; nothing reaches the cache before the server's Finished was
//! verified.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::certificate::{self, Signer};
use crate::cache::{Fingerprint, Selection};
use crate::config::{ClientConfig, ServerAddress};
use crate::crypto::{SharedSecret, Tls13Suite};
use crate::error::{ApiMisuse, Error, PeerMisbehaved};
use crate::handshake::caching::{Request, cached_certificate};
use crate::handshake::certificate_types::CertificateTypes;
use crate::handshake::client::{SelectedProof, SelectedPsk};
use crate::handshake::signature::ClaimedPeer;
use crate::handshake::{
    Handshake, Message, Output, SignatureRequest, StateMachine, caching, credentials, negotiated, signature, stapling,
};
use crate::resume::SessionSaver;
use crate::schedule::EpochKeys;
use crate::schedule::Transcript;
use crate::schedule::tls13::{EarlySecret, HandshakeSecret, TrafficSecret};
use crate::wire::{
    CachedCertificateRequest, Certificate, CertificateAuthorities, CertificateRequest, CertificateVerify,
    EncryptedExtensions, ExtensionMessage, ExtensionType, HandshakeType, ProtocolVersion, Random, SignatureAlgorithms,
    SignatureAlgorithmsCert, StatusRequested,
};

mod finish;
mod proof;
mod psk;
mod tickets;

pub(crate) use finish::ExpectSignature;
use proof::Proof;
use psk::Selected;
pub(crate) use tickets::Tickets;

/// The data of a client when the ServerHello has selected TLS 1.3.
pub(crate) struct SentClientHello {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) server: ServerAddress,
    pub(crate) random: Random,
    pub(crate) offered: Vec<ExtensionType>,
    pub(crate) transcript: Transcript,
    pub(crate) saver: Option<SessionSaver>,
}

/// The state of a client, named after what it waits for.
pub(crate) enum State {
    EncryptedExtensions(Box<ExpectEncryptedExtensions>),
    /// The client waits for a CertificateRequest or a Certificate.
    CertificateRequest(Box<ExpectCertificate>),
    Certificate(Box<ExpectCertificate>),
    CertificateVerify(Box<ExpectCertificateVerify>),
    Finished(Box<ExpectFinished>),
    /// The client waits for the signature of its own CertificateVerify.
    Signature(Box<ExpectSignature>),
}

/// The state of a client that has received the ServerHello.
pub(crate) struct ExpectEncryptedExtensions {
    hello: SentClientHello,
    secrets: Secrets,
    /// The proof of a server that sends no Certificate.
    selected: Option<Selected>,
    /// Whether early data may be in flight, so that the handshake keys are not used yet.
    early_data: bool,
}

/// The secrets that are used until the server's Finished.
pub(crate) struct Secrets {
    handshake: HandshakeSecret,
    client: TrafficSecret,
    server: TrafficSecret,
}

/// The state of a client that has received EncryptedExtensions.
pub(crate) struct ExpectCertificate {
    hello: SentClientHello,
    secrets: Secrets,
    types: CertificateTypes,
    selection: Selection,
    /// The server's CertificateRequest, in full or cached.
    request: Option<Request>,
}

/// The state of a client that has verified the server's Certificate, which came in full or is cached.
pub(crate) struct ExpectCertificateVerify {
    state: Box<ExpectCertificate>,
    peer: ClaimedPeer,
    /// The fingerprint of the Certificate, if there is a cache.
    fingerprint: Option<Fingerprint>,
}

/// The state of a client that waits for Finished: the server has signed, or has selected a pre-shared key.
pub(crate) struct ExpectFinished {
    state: Box<ExpectCertificate>,
    proof: Proof,
    /// Whether the server accepts early data.
    early_data: bool,
}

/// What continues after the ServerHello of TLS 1.3, to which a [`ClientParts`](crate::ClientParts) points.
pub(crate) type ServerHelloHandler = fn(
    SentClientHello,
    &'static Tls13Suite,
    &SharedSecret,
    Option<SelectedProof>,
    bool,
    &mut Output<'_>,
) -> Result<Handshake, Error>;

/// Continues after the ServerHello, from which on everything is encrypted.
#[inline(never)]
pub(crate) fn server_hello(
    hello: SentClientHello,
    suite: &'static Tls13Suite,
    shared_secret: &SharedSecret,
    proof: Option<SelectedProof>,
    early_data: bool,
    output: &mut Output<'_>,
) -> Result<Handshake, Error> {
    let without_psk = || EarlySecret::new(suite.hash, output.link.transport().label_prefix(), None);
    let (early_secret, selected) = match proof {
        None => (without_psk(), None),
        Some(SelectedProof::Psk(SelectedPsk { early_secret, early_data, source })) => {
            (early_secret, Some(Selected { early_data, proof: Proof::Psk(source) }))
        }
        Some(SelectedProof::Identity(mut identity)) => {
            let early_data = identity.take_early_data();
            (without_psk(), Some(Selected { early_data, proof: Proof::Identity(identity) }))
        }
    };
    let handshake = early_secret.handshake_secret(suite, shared_secret)?;
    let messages = hello.transcript.current();
    let client = handshake.client_traffic(&messages)?;
    let server = handshake.server_traffic(&messages)?;
    hello.config.common.log_secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", &hello.random, client.expose());
    hello.config.common.log_secret("SERVER_HANDSHAKE_TRAFFIC_SECRET", &hello.random, server.expose());
    output.receive.keys = Some(Box::new(EpochKeys::Tls13(server.clone())));
    output.link.compatibility_point()?;
    let keys = EpochKeys::Tls13(client.clone());
    if early_data {
        output.link.new_keys_beside_early_data(&keys)?;
    } else {
        output.link.new_keys(&keys)?;
    }
    let secrets = Secrets { handshake, client, server };
    let state = ExpectEncryptedExtensions { hello, secrets, selected, early_data };
    Ok(Box::new(State::EncryptedExtensions(Box::new(state))))
}

impl StateMachine for State {
    #[inline(never)]
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        Ok(Box::new(match *self {
            Self::EncryptedExtensions(state) => state.encrypted_extensions(message, output)?,
            Self::CertificateRequest(state) | Self::Certificate(state) if state.is_left_out(message.kind) => {
                let state = state.left_out_certificate(output)?;
                Self::Finished(state.certificate_verify(message, output)?)
            }
            Self::CertificateRequest(state) if message.kind == HandshakeType::CERTIFICATE_REQUEST => {
                Self::Certificate(state.certificate_request(message, output)?)
            }
            Self::CertificateRequest(state) | Self::Certificate(state) => {
                Self::CertificateVerify(state.certificate(message, output)?)
            }
            Self::CertificateVerify(state) => Self::Finished(state.certificate_verify(message, output)?),
            Self::Finished(state) => return state.finished(message, output),
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

impl ExpectEncryptedExtensions {
    /// Handles EncryptedExtensions (RFC 9846, 4.4.1).
    #[inline(never)]
    fn encrypted_extensions(mut self, message: Message<'_>, output: &mut Output<'_>) -> Result<State, Error> {
        let EncryptedExtensions(extensions) = message.expect(HandshakeType::ENCRYPTED_EXTENSIONS)?;
        let takes_early_data = psk::takes_early_data(extensions)?;
        if self.early_data {
            output.link.limits().limit_protected(usize::MAX); // this handshake negotiates its own limit
        }
        self.early_data_refused(takes_early_data, output)?;
        extensions.check_response(ExtensionMessage::EncryptedExtensions, &self.hello.offered)?;
        negotiated::read(&self.hello.config, extensions, ProtocolVersion::TLS_1_3, output)?;
        if takes_early_data {
            self.early_data_accepted(output)?;
        }
        if let Some(Selected { proof, .. }) = self.selected.take() {
            return self.finished_follows(proof, extensions, message, output);
        }
        let Self { mut hello, secrets, .. } = self;
        let types = CertificateTypes::read(&hello.config, extensions)?;
        let selection = caching::selected(extensions, &hello.config, types, ProtocolVersion::TLS_1_3, output)?;
        hello.transcript.add(message.bytes);
        let mut state = Box::new(ExpectCertificate { hello, secrets, types, selection, request: None });
        if selection.leaves_out() && selection.certificate_request {
            state.left_out_request(output)?;
            return Ok(State::Certificate(state));
        }
        Ok(State::CertificateRequest(state))
    }
}

impl ExpectCertificate {
    /// Handles CertificateRequest (RFC 9846, 4.4.2). If it is cached, the message has its context and fingerprint.
    #[inline(never)]
    fn certificate_request(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        let kind = HandshakeType::CERTIFICATE_REQUEST;
        let (context, request) = if self.selection.certificate_request {
            let (fingerprint, request) = Request::cached(output)?;
            let CachedCertificateRequest { certificate_request_context, hash_value } = message.expect(kind)?;
            if hash_value != fingerprint.0 {
                return Err(PeerMisbehaved::IllegalCachedMessage.into());
            }
            (certificate_request_context, request)
        } else {
            let request: CertificateRequest<'_> = message.expect(kind)?;
            (request.certificate_request_context, self.full_request(&request, message, output)?)
        };
        if !context.is_empty() {
            return Err(PeerMisbehaved::IllegalRequestContext.into());
        }
        self.request = Some(request);
        self.hello.transcript.add(message.bytes);
        Ok(self)
    }

    /// Handles a CertificateRequest that is left out. The transcript takes its fingerprint (docs/caching.md, 4.1).
    fn left_out_request(&mut self, output: &mut Output<'_>) -> Result<(), Error> {
        let (fingerprint, request) = Request::cached(output)?;
        self.request = Some(request);
        let SentClientHello { config, transcript, .. } = &mut self.hello;
        config.common.bind(transcript, fingerprint);
        Ok(())
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
        let fingerprint = output.cache.as_ref().map(|_| Fingerprint::of_request(request));
        let length = u16::try_from(message.bytes.len()).unwrap_or(u16::MAX);
        Ok(Request { signature_algorithms, asks_status, suitable, fingerprint, length })
    }

    /// Handles Certificate (RFC 9846, 4.5.1). If it is cached, it has one entry with the fingerprint in place of the
    /// certificate, or, in the scheme `compact`, with nothing.
    #[inline(never)]
    fn certificate(
        mut self: Box<Self>,
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
        let (fingerprint, mut peer) = if self.selection.reduced {
            self.reduced_certificate(&certificate, output)?
        } else if self.selection.server_certificate {
            self.cached_certificate(&certificate, output)?
        } else {
            self.full_certificate(&certificate, output)?
        };
        let SentClientHello { config, transcript, .. } = &mut self.hello;
        stapling::check(Some(&config.trust), &mut peer, certificate::staple(&certificate)?, &config.common, output)?;
        transcript.add(message.bytes);
        Ok(Box::new(ExpectCertificateVerify { state: self, peer, fingerprint }))
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

    #[inline(never)]
    fn cached_certificate(
        &self,
        certificate: &Certificate<'_>,
        output: &mut Output<'_>,
    ) -> Result<(Option<Fingerprint>, ClaimedPeer), Error> {
        let asked = stapling::asked(Some(&self.hello.config.trust));
        let mut entries = certificate::cert_data(certificate, asked)?.into_iter();
        let (fingerprint, peer) = cached_certificate(self.types.server, ProtocolVersion::TLS_1_3, output)?;
        if entries.next().is_none_or(|hash| *hash != fingerprint.0) || entries.next().is_some() {
            return Err(PeerMisbehaved::IllegalCachedMessage.into());
        }
        Ok((Some(fingerprint), peer))
    }

    /// Handles a reduced Certificate. The transcript takes the fingerprint of the full one, then the reduced message
    /// (docs/caching.md, 4.1).
    #[inline(never)]
    fn reduced_certificate(
        &mut self,
        certificate: &Certificate<'_>,
        output: &mut Output<'_>,
    ) -> Result<(Option<Fingerprint>, ClaimedPeer), Error> {
        certificate::reduced(certificate, stapling::asked(Some(&self.hello.config.trust)))?;
        let (fingerprint, peer) = cached_certificate(self.types.server, ProtocolVersion::TLS_1_3, output)?;
        let SentClientHello { config, transcript, .. } = &mut self.hello;
        config.common.bind(transcript, fingerprint);
        Ok((Some(fingerprint), peer))
    }

    /// Returns whether the server's Certificate is left out, so that the message of this `kind` is what follows it.
    fn is_left_out(&self, kind: HandshakeType) -> bool {
        self.selection.leaves_out_certificate() && kind == HandshakeType::CERTIFICATE_VERIFY
    }

    /// Handles a Certificate that is left out. The transcript takes its fingerprint (docs/caching.md, 4.1).
    #[inline(never)]
    fn left_out_certificate(mut self: Box<Self>, output: &mut Output<'_>) -> Result<ExpectCertificateVerify, Error> {
        self.check_request()?;
        let (fingerprint, mut peer) = cached_certificate(self.types.server, ProtocolVersion::TLS_1_3, output)?;
        let SentClientHello { config, transcript, .. } = &mut self.hello;
        stapling::check(Some(&config.trust), &mut peer, None, &config.common, output)?;
        config.common.bind(transcript, fingerprint);
        Ok(ExpectCertificateVerify { state: self, peer, fingerprint: Some(fingerprint) })
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
        let has_cache = output.cache.is_some();
        let fingerprint = has_cache.then(|| presented.fingerprint(ProtocolVersion::TLS_1_3));
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
        let Self { state, peer, fingerprint } = self;
        let proof = peer.proven(fingerprint, valid, output).map_or(Proof::Presented, Proof::Certificate);
        Ok(Box::new(ExpectFinished { state, proof, early_data: false }))
    }
}
