//! Handles the client's flight: Certificate, CertificateVerify and Finished (RFC 9846, 4.5).

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::super::certificate::{self, Signer};
use super::super::traffic::Traffic;
use super::State;
use super::early_data::ExpectedEarlyData;
use super::tickets::Issuer;
use crate::cache::{Committing, Fingerprint, NotSaved, PeerEntry, ServerSession};
use crate::cert::{Expect, VerifiedPeer};
use crate::config::{ClientAuthentication, ServerConfig};
use crate::error::{CertificateError, Error, PeerMisbehaved};
use crate::handshake::certificate_types::{Presented, learn_issuers, verified_before};
use crate::handshake::identity::server::ClaimedIdentity;
use crate::handshake::signature::{ClaimedPeer, ProvenPeer};
use crate::handshake::store::{AfterCommit, ExpectCommit};
use crate::handshake::{Handshake, Message, Output, signature, stapling};
use crate::schedule::EpochKeys;
use crate::schedule::Transcript;
use crate::schedule::tls13::{ExporterSecret, MainSecret, ResumptionSecret, TrafficSecret};
use crate::summary::CachedObject;
use crate::wire::{
    Certificate, CertificateStatus, CertificateType, CertificateVerify, EndOfEarlyData, ExtensionType, Finished,
    HandshakeType, ProtocolVersion,
};

/// The data that all states after the server's flight share.
pub(super) struct Handshaking {
    pub(super) config: Arc<ServerConfig>,
    pub(super) transcript: Transcript,
    /// The client's handshake traffic secret.
    pub(super) client: TrafficSecret,
    pub(super) main: MainSecret,
    pub(super) send: TrafficSecret,
    pub(super) receive: TrafficSecret,
    pub(super) exporter: ExporterSecret,
    pub(super) cache: Option<ServerSession>,
    pub(super) tickets: Option<Issuer>,
    /// The identity that the client must prove.
    pub(super) identity: Option<Box<ClaimedIdentity>>,
}

/// The state of a server that receives early data, and waits for EndOfEarlyData.
pub(crate) struct ExpectEndOfEarlyData {
    pub(super) finished: ExpectFinished,
}

/// The state of a server that has requested a certificate, and waits for it.
pub(crate) struct ExpectCertificate {
    pub(super) handshaking: Handshaking,
    /// The type of the client's certificate.
    pub(super) client_type: CertificateType,
}

/// The state of a server that has verified the client's Certificate, which came in full or is cached, and waits for
/// CertificateVerify.
pub(crate) struct ExpectCertificateVerify {
    handshaking: Handshaking,
    client: Client,
}

/// The identity that a client claims, and has not proven yet.
struct Client {
    peer: ClaimedPeer,
    /// The fingerprint of the client's Certificate, if there is a cache.
    fingerprint: Option<Fingerprint>,
}

/// The state of a server that waits for Finished: the client has signed, or was not asked for a certificate.
pub(crate) struct ExpectFinished {
    pub(super) handshaking: Handshaking,
    pub(super) client: Option<ProvenPeer>,
    pub(super) early_data: Option<ExpectedEarlyData>,
}

/// The rest of the handshake, which follows when the cache has stored what the client has proven.
struct Finish {
    config: Arc<ServerConfig>,
    peer: Option<Arc<VerifiedPeer>>,
    send: TrafficSecret,
    receive: TrafficSecret,
    exporter: ExporterSecret,
    resumption: ResumptionSecret,
    tickets: Option<Issuer>,
}

