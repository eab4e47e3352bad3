//! The server: EDHOC's Responder, for many clients.
//!
//! What must always hold: a request that comes twice is answered with the same response, and nothing is computed for it (RFC
//! 7252, 4.5); a client whose credential is not in the list is refused.

use alloc::sync::Arc;
use core::time::Duration;
use std::net::SocketAddr;

use lakers::{
    ConnId, Credential, EDHOCMethod, EdhocMessageBuffer, EdhocResponder, EdhocResponderWaitM3, IdCred,
    credential_check_or_fetch,
};
use lakers_crypto_rustcrypto::Crypto;

use super::client::{Cryptography, TRUE};
use super::coap::{self, Message};
use super::describe;
use super::identity::{Entropy, Identity, OscoreSecret, Transfer, is_on_curve};
use super::processor::Processor;
use crate::computing::{CountingEdhoc, Counts, Device};
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::script::Outcome;
use crate::script::conversations::{self, Conversations};
use crate::{Random, Time};

/// A program that runs EDHOC with every client that it knows.
#[derive(Debug)]
pub struct Server {
    identity: Identity,
    clients: Vec<Credential>,
    transfer: Transfer,
    port: u16,
    random: Random,
    processor: Processor,
    socket: Option<SocketId>,
    sessions: Conversations<SocketAddr, Session>,
    /// The number of exchanges that were begun.
    begun: u16,
    /// The outcome of a program that got no socket.
    without_socket: Option<Outcome>,
}

/// An exchange with one client.
#[derive(Debug)]
struct Session {
    c_r: ConnId,
    state: State,
    /// The last request's identifier, and the response to it.
    answered: (u16, Vec<u8>),
    outcome: Outcome,
}

#[derive(Debug)]
enum State {
    WaitsForMessage3(Box<EdhocResponderWaitM3<Cryptography>>),
    Done(OscoreSecret),
    Failed,
}

impl Server {
    /// Creates a server at `port` that knows these clients.
    pub fn new<'a>(
        identity: Identity,
        clients: impl IntoIterator<Item = &'a Identity>,
        transfer: Transfer,
        port: u16,
        random: Random,
        device: Option<Arc<Device>>,
    ) -> Self {
        Self {
            identity,
            clients: clients.into_iter().map(|client| client.credential).collect(),
            transfer,
            port,
            random,
            processor: Processor::new(device),
            socket: None,
            sessions: Conversations::new(),
            begun: 0,
            without_socket: None,
        }
    }

    /// Returns how far the exchange with each client has come.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.without_socket.iter().chain(self.sessions.outcomes())
    }

    /// Returns the secret that this client has as well.
    pub fn secret(&mut self, client: SocketAddr) -> Option<OscoreSecret> {
        self.sessions.with(client, |session| match session.state {
            State::Done(secret) => Some(secret),
            _ => None,
        })?
    }

    /// Returns what was computed, and how long that took on the device.
    pub const fn computed(&self) -> (&Counts, Duration) {
        (&self.processor.computed, self.processor.time)
    }

    fn take(&mut self, now: Time, from: SocketAddr, datagram: &[u8], sockets: &mut Sockets<'_>) -> Option<Vec<u8>> {
        let Some(Message::Post(id, payload)) = coap::parse(datagram) else { return None };
        let again = self.sessions.with(from, |session| {
            let (answered, response) = &session.answered;
            let is_repeated = *answered == id;
            session.outcome.repeated_flights += u32::from(is_repeated);
            is_repeated.then(|| response.clone())
        });
        if let Some(Some(response)) = again {
            return Some(response);
        }
        match payload.split_first() {
            Some((&TRUE, message_1)) => self.begin(now, from, id, message_1, sockets),
            _ => self.finish(from, id, &payload, sockets),
        }
    }

    /// Answers message_1.
    fn begin(
        &mut self,
        now: Time,
        from: SocketAddr,
        id: u16,
        message_1: &[u8],
        sockets: &mut Sockets<'_>,
    ) -> Option<Vec<u8>> {
        let crypto = CountingEdhoc(Crypto::new(Entropy::from(&mut self.random)));
        let number = self.begun;
        self.begun = self.begun.wrapping_add(1);
        let (identity, transfer) = (self.identity.clone(), self.transfer);
        let result = self.processor.run(sockets, || message_2(crypto, message_1, number, identity, transfer));
        let mut outcome = Outcome { began: Some(now), ..Outcome::new(from) };
        let (c_r, state, response) = match result {
            Ok((c_r, state, message_2)) => {
                (c_r, State::WaitsForMessage3(Box::new(state)), coap::changed(id, message_2.as_slice().to_vec()))
            }
            Err(cause) => {
                outcome.fail(cause);
                (ConnId::default(), State::Failed, coap::bad_request(id))
            }
        };
        let session = Session { c_r, state, answered: (id, response.clone()), outcome };
        self.sessions.add(from, session).then_some(response)
    }

    /// Answers message_3.
    fn finish(&mut self, from: SocketAddr, id: u16, payload: &[u8], sockets: &mut Sockets<'_>) -> Option<Vec<u8>> {
        let (processor, clients) = (&mut self.processor, &self.clients);
        self.sessions.with(from, |session| {
            let message_3 = payload.strip_prefix(session.c_r.as_cbor());
            let result = match (message_3, core::mem::replace(&mut session.state, State::Failed)) {
                (Some(message_3), State::WaitsForMessage3(state)) => {
                    processor.run(sockets, || verify(*state, message_3, clients))
                }
                _ => Err("a message that is not message_3 of this exchange".to_owned()),
            };
            let response = match result {
                Ok(secret) => {
                    session.state = State::Done(secret);
                    session.outcome.connected = Some(sockets.idle_at());
                    coap::changed(id, Vec::new())
                }
                Err(cause) => {
                    session.outcome.fail(cause);
                    coap::bad_request(id)
                }
            };
            session.answered = (id, response.clone());
            response
        })
    }

    fn receive(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let Some(socket) = self.socket else { return };
        while let Some((from, datagram)) = sockets.recv_from(socket) {
            if let Some(response) = self.take(now, from, &datagram, sockets) {
                // A response that the link does not take is lost: the client's requests run out.
                let _: Result<(), crate::host::SendError> = sockets.send_to(socket, from, &response);
            }
        }
    }
}

