//! The handshake of a connection over an asynchronous byte stream, as a future.
//!
//! What must always hold: private keys and stores that answer later are awaited, and block nobody; the transport is read
//! while it takes no output, so that two sides with much to send do not wait for each other; an error is returned after
//! the transport took its alert; a handshake that is dropped is one that the application has given up.

use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};

use terse_tls::cache::StoreAnswer;
use terse_tls::crypto::CryptoError;
use terse_tls::{Connection, Error, ProtocolVersion};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::super::later::{Answer, AsyncSigner, AsyncStore};
use super::TlsStream;
use crate::buffer::Buffer;
use crate::{Clock, NetError};

/// A handshake under way: a future that gives a [`TlsStream`] when it is complete.
///
/// It has no time limit of its own. [`Connector`](crate::tokio::Connector) and [`Acceptor`](crate::tokio::Acceptor) have one, and
/// [`tokio::time::timeout`] sets one. When it is dropped before its end, the cache of a client counts the server as one
/// that did not answer (docs/caching.md, 4.2), and the peer is told if the transport takes the alert at once.
#[must_use = "a handshake makes progress only while it is awaited"]
pub struct Handshake<S: AsyncRead + AsyncWrite + Unpin> {
    /// It is taken when the handshake is complete.
    stream: Option<TlsStream<S>>,
    hooks: Hooks,
    later: Option<Later>,
    failure: Option<NetError>,
    is_over: bool,
}

/// The answers to what an engine asks for that are given later.
#[derive(Clone, Default)]
pub(in super::super) struct Hooks {
    pub(in super::super) signer: Option<AsyncSigner>,
    pub(in super::super) store: Option<AsyncStore>,
}