impl ExpectEndOfEarlyData {
    /// Handles EndOfEarlyData (RFC 9846, 4.6).
    pub(super) fn end_of_early_data(
        self,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectFinished>, Error> {
        let EndOfEarlyData = message.expect(HandshakeType::END_OF_EARLY_DATA)?;
        let mut finished = self.finished;
        finished.early_data.as_mut().into_iter().for_each(ExpectedEarlyData::end);
        finished.handshaking.transcript.add(message.bytes);
        output.receive.keys = Some(Box::new(EpochKeys::Tls13(finished.handshaking.client.clone())));
        Ok(Box::new(finished))
    }
}

impl ExpectCertificate {
    /// Handles Certificate (RFC 9846, 4.5.1). If a ticket stands for it, it has one entry without a certificate.
    #[inline(never)]
    pub(super) fn certificate(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        if self.left_out().is_some() {
            return Err(message.unexpected());
        }
        let certificate: Certificate<'_> = message.expect(HandshakeType::CERTIFICATE)?;
        if !certificate.certificate_request_context.is_empty() {
            return Err(PeerMisbehaved::IllegalRequestContext.into());
        }
        let cached = self.handshaking.cache.as_ref().and_then(ServerSession::client_certificate).cloned();
        if let Some(entry) = cached {
            return self.cached_certificate(&certificate, entry, message, output);
        }
        self.handshaking.transcript.add(message.bytes);
        let Some(presented) = certificate::presented(&certificate, self.client_type, self.asked())? else {
            if let ClientAuthentication::Required(_) = self.handshaking.config.client_authentication {
                return Err(CertificateError::Required.into());
            }
            output.note("the client has no certificate, and none is required");
            let handshaking = self.handshaking;
            return Ok(State::Finished(Box::new(ExpectFinished { handshaking, client: None, early_data: None })));
        };
        self.full_certificate(&presented, certificate::staple(&certificate)?, output)
    }

    /// Handles a reduced Certificate. The transcript takes the fingerprint of the full one, then the reduced message
    /// (docs/caching.md, 4.1).
    #[inline(never)]
    fn cached_certificate(
        self: Box<Self>,
        certificate: &Certificate<'_>,
        entry: PeerEntry,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let reduced = certificate::reduced(certificate, self.asked())?;
        let mut state = self.verified_before(entry, reduced.extensions.get()?, output)?;
        state.handshaking.transcript.add(message.bytes);
        Ok(State::CertificateVerify(state))
    }

    /// Returns whether the client's Certificate is left out, so that the message of this `kind` is what follows it.
    pub(super) fn is_left_out(&self, kind: HandshakeType) -> bool {
        self.left_out().is_some() && kind == HandshakeType::CERTIFICATE_VERIFY
    }

    fn left_out(&self) -> Option<&PeerEntry> {
        self.handshaking.cache.as_ref().and_then(ServerSession::left_out_certificate)
    }

    /// Handles a Certificate that is left out. The transcript takes its fingerprint (docs/caching.md, 4.1).
    #[inline(never)]
    pub(super) fn left_out_certificate(
        self: Box<Self>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectCertificateVerify>, Error> {
        let entry = self.left_out().cloned().ok_or(PeerMisbehaved::IllegalCachedMessage)?;
        self.verified_before(entry, None, output)
    }

    /// Accepts the client's cached Certificate. The transcript takes its fingerprint.
    fn verified_before(
        mut self: Box<Self>,
        entry: PeerEntry,
        staple: Option<CertificateStatus<'_>>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectCertificateVerify>, Error> {
        let peer = entry.shared_peer();
        verified_before(&peer, output);
        let mut peer = ClaimedPeer::Verified(peer);
        let Handshaking { config, transcript, .. } = &mut self.handshaking;
        stapling::check(config.client_authentication.trust(), &mut peer, staple, &config.common, output)?;
        config.common.bind(transcript, entry.fingerprint());
        output.left_out(CachedObject::ClientCertificate);
        let client = Client { peer, fingerprint: Some(entry.fingerprint()) };
        Ok(Box::new(ExpectCertificateVerify { handshaking: self.handshaking, client }))
    }

    /// Returns the extensions that the entries of the client's Certificate may have.
    fn asked(&self) -> &'static [ExtensionType] {
        stapling::asked(self.handshaking.config.client_authentication.trust())
    }

    #[inline(never)]
    fn full_certificate(
        self: Box<Self>,
        presented: &Presented<'_>,
        staple: Option<CertificateStatus<'_>>,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let config = &self.handshaking.config;
        let trust = config.client_authentication.trust();
        let trust = trust.ok_or(PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType::CERTIFICATE))?;
        let mut peer = presented.verify(trust, Expect::Client, &config.common, output)?;
        let has_cache = self.handshaking.cache.is_some();
        let fingerprint = has_cache.then(|| presented.fingerprint(ProtocolVersion::TLS_1_3));
        stapling::check(Some(trust), &mut peer, staple, &config.common, output)?;
        let (handshaking, client) = (self.handshaking, Client { peer, fingerprint });
        Ok(State::CertificateVerify(Box::new(ExpectCertificateVerify { handshaking, client })))
    }
}

