//! Every byte arrives once and in order, whatever the transport and the application do.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSlice};

use proptest::prelude::*;
use terse_tls::ProtocolVersion;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, split};

use super::world::{World, soon};

fn data(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add((i >> 8) as u8) ^ seed).collect()
}

/// Sends and receives on both sides at the same time, by the halves of each stream, each half in a task of its own.
async fn exchange(world: &World, buffer: usize, len: usize) {
    let (client, server) = world.pair(buffer).await;
    let mut tasks = Vec::new();
    for (stream, own, other) in [(client, 1, 2), (server, 2, 1)] {
        let (mut reader, mut writer) = split(stream);
        tasks.push(tokio::spawn(async move {
            let mut received = Vec::new();
            reader.read_to_end(&mut received).await.unwrap();
            assert!(received == data(len, other));
        }));
        tasks.push(tokio::spawn(async move {
            writer.write_all(&data(len, own)).await.unwrap();
            writer.shutdown().await.unwrap();
        }));
    }
    for task in tasks {
        soon(task).await.unwrap();
    }
}

#[tokio::test]
async fn both_ways_at_once_through_tiny_transports() {
    let mut world = World::new();
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        world.client.versions(vec![version]);
        for (buffer, len) in [(1, 3_000), (7, 20_000), (64, 100_000), (5_000, 1_000_000)] {
            exchange(&world, buffer, len).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn halves_of_a_stream_on_two_threads() {
    let world = World::new();
    for buffer in [64, 3_000] {
        exchange(&world, buffer, 300_000).await;
    }
}

/// While nobody reads on the other side, a writer waits: neither side buffers without end.
#[tokio::test]
async fn a_writer_waits_for_a_reader() {
    const BUFFER: usize = 1_000;
    let mut world = World::new();
    world.client.max_send_buffer(20_000);
    let (mut client, mut server) = world.pair(BUFFER).await;
    let chunk = data(10_000, 0);
    let mut taken = 0;
    loop {
        let write = Pin::new(&mut client).poll_write(&mut Context::from_waker(core::task::Waker::noop()), &chunk);
        match write {
            Poll::Ready(result) => taken += result.unwrap(),
            Poll::Pending => break,
        }
    }
    // What the transport holds, what one buffer holds, and the records that the connection has made.
    assert!((BUFFER..BUFFER + 17_000 + 20_000 + 17_000).contains(&taken), "{taken}");
    let mut received = vec![0; taken];
    let (flushed, read) = soon(async { tokio::join!(client.flush(), server.read_exact(&mut received)) }).await;
    flushed.unwrap();
    read.unwrap();
    assert!(received.chunks(10_000).all(|received| chunk.starts_with(received)));
}

/// A reader sends what the engine owes, also what a writer did not wait for.
#[tokio::test]
async fn a_reader_sends_what_a_writer_left() {
    let (mut client, mut server) = World::new().pair(50).await;
    let mut received = [0; 5_000];
    let ask_and_wait = async {
        client.write_all(&data(5_000, 3)).await.unwrap(); // it is not flushed
        let mut answer = [0; 2];
        client.read_exact(&mut answer).await.unwrap();
        answer
    };
    let answer = async {
        server.read_exact(&mut received).await.unwrap();
        server.write_all(b"ok").await.unwrap();
        server.flush().await.unwrap();
    };
    let (received_answer, ()) = soon(async { tokio::join!(ask_and_wait, answer) }).await;
    assert_eq!(&received_answer, b"ok");
    assert!(received[..] == data(5_000, 3));
}

#[tokio::test]
async fn pieces_leave_in_one_record() {
    let (mut client, mut server) = World::new().pair(100_000).await;
    assert!(client.is_write_vectored());
    let pieces = [IoSlice::new(b""), IoSlice::new(b"head, "), IoSlice::new(b""), IoSlice::new(b"body")];
    assert_eq!(client.write_vectored(&pieces).await.unwrap(), 10);
    client.flush().await.unwrap();
    let mut received = [0; 100];
    assert_eq!(server.read(&mut received).await.unwrap(), 10, "a read gives what one record holds");
    assert_eq!(&received[..10], b"head, body");
    // Of pieces that are longer than a record, as much is taken as one record holds.
    let (short, long) = (data(100, 1), data(30_000, 2));
    let taken = client.write_vectored(&[IoSlice::new(&short), IoSlice::new(&long)]).await.unwrap();
    assert_eq!(taken, client.connection().max_message());
    assert_eq!(client.write_vectored(&[]).await.unwrap(), 0);
    assert_eq!(client.write(&[]).await.unwrap(), 0);
    client.flush().await.unwrap();
    let mut received = vec![0; taken];
    server.read_exact(&mut received).await.unwrap();
    assert!(received == [&short[..], &long[..taken - 100]].concat());
    assert_eq!(server.read(&mut []).await.unwrap(), 0, "and it does not wait");
}

/// A buffer that is not initialised receives the same bytes as one that is.
#[tokio::test]
async fn memory_that_is_not_initialised_is_filled() {
    let (mut client, mut server) = World::new().pair(100_000).await;
    client.write_all(&data(16_000, 5)).await.unwrap();
    client.flush().await.unwrap();
    let mut received = Vec::with_capacity(10_000);
    while received.len() < 10_000 {
        server.read_buf(&mut received).await.unwrap();
    }
    let mut rest = vec![0; 6_000];
    server.read_exact(&mut rest).await.unwrap();
    assert!([received, rest].concat() == data(16_000, 5));
}

/// The peer asks for new keys while this side only reads: the answer leaves without a write.
#[tokio::test]
async fn keys_change_on_both_sides_while_one_only_reads() {
    let (mut client, mut server) = World::new().pair(100_000).await;
    for round in 0..3_u8 {
        client.update_keys(true).unwrap();
        client.write_all(&[round]).await.unwrap();
        client.flush().await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), round);
        // The server waits for data, and sends its KeyUpdate meanwhile.
        let waits = Pin::new(&mut server)
            .poll_read(&mut Context::from_waker(core::task::Waker::noop()), &mut ReadBuf::new(&mut [0; 8]));
        assert!(waits.is_pending());
        let before = client.connection().summary().received.post_handshake_bytes;
        let waits = Pin::new(&mut client)
            .poll_read(&mut Context::from_waker(core::task::Waker::noop()), &mut ReadBuf::new(&mut [0; 8]));
        assert!(waits.is_pending());
        assert!(client.connection().summary().received.post_handshake_bytes > before, "a KeyUpdate came");
    }
    server.write_all(b"done").await.unwrap();
    server.flush().await.unwrap();
    let mut received = [0; 4];
    soon(client.read_exact(&mut received)).await.unwrap();
    assert_eq!(&received, b"done");
}