/// Reads message_1, and makes message_2 of the exchange with this number.
fn message_2(
    crypto: Cryptography,
    message_1: &[u8],
    number: u16,
    identity: Identity,
    transfer: Transfer,
) -> Result<(ConnId, EdhocResponderWaitM3<Cryptography>, EdhocMessageBuffer), String> {
    // METHOD, SUITES_I (one number), and a byte string of 32 bytes, G_X (RFC 9528, 5.2.1).
    if !message_1.get(4..36).is_some_and(is_on_curve) {
        return Err("G_X is no point".to_owned());
    }
    let message_1 = EdhocMessageBuffer::new_from_slice(message_1).map_err(|_| "message_1 is too long")?;
    let responder = EdhocResponder::new(crypto, EDHOCMethod::StatStat, identity.private_key, identity.credential);
    let (state, c_i, _) = responder.process_message_1(&message_1).map_err(describe)?;
    let c_r = connection_identifier(number, c_i).ok_or("no connection identifier")?;
    let (state, message_2) = state.prepare_message_2(transfer.into(), Some(c_r), &None).map_err(describe)?;
    Ok((c_r, state, message_2))
}

/// Verifies message_3, and makes the secret.
fn verify(
    state: EdhocResponderWaitM3<Cryptography>,
    message_3: &[u8],
    clients: &[Credential],
) -> Result<OscoreSecret, String> {
    let message_3 = EdhocMessageBuffer::new_from_slice(message_3).map_err(|_| "message_3 is too long")?;
    let (state, id_cred_i, _) = state.parse_message_3(&message_3).map_err(describe)?;
    let client = clients.iter().find(|client| is_of(client, id_cred_i)).ok_or("the client is not known")?;
    let credential = credential_check_or_fetch(Some(*client), id_cred_i).map_err(describe)?;
    let (state, _) = state.verify_message_3(credential).map_err(describe)?;
    let mut done = state.completed_without_message_4().map_err(describe)?;
    Ok(OscoreSecret::export(|label, len| done.edhoc_exporter(label, &[], len)))
}

/// Whether ID_CRED_x is of this credential, by reference or by value.
fn is_of(credential: &Credential, id: IdCred) -> bool {
    let own = if id.reference_only() { credential.by_kid() } else { credential.by_value() };
    own.is_ok_and(|own| own.as_full_value() == id.as_full_value())
}

/// Returns the connection identifier of an exchange: one byte for the first, and not the client's (RFC 9528, 3.3.3).
fn connection_identifier(number: u16, c_i: ConnId) -> Option<ConnId> {
    let of = |number: u16| match number {
        0..24 => ConnId::from_slice(&[number as u8]),
        24..47 => ConnId::from_slice(&[0x20 + (number - 24) as u8]),
        _ => ConnId::from_slice(&number.to_be_bytes()),
    };
    let own = of(number.wrapping_add(1))?;
    if own == c_i { ConnId::from_slice(&[0x37]) } else { Some(own) }
}

impl conversations::Conversation for Session {
    fn deadline(&self) -> Option<Time> {
        None
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

impl Application for Server {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        self.socket = sockets.bind(self.port);
        if self.socket.is_none() {
            let own = SocketAddr::new(sockets.address(), self.port);
            self.without_socket.insert(Outcome::new(own)).fail("no socket");
        }
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        if matches!(event, SocketEvent::Readable(_)) {
            self.receive(now, sockets);
        }
    }
}
