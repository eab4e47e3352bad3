//! What a connection does over datagrams alone: time-outs, flights that are sent again, and what an endpoint asks of
//! it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Config, Connection, Progress};
use crate::cache::{self, AddressId};
use crate::config::{ServerConfig, TraceEvent};
use crate::error::{Error, InvalidMessage};
use crate::handshake::{Handshake, server::ExpectClientHello};
use crate::link::datagram::FirstMessage;
use crate::link::{self, Acknowledged, Sent};
use crate::record::datagram::RecordNumber;
use crate::summary::Transport;
use crate::time::{Instant, Now};

impl Connection {
    /// A server over datagrams to which a ClientHello came, from `address`. The configuration was checked.
    pub(crate) fn accept(
        config: Arc<ServerConfig>,
        cid: Option<Box<[u8]>>,
        hello: &FirstMessage,
        address: AddressId,
        now: Now,
    ) -> Result<Self, Error> {
        let settings = config.common.datagrams.unwrap_or_default();
        let (receiver, sender) = link::datagram::accept(&config.common, &settings, cid, hello);
        let mut connection = Self::new(Config::Server(config.clone()), receiver, sender, now);
        connection.handshake = Some(match hello.retried.clone() {
            None => Handshake::Server(ExpectClientHello::new(config)),
            Some((retried, cookie)) => {
                connection.summary.round_trips = 2;
                Handshake::Tls13Server(retried.expect_second(config, &cookie)?)
            }
        });
        connection.summary.received.datagrams = hello.datagrams;
        connection.summary.received.record_bytes = hello.bytes as u64;
        connection.client_address = Some(address);
        connection.ids.of_endpoint = true;
        Ok(connection)
    }

    /// When [`Connection::handle_timeout`] wants to be called: never on a stream. Ask again after each other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.sender.deadline().filter(|_| self.failure.is_none() && self.store_request().is_none())
    }

    /// Time has passed: over datagrams, what was not answered waits in [`Connection::poll_transmit`] again. Fails when
    /// it was sent often enough, or when the peer refused and did not think better of it.
    pub fn handle_timeout(&mut self, now: Now) -> Result<(), Error> {
        if self.failure.is_some() || self.poll_timeout().is_none_or(|deadline| now.monotonic < deadline) {
            return Ok(());
        }
        let is_due = self.sender.flights().is_some_and(|flights| flights.retransmission_is_due(now.monotonic));
        if let Some(description) = self.receiver.unprotected_alert().filter(|_| is_due) {
            let error = Error::AlertReceived(description);
            self.abandon(error.clone(), cache::Failure::TimeoutOrClose, now);
            return Err(error);
        }
        if self.sender.flights().is_some_and(|flights| flights.expired(now.monotonic)) {
            let error = if self.receiver.saw_too_large() {
                InvalidMessage::HandshakeTooLarge.into() // somebody answers, but not so that it can be taken
            } else {
                Error::TimedOut
            };
            self.tell_peer(&error);
            self.abandon(error.clone(), cache::Failure::TimeoutOrClose, now);
            return Err(error);
        }
        if let (true, Some(trace), Some(sent)) = (is_due, &self.config.common().trace, self.sender.last_sent()) {
            trace.event(TraceEvent::SentAgain { after: now.monotonic.since(sent) });
        }
        Ok(())
    }

    /// When [`Self::forget`] frees something. Nothing else happens then, so it wakes no client.
    pub(crate) fn forgets_at(&self) -> Option<Instant> {
        self.receiver.forgets_at().into_iter().chain(self.sender.forgets_at()).min()
    }

    /// Forgets the last flight, and the keys of what came before, once they are of no use.
    pub(crate) fn forget(&mut self, now: Now) {
        self.receiver.forget(now.monotonic);
        self.sender.forget(now.monotonic);
    }

    /// Counts what was sent as datagrams of a flight.
    pub(super) fn count_sent(&mut self, sent: &Sent) {
        self.summary.retransmissions += sent.retransmissions;
        let summary = &mut self.summary.sent;
        for (kind, len) in &sent.more {
            summary.count_message(*kind, *len);
        }
        summary.datagrams += sent.datagrams;
        summary.record_bytes += sent.record_bytes;
        summary.post_handshake_bytes += sent.post_handshake_bytes;
    }

    /// The peer has these records.
    pub(super) fn handle_ack(&mut self, now: Now, numbers: &[RecordNumber], is_protected: bool) {
        let Some(flights) = self.sender.flights() else { return };
        if flights.acknowledged(now.monotonic, numbers, is_protected) == Acknowledged::LastFlight {
            self.receiver.last_flight_arrived();
            self.summary.received.record_bytes += self.receiver.last_record_len() as u64;
            if let Some(session) = &mut self.cache {
                session.confirmed();
            }
        }
    }

    /// The peer did not get the answer to its last flight.
    pub(crate) fn peer_repeats(&mut self, now: Now) {
        if let Some(flights) = self.sender.flights() {
            flights.repeat(now.monotonic);
        }
    }

    /// Epoch and number of the newest authentic record that is protected.
    pub(crate) fn newest(&self) -> Option<(u64, u64)> {
        self.receiver.newest()
    }

    /// How many bytes of records came since the last call that were not dropped.
    pub(crate) const fn take_contributed(&mut self) -> usize {
        core::mem::replace(&mut self.contributed, 0)
    }

    /// Whether anything waits to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.sender.pending() > 0
    }

    /// All application data that waits: of one record. And whether it is early data.
    pub(crate) fn take_received(&mut self) -> (Vec<u8>, bool) {
        let is_early = core::mem::replace(&mut self.early_data, Progress::Due) != Progress::Due;
        (self.receiver.take(), is_early)
    }

    pub(super) const fn is_datagram(&self) -> bool {
        matches!(self.summary.transport, Transport::Datagram)
    }
}
