//! The future of `next_event` is dropped again and again, at any point: nothing is lost by that.

use alloc::sync::Arc;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Poll;
use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use terse_net::tokio::{AsyncSigner, DatagramEndpoint};
use terse_net::{Clock, DatagramEvent, OsRng};
use terse_tls::EndpointLimits;

use super::super::world::{Relay, SAFETY_LIMIT, client, datagrams, socket};
use super::later::outside;
use super::world::{exchange, handle, runtime};

/// Of a xorshift generator (Marsaglia, 2003).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Polls a future, up to so many times again although it is pending. Returns `None` if it was not ready, and drops it.
async fn polled<T>(future: impl Future<Output = T>, mut again: u64) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if again == 0 => Poll::Ready(None),
        Poll::Pending => {
            again -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// Datagrams are lost, so that timers count, and the key answers later, so that an answer is awaited. Each future is polled
/// up to three times and then dropped, as in a `select!` whose other branch is ready.
#[test]
fn a_future_that_is_dropped_loses_nothing() {
    for seed in 1..4_u64 {
        let (config, server, key) = outside(datagrams());
        let signer: AsyncSigner = Arc::new(move |request| {
            let key = key.clone();
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok(key.sign(request.scheme(), request.message(), &mut OsRng)?.done().expect("it is in memory"))
            })
        });
        let socket = socket();
        socket.set_nonblocking(true).unwrap();
        let address = socket.local_addr().unwrap();
        let (sender, events) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        let serving = thread::spawn(move || {
            runtime().block_on(async {
                let socket = tokio::net::UdpSocket::from_std(socket).unwrap();
                let config = server.build().unwrap().into();
                let server = DatagramEndpoint::new(config, EndpointLimits::default(), socket, Clock::new());
                let mut server = server.unwrap().with_signer(signer);
                let (mut state, mut dropped) = (seed, 0_u64);
                while !stopping.load(Ordering::Relaxed) {
                    let happened = polled(server.next_event(), next(&mut state) % 3).await;
                    match happened {
                        Some(happened) => handle(&mut server, happened.unwrap(), &sender),
                        None => dropped += 1,
                    }
                    tokio::task::yield_now().await;
                }
                dropped
            })
        });
        let relay = Relay::start(address, move |_, number, datagram| match (number as u64 + seed) % 4 {
            1 => vec![],
            _ => vec![datagram],
        });
        let mut client = client(&config, relay.address);
        client.handshake().unwrap();
        exchange(&mut client);
        assert_eq!(events.recv_timeout(SAFETY_LIMIT).unwrap().event, DatagramEvent::Connected);
        stop.store(true, Ordering::Relaxed);
        assert!(serving.join().unwrap() > 20, "futures were dropped");
    }
}
