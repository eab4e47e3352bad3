//! A pledge's connections over CoAPS: a socket of UDP, a client of DTLS and one of CoAP for each.

use alloc::sync::Arc;
use core::net::SocketAddr;
use std::collections::VecDeque;

use pki_types::{CertificateDer, ServerName};
use terse_brski::coap::{self, ClientConfig as CoapConfig, PathForm, Transmission};
use terse_brski::pledge::{Request, coaps};
use terse_tls::{ClientConfig, Connection, Credential, Datagrams, Event, Instant, Now, ServerAddress};

use super::{block_size, records};
use crate::direction::Direction;
use crate::host::{SocketEvent, SocketId, Sockets};
use crate::onboarding::clock::Clock;
use crate::onboarding::journal::Shared;
use crate::onboarding::link::{Link, Reply, Report};
use crate::onboarding::step::Step;
use crate::onboarding::{Dtls, Parties, Protocol};
use crate::{Random, Time};

/// What all connections of a pledge over CoAPS have in common.
#[derive(Clone, Debug)]
pub(in crate::onboarding) struct CoapsOptions {
    pub(in crate::onboarding) dtls: Dtls,
    pub(in crate::onboarding) path_form: PathForm,
    pub(in crate::onboarding) transmission: Transmission,
    /// With the longest datagram that fits.
    pub(in crate::onboarding) datagrams: Datagrams,
    /// The registrar, or the join proxy.
    pub(in crate::onboarding) remote: SocketAddr,
}

/// The connections of a pledge.
pub(in crate::onboarding) struct CoapsLink {
    options: CoapsOptions,
    parties: Parties,
    protocol: Protocol,
    clock: Clock,
    random: Random,
    journal: Shared,
    next_port: u16,
    open: Option<Open>,
    reports: VecDeque<Report>,
}

/// A connection.
struct Open {
    socket: SocketId,
    handshake: Step,
    connection: Connection,
    client: Option<coap::Client>,
    request: Option<Request>,
    /// Whether the connection is told to end.
    is_closing: bool,
}

impl CoapsLink {
    pub(in crate::onboarding) fn new(
        options: CoapsOptions,
        (parties, protocol): (Parties, Protocol),
        clock: Clock,
        random: Random,
        journal: Shared,
    ) -> Self {
        Self {
            options,
            parties,
            protocol,
            clock,
            random,
            journal,
            next_port: FIRST_PORT,
            open: None,
            reports: VecDeque::new(),
        }
    }

    fn config(&self, credential: &Credential) -> Result<Arc<ClientConfig>, terse_tls::ApiMisuse> {
        self.parties.client(credential, &self.protocol, Some(self.options.datagrams))
    }

    fn begin(
        &mut self,
        now: Now,
        sockets: &mut Sockets<'_>,
        credential: &Credential,
        handshake: Step,
    ) -> Result<Open, String> {
        let port = self.next_port;
        self.next_port += 1;
        let remote = self.options.remote;
        let name = ServerName::try_from(remote.ip().to_string()).map_err(|error| error.to_string())?;
        let address = ServerAddress::new(name, remote.port());
        let config = self.config(credential).map_err(|misuse| misuse.to_string())?;
        let connection =
            Connection::client(config, address, now, &mut self.random).map_err(|error| error.to_string())?;
        let socket = sockets.bind(port).ok_or("the port of the pledge is taken")?;
        Ok(Open { socket, handshake, connection, client: None, request: None, is_closing: false })
    }

    /// Handles what the connection has to say.
    fn events(&mut self, now: Now) {
        let Some(open) = &mut self.open else { return };
        while let Some(event) = open.connection.poll_event() {
            match event {
                Event::Connected => {
                    let block_size = block_size(open.connection.max_message());
                    let CoapsOptions { path_form, transmission, .. } = self.options;
                    let mut config = CoapConfig::default();
                    (config.path_form, config.transmission, config.block_size) = (path_form, transmission, block_size);
                    config.response_timeout_ms = transmission.max_transmit_wait_ms();
                    match coap::Client::new(config, &mut self.random) {
                        Ok(client) => open.client = Some(client),
                        Err(error) => self.journal.borrow_mut().fail(error),
                    }
                    let chain = open.connection.presented().into_iter().flat_map(|peer| peer.chain());
                    let chain = chain.map(CertificateDer::into_owned).collect();
                    self.reports.push_back(Report::Connected(chain));
                }
                Event::PeerClosed => self.reports.push_back(Report::Lost("the registrar closed the connection".into())),
                _ => {}
            }
        }
        let mut message = [0; LONGEST_MESSAGE];
        loop {
            let len = open.connection.recv(&mut message);
            if len == 0 {
                break;
            }
            if let Some(client) = &mut open.client {
                client.handle_input(now, &mut self.random, &message[..len]);
            }
        }
        self.response();
    }

