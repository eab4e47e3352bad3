//! One socket: the connections on it, and the requests on each of them.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::time::Duration;
use std::collections::HashMap;

use pki_types::CertificateDer;
use terse_brski::coap::{self, BlockSize, IncomingRequest, RequestId};
use terse_net::tokio::{DatagramEndpoint, Framing};
use terse_net::{Clock, DatagramEvent, OsRng};
use terse_tls::{ConnectionHandle, Instant, Now, PresentedPeer};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::messages::{self, Answered};
use crate::live::Live;
use crate::metrics::{Connections, OpenConnection};
use crate::places::{Origin, Place, Table};
use crate::registrar::{Service, outage};
use crate::serve::Limits;
use crate::stop::stopped;
use crate::times::Timer;

/// A socket for pledges.
pub(super) struct Front<F> {
    live: Live<Service>,
    clock: Clock,
    /// The name of the transport, for metrics.
    transport: &'static str,
    connections: Connections,
    table: Arc<Table<Evict>>,
    /// The connections of this socket that have made room for others, no more than there are places.
    evicted: UnboundedReceiver<ConnectionHandle>,
    evict: UnboundedSender<ConnectionHandle>,
    endpoint: DatagramEndpoint<F>,
    peers: HashMap<ConnectionHandle, Peer>,
    /// When something is to be done for which peer.
    alarms: BTreeSet<(Instant, ConnectionHandle)>,
    answers: JoinSet<(ConnectionHandle, RequestId, Answered)>,
    output: Box<[u8]>,
}

/// A connection whose handshake is complete.
struct Peer {
    coap: coap::Server,
    /// The certificates that it has presented.
    chain: Vec<CertificateDer<'static>>,
    /// Its entry in the alarms.
    alarm: Option<Instant>,
    /// When the connection ends because of an answer. Until then that can be sent again.
    ends: Option<Instant>,
    place: Place<Evict>,
    timer: Timer,
    _open: OpenConnection,
}

/// Tells the front of a connection that it has made room for another one.
pub(super) struct Evict {
    front: UnboundedSender<ConnectionHandle>,
    handle: ConnectionHandle,
}

impl<F: Framing> Front<F> {
    pub(super) fn new(
        live: Live<Service>,
        transport: &'static str,
        table: Arc<Table<Evict>>,
        endpoint: DatagramEndpoint<F>,
    ) -> Self {
        let service = live.current();
        let (clock, connections) = (service.inner.clock, service.inner.metrics.common.connections(transport));
        let (evict, evicted) = mpsc::unbounded_channel();
        Self {
            live,
            clock,
            transport,
            connections,
            table,
            evicted,
            evict,
            endpoint,
            peers: HashMap::new(),
            alarms: BTreeSet::new(),
            answers: JoinSet::new(),
            output: vec![0; coap::MAX_DATAGRAM].into(),
        }
    }

