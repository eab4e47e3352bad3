//! A server waits for the request, answers it each time that it comes, and closes once the client did.

use alloc::sync::Arc;
use core::net::SocketAddr;

use terse_tls::summary::Traffic;
use terse_tls::{
    Connection, ConnectionHandle, ContentType, DTLS_RECORD_HEADER_LEN, Endpoint, EndpointEvent, EndpointLimits, Error,
    Event, HandshakeType, Instant, Now, ServerConfig,
};

use super::{Exchange, Reached, Side, say};
use crate::Random;

/// The server of an exchange over a stream.
pub(crate) struct StreamServer {
    connection: Connection,
    rng: Random,
    progress: Progress,
}

/// The server of exchanges over datagrams. It serves one of them.
pub(crate) struct DatagramServer {
    endpoint: Endpoint,
    rng: Random,
    handle: Option<ConnectionHandle>,
    progress: Progress,
    replies: StatelessReplies,
}

/// What an endpoint sends to clients of which it keeps nothing yet.
#[derive(Default)]
struct StatelessReplies {
    /// The datagrams that wait to be sent are such a reply: an endpoint answers a datagram either itself or by a connection.
    are_waiting: bool,
    sent: Traffic,
}

/// How far the exchange has come on a server.
struct Progress {
    exchange: Exchange,
    received: usize,
    reached: Reached,
    /// Whether the client's close_notify arrived and was not answered yet.
    peer_closed: bool,
}

impl Progress {
    fn new(exchange: Exchange) -> Self {
        Self { exchange, received: 0, reached: Reached::default(), peer_closed: false }
    }

    /// Counts `len` bytes of the request.
    const fn receive(&mut self, len: usize) {
        self.received += len;
        self.reached.requested |= self.received >= self.exchange.request;
    }

    /// Sends the answer if a request has arrived, which for early data is before the handshake is complete, and answers a
    /// close_notify.
    fn answer(&mut self, connection: &mut Connection) -> Result<(), Error> {
        if connection.may_send() && self.received >= self.exchange.request {
            self.reached.answered = true;
            self.received = 0;
            say(connection, b'!', self.exchange.reply)?;
        }
        if core::mem::take(&mut self.peer_closed) {
            connection.close();
            self.reached.end = true;
        }
        Ok(())
    }
}

impl StreamServer {
    /// Creates a server that waits for a ClientHello.
    pub(crate) fn new(config: Arc<ServerConfig>, exchange: Exchange, now: Now, rng: Random) -> Result<Self, Error> {
        Ok(Self { connection: Connection::server(config, now)?, rng, progress: Progress::new(exchange) })
    }

    fn advance(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => self.progress.reached.connected = true,
                Event::PeerClosed => self.progress.peer_closed = true,
                _ => {}
            }
        }
        let mut buffer = [0; 1024];
        loop {
            match self.connection.recv(&mut buffer) {
                0 => match self.connection.recv_early_data(&mut buffer) {
                    0 => break,
                    len => self.progress.receive(len),
                },
                len => self.progress.receive(len),
            }
        }
    }
}

impl Side for StreamServer {
    fn input(&mut self, now: Now, _: SocketAddr, mut bytes: &mut [u8]) -> Result<(), Error> {
        loop {
            let taken = self.connection.handle_input(now, &mut self.rng, bytes)?;
            self.advance();
            match bytes.get_mut(taken..) {
                Some(rest) if !rest.is_empty() && taken > 0 => bytes = rest,
                _ => return Ok(()),
            }
        }
    }

    fn end_of_input(&mut self, now: Now) -> Result<(), Error> {
        self.connection.handle_end_of_input(now)
    }

    fn output(&mut self, now: Now, out: &mut [u8]) -> Option<(Option<SocketAddr>, usize)> {
        self.connection.poll_transmit(now, out).map(|len| (None, len))
    }

    fn answer(&mut self) -> Result<(), Error> {
        self.progress.answer(&mut self.connection)
    }

    fn deadline(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    fn expire(&mut self, now: Now) -> Result<(), Error> {
        self.connection.handle_timeout(now)?;
        self.advance();
        Ok(())
    }

    fn reached(&self) -> Reached {
        self.progress.reached
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        Some(&mut self.connection)
    }
}

impl StatelessReplies {
    /// Counts a datagram: one record, of an alert or of a part of one handshake message.
    fn count(&mut self, datagram: &[u8]) {
        let sent = &mut self.sent;
        sent.record_bytes += datagram.len() as u64;
        sent.datagrams += 1;
        let (header, fragment) = datagram.split_at(DTLS_RECORD_HEADER_LEN.min(datagram.len()));
        let (Some(&content_type), Some(&kind)) = (header.first(), fragment.first()) else { return };
        if ContentType(content_type) == ContentType::HANDSHAKE {
            let (kind, len) = (HandshakeType(kind), fragment.len() as u32);
            sent.handshake_bytes += u64::from(len);
            match sent.messages.iter_mut().find(|(counted, _)| *counted == kind) {
                Some((_, sum)) => *sum += len,
                None => sent.messages.push((kind, len)),
            }
        }
    }
}

impl DatagramServer {
    /// Creates a server that waits for clients.
    pub(crate) fn new(
        config: Arc<ServerConfig>,
        limits: EndpointLimits,
        exchange: Exchange,
        mut rng: Random,
    ) -> Result<Self, Error> {
        let endpoint = Endpoint::new(config, limits, &mut rng)?;
        let replies = StatelessReplies::default();
        Ok(Self { endpoint, rng, handle: None, progress: Progress::new(exchange), replies })
    }

    fn advance(&mut self) -> Result<(), Error> {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            self.handle = Some(handle);
            match event {
                EndpointEvent::Connected => self.progress.reached.connected = true,
                EndpointEvent::Data(data) | EndpointEvent::EarlyData(data) => self.progress.receive(data.len()),
                EndpointEvent::PeerClosed => self.progress.peer_closed = true,
                EndpointEvent::Failed(error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Side for DatagramServer {
    fn input(&mut self, now: Now, from: SocketAddr, bytes: &mut [u8]) -> Result<(), Error> {
        let replies = self.endpoint.counters().cookies_sent;
        self.endpoint.handle_datagram(now, &mut self.rng, from, bytes);
        self.replies.are_waiting = self.endpoint.counters().cookies_sent != replies;
        self.advance()
    }

    fn end_of_input(&mut self, _: Now) -> Result<(), Error> {
        Ok(())
    }

    fn output(&mut self, now: Now, out: &mut [u8]) -> Option<(Option<SocketAddr>, usize)> {
        let Some((to, len)) = self.endpoint.poll_transmit(now, out) else {
            self.replies.are_waiting = false;
            return None;
        };
        if self.replies.are_waiting {
            self.replies.count(&out[..len]);
        }
        Some((Some(to.address()), len))
    }

    fn answer(&mut self) -> Result<(), Error> {
        let Progress { peer_closed, .. } = self.progress;
        if let Some(connection) = self.handle.and_then(|handle| self.endpoint.connection(handle)) {
            self.progress.answer(connection)?;
        }
        // The client's close_notify may be lost: nothing more is due once the request was answered.
        let Reached { connected, answered, .. } = self.progress.reached;
        self.progress.reached.end |= (connected && answered) || peer_closed;
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }

    fn expire(&mut self, now: Now) -> Result<(), Error> {
        self.endpoint.handle_timeout(now);
        self.advance()
    }

    fn reached(&self) -> Reached {
        self.progress.reached
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        self.endpoint.connection(self.handle?)
    }

    fn sent_without_connection(&self) -> Traffic {
        self.replies.sent.clone()
    }
}
