//! A server for datagrams: assigns each datagram to its connection, and begins new connections.
//!
//! ```text
//! datagram ─┬─ with a connection ID ──────────────> its connection (RFC 9146)
//!           ├─ of a ClientHello ─> put together ─┬─ without a good cookie ─> HelloVerifyRequest, and nothing is kept
//!           │                      (`hellos`)    └─ with one, or a ticket ─> a new connection
//!           └─ anything else ─────────────────────> the connection of its path
//! ```
//!
//! What must always hold: a client whose address is not validated takes no memory but an entry in a bounded table, for
//! the fragments of its first message, and is sent at most three times as many bytes as it has sent (RFC 6347, 4.2.1);
//! only a new record that is protected with a connection's keys moves it to another address (RFC 9146, 6).

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use crate::cache::StoreAnswer;
use crate::config::ServerConfig;
use crate::connection::Connection;
use crate::crypto::Rng;
use crate::error::{ApiMisuse, Error};
use crate::record::datagram12::Header;
use crate::record::datagram13;
use crate::time::{Instant, Now};
use crate::wire::ContentType;

mod arrivals;
mod counters;
mod defences;
mod entry;
mod events;
mod hellos;
mod ids;
mod limits;
mod path;
mod path_validation;
mod tables;

pub use counters::EndpointCounters;
#[cfg(terse_testing)]
pub use defences::Undefended;
use entry::Entry;
pub use events::{ConnectionHandle, EndpointEvent};
use hellos::Hellos;
pub use limits::{AddressChange, EndpointLimits};
pub use path::Path;
use path_validation::Outcome;
use tables::{ByHandle, ByPath, Events, HashKey, Keyed};

/// A server for datagrams, for any number of clients.
///
/// # Order of calls
///
/// 1. Pass every datagram to [`Endpoint::handle_datagram`], with the address or the [`Path`] that it came from.
/// 2. After each call, also of [`Endpoint::connection`], send the datagrams of [`Endpoint::poll_transmit`] until it
///    returns `None`, and handle the events of [`Endpoint::poll_event`] until it returns `None`.
/// 3. At the time of [`Endpoint::poll_timeout`], call [`Endpoint::handle_timeout`].
/// 4. Call [`Endpoint::remove`] for connections that have failed or are not needed any more. They stay until then; only
///    connections whose handshake is not complete are removed, the oldest first, to make room for new ones.
///
/// No datagram causes an error or a panic. The memory is bounded by [`EndpointLimits`].
pub struct Endpoint {
    config: Arc<ServerConfig>,
    limits: EndpointLimits,
    hellos: Hellos,
    /// The entries are boxed, since the map has spare capacity.
    connections: ByHandle<Box<Entry>>,
    by_path: ByPath,
    by_cid: Keyed<Box<[u8]>, ConnectionHandle>,
    /// The connections whose handshake is not complete, the oldest first.
    half_open: BTreeSet<ConnectionHandle>,
    timers: BTreeSet<(Instant, ConnectionHandle)>,
    /// The connections that may have something to send, or another timer.
    touched: Vec<ConnectionHandle>,
    /// Replies that belong to no connection, and return routability checks.
    replies: VecDeque<(Path, Vec<u8>)>,
    events: Events,
    next_handle: u64,
    counters: EndpointCounters,
}

/// The most replies that wait to be sent.
const MAX_REPLIES: usize = 64;

impl Endpoint {
    /// Creates a server with `config`, which must be for datagrams ([`crate::Common::datagrams`]).
    pub fn new(config: Arc<ServerConfig>, limits: EndpointLimits, rng: &mut dyn Rng) -> Result<Self, Error> {
        limits.check()?;
        if config.common.datagrams.is_none() {
            return Err(ApiMisuse::NoDatagrams.into());
        }
        let key = HashKey::random(rng)?;
        Ok(Self {
            hellos: Hellos::new(config.clone(), &limits, rng)?,
            config,
            limits,
            connections: ByHandle::with_hasher(key.of_handles()),
            by_path: ByPath::new(key.clone()),
            by_cid: Keyed::with_hasher(key),
            half_open: BTreeSet::new(),
            timers: BTreeSet::new(),
            touched: Vec::new(),
            replies: VecDeque::new(),
            events: Events::default(),
            next_handle: 0,
            counters: EndpointCounters::default(),
        })
    }

    /// Handles a datagram that came from `from`: a socket address, or a [`Path`] through a relay, whose header is then
    /// not a part of `datagram`. It is decrypted in place.
    pub fn handle_datagram(&mut self, now: Now, rng: &mut dyn Rng, from: impl Into<Path>, datagram: &mut [u8]) {
        self.handle(now, rng, &from.into(), datagram);
    }