    /// Runs until `stop` becomes true, and then until the requests in work are answered, but no longer than `last_requests`.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>, last_requests: Duration) {
        loop {
            tokio::select! {
                () = self.step() => {}
                () = stopped(&mut stop) => break,
            }
        }
        let finish = async {
            while !self.answers.is_empty() {
                self.step().await;
            }
        };
        let _ = tokio::time::timeout(last_requests, finish).await;
        for handle in self.peers.keys().copied().collect::<Vec<_>>() {
            self.end(handle);
        }
    }

    /// Waits for the next thing that happens. Dropping the future loses nothing: all that it awaits is kept elsewhere.
    async fn step(&mut self) {
        let alarm = self.alarms.first().map(|(time, _)| time.0.saturating_sub(self.now().monotonic.0));
        tokio::select! {
            // A connection that has made room takes no request any more. There are few of these, of alarms and of answers for each
            // event, so that events are not kept waiting.
            biased;
            Some(handle) = self.evicted.recv() => self.evicted(handle),
            () = sleep(alarm) => self.time_passed(),
            Some(Ok((handle, request, answered))) = self.answers.join_next() => self.answered(handle, request, answered),
            event = self.endpoint.next_event() => match event {
                Ok((handle, event)) => self.handle(handle, event),
                Err(error) => {
                    // Sockets of UDP report what others cause.
                    tracing::warn!(%error, "nothing can be received from pledges; trying again");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }

    fn now(&self) -> Now {
        self.clock.now()
    }

    fn handle(&mut self, handle: ConnectionHandle, event: DatagramEvent) {
        match event {
            DatagramEvent::Connected => self.connected(handle),
            DatagramEvent::Data(data) => {
                let (now, largest) = (self.now(), self.largest_blocks(handle));
                if let Some(peer) = self.peers.get_mut(&handle) {
                    // Each block is a request of its own.
                    peer.timer.hear(since_start(now));
                    peer.place.active(since_start(now));
                    peer.coap.limit_response_blocks(largest);
                    peer.coap.handle_input(now, &data);
                }
                self.proceed(handle);
            }
            DatagramEvent::Failed(error) => {
                tracing::debug!(%error, "a connection of datagrams ended");
                self.count_failure(handle);
                self.end(handle);
            }
            DatagramEvent::PeerClosed => self.end(handle),
            DatagramEvent::Replaced | DatagramEvent::Evicted => {
                self.count_failure(handle);
                self.forget(handle);
            }
            _ => {}
        }
    }

    /// Counts a handshake that ends without a connection.
    fn count_failure(&self, handle: ConnectionHandle) {
        if !self.peers.contains_key(&handle) {
            self.connections.fail();
        }
    }

    fn connected(&mut self, handle: ConnectionHandle) {
        let Some(path) = self.endpoint.path(handle) else { return };
        let origin = Origin::behind(path.address().ip(), path.header());
        let Some(connection) = self.endpoint.connection(handle) else { return };
        let presented = connection.presented().into_iter().flat_map(PresentedPeer::chain);
        let chain = presented.map(CertificateDer::into_owned).collect();
        let mut config = coap::ServerConfig::default();
        config.block_size = config.block_size.min(BlockSize::for_datagram(connection.max_message()));
        config.max_request = messages::MAX_REQUEST;
        let coap = match coap::Server::new(config, &mut OsRng) {
            Ok(coap) => coap,
            Err(error) => {
                tracing::error!(%error, "there is no randomness");
                return self.end(handle);
            }
        };
        let now = since_start(self.now());
        let (place, victim) = Table::enter(&self.table, now, origin, Evict { front: self.evict.clone(), handle });
        if let Some(Evict { front, handle }) = victim {
            let _ = front.send(handle); // a front that is gone has no connections
        }
        let (timer, open) = (Timer::new(Limits::default().rules().times, now), self.connections.open());
        self.peers.insert(handle, Peer { coap, chain, alarm: None, ends: None, place, timer, _open: open });
        self.proceed(handle);
    }

    /// Ends a connection that has made room for another one.
    fn evicted(&mut self, handle: ConnectionHandle) {
        if self.peers.contains_key(&handle) {
            tracing::debug!(path = ?self.endpoint.path(handle), "a connection made room for another one");
            self.connections.evict();
            self.end(handle);
        }
    }

    /// Hands on what a peer asks, sends what there is for it, and notes when it is to be looked at again.
    fn proceed(&mut self, handle: ConnectionHandle) {
        let now = self.now();
        while let Some((id, request)) = self.peers.get_mut(&handle).and_then(|peer| peer.coap.poll_request()) {
            self.take(now, handle, id, request);
        }
        let Some(peer) = self.peers.get_mut(&handle) else { return };
        while let Some(len) = peer.coap.poll_transmit(now, &mut self.output) {
            // What is refused is as good as lost, and is asked for again.
            let _ = self.endpoint.send(handle, self.output.get(..len).unwrap_or_default());
        }
        let deadline = Some(Instant(peer.timer.deadline().as_millis() as u64)); // 584 million years
        let alarm = peer.coap.poll_timeout().into_iter().chain(peer.ends).chain(deadline).min();
        if let Some(old) = core::mem::replace(&mut peer.alarm, alarm) {
            self.alarms.remove(&(old, handle));
        }
        self.alarms.extend(alarm.map(|alarm| (alarm, handle)));
    }

    /// Has a request answered, in a task of its own.
    fn take(&mut self, now: Now, handle: ConnectionHandle, id: RequestId, request: IncomingRequest) {
        let Some(peer) = self.peers.get_mut(&handle) else { return };
        if peer.ends.is_some() {
            let _ = peer.coap.abandon(now, &mut OsRng, id); // without randomness, the peer hears nothing
            return;
        }
        let address = self.endpoint.path(handle).map(|path| path.address().ip());
        let time = since_start(now);
        let service = self.live.current();
        let admitted = address.map_or(Ok(()), |address| service.inner.rate.admit(address, time));
        if let Err(wait) = admitted {
            let response = messages::too_many(&service, self.transport, &request, outage::retry_after(wait));
            let _ = peer.coap.respond(now, &mut OsRng, id, response);
            return;
        }
        peer.timer.begin_request();
        let (transport, chain) = (self.transport, peer.chain.clone());
        self.answers.spawn(async move { (handle, id, messages::answer(&service, transport, chain, request).await) });
    }

    /// The largest blocks of answers. A peer that goes on from elsewhere, as behind a join proxy that has forgotten it, gets three
    /// times as many bytes as it has sent from there, unless it answers return routability checks. So it asks for each block.
    fn largest_blocks(&self, handle: ConnectionHandle) -> BlockSize {
        match self.endpoint.needs_confirmation(handle) {
            true => BlockSize::at_most(UNCONFIRMED_BLOCK),
            false => BlockSize::MAX,
        }
    }

    fn answered(&mut self, handle: ConnectionHandle, id: RequestId, answered: Answered) {
        let (now, largest) = (self.now(), self.largest_blocks(handle));
        let (is_later, is_proof) = (answered.is_later(), answered.is_proof());
        let Answered { response, closes, .. } = answered;
        if let Some(peer) = self.peers.get_mut(&handle) {
            peer.timer.answer(since_start(now), is_later);
            peer.place.active(since_start(now));
            if is_proof {
                peer.place.prove();
            }
            peer.coap.limit_response_blocks(largest);
            if let Err(error) = peer.coap.respond(now, &mut OsRng, id, response) {
                tracing::error!(%error, "there is no randomness for an answer");
            }
            if closes {
                peer.ends = Some(Instant(now.monotonic.0.saturating_add(LINGER_MS)));
            }
        }
        self.proceed(handle);
    }

    /// Does what is due. Each call ends with alarms in the future.
    fn time_passed(&mut self) {
        let now = self.now();
        while let Some((_, handle)) = self.alarms.first().copied().filter(|(time, _)| *time <= now.monotonic) {
            self.alarms.pop_first();
            let Some(peer) = self.peers.get_mut(&handle) else { continue };
            peer.alarm = None;
            let is_over = peer.timer.deadline() <= since_start(now);
            if is_over || peer.ends.is_some_and(|ends| ends <= now.monotonic) {
                self.end(handle);
                continue;
            }
            peer.coap.handle_timeout(now);
            self.proceed(handle);
        }
    }

    fn end(&mut self, handle: ConnectionHandle) {
        self.endpoint.end(handle);
        self.forget(handle);
    }

    fn forget(&mut self, handle: ConnectionHandle) {
        if let Some(alarm) = self.peers.remove(&handle).and_then(|peer| peer.alarm) {
            self.alarms.remove(&(alarm, handle));
        }
    }
}

/// Returns the time as places and time limits count it.
const fn since_start(now: Now) -> Duration {
    Duration::from_millis(now.monotonic.0)
}

/// Waits for some milliseconds, or for ever.
async fn sleep(milliseconds: Option<u64>) {
    match milliseconds {
        Some(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        None => core::future::pending().await,
    }
}

/// How long nothing is received after that has failed.
const PAUSE: Duration = Duration::from_millis(100);

/// How long an answer that closes its connection can be asked for again: until a client has sent its request three times
/// (RFC 7252, 4.8: 2 s to 3 s, then twice as long).
const LINGER_MS: u64 = 10_000;

/// The bytes of a block on a path that is not validated. A request for a block has 45 bytes at least, record included, and what
/// comes with a block 50 at most.
const UNCONFIRMED_BLOCK: usize = 64;
