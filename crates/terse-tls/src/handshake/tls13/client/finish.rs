//! Handles the server's Finished, and sends the client's last flight (RFC 9846, 4.5).

use alloc::boxed::Box;

use super::super::traffic::Traffic;
use super::{ExpectFinished, Negotiated, Proof, Secrets, SentClientHello, TakeTickets};
use crate::cert::Credential;
use crate::crypto::Digest;
use crate::error::Error;
use crate::handshake::{Handshake, Message, Output, unboxed};
use crate::proof::FinishedProof;
use crate::resume::SessionSaver;
use crate::schedule::EpochKeys;
use crate::schedule::tls13::{ExporterSecret, MainSecret, ResumptionSecret, TrafficSecret};
use crate::wire::{Finished, HandshakeType};

/// The client's last flight.
pub(super) struct LastFlight {
    pub(super) state: Box<Negotiated>,
    secrets: Box<Secrets>,
    proof: FinishedProof,
    server: Proof,
    /// The hash of the messages up to the server's Finished.
    messages: Digest,
}

impl ExpectFinished {
    /// Handles the server's Finished (RFC 9846, 4.5.3).
    #[inline(never)]
    pub(super) fn finished(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { mut state, secrets, proof: server, early_data, certificates } = unboxed(self);
        let Finished(verify_data) = message.expect(HandshakeType::FINISHED)?;
        let proof = secrets.server.verify(verify_data, &state.hello.transcript.current())?;
        state.hello.transcript.add(message.bytes);
        if let Some(certificates) = certificates {
            (certificates.server_finished)(&state, &server, &proof, output);
        }
        if let Some(declined) = output.agreed.declined_identity.take() {
            declined.used_certificates(&proof, output.now);
        }
        let messages = state.hello.transcript.current();
        if early_data {
            output.agreed.early_data = 0;
            output.end_of_early_data(&mut state.hello.transcript)?;
            output.link.new_keys(&EpochKeys::Tls13(secrets.client.clone()))?;
        }
        let flight = Box::new(LastFlight { state, secrets, proof, server, messages });
        match certificates {
            Some(certificates) => (certificates.answer)(flight, output),
            None => flight.finish(None, output),
        }
    }
}

impl LastFlight {
    /// Sends Finished, and completes the handshake. `credential` is the one that the client has proven.
    #[inline(never)]
    pub(super) fn finish(
        self: Box<Self>,
        credential: Option<&Credential>,
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        let Self { mut state, secrets, proof, server, messages } = unboxed(self);
        state.send_finished(&secrets.client, output)?;
        let keys = ApplicationKeys::derive(secrets, &messages)?;
        state.use_keys(&keys, output)?;
        let ApplicationKeys { main, send, receive, exporter } = unboxed(keys);
        let resumption = main.resumption(&state.hello.transcript.current())?;
        let sessions = state.learn(proof, &server, credential, &resumption, output)?;
        let tickets = match (&server, sessions) {
            (Proof::Identity(identity), _) => identity.tickets(output),
            (_, Some((saver, take))) => take(saver, send.suite().id, resumption, &server, output),
            (_, None) => None,
        };
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

impl ApplicationKeys {
    /// Derives them from `messages`, up to the server's Finished.
    #[inline(never)]
    fn derive(secrets: Box<Secrets>, messages: &Digest) -> Result<Box<Self>, Error> {
        let Secrets { handshake, .. } = unboxed(secrets);
        let main = handshake.main_secret()?;
        let (send, receive) = (main.client_traffic(messages)?, main.server_traffic(messages)?);
        let exporter = main.exporter(messages)?;
        Ok(Box::new(Self { main, send, receive, exporter }))
    }
}

impl Negotiated {
    #[inline(never)]
    fn send_finished(&mut self, client: &TrafficSecret, output: &mut Output<'_>) -> Result<(), Error> {
        let verify_data = client.verify_data(&self.hello.transcript.current())?;
        output.send(HandshakeType::FINISHED, &Finished(verify_data.as_ref()), &mut self.hello.transcript)
    }

    /// Changes to the keys of application data.
    #[inline(never)]
    fn use_keys(&self, keys: &ApplicationKeys, output: &mut Output<'_>) -> Result<(), Error> {
        let SentClientHello { config, random, .. } = &self.hello;
        config.common.log_secret("CLIENT_TRAFFIC_SECRET_0", random, keys.send.expose());
        config.common.log_secret("SERVER_TRAFFIC_SECRET_0", random, keys.receive.expose());
        config.common.log_secret("EXPORTER_SECRET", random, keys.exporter.expose());
        output.link.new_keys(&EpochKeys::Tls13(keys.send.clone()))?;
        output.link.end_of_flight()?;
        output.receive.keys = Some(Box::new(EpochKeys::Tls13(keys.receive.clone())));
        Ok(())
    }

    /// Reports who the server is, and leaves what was learned to the stores, when the handshake needs no memory any more. Returns
    /// where sessions are kept, and what takes their tickets.
    #[inline(never)]
    fn learn(
        self: Box<Self>,
        proof: FinishedProof,
        server: &Proof,
        credential: Option<&Credential>,
        resumption: &ResumptionSecret,
        output: &mut Output<'_>,
    ) -> Result<Option<(SessionSaver, TakeTickets)>, Error> {
        let Self { hello: SentClientHello { config, saver, .. }, request, selection, .. } = unboxed(self);
        server.report(&proof, output);
        if let Some(cached) = config.cached {
            let subject = (server.certificate(), request, credential);
            (cached.learn)(&config.common, proof, subject, selection, resumption, output)?;
        }
        Ok(saver.zip(config.take_tickets))
    }
}