    fn handle(&mut self, now: Now, rng: &mut dyn Rng, from: &Path, datagram: &mut [u8]) {
        if datagram.first().is_some_and(|first| datagram13::Header::is_one(*first)) {
            return self.handle_dtls13(now, rng, from, datagram);
        }
        let Some(header) = Header::parse(datagram, self.cid_len()) else {
            self.counters.malformed += 1;
            return;
        };
        if header.content_type == ContentType::TLS12_CID {
            return match self.by_cid.get(header.cid(datagram)) {
                Some(handle) => self.feed(*handle, now, rng, from, datagram),
                None => self.counters.unknown_connection_id += 1,
            };
        }
        if hellos::is_client_hello(&header, datagram) {
            if let Some(first) = self.hellos.put_together(now.monotonic, from, datagram, &mut self.counters) {
                self.hello(now, rng, from, &first);
            }
            return;
        }
        match self.by_path.find(from) {
            Some(handle) => self.feed(handle, now, rng, from, datagram),
            None => self.counters.unknown_address += 1,
        }
    }

    /// Handles a datagram that begins with a protected record of DTLS 1.3.
    fn handle_dtls13(&mut self, now: Now, rng: &mut dyn Rng, from: &Path, datagram: &mut [u8]) {
        let Some(header) = datagram13::Header::parse(datagram, self.cid_len()) else {
            self.counters.malformed += 1;
            return;
        };
        let handle = match header.cid(datagram) {
            Some(cid) => self.by_cid.get(cid).copied(),
            None => self.by_path.find(from),
        };
        match (handle, header.cid(datagram)) {
            (Some(handle), _) => self.feed(handle, now, rng, from, datagram),
            (None, Some(_)) => self.counters.unknown_connection_id += 1,
            (None, None) => self.counters.unknown_address += 1,
        }
    }

    /// Writes the next datagram to `out`, which should have room for [`crate::Datagrams::max_datagram`] bytes. Returns
    /// the path that it is sent on, whose header is not written, and its length.
    pub fn poll_transmit(&mut self, now: Now, out: &mut [u8]) -> Option<(Path, usize)> {
        while let Some((path, reply)) = self.replies.pop_front() {
            if let Some(place) = out.get_mut(..reply.len()) {
                place.copy_from_slice(&reply);
                return Some((path, reply.len()));
            }
        }
        while let Some(handle) = self.touched.last().copied() {
            if let Some(entry) = self.connections.get_mut(&handle) {
                let was_limited = entry.is_limited();
                if let Some(len) = entry.transmit(now, out) {
                    return Some((entry.path.clone(), len));
                }
                self.counters.amplification += u32::from(was_limited && entry.connection.has_output());
                set_timer(&mut self.timers, handle, entry);
            }
            self.touched.pop();
        }
        None
    }

    /// Returns the next event. Each event is returned once.
    pub fn poll_event(&mut self) -> Option<(ConnectionHandle, EndpointEvent)> {
        while let Some((handle, event)) = self.events.pop() {
            match self.connections.get_mut(&handle) {
                Some(entry) => entry.waiting -= u32::from(!event.outlives_connection()),
                None if event.outlives_connection() => {}
                None => {
                    self.events.skipped();
                    continue;
                }
            }
            return Some((handle, event));
        }
        None
    }

    /// Returns when to call [`Endpoint::handle_timeout`]. The time may change with each other call: ask again once
    /// [`Endpoint::poll_transmit`] returns `None`.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// Handles the timers that have expired.
    pub fn handle_timeout(&mut self, now: Now) {
        while let Some((time, handle)) = self.timers.first().copied().filter(|(time, _)| *time <= now.monotonic) {
            self.timers.remove(&(time, handle));
            let Some(entry) = self.connections.get_mut(&handle) else { continue };
            entry.timer = None;
            self.check_expired(handle, now);
            let Some(entry) = self.connections.get_mut(&handle) else { continue };
            entry.connection.forget(now);
            let result = entry.connection.handle_timeout(now).and_then(|()| entry.unheard(now, &self.limits));
            if let Err(error) = result {
                self.failed(handle, error);
            }
            touch(&mut self.touched, handle);
        }
    }

    /// Returns a connection, to send on it, to close it, or to inspect it.
    pub fn connection(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        let entry = self.connections.get_mut(&handle)?;
        touch(&mut self.touched, handle);
        Some(&mut entry.connection)
    }

    /// Sends `message`, of at most [`Connection::max_message`] bytes, in one datagram. It is taken as a whole, or the
    /// call fails. After [`ApiMisuse::SendBufferFull`] the call may be repeated once the peer has answered.
    pub fn send(&mut self, handle: ConnectionHandle, message: &[u8]) -> Result<(), Error> {
        let connection = self.connection(handle).ok_or(ApiMisuse::Closed)?;
        if connection.send(message)? < message.len() {
            self.counters.messages_refused = self.counters.messages_refused.saturating_add(1);
            return Err(ApiMisuse::SendBufferFull.into());
        }
        Ok(())
    }

