//! Handles the server's Finished, and sends the client's last flight (RFC 9846, 4.5).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::super::certificate::{self, Signer};
use super::super::traffic::Traffic;
use super::{ExpectCertificate, ExpectFinished, Proof, SentClientHello, State, Tickets};
use crate::cache::{Learned, Parts};
use crate::cert::Credential;
use crate::crypto::{Digest, Signing};
use crate::error::Error;
use crate::handshake::signature::ProvenPeer;
use crate::handshake::{Handshake, Message, Output, SignatureRequest, stapling, unboxed};
use crate::proof::FinishedProof;
use crate::resume::SessionSaver;
use crate::schedule::EpochKeys;
use crate::schedule::tls13::{ExporterSecret, MainSecret, ResumptionSecret, TrafficSecret};
use crate::summary::CachedObject;
use crate::wire::{
    Certificate, CertificateEntry, CertificateVerify, Finished, HandshakeType, List, ProtocolVersion, SignatureScheme,
};

/// The client's last flight.
struct LastFlight {
    state: Box<ExpectCertificate>,
    proof: FinishedProof,
    server: Proof,
    /// The hash of the messages up to the server's Finished.
    messages: Digest,
}

/// The state of a client whose private key has not signed CertificateVerify yet.
pub(crate) struct ExpectSignature {
    flight: Box<LastFlight>,
    pub(super) request: Box<SignatureRequest>,
}

impl ExpectFinished {
    /// Handles the server's Finished (RFC 9846, 4.5.3).
    #[inline(never)]
    pub(super) fn finished(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { mut state, proof: server, early_data } = unboxed(self);
        let Finished(verify_data) = message.expect(HandshakeType::FINISHED)?;
        let proof = state.secrets.server.verify(verify_data, &state.hello.transcript.current())?;
        server.peer().into_iter().for_each(|peer| state.hello.config.trust.learn(&proof, peer));
        state.hello.transcript.add(message.bytes);
        if let Some(session) = output.cache.as_deref_mut().filter(|_| server.certificate().is_some()) {
            session.server_finished(!state.selection.uses_ticket);
        }
        server.report(&proof, output);
        if let Some(declined) = output.agreed.declined_identity.take() {
            declined.used_certificates(&proof, output.now);
        }
        let messages = state.hello.transcript.current();
        if early_data {
            output.agreed.early_data = 0;
            output.end_of_early_data(&mut state.hello.transcript)?;
            output.link.new_keys(&EpochKeys::Tls13(state.secrets.client.clone()))?;
        }
        Box::new(LastFlight { state, proof, server, messages }).send(output)
    }
}

impl LastFlight {
    #[inline(never)]
    fn send(mut self: Box<Self>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Some((credential, scheme)) = self.state.certificate_of_client(output)? else {
            return self.finish(None, output);
        };
        let content = Signer::Client.content(&self.state.hello.transcript.current());
        let request = Box::new(SignatureRequest::new(credential, scheme, content));
        match request.sign(output.rng)? {
            Signing::Done(signature) => self.certificate_verify(request, &signature, output),
            Signing::Pending => Ok(Box::new(State::Signature(Box::new(ExpectSignature { flight: self, request })))),
        }
    }

    #[inline(never)]
    fn certificate_verify(
        mut self: Box<Self>,
        request: Box<SignatureRequest>,
        signature: &[u8],
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        let verify = CertificateVerify { algorithm: request.scheme(), signature };
        output.send(HandshakeType::CERTIFICATE_VERIFY, &verify, &mut self.state.hello.transcript)?;
        self.finish(Some(&request.into_credential()), output)
    }

    /// Sends Finished, and completes the handshake. `credential` is the one that the client has proven.
    #[inline(never)]
    fn finish(
        mut self: Box<Self>,
        credential: Option<&Credential>,
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        self.state.send_finished(output)?;
        let keys = self.state.application_keys(&self.messages, output)?;
        let resumption = keys.main.resumption(&self.state.hello.transcript.current())?;
        let Self { state, proof, server, .. } = *self;
        let saver = state.learn(proof, &server, credential, &resumption, output)?;
        let ApplicationKeys { send, receive, exporter, .. } = *keys;
        let tickets = Tickets::new(saver, send.suite().id, resumption, &server, output);
        Ok(Box::new(Traffic::client(send, receive, exporter, tickets)))
    }
}

/// The secrets of application data.
struct ApplicationKeys {
    main: MainSecret,
    send: TrafficSecret,
    receive: TrafficSecret,
    exporter: ExporterSecret,
}

impl ExpectCertificate {
    #[inline(never)]
    fn send_finished(&mut self, output: &mut Output<'_>) -> Result<(), Error> {
        let verify_data = self.secrets.client.verify_data(&self.hello.transcript.current())?;
        output.send(HandshakeType::FINISHED, &Finished(verify_data.as_ref()), &mut self.hello.transcript)
    }

