//! A connection over an asynchronous byte stream (RFC 9846, 5; RFC 5246, 6).
//!
//! What must always hold: a byte is written once and none is lost, whenever a call is pending or dropped; the memory of
//! a stream that waits is that of its connection, and buffers exist only while something is in them; a writer waits
//! while more than [`Common::max_send_buffer`](terse_tls::Common::max_send_buffer) bytes are left to send; each direction
//! of the transport wakes each half that waits, also for the other one; a transport that ends without a close_notify is never
//! a proper end.

use alloc::sync::Arc;
use alloc::task::Wake;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use std::io::{self, ErrorKind};

use terse_tls::{Connection, Error};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::buffer::Buffer;
use crate::driver::{Driver, is_reset};
use crate::{Clock, NetError};

mod handshake;
#[cfg(feature = "hyper")]
mod hyper;
mod io_traits;

pub use handshake::Handshake;
pub(super) use handshake::Hooks;

/// A connection over an asynchronous byte stream, such as a [`tokio::net::TcpStream`]: the asynchronous counterpart of
/// [`crate::Stream`]. Its handshake is complete.
///
/// A [`Connector`](super::Connector), an [`Acceptor`](super::Acceptor) or a [`Handshake`] makes one. It is used through
/// [`AsyncRead`] and [`AsyncWrite`], and with the feature `hyper` through `hyper::rt::Read` and `hyper::rt::Write`.
/// `tokio::io::split` gives halves for two tasks.
///
/// - Reading gives [`ErrorKind::UnexpectedEof`] if the transport ends without a close_notify, since somebody may have cut
///   what the peer said. After a close_notify it gives 0 bytes.
/// - Writing takes data as long as there is room, and makes records of it. A call that reads also sends what is left to
///   send, but only [`AsyncWrite::poll_flush`] waits for that.
/// - [`AsyncWrite::poll_shutdown`] sends a close_notify and shuts the transport down for writing. What the peer still
///   sends can be read. A stream that is dropped before is one that somebody cut, for the peer.
///
/// An error of the protocol ends the connection, and its alert has then been given to the transport, if that took it.
/// Such an [`io::Error`] has a [`NetError`] inside, which says more.
pub struct TlsStream<S> {
    transport: S,
    driver: Box<Driver>,
    /// What was received and is not handled yet, because application data waits to be read first.
    input: Option<Buffer>,
    /// The records that the transport has not taken yet.
    output: Option<Buffer>,
    /// Whether the transport has taken anything since it was flushed.
    needs_flush: bool,
    waiting: Waiting,
    early_data: Vec<u8>,
}

/// The tasks that wait for the halves of a stream. A transport remembers one task for each of its directions, while both
/// halves of a stream may use both directions.
#[derive(Default)]
struct Waiting {
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl<S> TlsStream<S> {
    /// Returns the connection, for its summary and what was negotiated.
    pub fn connection(&self) -> &Connection {
        &self.driver.connection
    }

    /// Whether the peer has closed its direction properly.
    pub fn peer_closed(&self) -> bool {
        self.driver.peer_closed()
    }

    /// Returns the early data that a client sent before the handshake was complete, once. It may be a replay; see
    /// [`Connection::recv_early_data`]. It is never part of what is read.
    pub fn take_early_data(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.early_data)
    }

    /// Replaces the keys of this direction, and asks the peer to do the same in its own (RFC 9846, 4.7.3). The next call
    /// that reads, writes or flushes sends the message.
    pub fn update_keys(&mut self, request_peer: bool) -> Result<(), NetError> {
        Ok(self.driver.connection.update_keys(request_peer)?)
    }

    /// Returns the transport, for its addresses and options.
    pub fn transport(&self) -> &S {
        &self.transport
    }

    /// Returns the transport. Reading from it or writing to it breaks the connection.
    pub fn transport_mut(&mut self) -> &mut S {
        &mut self.transport
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream<S> {
    fn new(connection: Connection, transport: S, clock: Clock) -> Self {
        Self {
            transport,
            driver: Box::new(Driver::new(connection, clock)),
            input: None,
            output: None,
            needs_flush: false,
            waiting: Waiting::default(),
            early_data: Vec::new(),
        }
    }

    /// Waits for application data, which `take` takes from the connection. Returns how many bytes it took, and 0 once
    /// the peer has closed the connection properly.
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        take: &mut dyn FnMut(&mut Connection) -> usize,
    ) -> Poll<Result<usize, NetError>> {
        loop {
            if let Some(len) = self.take_data(take) {
                return Poll::Ready(Ok(len));
            }
            // What is owed to the peer goes out meanwhile. Whoever writes waits for that, too, and has its errors.
            let both = waker_of(cx.waker(), self.waiting.writer.as_ref());
            let sent = self.poll_flush_all(&mut Context::from_waker(&both));
            // The search for the alert of a peer that takes nothing more may have found data.
            if matches!(sent, Poll::Ready(Err(_)))
                && let Some(len) = self.take_data(take)
            {
                return Poll::Ready(Ok(len));
            }
            let result = self.poll_input(cx);
            remember(&mut self.waiting.reader, cx, result.is_pending());
            ready!(result)?;
        }
    }

    /// Takes data that was received. Returns 0 at the proper end, and `None` if there is nothing yet.
    fn take_data(&mut self, take: &mut dyn FnMut(&mut Connection) -> usize) -> Option<usize> {
        let len = take(&mut self.driver.connection);
        let is_there = len > 0 || self.driver.peer_closed();
        if is_there {
            self.waiting.reader = None;
        }
        is_there.then_some(len)
    }

    /// Takes data to send, at least one byte of it unless it is empty.
    fn poll_send(&mut self, cx: &mut Context<'_>, data: &[u8]) -> Poll<Result<usize, NetError>> {
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        loop {
            let taken = self.driver.connection.send(data)?;
            let sent = self.poll_output(cx)?;
            if taken > 0 {
                return Poll::Ready(Ok(taken)); // `max_send_buffer` limits what was not sent yet
            }
            ready!(sent);
        }
    }

    /// Closes this side, and shuts the transport down for writing.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        self.driver.connection.close();
        ready!(self.poll_flush_all(cx))?;
        match ready!(Pin::new(&mut self.transport).poll_shutdown(cx)) {
            Err(error) if error.kind() != ErrorKind::NotConnected => Poll::Ready(Err(NetError::Io(error))),
            _ => Poll::Ready(Ok(())), // a peer that is gone needs no end
        }
    }

