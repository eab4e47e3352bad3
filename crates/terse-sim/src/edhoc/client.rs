//! The client: EDHOC's Initiator.

use alloc::sync::Arc;
use core::time::Duration;
use std::net::SocketAddr;

use lakers::{
    ConnId, Credential, EDHOCMethod, EDHOCSuite, EdhocInitiator, EdhocInitiatorWaitM2, EdhocMessageBuffer,
    credential_check_or_fetch,
};
use lakers_crypto_rustcrypto::Crypto;

use super::coap::{self, Message};
use super::identity::{Entropy, Identity, OscoreSecret, Transfer, is_on_curve};
use super::processor::Processor;
use super::request::Request;
use super::{Sizes, describe};
use crate::computing::{CountingEdhoc, Counts, Device};
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::script::Outcome;
use crate::{Random, Time};

/// A program that runs EDHOC with a server.
#[derive(Debug)]
pub struct Client {
    identity: Identity,
    server: Credential,
    transfer: Transfer,
    random: Random,
    processor: Processor,
    socket: Option<SocketId>,
    next_id: u16,
    state: State,
    request: Option<Request>,
    outcome: Outcome,
    sizes: Vec<Sizes>,
}

/// The cryptography of a side.
pub(super) type Cryptography = CountingEdhoc<Crypto<Entropy>>;

#[derive(Debug)]
enum State {
    Start,
    WaitsForMessage2(Box<EdhocInitiatorWaitM2<Cryptography>>),
    WaitsForEnd(OscoreSecret),
    Done(OscoreSecret),
    Failed,
}

impl Client {
    /// Creates a client of the server at `remote`, which has the credential of `server`.
    pub fn new(
        identity: Identity,
        server: &Identity,
        transfer: Transfer,
        remote: SocketAddr,
        random: Random,
        device: Option<Arc<Device>>,
    ) -> Self {
        Self {
            identity,
            server: server.credential,
            transfer,
            random,
            processor: Processor::new(device),
            socket: None,
            next_id: 0,
            state: State::Start,
            request: None,
            outcome: Outcome::new(remote),
            sizes: Vec::new(),
        }
    }

    /// Returns how far the exchange has come. It begins when the client starts to compute message_1.
    pub const fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns the secret, once the server has confirmed that it has it.
    pub const fn secret(&self) -> Option<OscoreSecret> {
        match self.state {
            State::Done(secret) => Some(secret),
            _ => None,
        }
    }

    /// Returns what was computed, and how long that took on the device.
    pub const fn computed(&self) -> (&Counts, Duration) {
        (&self.processor.computed, self.processor.time)
    }

    /// Returns the bytes of each message that was sent and received.
    pub fn sizes(&self) -> &[Sizes] {
        &self.sizes
    }

    fn begin(&mut self, sockets: &mut Sockets<'_>) -> Result<(), String> {
        self.socket = Some(sockets.bind(0).ok_or("no socket")?);
        self.next_id = self.random.next_u32() as u16;
        let crypto = CountingEdhoc(Crypto::new(Entropy::from(&mut self.random)));
        let (state, message_1) = self.processor.run(sockets, || {
            let initiator = EdhocInitiator::new(crypto, EDHOCMethod::StatStat, EDHOCSuite::CipherSuite2);
            initiator.prepare_message_1(ConnId::from_slice(&C_I), &None).map_err(describe)
        })?;
        self.state = State::WaitsForMessage2(Box::new(state));
        let prefix = [TRUE];
        self.ask(sockets, "message_1", &prefix, message_1.as_slice());
        Ok(())
    }

    /// Sends a request with a message.
    fn ask(&mut self, sockets: &mut Sockets<'_>, name: &'static str, prefix: &[u8], message: &[u8]) {
        let datagram = coap::post(self.next_id, [prefix, message].concat());
        self.sizes.push(Sizes { name, edhoc: message.len(), coap: datagram.len() });
        let request = Request::new(self.next_id, datagram, sockets.idle_at(), &mut self.random);
        self.next_id = self.next_id.wrapping_add(1);
        self.request = Some(request);
        self.send(sockets);
    }

