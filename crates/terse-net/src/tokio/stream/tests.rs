//! What a stream that waits takes, and which task it wakes.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Waker;
use std::task::Wake;

use terse_tls::ServerAddress;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;
use crate::OsRng;
use crate::stream::tests::{NAME, configs};

async fn connected(size: usize) -> (TlsStream<DuplexStream>, TlsStream<DuplexStream>) {
    let (client, server, clock) = configs(false, |key| key);
    let (a, b) = tokio::io::duplex(size);
    let address = ServerAddress::new(NAME.try_into().unwrap(), 443);
    let client = Connection::client(Arc::new(client.build().unwrap()), address, clock.now(), &mut OsRng).unwrap();
    let server = Connection::server(Arc::new(server.build().unwrap()), clock.now()).unwrap();
    let (client, server) = tokio::join!(Handshake::new(client, a, clock), Handshake::new(server, b, clock));
    (client.unwrap(), server.unwrap())
}

#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Counter {
    fn new() -> (Arc<Self>, Waker) {
        let counter = Arc::new(Self::default());
        (counter.clone(), counter.into())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn poll_read(stream: &mut TlsStream<DuplexStream>, waker: &Waker) -> Poll<io::Result<usize>> {
    let mut bytes = [0; 100];
    let mut out = ReadBuf::new(&mut bytes);
    let result = Pin::new(stream).poll_read(&mut Context::from_waker(waker), &mut out);
    result.map(|result| result.map(|()| out.filled().len()))
}

#[tokio::test]
async fn a_stream_that_waits_has_no_buffers() {
    let (mut client, mut server) = connected(100_000).await;
    assert!(client.input.is_none() && client.output.is_none());
    for len in [1, 20_000] {
        client.write_all(&vec![7; len]).await.unwrap();
        client.flush().await.unwrap();
        server.read_exact(&mut vec![0; len]).await.unwrap();
        assert!(poll_read(&mut server, Waker::noop()).is_pending());
        assert!(client.output.is_none() && server.input.is_none() && server.output.is_none());
    }
}

/// The halves of a stream are two tasks. The one that reads sends what is owed, and the one that writes is woken all the
/// same when there is room for its data.
#[tokio::test]
async fn a_half_does_not_take_the_wake_up_of_the_other() {
    let (mut client, mut server) = connected(1_000).await;
    let ((reader, reads), (writer, writes)) = (Counter::new(), Counter::new());
    let mut cx = Context::from_waker(&writes);
    while Pin::new(&mut client).poll_write(&mut cx, &[7; 5_000]).is_ready() {}
    assert!(poll_read(&mut client, &reads).is_pending());
    assert_eq!((reader.count(), writer.count()), (0, 0));
    assert!(poll_read(&mut server, Waker::noop()).is_pending(), "a record is longer than what came");
    assert_eq!((reader.count(), writer.count()), (1, 1), "there is room in the transport");
    assert!(poll_read(&mut client, &reads).is_pending());
    assert!(Pin::new(&mut client).poll_flush(&mut cx).is_pending());
    server.write_all(b"hello").await.unwrap();
    assert_eq!(reader.count(), 2, "there is something to read");
    assert!(matches!(poll_read(&mut client, &reads), Poll::Ready(Ok(5))));
}

/// A task that wrote was cancelled while it waited: the one that reads sends what is left.
#[tokio::test]
async fn a_half_sends_what_the_other_has_left_when_it_was_dropped() {
    for reads_first in [false, true] {
        let (mut client, mut server) = connected(1_000).await;
        let ((reader, reads), (_, writes)) = (Counter::new(), Counter::new());
        if reads_first {
            assert!(poll_read(&mut client, &reads).is_pending());
        }
        while Pin::new(&mut client).poll_write(&mut Context::from_waker(&writes), &[7; 5_000]).is_ready() {}
        if !reads_first {
            assert!(poll_read(&mut client, &reads).is_pending());
        }
        while client.output.is_some() {
            tokio::task::yield_now().await; // a task that never does is told that nothing is ready
            let before = reader.count();
            while poll_read(&mut server, Waker::noop()).is_ready() {}
            assert!(reader.count() > before, "there is room in the transport");
            assert!(poll_read(&mut client, &reads).is_pending());
        }
    }
}

/// A write that fails looks for an alert of the peer, with the waker of the task that reads.
#[tokio::test]
async fn a_write_that_fails_does_not_take_the_wake_up_of_the_reader() {
    let (client, mut server) = connected(10_000).await;
    let (reader, reads) = Counter::new();
    let TlsStream { transport, driver, .. } = client;
    let transport = Resets { inner: transport };
    let mut client = TlsStream {
        transport,
        driver,
        input: None,
        output: None,
        needs_flush: false,
        waiting: Waiting::default(),
        early_data: Vec::new(),
    };
    let mut bytes = [0; 8];
    let mut out = ReadBuf::new(&mut bytes);
    assert!(Pin::new(&mut client).poll_read(&mut Context::from_waker(&reads), &mut out).is_pending());
    let error = client.write(b"hello").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    server.write_all(b"last words").await.unwrap();
    assert_eq!(reader.count(), 1);
    let mut received = [0; 10];
    client.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"last words");
}

/// A transport that takes nothing more, and still has what the peer sent.
struct Resets {
    inner: DuplexStream,
}

impl AsyncRead for Resets {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, out)
    }
}

impl AsyncWrite for Resets {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(ErrorKind::ConnectionReset.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn assert_is<T: Send + Sync + Unpin + 'static>() {}

/// Servers move streams between tasks and threads.
#[test]
fn streams_and_their_makers_go_everywhere() {
    assert_is::<TlsStream<tokio::net::TcpStream>>();
    assert_is::<crate::tokio::Connector>();
    assert_is::<crate::tokio::Acceptor<tokio::net::TcpStream>>();
    assert!(core::mem::size_of::<TlsStream<()>>() <= 160, "{}", core::mem::size_of::<TlsStream<()>>());
}