    /// Gives the connection the input that was read, or reads some first.
    fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        if self.input.is_none() {
            match ready!(self.poll_fill(cx)) {
                Ok(0) => return Poll::Ready(self.driver.end_of_input()),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(self.driver.io_error(error))),
            }
        }
        let result = self.handle_input();
        if result.is_err() {
            let _ = self.poll_flush_all(cx); // the alert; the error to report is the one that caused it
        }
        Poll::Ready(result.map_err(NetError::from))
    }

    /// Gives the connection the input that was read, if there is any.
    fn handle_input(&mut self) -> Result<(), Error> {
        let Some(mut input) = self.input.take() else { return Ok(()) };
        let result = self.driver.handle_input(&mut input);
        // After an error the input stays, so that the next call has the same error.
        if input.is_empty() {
            input.give_back();
        } else {
            self.input = Some(input);
        }
        result
    }

    /// Reads from the transport, of which nothing is left to handle. Returns 0 at its end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut input = Buffer::spare();
        let mut result = Poll::Pending;
        input.fill_with(|bytes| {
            let mut out = ReadBuf::new(bytes);
            result = Pin::new(&mut self.transport).poll_read(cx, &mut out);
            out.filled().len()
        });
        let Poll::Ready(result) = result else {
            input.give_back();
            return Poll::Pending;
        };
        self.driver.turn();
        let len = input.filled_mut().len();
        if result.is_ok() && len > 0 {
            self.input = Some(input);
        } else {
            input.give_back();
        }
        Poll::Ready(result.map(|()| len))
    }

    /// Gives the transport the records that are left to send.
    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        loop {
            let mut output = self.output.take().unwrap_or_else(Buffer::spare);
            if output.is_empty() {
                self.driver.fill_output(&mut output);
            }
            if output.is_empty() {
                output.give_back();
                return Poll::Ready(Ok(()));
            }
            let result = Pin::new(&mut self.transport).poll_write(cx, output.filled_mut());
            if let Poll::Ready(Ok(len)) = result {
                output.consume(len);
                self.needs_flush = true;
            }
            if output.is_empty() {
                output.give_back();
            } else {
                self.output = Some(output);
            }
            match ready!(result) {
                Ok(0) => return Poll::Ready(Err(NetError::Io(ErrorKind::WriteZero.into()))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(self.write_failed(cx, error))),
            }
        }
    }

    /// Gives the transport the records that are left to send, and flushes it.
    fn poll_flush_all(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        ready!(self.poll_output(cx))?;
        if self.needs_flush {
            ready!(Pin::new(&mut self.transport).poll_flush(cx)).map_err(NetError::Io)?;
            self.needs_flush = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Returns the reason for which the transport takes nothing more: the alert that a peer sent before it dropped the
    /// connection, if there is one and no data before it waits to be read.
    fn write_failed(&mut self, cx: &mut Context<'_>, error: io::Error) -> NetError {
        let reader = self.waiting.reader.take();
        let alert = is_reset(&error).then(|| self.unread_alert(reader.as_ref().unwrap_or(cx.waker()))).flatten();
        self.waiting.reader = reader;
        match alert {
            Some(alert) => alert,
            // The transport may still have data of the peer.
            None if self.driver.connection.is_connected() => NetError::Io(error),
            None => self.driver.io_error(error),
        }
    }

    fn unread_alert(&mut self, reader: &Waker) -> Option<NetError> {
        loop {
            match self.handle_input() {
                Ok(()) if self.input.is_some() => return None, // data waits
                Ok(()) => {}
                Err(error @ Error::AlertReceived(_)) => return Some(error.into()),
                Err(_) => return None,
            }
            if !matches!(self.poll_fill(&mut Context::from_waker(reader)), Poll::Ready(Ok(1..))) {
                return None;
            }
        }
    }
}

/// Returns a waker of a task, and of the other half's if that is another one. The other half may have been dropped while it
/// waited: what it left to send must not depend on it.
fn waker_of(own: &Waker, other: Option<&Waker>) -> Waker {
    match other {
        Some(other) if !other.will_wake(own) => Arc::new(Both(own.clone(), other.clone())).into(),
        _ => own.clone(),
    }
}

struct Both(Waker, Waker);

impl Wake for Both {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
        self.1.wake_by_ref();
    }
}

/// Notes whether the task of `cx` waits.
fn remember(slot: &mut Option<Waker>, cx: &Context<'_>, waits: bool) {
    match slot {
        _ if !waits => *slot = None,
        Some(waker) => waker.clone_from(cx.waker()),
        None => *slot = Some(cx.waker().clone()),
    }
}

impl<S> core::fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TlsStream").field("connection", &self.driver.connection).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
