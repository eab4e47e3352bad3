//! The client's flight: Certificate, ClientKeyExchange, CertificateVerify (RFC 5246, 7.4.6 to 7.4.8).

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::CertificateDer;

use super::State;
use super::finish::ExpectFinished;
use super::flight::Handshaking;
use crate::cache::{Fingerprint, PeerEntry, ServerSession};
use crate::cert::{PeerRole, VerifiedPeer};
use crate::config::ClientAuthentication;
use crate::crypto::{KeyExchange, SharedSecret};
use crate::error::{CertificateError, Error, PeerMisbehaved};
use crate::handshake::{Message, Output, signature};
use crate::schedule::tls12::MasterSecret;
use crate::summary::{AuthenticatedBy, CachedObject};
use crate::wire::{Certificate12, CertificateVerify, ClientKeyExchangeEcdhe, HandshakeType, ProtocolVersion};

/// The client was asked for a certificate.
pub(crate) struct ExpectCertificate {
    pub(super) handshaking: Handshaking,
    pub(super) key_exchange: Box<dyn KeyExchange>,
}

/// The client's Certificate came, in full or under a ticket, and is believed; or none was asked for.
pub(crate) struct ExpectClientKeyExchange {
    pub(super) handshaking: Handshaking,
    pub(super) key_exchange: Box<dyn KeyExchange>,
    pub(super) client: Option<Client>,
}

/// The client's share came; it is still to sign.
pub(crate) struct ExpectCertificateVerify {
    handshaking: Handshaking,
    client: Client,
    master_secret: MasterSecret,
}

/// A client with a certificate.
pub(super) struct Client {
    peer: VerifiedPeer,
    /// What the cache keeps, if there is one.
    entry: Option<PeerEntry>,
}

impl ExpectCertificate {
    /// RFC 5246, 7.4.6; under a ticket: nothing (paper 000, IV-B).
    pub(super) fn certificate(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectClientKeyExchange>, Error> {
        let cached = self.handshaking.cache.as_ref().and_then(ServerSession::client_certificate).cloned();
        let client = match cached {
            Some(entry) => Some(self.cached_certificate(entry, message, output)?),
            None => self.full_certificate(message, output)?,
        };
        self.handshaking.transcript.add(message.bytes);
        if client.is_none() {
            self.handshaking.transcript.stop_keeping();
        }
        let Self { handshaking, key_exchange } = *self;
        Ok(Box::new(ExpectClientKeyExchange { handshaking, key_exchange, client }))
    }

    /// `caching`, rule 1: the transcript takes the fingerprint of the Certificate, then the empty message.
    fn cached_certificate(
        &mut self,
        entry: PeerEntry,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Client, Error> {
        if message.kind != HandshakeType::CERTIFICATE {
            return Err(message.unexpected());
        }
        if !message.body.is_empty() {
            return Err(PeerMisbehaved::IllegalCachedMessage.into());
        }
        self.handshaking.transcript.add_synthetic(entry.fingerprint());
        let peer = entry.peer().clone();
        output.left_out(CachedObject::ClientCertificate);
        output.summary.signatures_saved += u32::from(peer.signatures);
        output.summary.peer.identity = Some(peer.identity.clone());
        output.summary.peer.authenticated_by = AuthenticatedBy::CachedCertificate;
        output.summary.peer.time_unchecked = peer.is_unchecked_at(output.now.unix);
        Ok(Client { peer, entry: Some(entry) })
    }

    fn full_certificate(&self, message: Message<'_>, output: &mut Output<'_>) -> Result<Option<Client>, Error> {
        let Handshaking { config, cache, .. } = &self.handshaking;
        let Certificate12(certificates) = message.expect(HandshakeType::CERTIFICATE)?;
        let chain: Vec<_> = certificates.iter().map(|certificate| CertificateDer::from(certificate.0)).collect();
        if chain.is_empty() {
            if let ClientAuthentication::Required(_) = config.client_authentication {
                return Err(CertificateError::Required.into());
            }
            output.note("the client has no certificate, and none is required");
            return Ok(None);
        }
        let algorithms = signature::chain_algorithms(&config.common);
        let trust = config.client_authentication.trust();
        let trust = trust.ok_or(PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType::CERTIFICATE))?;
        let (peer, time_unchecked) = trust.verify(&chain, PeerRole::Client, &algorithms, output.now.unix)?;
        output.summary.signatures_verified += u32::from(peer.signatures);
        output.summary.peer.identity = Some(peer.identity.clone());
        output.summary.peer.authenticated_by = AuthenticatedBy::Certificate;
        output.summary.peer.time_unchecked = time_unchecked;
        let fingerprint = Fingerprint::of_chain(config.common.provider.sha256, chain.iter().map(AsRef::as_ref));
        let entry = cache.as_ref().and_then(|session| session.entry(fingerprint, peer.clone()));
        Ok(Some(Client { peer, entry }))
    }
}

impl ExpectClientKeyExchange {
    /// RFC 5246, 7.4.7; RFC 8422, 5.7
    pub(super) fn client_key_exchange(
        self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let Self { mut handshaking, key_exchange, client } = *self;
        let ClientKeyExchangeEcdhe { public } = message.expect(HandshakeType::CLIENT_KEY_EXCHANGE)?;
        handshaking.transcript.add(message.bytes);
        let shared_secret = key_exchange.complete(public)?;
        let master_secret = handshaking.master_secret(&shared_secret);
        if let Some(log) = &handshaking.config.common.key_log {
            log.log("CLIENT_RANDOM", &handshaking.randoms.client, master_secret.expose());
        }
        Ok(match client {
            Some(client) => {
                State::CertificateVerify(Box::new(ExpectCertificateVerify { handshaking, client, master_secret }))
            }
            None => State::Finished(Box::new(ExpectFinished::new(handshaking, None, master_secret, output))),
        })
    }
}

impl Handshaking {
    fn master_secret(&self, shared_secret: &SharedSecret) -> MasterSecret {
        if self.extended_master_secret {
            MasterSecret::extended(self.suite, shared_secret.as_ref(), &self.transcript.current())
        } else {
            MasterSecret::new(self.suite, shared_secret.as_ref(), &self.randoms)
        }
    }
}

impl ExpectCertificateVerify {
    /// RFC 5246, 7.4.8: signs all messages so far.
    pub(super) fn certificate_verify(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectFinished>, Error> {
        let verify: CertificateVerify<'_> = message.expect(HandshakeType::CERTIFICATE_VERIFY)?;
        let Handshaking { config, transcript, .. } = &mut self.handshaking;
        let messages = transcript.messages().unwrap_or_default();
        let public_key = self.client.peer.public_key();
        signature::verify(&config.common, ProtocolVersion::TLS_1_2, public_key, &verify, messages)?;
        transcript.stop_keeping();
        transcript.add(message.bytes);
        let Self { handshaking, client, master_secret } = *self;
        Ok(Box::new(ExpectFinished::new(handshaking, client.entry, master_secret, output)))
    }
}
