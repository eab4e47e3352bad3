//! What an endpoint does with what arrives: a whole ClientHello is answered, or begins a connection; any other datagram is
//! passed to its connection.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::entry::Entry;
use super::hellos::{AddressEvidence, Verdict};
use super::path_validation::DatagramOrigin;
use super::{ConnectionHandle, Endpoint, EndpointEvent, MAX_REPLIES, Path, touch};
use crate::connection::{AcceptedClientHello, Connection};
use crate::crypto::Rng;
use crate::error::Error;
use crate::handshake::Message;
use crate::handshake::server::ReceivedClientHello;
use crate::link::datagram::FirstMessage;
use crate::time::Now;
use crate::wire::Transport;

impl Endpoint {
    /// A ClientHello is there as a whole. It is read here, once for all that follow.
    pub(super) fn hello(&mut self, now: Now, rng: &mut dyn Rng, from: &Path, first: &FirstMessage) {
        let message = Message::new(&first.message, Transport::Datagram).map_err(Error::from);
        let received = message.and_then(|message| ReceivedClientHello::read(&self.config.common, message));
        let Ok(received) = received else { return self.counters.malformed += 1 };
        let known = self.by_path.find(from);
        if let Some(handle) = known
            && let Some(entry) = self.connections.get_mut(&handle)
            && entry.began_with(first, received.hello.random)
        {
            // The connection may have moved since: then this is an old datagram, and no bytes from where it is now.
            if *from == entry.path {
                entry.add_budget(&self.limits, first.bytes);
                entry.connection.peer_repeats(now);
                touch(&mut self.touched, handle);
            }
            return;
        }
        if let Some(entry) = known.and_then(|handle| self.connections.get_mut(&handle))
            && !entry.connection.is_connected()
        {
            entry.limit(&self.limits, 0); // it may be another client, which must get nothing unrequested
        }
        // A connection with an ID is not identified by its path, which another client may have got since.
        let is_replaced = |entry: &Entry| !entry.connection.has_own_id() || !entry.connection.is_connected();
        let replaced = known.and_then(|handle| self.connections.get(&handle)).filter(|entry| is_replaced(entry));
        let ends_connection = replaced.is_some_and(|entry| !entry.has_failed);
        let may_spend = self.limits.may_spend_proof(ends_connection);
        let is_replaced = replaced.is_some();
        match self.hellos.judge(now, rng, from, (first, &received), may_spend) {
            Ok(Verdict::Accept(evidence, accepted)) => {
                self.counters.tickets_spent += u32::from(evidence == AddressEvidence::SpentProof);
                if let Some(handle) = known.filter(|_| is_replaced) {
                    self.remove_known(handle, EndpointEvent::Replaced);
                }
                self.accept(now, rng, from, evidence, accepted);
            }
            Ok(Verdict::Reply(datagrams)) => self.reply(from, first, datagrams),
            Err(_) => self.counters.malformed += 1,
        }
    }

    /// Answers a ClientHello of which nothing is kept.
    fn reply(&mut self, from: &Path, first: &FirstMessage, datagrams: Vec<Vec<u8>>) {
        let len: usize = datagrams.iter().map(Vec::len).sum();
        let is_allowed = len <= self.limits.allowance(first.bytes);
        if is_allowed && self.replies.len() + datagrams.len() <= MAX_REPLIES {
            self.counters.cookies_sent += 1;
            self.replies.extend(datagrams.into_iter().map(|datagram| (from.clone(), datagram)));
        } else {
            self.counters.refused += 1;
        }
    }