impl ExpectCertificateVerify {
    /// Handles CertificateVerify (RFC 9846, 4.5.2).
    #[inline(never)]
    pub(super) fn certificate_verify(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectFinished>, Error> {
        let verify: CertificateVerify<'_> = message.expect(HandshakeType::CERTIFICATE_VERIFY)?;
        let Handshaking { config, transcript, .. } = &mut self.handshaking;
        let content = Signer::Client.content(&transcript.current());
        let public_key = self.client.peer.public_key();
        let valid = signature::verify(&config.common, ProtocolVersion::TLS_1_3, public_key, &verify, &content, output)?;
        transcript.add(message.bytes);
        let Self { handshaking, client: Client { peer, fingerprint } } = *self;
        let client = peer.proven(fingerprint, valid, output);
        Ok(Box::new(ExpectFinished { handshaking, client, early_data: None }))
    }
}

impl ExpectFinished {
    /// Returns whether early data has come.
    pub(super) fn has_early_data(&self) -> bool {
        self.early_data.as_ref().is_some_and(ExpectedEarlyData::has_come)
    }

    /// Counts `len` bytes of early data.
    pub(super) fn early_data(&mut self, len: usize) -> Result<(), Error> {
        self.early_data.as_mut().ok_or_else(super::early_data::unexpected)?.receive(len)
    }

    /// Handles Finished (RFC 9846, 4.5.3). The new ticket of the cache is committed here, before anything can be sent
    /// (docs/caching.md, 4.2).
    #[inline(never)]
    pub(super) fn finished(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { handshaking, client: proven, early_data } = *self;
        let Handshaking { config, mut transcript, client, main, send, receive, exporter, cache, tickets, identity } =
            handshaking;
        let Finished(verify_data) = message.expect(HandshakeType::FINISHED)?;
        let proof = config.common.defences().finished(client.verify(verify_data, &transcript.current()))?;
        let peer = proven.as_ref().map(|proven| proven.peer.clone());
        early_data.map_or(Ok(()), |mut early_data| early_data.take())?;
        learn_issuers(&config, &proof, peer.as_deref());
        if let Some(identity) = &identity {
            identity.prove(&proof, &config, output);
        }
        transcript.add(message.bytes);
        let resumption = main.resumption(&transcript.current())?;
        let sha256 = config.common.provider.sha256;
        let rest = Finish { config, peer, send, receive, exporter, resumption, tickets };
        if let Some(identity) = identity {
            identity.issue_ticket(&proof, &rest.config, output)?;
        }
        if let Some(mut session) = cache
            && let Some(subject) = session.names(proven.as_ref().and_then(|proven| proven.fingerprint))
        {
            let ticket = rest.resumption.ticket(sha256, &subject)?;
            let entry = proven.as_ref().and_then(|proven| session.entry(proven.fingerprint?, &proven.peer));
            match session.client_at(output.client_address).commit(proof, ticket, entry) {
                Committing::Done(saved) => output.committed(saved),
                Committing::Pending(commit) => return Ok(ExpectCommit::commit(commit, rest)),
            }
        }
        rest.send(output)
    }
}

impl AfterCommit for Finish {
    fn committed(self, saved: Result<(), NotSaved>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        output.committed(saved);
        self.send(output)
    }
}

impl Finish {
    #[inline(never)]
    fn send(self, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { config, peer, send, receive, exporter, resumption, tickets } = self;
        output.receive.keys = Some(Box::new(EpochKeys::Tls13(receive.clone())));
        if let Some(tickets) = tickets {
            tickets.issue(&config, peer.as_deref(), send.suite().id, &resumption, output)?;
        }
        Ok(Box::new(Traffic::server(send, receive, exporter)))
    }
}
