//! The tasks of an acceptor: one accepts transports, and each handshake has one of its own.
//!
//! What must always hold: a handshake holds its place in the table until its task is over or its connection is taken; every
//! handshake ends, by itself, at its time limit, or when it is evicted; no error ends the task that accepts.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::net::SocketAddr;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use terse_tls::{Connection, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, sleep, timeout_at};

use super::super::stream::{Handshake, Hooks, TlsStream};
use super::listener::{BackOff, Listener};
use super::table::{Entry, Origin, Table};
use super::{AcceptorCounters, AcceptorEvent, Observer};
use crate::{Clock, NetError};

/// What the tasks and the handles of an acceptor share.
pub(super) struct Shared {
    pub(super) config: Mutex<Arc<ServerConfig>>,
    pub(super) clock: Clock,
    pub(super) hooks: Hooks,
    pub(super) limit: Duration,
    pub(super) observer: Option<Observer>,
    pub(super) state: Mutex<State>,
    /// Notified when the table may have room again.
    pub(super) room: Notify,
    /// Whether nobody is accepted any more.
    pub(super) stopped: watch::Sender<bool>,
}

pub(super) struct State {
    pub(super) table: Table<Evict>,
    pub(super) counters: AcceptorCounters,
}

/// Whoever drops this evicts the handshake.
pub(super) type Evict = oneshot::Sender<Infallible>;

/// A connection that waits for the application.
pub(super) struct Ready<T> {
    pub(super) stream: TlsStream<T>,
    pub(super) peer: SocketAddr,
    pub(super) _place: Place,
}

/// A place in the table.
pub(super) struct Place {
    shared: Arc<Shared>,
    /// The handshake, or `None` once it is complete.
    entry: Option<Entry>,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn count(&self, count: impl FnOnce(&mut AcceptorCounters)) {
        count(&mut self.state().counters);
    }

    fn report(&self, event: &AcceptorEvent<'_>) {
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }

    /// Counts and reports a handshake that failed.
    fn failed(&self, peer: SocketAddr, error: &NetError) {
        self.count(|counters| match error.is_timeout() {
            true => counters.timed_out += 1,
            false => counters.failed += 1,
        });
        self.report(&AcceptorEvent::Failed { peer, error });
    }

    /// Counts and reports a handshake that made room for another one.
    fn evicted(&self, peer: SocketAddr) {
        self.count(|counters| counters.evicted += 1);
        self.report(&AcceptorEvent::Evicted { peer });
    }

    async fn until_room(&self) {
        while !self.state().table.has_room() {
            self.room.notified().await;
        }
    }
}

/// Nothing that holds a lock here panics half way, so that what a poisoned one protects is whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    fn enter(shared: &Arc<Shared>, peer: SocketAddr) -> (Self, oneshot::Receiver<Infallible>) {
        let (evict, evicted) = oneshot::channel();
        let mut state = shared.state();
        state.counters.accepted += 1;
        let (entry, victim) = state.table.enter(Origin::of(peer), evict);
        drop(state);
        drop(victim); // which wakes its task
        (Self { shared: shared.clone(), entry: Some(entry) }, evicted)
    }

    /// Returns whether the handshake was not evicted before it was complete.
    fn complete(&mut self) -> bool {
        let Some(entry) = self.entry else { return false };
        let mut state = self.shared.state();
        let is_there = state.table.complete(entry);
        if is_there {
            self.entry = None;
            state.counters.completed += 1;
        }
        is_there
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        match self.entry {
            Some(entry) => drop(self.shared.state().table.remove(entry)),
            None => self.shared.state().table.take(),
        }
        self.shared.room.notify_one();
    }
}

/// Accepts transports until the acceptor is stopped or dropped.
pub(super) async fn accept<L: Listener>(
    mut listener: L,
    shared: Arc<Shared>,
    ready: UnboundedSender<Ready<L::Transport>>,
) {
    let mut stopped = shared.stopped.subscribe();
    let mut stopped = pin!(stopped.wait_for(|is_stopped| *is_stopped));
    let mut back_off = BackOff::new();
    loop {
        tokio::task::consume_budget().await; // a listener may always be ready, and the handshakes need their turns
        match unless(stopped.as_mut(), next(&mut listener, &shared)).await {
            None => return,
            Some(Ok((transport, peer))) => {
                back_off = BackOff::new();
                let (place, evicted) = Place::enter(&shared, peer);
                if *shared.stopped.borrow() {
                    return; // a table that was cleared stays empty
                }
                tokio::spawn(shake_hands(transport, peer, place, evicted, ready.clone()));
            }
            Some(Err(error)) => {
                shared.count(|counters| counters.listener_errors += 1);
                shared.report(&AcceptorEvent::ListenerFailed { error: &error });
                if let Some(pause) = back_off.after(&error)
                    && unless(stopped.as_mut(), sleep(pause)).await.is_none()
                {
                    return;
                }
            }
        }
    }
}

/// Waits for a transport while there is room for it. Whatever the listener wakes this task for, there may be none any more:
/// the handshakes have become connections that wait.
async fn next<L: Listener>(listener: &mut L, shared: &Shared) -> io::Result<(L::Transport, SocketAddr)> {
    loop {
        shared.until_room().await;
        let accept = core::future::poll_fn(|cx| match shared.state().table.has_room() {
            true => listener.poll_accept(cx).map(Some),
            false => Poll::Ready(None),
        });
        if let Some(accepted) = accept.await {
            return accepted;
        }
    }
}

async fn shake_hands<T: AsyncRead + AsyncWrite + Unpin>(
    transport: T,
    peer: SocketAddr,
    mut place: Place,
    mut evicted: oneshot::Receiver<Infallible>,
    ready: UnboundedSender<Ready<T>>,
) {
    let shared = place.shared.clone();
    let end = Instant::now() + shared.limit;
    let config = lock(&shared.config).clone();
    let connection = match Connection::server(config, shared.clock.now()) {
        Ok(connection) => connection,
        Err(error) => return shared.failed(peer, &error.into()),
    };
    let mut handshake = Handshake::new(connection, transport, shared.clock).with_hooks(shared.hooks.clone());
    let outcome = unless(&mut evicted, timeout_at(end, &mut handshake)).await;
    let error = match outcome {
        Some(Ok(Ok(stream))) if place.complete() => {
            return drop(ready.send(Ready { stream, peer, _place: place })); // nobody may be there any more
        }
        None | Some(Ok(Ok(_))) if ready.is_closed() => return, // the acceptor is gone
        None | Some(Ok(Ok(_))) => return shared.evicted(peer),
        Some(Ok(Err(error))) => error,
        Some(Err(_)) => handshake.give_up(),
    };
    shared.failed(peer, &error);
    if matches!(error, NetError::Tls(_)) {
        let end = end.min(Instant::now() + LINGER_LIMIT);
        unless(&mut evicted, timeout_at(end, handshake.linger())).await;
    }
}

/// The longest time in which a peer takes the alert that ended its handshake.
const LINGER_LIMIT: Duration = Duration::from_secs(2);

/// Waits for `future`, but returns `None` once `end` is ready.
async fn unless<T>(mut end: impl Future + Unpin, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    core::future::poll_fn(|cx| match core::pin::Pin::new(&mut end).poll(cx) {
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => future.as_mut().poll(cx).map(Some),
    })
    .await
}