/// A transport that moves some bytes at a time, and is often pending for no reason.
struct Moody<S> {
    inner: S,
    moods: Vec<u8>,
    at: usize,
}

impl<S> Moody<S> {
    /// Returns how many bytes to move, or `None` if the call is pending and wakes its task.
    fn mood(&mut self, cx: &Context<'_>) -> Option<usize> {
        let mood = self.moods[self.at % self.moods.len()];
        self.at += 1;
        if mood.is_multiple_of(3) && !self.at.is_multiple_of(7) {
            cx.waker().wake_by_ref();
            return None;
        }
        Some(usize::from(mood) + 1)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Moody<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Some(most) = self.mood(cx) else { return Poll::Pending };
        let mut part = vec![0; most.min(out.remaining())];
        let mut read = ReadBuf::new(&mut part);
        let result = Pin::new(&mut self.inner).poll_read(cx, &mut read);
        out.put_slice(read.filled());
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Moody<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let Some(most) = self.mood(cx) else { return Poll::Pending };
        Pin::new(&mut self.inner).poll_write(cx, &data[..most.min(data.len())])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.mood(cx).is_none() {
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.mood(cx).is_none() {
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Writes `data` in pieces of these lengths; some calls are dropped while they wait, and some pieces are flushed.
async fn write_oddly(writer: &mut (impl AsyncWrite + Unpin), mut data: &[u8], lengths: &[u16]) {
    for round in 0.. {
        if data.is_empty() {
            return;
        }
        let length = lengths[round % lengths.len()];
        let piece = &data[..data.len().min(usize::from(length) + 1)];
        let taken = if length.is_multiple_of(4) {
            // A write that is dropped while it waits has taken nothing.
            tokio::select! {
                biased;
                taken = writer.write(piece) => taken.unwrap(),
                () = tokio::task::yield_now() => 0,
            }
        } else {
            writer.write(piece).await.unwrap()
        };
        data = &data[taken..];
        if length.is_multiple_of(5) {
            writer.flush().await.unwrap();
        }
    }
}

async fn read_oddly(reader: &mut (impl AsyncRead + Unpin), lengths: &[u16]) -> Vec<u8> {
    let mut received = Vec::new();
    for round in 0.. {
        let length = lengths[round % lengths.len()];
        let mut piece = vec![0; usize::from(length) + 1];
        let len = if length.is_multiple_of(3) {
            tokio::select! {
                biased;
                len = reader.read(&mut piece) => len.unwrap(),
                () = tokio::task::yield_now() => continue,
            }
        } else {
            reader.read(&mut piece).await.unwrap()
        };
        if len == 0 {
            break;
        }
        received.extend_from_slice(&piece[..len]);
    }
    received
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_cut_and_dropped_arrives_once_and_in_order(
        buffer in 1..2_000_usize,
        len in 0..40_000_usize,
        moods in prop::collection::vec(any::<u8>(), 1..20),
        lengths in prop::collection::vec(0..6_000_u16, 1..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            let (a, b) = tokio::io::duplex(buffer);
            let moody = |inner, skip| Moody { inner, moods: moods.iter().copied().chain([skip, 1]).collect(), at: 0 };
            let server = terse_net::tokio::Handshake::new(world.server_connection(), moody(b, 5), world.clock);
            let client = world.connector().connect(super::world::name(), moody(a, 8));
            let (client, server) = soon(async { tokio::join!(client, server) }).await;
            let (mut client, mut server) = (split(client.unwrap()), split(server.unwrap()));
            soon(async {
                let (from_server, from_client, (), ()) = tokio::join!(
                    read_oddly(&mut client.0, &lengths),
                    read_oddly(&mut server.0, &lengths),
                    async { write_oddly(&mut client.1, &data(len, 1), &lengths).await; client.1.shutdown().await.unwrap() },
                    async { write_oddly(&mut server.1, &data(len, 2), &lengths).await; server.1.shutdown().await.unwrap() },
                );
                assert!(from_server == data(len, 2) && from_client == data(len, 1));
            }).await;
        });
    }
}