    fn send(&mut self, sockets: &mut Sockets<'_>) {
        if let (Some(socket), Some(request)) = (self.socket, &self.request)
            && let Err(error) = sockets.send_to(socket, self.outcome.peer, &request.datagram)
        {
            let cause = format!("a request of {} bytes cannot be sent: {error:?}", request.datagram.len());
            self.fail(&cause);
        }
    }

    fn take(&mut self, sockets: &mut Sockets<'_>, datagram: &[u8]) -> Result<(), String> {
        let Some(waiting) = &self.request else { return Ok(()) };
        let payload = match coap::parse(datagram) {
            Some(Message::Changed(id, payload)) if id == waiting.id => payload,
            Some(Message::Refused(id, code)) if id == waiting.id => return Err(format!("the server answered {code}")),
            _ => return Ok(()), // the response to an earlier request, which came twice
        };
        self.request = None;
        match core::mem::replace(&mut self.state, State::Failed) {
            State::WaitsForMessage2(state) => {
                self.sizes.push(Sizes { name: "message_2", edhoc: payload.len(), coap: datagram.len() });
                let (identity, server, transfer) = (self.identity.clone(), self.server, self.transfer);
                let answer = || message_3(*state, &payload, identity, server, transfer);
                let (c_r, message_3, secret) = self.processor.run(sockets, answer)?;
                self.state = State::WaitsForEnd(secret);
                self.ask(sockets, "message_3", c_r.as_cbor(), message_3.as_slice());
            }
            State::WaitsForEnd(secret) => {
                self.sizes.push(Sizes { name: "ok", edhoc: payload.len(), coap: datagram.len() });
                self.state = State::Done(secret);
                self.outcome.connected = Some(sockets.idle_at());
            }
            other => self.state = other,
        }
        Ok(())
    }

    fn fail(&mut self, cause: &str) {
        self.outcome.fail(cause);
        self.request = None;
        self.state = State::Failed;
    }
}

/// Verifies message_2, and makes message_3 and the secret.
fn message_3(
    state: EdhocInitiatorWaitM2<Cryptography>,
    payload: &[u8],
    identity: Identity,
    server: Credential,
    transfer: Transfer,
) -> Result<(ConnId, EdhocMessageBuffer, OscoreSecret), String> {
    // A byte string of more than 23 bytes: G_Y and CIPHERTEXT_2 (RFC 9528, 5.3.1).
    if !payload.get(2..34).is_some_and(is_on_curve) {
        return Err("G_Y is no point".to_owned());
    }
    let message_2 = EdhocMessageBuffer::new_from_slice(payload).map_err(|_| "message_2 is too long")?;
    let (mut state, c_r, id_cred_r, _) = state.parse_message_2(&message_2).map_err(describe)?;
    let credential = credential_check_or_fetch(Some(server), id_cred_r).map_err(describe)?;
    state.set_identity(identity.private_key, identity.credential).map_err(describe)?;
    let state = state.verify_message_2(credential).map_err(describe)?;
    let (state, message_3, _) = state.prepare_message_3(transfer.into(), &None).map_err(describe)?;
    let mut done = state.completed_without_message_4().map_err(describe)?;
    let secret = OscoreSecret::export(|label, len| done.edhoc_exporter(label, &[], len));
    Ok((c_r, message_3, secret))
}

impl Application for Client {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        self.outcome.began = Some(sockets.idle_at());
        if let Err(cause) = self.begin(sockets) {
            self.fail(&cause);
        }
    }

    fn handle_event(&mut self, _now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        let SocketEvent::Readable(socket) = event else { return };
        while let Some((_, datagram)) = sockets.recv_from(socket) {
            if let Err(cause) = self.take(sockets, &datagram) {
                self.fail(&cause);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.request.as_ref().map(Request::deadline)
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let Some(request) = self.request.as_mut().filter(|request| request.deadline() <= now) else { return };
        if request.expire(now) {
            self.outcome.repeated_flights += 1;
            self.send(sockets);
        } else {
            self.fail("the server did not answer");
        }
    }
}

/// The client's connection identifier: it has one connection.
const C_I: [u8; 1] = [0];
/// The CBOR simple value `true`, which stands for a C_R that is not known yet (RFC 9528, A.2.1).
pub(super) const TRUE: u8 = 0xF5;