    /// Takes the response of CoAP, if there is one.
    fn response(&mut self) {
        let Some(open) = &mut self.open else { return };
        let Some(outcome) = open.client.as_mut().and_then(coap::Client::poll_response) else { return };
        let Some(request) = open.request.take() else { return };
        self.reports.push_back(match outcome {
            Ok(response) => Report::Response(Reply::of(&coaps::response(&request, &response))),
            Err(failure) => Report::Lost(failure.to_string()),
        });
    }

    /// Sends what is ready: each message of CoAP in a datagram of its own, and nothing else with it.
    fn flush(&mut self, now: Now, sockets: &mut Sockets<'_>) {
        let mut message = [0; LONGEST_MESSAGE];
        self.transmit(now, sockets, None);
        while let Some(open) = &mut self.open {
            let next = open.client.as_mut().and_then(|client| client.poll_transmit(now, &mut message));
            let Some(len) = next else { return };
            // What finds no room is as good as lost: CoAP sends it again.
            let _ = open.connection.send(&message[..len]);
            self.transmit(now, sockets, Some(len));
        }
    }

    /// Sends the datagrams of DTLS, of which one may have a message of CoAP of this length.
    fn transmit(&mut self, now: Now, sockets: &mut Sockets<'_>, message: Option<usize>) {
        let Some(open) = &mut self.open else { return };
        let mut datagram = [0; LONGEST_MESSAGE];
        while let Some(len) = open.connection.poll_transmit(now, &mut datagram) {
            let records = records::overhead(&datagram[..len], self.options.dtls.tag_len());
            let is_of_handshake = message != Some(len - records) && !open.is_closing;
            if let Err(error) = sockets.send_to(open.socket, self.options.remote, &datagram[..len]) {
                return self.journal.borrow_mut().fail(format!("a datagram of {len} bytes was not sent: {error:?}"));
            }
            let handshake = is_of_handshake.then_some(open.handshake);
            self.journal.borrow_mut().note(Direction::Up, handshake, records, &datagram[..len]);
        }
    }

    /// Notes that the connection has failed.
    fn failed(&mut self, error: &terse_tls::Error) {
        self.reports.push_back(Report::Lost(error.to_string()));
    }
}

impl Link for CoapsLink {
    fn connect(&mut self, now: Time, sockets: &mut Sockets<'_>, credential: &Credential, handshake: Step) {
        let now = self.clock.now(now);
        match self.begin(now, sockets, credential, handshake) {
            Ok(open) => {
                self.open = Some(open);
                self.flush(now, sockets);
            }
            Err(cause) => self.journal.borrow_mut().fail(cause),
        }
    }

    fn send(&mut self, now: Time, sockets: &mut Sockets<'_>, request: &Request) {
        let now = self.clock.now(now);
        let Some(Open { client: Some(client), request: kept, .. }) = &mut self.open else { return };
        let Some(mapped) = coaps::request(request) else { return };
        *kept = Some(request.clone());
        if let Err(error) = client.request(now, &mut self.random, mapped) {
            self.journal.borrow_mut().fail(error);
        }
        self.flush(now, sockets);
    }

    fn close(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let now = self.clock.now(now);
        if let Some(open) = &mut self.open {
            open.is_closing = true;
            open.connection.close();
        }
        self.transmit(now, sockets, None);
        if let Some(open) = self.open.take() {
            sockets.close(open.socket);
        }
        self.reports.clear();
    }

    fn handle_event(&mut self, now: Time, sockets: &mut Sockets<'_>, event: SocketEvent) {
        let now = self.clock.now(now);
        let SocketEvent::Readable(socket) = event else { return };
        while let Some((_, mut datagram)) = sockets.recv_from(socket) {
            let Some(open) = self.open.as_mut().filter(|open| open.socket == socket) else { return };
            if let Err(error) = open.connection.handle_input(now, &mut self.random, &mut datagram) {
                self.failed(&error);
            }
            self.events(now);
            self.flush(now, sockets);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let open = self.open.as_ref()?;
        let client = open.client.as_ref().and_then(coap::Client::poll_timeout);
        open.connection.poll_timeout().into_iter().chain(client).min()
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let now = self.clock.now(now);
        let Some(open) = &mut self.open else { return };
        if open.connection.poll_timeout().is_some_and(|at| at <= now.monotonic)
            && let Err(error) = open.connection.handle_timeout(now)
        {
            self.failed(&error);
        }
        if let Some(open) = &mut self.open
            && let Some(client) = &mut open.client
            && client.poll_timeout().is_some_and(|at| at <= now.monotonic)
        {
            client.handle_timeout(now);
        }
        self.events(now);
        self.flush(now, sockets);
    }

    fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }
}

/// The port of the first connection: each has a new one, from the ports for private use (RFC 6335, 6).
const FIRST_PORT: u16 = 50_000;

/// More than the longest message of CoAP, and than the longest datagram.
const LONGEST_MESSAGE: usize = 2_048;
