//! A pledge's connections over HTTPS.

use core::net::SocketAddr;
use std::collections::VecDeque;

use pki_types::ServerName;
use terse_brski::pledge::{Method, Request};
use terse_tls::{Connection, Credential, Instant, ServerAddress};

use super::message::Message;
use super::stream::Stream;
use crate::direction::Direction;
use crate::host::{SocketEvent, SocketId, Sockets};
use crate::onboarding::clock::Clock;
use crate::onboarding::journal::Shared;
use crate::onboarding::link::{Link, Reply, Report};
use crate::onboarding::step::Step;
use crate::onboarding::{Parties, Protocol};
use crate::{Random, Time, tcp};

/// The connections of a pledge.
pub(in crate::onboarding) struct HttpsLink {
    remote: SocketAddr,
    tcp: tcp::Config,
    parties: Parties,
    protocol: Protocol,
    clock: Clock,
    random: Random,
    journal: Shared,
    /// The socket of a connection that TCP makes, and the credential for it.
    connecting: Option<(SocketId, Credential)>,
    open: Option<Stream>,
    reports: VecDeque<Report>,
}

impl HttpsLink {
    pub(in crate::onboarding) fn new(
        (remote, tcp): (SocketAddr, tcp::Config),
        (parties, protocol): (Parties, Protocol),
        clock: Clock,
        random: Random,
        journal: Shared,
    ) -> Self {
        let (connecting, open, reports) = (None, None, VecDeque::new());
        Self { remote, tcp, parties, protocol, clock, random, journal, connecting, open, reports }
    }

    /// Begins TLS on a connection that TCP has made.
    fn begin(&mut self, now: Time, credential: &Credential) -> Result<Connection, String> {
        let config = self.parties.client(credential, &self.protocol, None).map_err(|misuse| misuse.to_string())?;
        let name = ServerName::try_from(self.remote.ip().to_string()).map_err(|error| error.to_string())?;
        let address = ServerAddress::new(name, self.remote.port());
        Connection::client(config, address, self.clock.now(now), &mut self.random).map_err(|error| error.to_string())
    }

    fn receive(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let Some(open) = &mut self.open else { return };
        let came = open.receive(self.clock.now(now), &mut self.random, sockets);
        self.flush(now, sockets); // what belongs to this step, before another one begins
        self.reports.extend(came.connected.map(Report::Connected));
        for message in came.messages {
            self.reports.push_back(match reply(message) {
                Some(reply) => Report::Response(reply),
                None => Report::Lost("what came is no response of HTTP".into()),
            });
        }
        self.reports.extend(came.over.map(Report::Lost));
    }

    fn flush(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if let Some(open) = &mut self.open {
            open.flush(self.clock.now(now), sockets, &mut self.journal.borrow_mut());
        }
    }

    fn is_own(&self, socket: SocketId) -> bool {
        let connecting = self.connecting.as_ref().map(|(socket, _)| *socket);
        connecting.or(self.open.as_ref().map(|open| open.socket)) == Some(socket)
    }
}

impl Link for HttpsLink {
    fn connect(&mut self, _now: Time, sockets: &mut Sockets<'_>, credential: &Credential, _handshake: Step) {
        match sockets.connect(self.remote, self.tcp.clone()) {
            Some(socket) => self.connecting = Some((socket, credential.clone())),
            None => self.journal.borrow_mut().fail("the registrar's address is of another family"),
        }
    }

    fn send(&mut self, now: Time, sockets: &mut Sockets<'_>, request: &Request) {
        let Some(open) = &mut self.open else { return };
        let method = match request.method {
            Method::Get => "GET",
            Method::Post => "POST",
        };
        let message = Message::new(format!("{method} {} HTTP/1.1", request.path), request.body.to_vec());
        let message = message.with("Host", Some(&self.remote.to_string()));
        let message = message.with("Content-Type", request.content_type).with("Accept", request.accept);
        open.send(&message);
        self.flush(now, sockets);
    }

    fn close(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if let Some(open) = &mut self.open {
            open.close();
        }
        self.flush(now, sockets);
        let connecting = self.connecting.take().map(|(socket, _)| socket);
        if let Some(socket) = connecting.or(self.open.take().map(|open| open.socket)) {
            sockets.close(socket);
        }
        self.reports.clear();
    }

    fn handle_event(&mut self, now: Time, sockets: &mut Sockets<'_>, event: SocketEvent) {
        match event {
            SocketEvent::Connected(socket) if self.is_own(socket) => {
                let Some((_, credential)) = self.connecting.take() else { return };
                match self.begin(now, &credential) {
                    Ok(connection) => self.open = Some(Stream::new(socket, Direction::Up, connection)),
                    Err(cause) => self.journal.borrow_mut().fail(cause),
                }
                self.flush(now, sockets);
            }
            SocketEvent::Readable(socket) if self.is_own(socket) => self.receive(now, sockets),
            SocketEvent::Writable(socket) if self.is_own(socket) => self.flush(now, sockets),
            SocketEvent::PeerFinished(socket) | SocketEvent::Closed(socket) if self.is_own(socket) => {
                self.reports.push_back(Report::Lost("the registrar closed the connection".into()));
            }
            SocketEvent::Failed(socket, failure) if self.is_own(socket) => {
                (self.connecting, self.open) = (None, None);
                self.reports.push_back(Report::Lost(format!("TCP: {failure}")));
            }
            _ => {}
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None // TCP has timers of its own, and a stream of the engine has none
    }

    fn handle_timeout(&mut self, _now: Time, _sockets: &mut Sockets<'_>) {}

    fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }
}

/// Reads a response.
fn reply(message: Message) -> Option<Reply> {
    let status = message.start.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let field = |name| message.field(name).map(|value| value.as_bytes().to_vec());
    let (content_type, retry_after) = (field("Content-Type"), field("Retry-After"));
    Some(Reply { status, content_type, retry_after, body: message.body })
}