    /// Changes to the keys of application data. They are derived from `messages`, up to the server's Finished.
    #[inline(never)]
    fn application_keys(&self, messages: &Digest, output: &mut Output<'_>) -> Result<Box<ApplicationKeys>, Error> {
        let main = self.secrets.handshake.main_secret()?;
        let (send, receive) = (main.client_traffic(messages)?, main.server_traffic(messages)?);
        let exporter = main.exporter(messages)?;
        let keys = Box::new(ApplicationKeys { main, send, receive, exporter });
        let SentClientHello { config, random, .. } = &self.hello;
        config.common.log_secret("CLIENT_TRAFFIC_SECRET_0", random, keys.send.expose());
        config.common.log_secret("SERVER_TRAFFIC_SECRET_0", random, keys.receive.expose());
        config.common.log_secret("EXPORTER_SECRET", random, keys.exporter.expose());
        output.link.new_keys(&EpochKeys::Tls13(keys.send.clone()))?;
        output.link.end_of_flight()?;
        output.receive.keys = Some(Box::new(EpochKeys::Tls13(keys.receive.clone())));
        Ok(keys)
    }

    /// Leaves what was learned to the cache. Returns where sessions are kept.
    #[inline(never)]
    fn learn(
        self: Box<Self>,
        proof: FinishedProof,
        server: &Proof,
        credential: Option<&Credential>,
        resumption: &ResumptionSecret,
        output: &mut Output<'_>,
    ) -> Result<Option<SessionSaver>, Error> {
        let Self { hello: SentClientHello { config, saver, .. }, request, selection, .. } = unboxed(self);
        match (output.cache.as_deref_mut(), server.certificate()) {
            (Some(session), Some(ProvenPeer { peer, fingerprint: Some(fingerprint) })) => {
                let version = ProtocolVersion::TLS_1_3;
                let subject = session.names(Parts {
                    server_certificate: *fingerprint,
                    certificate_request: request.as_ref().and_then(|request| request.fingerprint),
                    client_certificate: credential.map(|own| own.fingerprint(version)),
                });
                let sha256 = config.common.provider.sha256;
                let ticket = subject.map(|subject| resumption.ticket(sha256, &subject).map(|ticket| (ticket, subject)));
                let ticket = ticket.transpose()?;
                let server_certificate = session.entry(*fingerprint, version, peer);
                let server_certificate = server_certificate.filter(|_| !selection.server_certificate);
                let request = request.filter(|_| !selection.certificate_request);
                let certificate_request = request.and_then(|request| request.entry(version));
                let learned = Learned { proof, server_certificate, certificate_request, ticket };
                output.learned = Some(Box::new(learned));
            }
            (Some(session), _) => session.resumed(),
            (None, _) => {}
        }
        Ok(saver)
    }
}

impl ExpectSignature {
    pub(super) fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { flight, request } = *self;
        flight.certificate_verify(request, signature, output)
    }
}

impl ExpectCertificate {
    /// Sends Certificate, if the server has requested it and it is not left out. Returns the credential that
    /// CertificateVerify must prove, if there is one.
    #[inline(never)]
    fn certificate_of_client(
        &mut self,
        output: &mut Output<'_>,
    ) -> Result<Option<(Credential, SignatureScheme)>, Error> {
        let Some(request) = &self.request else { return Ok(None) };
        let (kind, version) = (self.types.client, ProtocolVersion::TLS_1_3);
        let answer = request.answer(&self.hello.config, kind, version, self.selection, output)?;
        let transcript = &mut self.hello.transcript;
        let Some((credential, scheme)) = answer else {
            let none = Certificate { certificate_request_context: &[], certificate_list: List::Items(&[]) };
            output.send(HandshakeType::CERTIFICATE, &none, transcript)?;
            return Ok(None);
        };
        let cached = self.selection.client_certificate;
        if cached {
            let common = &self.hello.config.common;
            common.bind(transcript, credential.fingerprint(version));
            output.left_out(CachedObject::ClientCertificate);
        }
        if cached && self.selection.leaves_out() {
            return Ok(Some((credential, scheme)));
        }
        let staple = stapling::current(&credential, request.asks_status, output);
        let extensions = stapling::extensions(staple.as_deref())?;
        let entries = if cached {
            Vec::from([CertificateEntry { cert_data: &[], extensions: extensions.extensions() }])
        } else {
            certificate::entries(&credential, extensions.extensions())
        };
        let certificate = Certificate { certificate_request_context: &[], certificate_list: List::Items(&entries) };
        output.send(HandshakeType::CERTIFICATE, &certificate, transcript)?;
        Ok(Some((credential, scheme)))
    }
}
