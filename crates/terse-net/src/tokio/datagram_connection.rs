//! A client's connection over datagrams, on a UDP socket of tokio.
//!
//! What must always hold: all state is in the connection, and none in the future of a call, so that dropping a future loses
//! nothing; no report of the network (ICMP) ends a connection, since anybody can send one; a flood holds up no timer; a signature
//! that comes later blocks nobody; a connection that is dropped says so, if the socket takes that at once.

use core::future::poll_fn;
use core::ops::Range;
use core::task::{Context, Poll, Waker, ready};
use std::io::{self, ErrorKind};

use terse_tls::crypto::CryptoError;
use terse_tls::{AlertDescription, Connection, Error, Event, Instant, Now};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use super::alarm::Alarm;
use super::{Answer, AsyncSigner};
use crate::datagram::{BUFFER_LEN, Effort, MAX_OVERDUE, heard, is_interruption, is_of_network};
use crate::{Clock, NetError, OsRng};

/// A socket for datagrams that is connected to one peer: a [`UdpSocket`], or what stands in front of one.
pub trait DatagramSocket {
    /// Receives a datagram. What does not fit into `buffer` is lost.
    fn poll_recv(&self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>>;

    /// Sends a datagram.
    fn poll_send(&self, cx: &mut Context<'_>, datagram: &[u8]) -> Poll<io::Result<usize>>;
}

impl DatagramSocket for UdpSocket {
    fn poll_recv(&self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_recv(cx, buffer)
    }

    fn poll_send(&self, cx: &mut Context<'_>, datagram: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, datagram)
    }
}

/// A client's connection over datagrams, on a UDP socket of tokio: the asynchronous counterpart of
/// [`DatagramClient`](crate::DatagramClient). Its handshake is complete. A
/// [`DatagramConnector`](super::DatagramConnector) makes one.
///
/// [`Self::send`] and [`Self::receive`] take a message each. A message arrives whole or not at all, and messages may overtake
/// each other: a lost one is not sent again.
///
/// [`Self::receive`] also does what the peer and time demand: it repeats what was lost of the handshake, and acknowledges.
/// Between its calls nothing of that happens, so an application that expects no message calls it all the same. Calls have no
/// time limit of their own, and [`tokio::time::timeout`] sets one.
///
/// A connection that is dropped sends a close_notify if the socket takes it at once.
pub struct DatagramConnection<T: DatagramSocket = UdpSocket> {
    connection: Connection,
    socket: T,
    clock: Clock,
    /// The time of the current turn.
    now: Now,
    rng: OsRng,
    input: Box<[u8]>,
    /// The part of the datagram in `input` that the connection has not taken yet.
    rest: Range<usize>,
    output: Box<[u8]>,
    /// The length of the datagram in `output` that the socket has not taken yet, or 0.
    unsent: usize,
    /// Whether data was read: the connection may then have kept later records back.
    has_read: bool,
    /// The number of datagrams that were read since a timer is due.
    overdue: usize,
    alarm: Alarm,
    peer_closed: bool,
    signer: Option<AsyncSigner>,
    /// The signature that the connection waits for.
    signature: Option<Answer<Result<Vec<u8>, CryptoError>>>,
    effort: Effort,
}

impl<T: DatagramSocket> DatagramConnection<T> {
    /// Creates a connection that has not sent anything yet.
    pub(super) fn new(connection: Connection, socket: T, clock: Clock, signer: Option<AsyncSigner>) -> Self {
        let now = clock.now();
        Self {
            connection,
            socket,
            clock,
            now,
            rng: OsRng,
            input: vec![0; BUFFER_LEN].into(),
            rest: 0..0,
            output: vec![0; BUFFER_LEN].into(),
            unsent: 0,
            has_read: false,
            overdue: 0,
            alarm: Alarm::default(),
            peer_closed: false,
            signer,
            signature: None,
            effort: Effort::begin(now.monotonic),
        }
    }

    pub(super) async fn handshake(&mut self) -> Result<(), NetError> {
        poll_fn(|cx| {
            ready!(self.poll_until(cx, |this| (!this.connection.is_handshaking()).then_some(())))?;
            self.poll_flush(cx)
        })
        .await
    }

    /// Waits for a message and copies it to `out`; the next call returns what did not fit. Returns 0 if the server has closed the
    /// connection properly, or if `out` is empty. Dropping the future loses nothing.
    pub async fn receive(&mut self, out: &mut [u8]) -> Result<usize, NetError> {
        let now = self.turn();
        self.effort.restart(now);
        poll_fn(|cx| self.poll_receive(cx, out)).await
    }

    /// Does what [`Self::receive`] does, until there is a message or nothing is left to do.
    pub fn poll_receive(&mut self, cx: &mut Context<'_>, out: &mut [u8]) -> Poll<Result<usize, NetError>> {
        self.poll_until(cx, |this| {
            let len = this.connection.recv(out);
            this.has_read |= len > 0;
            (len > 0 || out.is_empty() || this.peer_closed).then_some(len)
        })
    }

    /// Sends `message`, of at most [`Connection::max_message`] bytes, in one datagram, as soon as the socket takes it. If the
    /// future is dropped before, the message is lost, or goes with the next call.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), NetError> {
        loop {
            self.turn();
            let taken = self.connection.send(message)?;
            poll_fn(|cx| self.poll_flush(cx)).await?;
            if taken == message.len() {
                return Ok(());
            }
        }
    }

    /// Tells the server that no more messages follow (`close_notify`). What the server still sends can be received.
    pub async fn close(&mut self) -> Result<(), NetError> {
        self.connection.close();
        self.turn();
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Whether the server has closed its direction properly.
    pub const fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Returns the connection, for its summary and what was negotiated.
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the socket, for its options. Reading from it or writing to it takes datagrams from the connection.
    pub const fn socket(&self) -> &T {
        &self.socket
    }

    /// Does what is due, until `take` has a result or nothing is left to do.
    fn poll_until<R>(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut Self) -> Option<R>,
    ) -> Poll<Result<R, NetError>> {
        self.turn();
        loop {
            self.take_events();
            let _ = self.poll_flush(cx)?; // a socket that takes no output may have input
            if let Some(taken) = take(self) {
                return Poll::Ready(Ok(taken));
            }
            if let Some(signature) = self.poll_signature(cx) {
                self.provide_signature(signature)?;
                continue;
            }
            if !self.rest.is_empty() || core::mem::take(&mut self.has_read) {
                self.handle_input()?;
                continue;
            }
            let timer = self.connection.poll_timeout();
            let is_due = timer.is_some_and(|timer| timer <= self.now.monotonic);
            // A timer may be waiting for a datagram that has arrived. With no limit, a flood could hold it up.
            if (!is_due || self.overdue < MAX_OVERDUE) && self.poll_read(cx)?.is_ready() {
                self.overdue += usize::from(is_due);
                continue;
            }
            let now = self.turn();
            if timer.is_some_and(|timer| timer <= now) {
                self.overdue = 0;
                self.handle_timeout(cx)?;
                continue;
            }
            if self.alarm.poll(cx, timer.map(|timer| (timer, now))).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Begins a turn, and returns its time.
    fn turn(&mut self) -> Instant {
        self.now = self.clock.now_after(self.now);
        self.now.monotonic
    }

    /// Takes what the connection tells.
    fn take_events(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::PeerClosed => self.peer_closed = true,
                Event::NeedSignature => self.signature = self.ask_for_signature(),
                _ => {}
            }
        }
    }

    fn ask_for_signature(&self) -> Option<Answer<Result<Vec<u8>, CryptoError>>> {
        let request = self.connection.signature_request()?.clone();
        Some(match &self.signer {
            Some(signer) => signer(request),
            None => Box::pin(core::future::ready(Err(CryptoError::SigningFailed))),
        })
    }

    /// Returns the signature that the connection waits for, once it is there.
    fn poll_signature(&mut self, cx: &mut Context<'_>) -> Option<Result<Vec<u8>, CryptoError>> {
        let Poll::Ready(signature) = self.signature.as_mut()?.as_mut().poll(cx) else { return None };
        self.signature = None;
        Some(signature)
    }

    fn provide_signature(&mut self, signature: Result<Vec<u8>, CryptoError>) -> Result<(), NetError> {
        self.turn(); // the answer may have taken its time
        let signature = signature.as_deref().map_err(|error| *error);
        let result = self.connection.provide_signature(self.now, &mut self.rng, signature);
        result.map_err(|error| self.failed(error))
    }

    /// Gives the connection the datagram that was read, or what is left of it.
    fn handle_input(&mut self) -> Result<(), NetError> {
        let before = heard(&self.connection);
        let input = &mut self.input[self.rest.clone()]; // the whole datagram, or its rest
        let taken = match self.connection.handle_input(self.now, &mut self.rng, input) {
            Ok(taken) => taken,
            Err(error) => return Err(self.failed(error)),
        };
        // Of a rest that is not taken nothing comes: nobody takes data before the handshake is complete.
        self.rest = if taken > 0 { self.rest.start + taken..self.rest.end } else { 0..0 };
        if heard(&self.connection) > before {
            self.effort = Effort::begin(self.now.monotonic);
        }
        Ok(())
    }

    /// Reads a datagram, or what the network says of those that were sent.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        let mut buffer = ReadBuf::new(&mut self.input);
        let received = ready!(self.socket.poll_recv(cx, &mut buffer)).map(|()| buffer.filled().len());
        self.turn();
        match received {
            Ok(len) => self.rest = 0..len,
            // Asked again at once: nobody would wake this task otherwise.
            Err(error) if is_interruption(&error) => {}
            Err(error) if is_of_network(&error) => self.effort.network = Some(error.kind()),
            Err(error) => return Poll::Ready(Err(NetError::Io(error))),
        }
        Poll::Ready(Ok(()))
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) -> Result<(), NetError> {
        let sent_again = |connection: &Connection| connection.summary().retransmissions;
        let before = sent_again(&self.connection);
        match self.connection.handle_timeout(self.now) {
            Ok(()) => {
                let _ = self.poll_flush(cx)?; // what the socket does not take now goes later
                self.effort.asked += u32::from(sent_again(&self.connection) > before);
                Ok(())
            }
            Err(Error::TimedOut) => Err(self.no_answer(None)),
            Err(Error::AlertReceived(alert)) => Err(self.no_answer(Some(alert))),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Sends what the connection has to send. It is pending while the socket takes nothing.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        let mut said = 0;
        loop {
            if self.unsent == 0 {
                let Some(len) = self.connection.poll_transmit(self.now, &mut self.output) else {
                    return Poll::Ready(Ok(()));
                };
                (self.unsent, said) = (len, 0);
            }
            let sent = ready!(self.socket.poll_send(cx, &self.output[..self.unsent]));
            match sent {
                Ok(_) => self.unsent = 0,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A socket may report what the network said of an earlier datagram, instead of sending this one.
                Err(error) if is_of_network(&error) => {
                    self.effort.network = Some(error.kind());
                    said += 1;
                    if said > 1 {
                        self.unsent = 0; // the datagram counts as lost
                    }
                }
                Err(error) => {
                    self.unsent = 0;
                    return Poll::Ready(Err(NetError::Io(error)));
                }
            }
        }
    }

    pub(super) fn no_answer(&mut self, alert: Option<AlertDescription>) -> NetError {
        let now = self.turn();
        self.effort.no_answer(&self.connection, now, alert)
    }

    fn failed(&mut self, error: Error) -> NetError {
        self.flush_at_once(); // the alert; the error to report is the one that caused it
        error.into()
    }

    /// Sends what the socket takes at once.
    fn flush_at_once(&mut self) {
        let _ = self.poll_flush(&mut Context::from_waker(Waker::noop()));
    }
}

/// Ends the connection: a handshake is given up, and its cache knows (docs/caching.md, 4.2).
impl<T: DatagramSocket> Drop for DatagramConnection<T> {
    fn drop(&mut self) {
        self.turn();
        match self.connection.is_handshaking() {
            true => self.connection.give_up(self.now),
            false => self.connection.close(),
        }
        self.flush_at_once();
    }
}

impl<T: DatagramSocket> core::fmt::Debug for DatagramConnection<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("DatagramConnection").field("connection", &self.connection).finish_non_exhaustive()
    }
}