    /// Continues the handshake of a connection with the answer to its [`Connection::store_request`]. If the handshake
    /// fails, this is reported as an event; an error of this call means that the connection does not wait for this
    /// answer.
    pub fn provide_store_answer(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        handle: ConnectionHandle,
        answer: StoreAnswer,
    ) -> Result<(), Error> {
        let entry = self.connections.get_mut(&handle).ok_or(ApiMisuse::NoStoreAnswerDue)?;
        let from = entry.path.clone();
        match entry.connection.provide_store_answer(now, rng, answer) {
            Err(Error::ApiMisuse(misuse)) => return Err(misuse.into()),
            Err(error) => self.failed(handle, error),
            Ok(()) => self.feed(handle, now, rng, &from, &mut []), // records that came before their keys
        }
        touch(&mut self.touched, handle);
        Ok(())
    }

    /// Returns the path to a connection's peer, which may not be validated: see [`AddressChange`].
    pub fn path(&self, handle: ConnectionHandle) -> Option<&Path> {
        self.connections.get(&handle).map(|entry| &entry.path)
    }

    /// Returns the socket address of [`Self::path`].
    pub fn address(&self, handle: ConnectionHandle) -> Option<SocketAddr> {
        self.path(handle).map(Path::address)
    }

    /// Whether the peer's current path is not validated, and no check will validate it: until [`Self::confirm_address`], at
    /// most three times as many bytes are sent there as came from there ([`AddressChange::Limited`]).
    pub fn needs_confirmation(&self, handle: ConnectionHandle) -> bool {
        self.connections.get(&handle).is_some_and(|entry| entry.is_limited() && entry.check.is_none())
    }

    /// Confirms that the peer is reached on its current path, which the application knows ([`AddressChange::Limited`]).
    pub fn confirm_address(&mut self, handle: ConnectionHandle) {
        if self.connections.get(&handle).is_some_and(|entry| entry.check.as_ref().is_none_or(|check| !check.is_kept()))
        {
            self.conclude(handle, Outcome::Moved);
        }
    }

    /// Removes a connection, and all that it has not sent yet.
    pub fn remove(&mut self, handle: ConnectionHandle) {
        let Some(entry) = self.connections.remove(&handle) else { return };
        if let Some(time) = entry.timer {
            self.timers.remove(&(time, handle));
        }
        let path = entry.proven_path();
        if self.by_path.remove(path, handle) {
            self.hellos.forget(path);
        }
        for id in entry.connection.own_ids() {
            self.by_cid.remove(id);
        }
        self.half_open.remove(&handle);
        self.events.bury(entry.waiting as usize, |handle| self.connections.contains_key(handle));
    }

    /// Removes a connection that makes room, and reports that if the application knows the connection.
    fn remove_known(&mut self, handle: ConnectionHandle, event: EndpointEvent) {
        let is_complete = !self.half_open.contains(&handle);
        let has_early_data = self.connections.get(&handle).is_some_and(|entry| entry.has_early_data);
        self.remove(handle);
        if is_complete || has_early_data {
            self.events.push(handle, event);
        }
    }

    /// Returns how many connections there are, and how many of them have not completed their handshake.
    pub fn connections(&self) -> (usize, usize) {
        (self.connections.len(), self.half_open.len())
    }

    /// Returns what was dropped and refused so far.
    pub fn counters(&self) -> &EndpointCounters {
        &self.counters
    }

    /// Returns the length of the connection IDs for clients, if they are negotiated.
    fn connection_id(&self) -> Option<u8> {
        self.config.common.datagrams.as_ref().and_then(|settings| settings.connection_id)
    }

    fn cid_len(&self) -> usize {
        self.connection_id().unwrap_or(0).into()
    }
}

/// Updates the timer of a connection, which may have changed.
fn set_timer(timers: &mut BTreeSet<(Instant, ConnectionHandle)>, handle: ConnectionHandle, entry: &mut Entry) {
    let timer = entry.timeout();
    if timer == entry.timer {
        return;
    }
    if let Some(time) = core::mem::replace(&mut entry.timer, timer) {
        timers.remove(&(time, handle));
    }
    if let Some(time) = timer {
        timers.insert((time, handle));
    }
}

/// Notes that a connection may have something to send. Most often it is the one that was noted last.
fn touch(touched: &mut Vec<ConnectionHandle>, handle: ConnectionHandle) {
    if touched.last() == Some(&handle) {
        return;
    }
    if touched.len() == touched.capacity() {
        touched.sort_unstable(); // duplicates are removed before it grows
        touched.dedup();
    }
    touched.push(handle);
}

impl core::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Endpoint")
            .field("connections", &self.connections.len())
            .field("half_open", &self.half_open.len())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
