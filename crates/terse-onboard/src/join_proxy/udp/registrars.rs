//! The registrars of a join proxy for datagrams: their addresses, and which one is used.
//!
//! What must always hold: names are looked up beside what pledges send, which waits for nobody; an address that is configured as
//! such is used at once.

use alloc::sync::Arc;
use core::net::{IpAddr, SocketAddr, SocketAddrV6};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use terse_brski::join_proxy::Failover;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::errors::is_of_address;
use crate::discovery::Place;
use crate::join_proxy::MAX_REGISTRARS;

/// The registrars, which are looked up until this is dropped.
pub(super) struct Registrars {
    start: Instant,
    failover: Arc<Mutex<Failover>>,
    /// Takes those that have failed.
    failures: Option<mpsc::Sender<Place>>,
    /// The registrar that answered last, while it was the one that is used.
    used: Mutex<Option<SocketAddr>>,
    /// Whether it was logged that this machine has no sockets.
    is_warned: AtomicBool,
    lookup: AbortHandle,
}

impl Registrars {
    pub(super) fn start(
        places: watch::Receiver<Vec<Place>>,
        failures: Option<mpsc::Sender<Place>>,
        silence: Duration,
    ) -> Self {
        let failover = Arc::new(Mutex::new(Failover::new(Vec::new(), silence)));
        let lookup = tokio::spawn(follow(places, failover.clone())).abort_handle();
        let (used, is_warned) = (Mutex::default(), AtomicBool::new(false));
        Self { start: Instant::now(), failover, failures, used, is_warned, lookup }
    }

    /// Returns the time since the start, which is the time of all decisions.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the time of the runtime at a time since the start.
    pub(super) fn at(&self, time: Duration) -> Instant {
        self.start.checked_add(time).unwrap_or_else(|| Instant::now() + FAR)
    }

    /// Returns the registrar to which a datagram is passed on now.
    pub(super) fn pass_on(&self) -> Option<SocketAddr> {
        self.choose(|failover, now| failover.pass_on(now))
    }

    /// Takes an answer of a registrar. That another one is used is logged here, where no stranger can cause it.
    pub(super) fn answered(&self, from: SocketAddr) {
        let mut failover = lock(&self.failover);
        failover.answered(from, self.now());
        if failover.current() != Some(from) {
            return;
        }
        drop(failover);
        let before = self.used.lock().unwrap_or_else(PoisonError::into_inner).replace(from);
        if before.is_some_and(|before| before != from) {
            tracing::info!(registrar = %from, "another registrar is used from here on");
        }
    }

    /// Takes an error of the network about a registrar.
    pub(super) fn failed(&self, registrar: SocketAddr) {
        tracing::debug!(%registrar, "the registrar cannot be reached");
        self.choose(|failover, now| failover.failed(registrar, now));
    }

    /// Chooses among the registrars, and reports the one that was used before, if another one is used now.
    fn choose<T>(&self, choice: impl FnOnce(&mut Failover, Duration) -> T) -> T {
        let mut failover = lock(&self.failover);
        let before = failover.current();
        let chosen = choice(&mut failover, self.now());
        let given_up = before.filter(|_| failover.current() != before);
        drop(failover);
        if let Some((failures, given_up)) = self.failures.as_ref().zip(given_up) {
            // If there are more failures than anybody takes, some are as good as all.
            let _ = failures.try_send(Place::from(given_up));
        }
        chosen
    }

    /// Takes an error of making a socket to a registrar. A machine that has no more sockets says nothing about the registrar.
    pub(super) fn not_connected(&self, registrar: SocketAddr, error: &io::Error) {
        if is_of_address(error) {
            self.failed(registrar);
        } else if !self.is_warned.swap(true, Relaxed) {
            tracing::warn!(%error, "there is no socket to a registrar; raise the limit of open files; this is said once");
        }
    }
}

impl Drop for Registrars {
    fn drop(&mut self) {
        self.lookup.abort();
    }
}

/// Looks up the registrars whenever they change, and now and then.
async fn follow(mut places: watch::Receiver<Vec<Place>>, failover: Arc<Mutex<Failover>>) {
    let mut known = HashMap::new();
    let (mut was_complete, mut is_told) = (true, true);
    loop {
        let now = places.borrow_and_update().iter().take(MAX_REGISTRARS).cloned().collect::<Vec<_>>();
        known.retain(|place, _| now.contains(place));
        known.extend(now.iter().filter_map(|place| Some((place.clone(), vec![literal(place)?]))));
        lock(&failover).replace(in_order(&now, &known));
        look_up(&now, &mut known).await;
        let is_complete = now.iter().all(|place| known.contains_key(place));
        if was_complete && !is_complete {
            tracing::warn!("a registrar has no address; others are used, if there are any");
        }
        was_complete = is_complete;
        lock(&failover).replace(in_order(&now, &known));
        let again = tokio::time::sleep(if is_complete { AGAIN } else { SOON });
        tokio::select! {
            changed = places.changed(), if is_told => is_told = changed.is_ok(),
            () = again => {}
        }
    }
}

/// Returns the address of a registrar that is configured by its address: one of IPv6 may have the number of an interface.
fn literal(place: &Place) -> Option<SocketAddr> {
    let scoped = || place.to_string().parse::<SocketAddrV6>().ok().map(SocketAddr::V6);
    place.host().parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, place.port())).or_else(scoped)
}

/// Returns the addresses of these registrars in their order, each once.
fn in_order(places: &[Place], known: &HashMap<Place, Vec<SocketAddr>>) -> Vec<SocketAddr> {
    let mut addresses = Vec::new();
    for address in places.iter().filter_map(|place| known.get(place)).flatten() {
        if !addresses.contains(address) {
            addresses.push(*address);
        }
    }
    addresses
}

/// Looks up all of these at once. One whose name has no addresses at the moment keeps those before.
async fn look_up(places: &[Place], known: &mut HashMap<Place, Vec<SocketAddr>>) {
    let mut looked_up = JoinSet::new();
    for place in places.iter().cloned() {
        looked_up.spawn(async move {
            let found = tokio::time::timeout(LOOK_UP, tokio::net::lookup_host((place.host(), place.port()))).await;
            let found = found.ok().and_then(Result::ok);
            let addresses = found.map(|found| found.take(MAX_ADDRESSES).collect::<Vec<_>>());
            (place, addresses.unwrap_or_default())
        });
    }
    while let Some(done) = looked_up.join_next().await {
        if let Ok((place, addresses)) = done
            && !addresses.is_empty()
        {
            known.insert(place, addresses);
        }
    }
}

/// Nobody panics with the lock.
fn lock(failover: &Mutex<Failover>) -> MutexGuard<'_, Failover> {
    failover.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most addresses of one name that are tried.
const MAX_ADDRESSES: usize = 4;

/// How long a name is looked up.
const LOOK_UP: Duration = Duration::from_secs(10);

/// How long an address is used before its name is looked up again.
const AGAIN: Duration = Duration::from_secs(300);

/// The same while a name has no address.
const SOON: Duration = Duration::from_secs(10);

/// A time that is far away.
const FAR: Duration = Duration::from_secs(365 * 86_400);

#[cfg(test)]
mod tests;
