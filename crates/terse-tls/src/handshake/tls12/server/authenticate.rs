//! The client's flight: Certificate, ClientKeyExchange, CertificateVerify (RFC 5246, 7.4.6 to 7.4.8).

use alloc::boxed::Box;

use super::State;
use super::finish::ExpectFinished;
use super::flight::{Ecdhe, Handshaking};
use crate::cache::{Fingerprint, PeerEntry, ServerSession};
use crate::cert::Expect;
use crate::config::ClientAuthentication;
use crate::crypto::{SharedSecret, Tls12KeyExchange};
use crate::error::{CertificateError, Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::certificate_types::verified_before;
use crate::handshake::signature::ClaimedPeer;
use crate::handshake::tls12::{certificate, key_exchange};
use crate::handshake::{Message, Output, sessions, signature, stapling};
use crate::schedule::tls12::{MasterSecret, psk_premaster};
use crate::summary::CachedObject;
use crate::wire::{
    CertificateType, CertificateVerify, ClientKeyExchangeEcdhe, ClientKeyExchangeEcdhePsk, ClientKeyExchangePsk,
    HandshakeType, ProtocolVersion,
};

/// The state of a server that has requested a certificate.
pub(crate) struct ExpectCertificate {
    pub(super) handshaking: Handshaking,
    pub(super) ecdhe: Option<Ecdhe>,
    /// The type of the client's certificate.
    pub(super) client_type: CertificateType,
}

/// The state after the client's Certificate was verified, full or by a ticket, or if none was requested.
pub(crate) struct ExpectClientKeyExchange {
    pub(super) handshaking: Handshaking,
    pub(super) ecdhe: Option<Ecdhe>,
    pub(super) client: Option<Client>,
}

/// The state that expects the client's signature.
pub(crate) struct ExpectCertificateVerify {
    handshaking: Handshaking,
    client: Client,
    master_secret: MasterSecret,
}

/// A client whose Certificate was verified, but not its signature.
pub(super) struct Client {
    peer: ClaimedPeer,
    /// The fingerprint of the client's Certificate, if there is a cache.
    fingerprint: Option<Fingerprint>,
}

impl ExpectCertificate {
    /// RFC 5246, 7.4.6; under a ticket: nothing (BiTHaC, IV-B).
    #[inline(never)]
    pub(super) fn certificate(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectClientKeyExchange>, Error> {
        if self.left_out().is_some() {
            return Err(message.unexpected());
        }
        let cached = self.handshaking.cache.as_ref().and_then(ServerSession::client_certificate).cloned();
        let client = match cached {
            Some(entry) => Some(self.cached_certificate(entry, message, output)?),
            None => self.full_certificate(message, output)?,
        };
        self.handshaking.transcript.add(message.bytes);
        if client.is_none() {
            self.handshaking.transcript.stop_keeping();
        }
        let Self { handshaking, ecdhe, .. } = *self;
        Ok(Box::new(ExpectClientKeyExchange { handshaking, ecdhe, client }))
    }

    /// docs/caching.md, 4.1: the transcript takes the fingerprint of the Certificate, then the empty message.
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
        self.verified_before(entry, output)
    }

    /// Whether the client's Certificate is omitted, and `kind` is the message that follows it.
    pub(super) fn is_left_out(&self, kind: HandshakeType) -> bool {
        self.left_out().is_some() && kind == HandshakeType::CLIENT_KEY_EXCHANGE
    }

    fn left_out(&self) -> Option<&PeerEntry> {
        self.handshaking.cache.as_ref().and_then(ServerSession::left_out_certificate)
    }

    /// It is not sent: the transcript takes its fingerprint, and so does the session hash (docs/caching.md, 4.1).
    #[inline(never)]
    pub(super) fn left_out_certificate(
        mut self: Box<Self>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectClientKeyExchange>, Error> {
        let entry = self.left_out().cloned().ok_or(PeerMisbehaved::IllegalCachedMessage)?;
        let client = Some(self.verified_before(entry, output)?);
        let Self { handshaking, ecdhe, .. } = *self;
        Ok(Box::new(ExpectClientKeyExchange { handshaking, ecdhe, client }))
    }

    /// Uses the client's cached Certificate, and adds its fingerprint to the transcript.
    fn verified_before(&mut self, entry: PeerEntry, output: &mut Output<'_>) -> Result<Client, Error> {
        let Handshaking { config, transcript, .. } = &mut self.handshaking;
        let peer = entry.shared_peer();
        verified_before(&peer, output);
        let mut peer = ClaimedPeer::Verified(peer);
        stapling::check(config.client_authentication.trust(), &mut peer, None, &config.common, output)?;
        config.common.bind(transcript, entry.fingerprint());
        output.left_out(CachedObject::ClientCertificate);
        Ok(Client { peer, fingerprint: Some(entry.fingerprint()) })
    }

    #[inline(never)]
    fn full_certificate(&self, message: Message<'_>, output: &mut Output<'_>) -> Result<Option<Client>, Error> {
        let Handshaking { config, cache, .. } = &self.handshaking;
        let Some(presented) = certificate::presented(message, self.client_type)? else {
            if let ClientAuthentication::Required(_) = config.client_authentication {
                return Err(CertificateError::Required.into());
            }
            output.note("the client has no certificate, and none is required");
            return Ok(None);
        };
        let trust = config.client_authentication.trust();
        let trust = trust.ok_or(PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType::CERTIFICATE))?;
        let mut peer = presented.verify(trust, Expect::Client, &config.common, output)?;
        stapling::check(Some(trust), &mut peer, None, &config.common, output)?; // which a client cannot send
        let fingerprint = cache.as_ref().map(|_| presented.fingerprint(ProtocolVersion::TLS_1_2));
        Ok(Some(Client { peer, fingerprint }))
    }
}

impl ExpectClientKeyExchange {
    /// Handles ClientKeyExchange, and derives the master secret (RFC 5246, 7.4.7; RFC 8422, 5.7).
    #[inline(never)]
    pub(super) fn client_key_exchange(
        self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let Self { mut handshaking, ecdhe, client } = *self;
        let premaster_secret = handshaking.premaster_secret(ecdhe, message, output)?;
        handshaking.transcript.add(message.bytes);
        let Handshaking { config, suite, randoms, transcript, extended_master_secret: extended, .. } = &handshaking;
        let master_secret =
            key_exchange::master_secret(&config.common, suite, *extended, &premaster_secret, randoms, transcript);
        Ok(match client {
            Some(client) => {
                State::CertificateVerify(Box::new(ExpectCertificateVerify { handshaking, client, master_secret }))
            }
            None => State::Finished(Box::new(ExpectFinished::new(handshaking, None, master_secret, output))),
        })
    }
}

impl Handshaking {
    /// Returns the premaster secret of a ClientKeyExchange (RFC 8422, 5.7; RFC 4279, 2; RFC 5489, 2).
    fn premaster_secret(
        &self,
        ecdhe: Option<Ecdhe>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<SharedSecret, Error> {
        let kind = HandshakeType::CLIENT_KEY_EXCHANGE;
        match (self.suite.key_exchange, ecdhe) {
            (Tls12KeyExchange::EcdheEcdsa | Tls12KeyExchange::EcdheRsa, Some(ecdhe)) => {
                let ClientKeyExchangeEcdhe { public } = message.expect(kind)?;
                ecdhe.complete(public)
            }
            (Tls12KeyExchange::EcdhePsk, Some(ecdhe)) => {
                let ClientKeyExchangeEcdhePsk { identity, public } = message.expect(kind)?;
                self.psk(identity, Some(&ecdhe.complete(public)?), output)
            }
            (Tls12KeyExchange::Psk, None) => {
                let ClientKeyExchangePsk { identity } = message.expect(kind)?;
                self.psk(identity, None, output)
            }
            _ => Err(message.unexpected()), // `send` makes a share for each suite that has one
        }
    }

    fn psk(
        &self,
        identity: &[u8],
        shared_secret: Option<&SharedSecret>,
        output: &mut Output<'_>,
    ) -> Result<SharedSecret, Error> {
        let psk = self.config.psks.as_ref().and_then(|psks| psks.find(identity));
        let key = psk.as_ref().and_then(|psk| psk.tls12_key()).ok_or(PeerIncompatible::UnknownPskIdentity)?;
        sessions::psk_peer(identity, output);
        Ok(psk_premaster(key, shared_secret)?)
    }
}

impl ExpectCertificateVerify {
    /// Verifies CertificateVerify, the signature of all messages so far (RFC 5246, 7.4.8).
    #[inline(never)]
    pub(super) fn certificate_verify(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectFinished>, Error> {
        let verify: CertificateVerify<'_> = message.expect(HandshakeType::CERTIFICATE_VERIFY)?;
        let Handshaking { config, transcript, .. } = &mut self.handshaking;
        let messages = transcript.messages().unwrap_or_default();
        let public_key = self.client.peer.public_key();
        let valid = signature::verify(&config.common, ProtocolVersion::TLS_1_2, public_key, &verify, messages, output)?;
        transcript.stop_keeping();
        transcript.add(message.bytes);
        let Self { handshaking, client: Client { peer, fingerprint }, master_secret } = *self;
        let client = peer.proven(fingerprint, valid, output);
        Ok(Box::new(ExpectFinished::new(handshaking, client, master_secret, output)))
    }
}