    /// Begins a connection.
    fn accept(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        from: &Path,
        evidence: AddressEvidence,
        hello: AcceptedClientHello<'_>,
    ) {
        let is_full = self.connections.len() >= self.limits.max_connections;
        if (is_full || self.half_open.len() >= self.limits.max_half_open)
            && let Some(oldest) = self.half_open.first().copied()
        {
            self.counters.half_open_dropped += 1;
            self.remove_known(oldest, EndpointEvent::Evicted);
        }
        if self.connections.len() >= self.limits.max_connections {
            self.counters.refused += 1;
            return;
        }
        let Some(cid) = self.new_cid(rng) else { return self.counters.refused += 1 };
        let id = self.hellos.address_id(from);
        let began_with = (hello.first, hello.received.hello.random);
        let Ok(connection) = Connection::accept(self.config.clone(), cid.clone(), hello, id, now, rng) else {
            return self.counters.refused += 1;
        };
        let handle = ConnectionHandle(self.next_handle);
        self.next_handle += 1;
        if let Some(cid) = cid.filter(|cid| !cid.is_empty()) {
            self.by_cid.insert(cid, handle);
        }
        self.by_path.insert(from.clone(), handle);
        self.half_open.insert(handle);
        let entry = Entry::new(connection, from.clone(), began_with, evidence, &self.limits);
        self.connections.insert(handle, Box::new(entry));
        self.feed(handle, now, rng, from, &mut []); // what came of the ClientHello
    }

    /// Passes a datagram to a connection.
    pub(super) fn feed(
        &mut self,
        handle: ConnectionHandle,
        now: Now,
        rng: &mut dyn Rng,
        from: &Path,
        datagram: &mut [u8],
    ) {
        let Some(entry) = self.connections.get_mut(&handle).filter(|entry| !entry.has_failed) else { return };
        touch(&mut self.touched, handle);
        let mut rest = datagram;
        loop {
            match entry.connection.handle_input(now, rng, rest) {
                Ok(taken) => rest = &mut rest[taken..],
                Err(error) => return self.failed(handle, error),
            }
            let (data, is_early) = entry.connection.take_received();
            let has_more = !rest.is_empty() || (!data.is_empty() && entry.connection.has_waiting());
            let is_done = !has_more || (data.is_empty() && entry.connection.is_waiting());
            if self.events.bytes() + data.len() > self.limits.max_received {
                self.counters.data_dropped += 1;
            } else if !data.is_empty() {
                if !is_early && entry.connection.is_connected() && self.half_open.remove(&handle) {
                    self.hellos.forget(&entry.path);
                    entry.tell(&mut self.events, handle, EndpointEvent::Connected); // before the data
                }
                entry.has_early_data |= is_early;
                let event = if is_early { EndpointEvent::EarlyData(data) } else { EndpointEvent::Data(data) };
                entry.tell(&mut self.events, handle, event);
            }
            if is_done {
                break;
            }
        }
        let arrivals = entry.connection.take_arrivals();
        let len = arrivals.bytes; // RFC 9853, 2: discarded bytes do not count
        if *from == entry.path && len > 0 {
            entry.add_budget(&self.limits, len);
        }
        if *from == entry.path && arrivals.is_newer && !entry.connection.is_connected() {
            entry.proven(); // a peer with keys has received the ServerHello
        }
        let is_elsewhere = *from != entry.path && self.limits.may_move_connection(arrivals.is_from_path);
        let (has_checks, is_asked) = (entry.connection.has_checks(), entry.connection.wanted_ids().is_some());
        entry.report(handle, &mut self.half_open, &mut self.hellos, &mut self.events);
        if is_elsewhere {
            self.came_from(handle, now, rng, &DatagramOrigin { from, len, has_new_id: arrivals.has_new_id });
        }
        if has_checks {
            self.handle_checks(handle, from, len);
        }
        if is_asked {
            self.answer_request(handle, rng);
        }
    }

    /// Reports that a connection has failed.
    pub(super) fn failed(&mut self, handle: ConnectionHandle, error: Error) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        if !core::mem::replace(&mut entry.has_failed, true) {
            entry.tell(&mut self.events, handle, EndpointEvent::Failed(error));
        }
        self.half_open.remove(&handle);
    }
}