/// An answer that is awaited.
enum Later {
    Signature(Answer<Result<Vec<u8>, CryptoError>>),
    Store(Answer<StoreAnswer>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Handshake<S> {
    /// Creates the handshake of `connection`, of a client or a server, which has not sent anything yet, on `transport`.
    pub fn new(connection: Connection, transport: S, clock: Clock) -> Self {
        let stream = Some(TlsStream::new(connection, transport, clock));
        Self { stream, hooks: Hooks::default(), later: None, failure: None, is_over: false }
    }

    /// Asks `signer` for signatures of private keys that answer [`Signing::Pending`](terse_tls::crypto::Signing::Pending).
    /// Without one, such a key cannot sign, and the handshake fails.
    pub fn with_signer(mut self, signer: AsyncSigner) -> Self {
        self.hooks.signer = Some(signer);
        self
    }

    /// Asks `store` what a server's store answers later. Without one, such a store counts as unavailable, which costs a
    /// full handshake.
    pub fn with_store(mut self, store: AsyncStore) -> Self {
        self.hooks.store = Some(store);
        self
    }

    pub(in super::super) fn with_hooks(mut self, hooks: Hooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// The application stops waiting for the peer (docs/caching.md, 4.2). Returns the reason: the time is over, unless the
    /// handshake has failed before and only its alert was left to send.
    pub(in super::super) fn give_up(&mut self) -> NetError {
        self.abandon();
        self.failure.take().unwrap_or(NetError::TimedOut { in_handshake: true })
    }

    /// Ends the transport of a handshake that has failed, so that its alert arrives: a socket that is closed with unread
    /// bytes resets the connection, and the peer loses what it has not read yet.
    pub(in super::super) async fn linger(&mut self) {
        let Some(TlsStream { transport, .. }) = &mut self.stream else { return };
        let (mut is_shut_down, mut left) = (false, MAX_LINGER_BYTES);
        core::future::poll_fn(|cx| {
            if !is_shut_down {
                match ready!(Pin::new(&mut *transport).poll_shutdown(cx)) {
                    Ok(()) => is_shut_down = true,
                    Err(_) => return Poll::Ready(()), // the peer is gone already
                }
            }
            while left > 0 {
                match ready!(poll_discard(transport, cx)) {
                    0 => break,
                    len => left = left.saturating_sub(len),
                }
            }
            Poll::Ready(())
        })
        .await;
    }

    fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        loop {
            let Some(stream) = &mut self.stream else { return Poll::Ready(Ok(())) };
            if self.failure.is_some() {
                let _ = ready!(stream.poll_flush_all(cx)); // the error to report is the one that caused the alert
                return Poll::Ready(self.failure.take().map_or(Ok(()), Err));
            }
            let result = match self.later.take() {
                Some(later) => match later.poll(cx, stream) {
                    Ok(result) => result.map_err(NetError::from),
                    Err(later) => {
                        self.later = Some(later);
                        return Poll::Pending;
                    }
                },
                None => {
                    // A transport that takes no output may have input.
                    let sent = stream.poll_flush_all(cx);
                    match sent {
                        Poll::Ready(Err(error)) => Err(error),
                        _ if !stream.driver.connection.is_handshaking() => {
                            // A client may have something to say before it reads its tickets.
                            return if stream.owes_tickets_alone() { Poll::Ready(Ok(())) } else { sent };
                        }
                        _ => ready!(stream.poll_input(cx)),
                    }
                }
            };
            match result {
                Ok(()) => {
                    stream.keep_early_data();
                    self.later = self.hooks.ask(stream);
                }
                Err(error) => {
                    stream.driver.give_up(); // unless the connection has failed by itself
                    self.failure = Some(error);
                }
            }
        }
    }

    /// Tells the cache and the peer that nobody waits any longer.
    fn abandon(&mut self) {
        if core::mem::replace(&mut self.is_over, true) {
            return;
        }
        if let Some(stream) = &mut self.stream {
            stream.driver.give_up();
            let _ = stream.poll_flush_all(&mut Context::from_waker(Waker::noop()));
        }
    }
}

/// The most bytes that a peer may still send after this side has given up; then the connection is dropped.
const MAX_LINGER_BYTES: usize = 0x2_0000;

/// Reads what a peer still sends. Returns 0 at its end, or when the peer is gone.
fn poll_discard(transport: &mut (impl AsyncRead + Unpin), cx: &mut Context<'_>) -> Poll<usize> {
    let mut ignored = Buffer::spare();
    let mut out = Poll::Pending;
    ignored.fill_with(|bytes| {
        let mut read = ReadBuf::new(bytes);
        out = Pin::new(transport).poll_read(cx, &mut read).map(|result| result.map_or(0, |()| read.filled().len()));
        0
    });
    ignored.give_back();
    out
}

impl Hooks {
    /// Asks for what the connection waits for.
    fn ask<S>(&self, stream: &TlsStream<S>) -> Option<Later> {
        let connection = &stream.driver.connection;
        if let Some(request) = connection.signature_request() {
            let answer = match &self.signer {
                Some(signer) => signer(request.clone()),
                None => Box::pin(core::future::ready(Err(CryptoError::SigningFailed))),
            };
            return Some(Later::Signature(answer));
        }
        let request = connection.store_request()?.clone();
        let answer = match &self.store {
            Some(store) => store(request.clone()),
            None => Box::pin(core::future::ready(StoreAnswer::unavailable(&request))),
        };
        Some(Later::Store(answer))
    }
}

impl Later {
    /// Gives the answer to the connection. Returns itself if it has to be waited for.
    fn poll<S>(self, cx: &mut Context<'_>, stream: &mut TlsStream<S>) -> Result<Result<(), Error>, Self> {
        match self {
            Self::Signature(mut answer) => match answer.as_mut().poll(cx) {
                Poll::Ready(signature) => {
                    Ok(stream.driver.provide_signature(signature.as_deref().map_err(|error| *error)))
                }
                Poll::Pending => Err(Self::Signature(answer)),
            },
            Self::Store(mut answer) => match answer.as_mut().poll(cx) {
                Poll::Ready(answer) => Ok(stream.driver.provide_store_answer(answer)),
                Poll::Pending => Err(Self::Store(answer)),
            },
        }
    }
}

impl<S> TlsStream<S> {
    /// Whether nothing that a complete handshake has left to send is a part of it: a server's flight is the last but one
    /// (RFC 9846, 2), and tickets follow.
    fn owes_tickets_alone(&self) -> bool {
        let connection = &self.driver.connection;
        !connection.is_client() && connection.summary().version == Some(ProtocolVersion::TLS_1_3)
    }

    /// Takes early data out of the way of the handshake. The configuration limits its length.
    fn keep_early_data(&mut self) {
        let mut piece = [0; 1024];
        loop {
            let len = self.driver.connection.recv_early_data(&mut piece);
            if len == 0 {
                return;
            }
            self.early_data.extend_from_slice(&piece[..len]);
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Handshake<S> {
    type Output = Result<TlsStream<S>, NetError>;

    /// # Panics
    ///
    /// Panics if it is called again after the handshake was complete.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(self.poll_handshake(cx));
        self.is_over = true;
        Poll::Ready(result.map(|()| self.stream.take().expect("a complete handshake is polled no more")))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Drop for Handshake<S> {
    fn drop(&mut self) {
        self.abandon();
    }
}
