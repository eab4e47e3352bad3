//! What a connection does over datagrams alone: time-outs, flights that are sent again, and what an endpoint asks of
//! it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Connection, DatagramCode, Progress};
use crate::cache::{self, AddressId};
use crate::config::{ServerConfig, TraceEvent};
use crate::crypto::Rng;
use crate::error::{Error, InvalidMessage};
use crate::handshake::Handshake;
use crate::handshake::server::{ExpectClientHello, Negotiation, ReceivedClientHello};
use crate::link::datagram::{Acknowledged, FirstMessage, Sent};
use crate::link::make;
use crate::record::datagram::RecordNumber;
use crate::time::{Instant, Now};
use crate::wire::Transport;

/// A ClientHello with which a connection of an endpoint begins.
pub(crate) struct AcceptedClientHello<'a> {
    /// The message as it came.
    pub(crate) first: &'a FirstMessage,
    /// What it says.
    pub(crate) received: &'a ReceivedClientHello<'a>,
    /// What was chosen from it.
    pub(crate) negotiation: Negotiation<'a>,
    /// The number of the first record that this side sends.
    pub(crate) number: u64,
}

impl Connection {
    /// A server over datagrams to which this ClientHello came, from `address`: it is handled. The configuration was
    /// checked. If the handshake fails, the connection says so as soon as it is asked to do anything.
    pub(crate) fn accept(
        config: Arc<ServerConfig>,
        cid: Option<Box<[u8]>>,
        hello: AcceptedClientHello<'_>,
        address: AddressId,
        now: Now,
        rng: &mut dyn Rng,
    ) -> Result<Self, Error> {
        let AcceptedClientHello { first, received, negotiation, number } = hello;
        let link = make::accept(&config, cid, first, number);
        let mut connection = Self::new(config.clone(), link, Some(DatagramCode::CODE), now);
        let (handshake, chosen): (Handshake, _) = match negotiation {
            Negotiation::Due => (Box::new(ExpectClientHello::new(config)), None),
            Negotiation::Done(chosen) => (Box::new(ExpectClientHello::new(config)), Some(chosen)),
            Negotiation::Retried(retried, cookie) => {
                connection.summary.round_trips = 2;
                (Box::new(retried.expect_second(config, cookie)?), None)
            }
        };
        connection.handshake = Some(handshake);
        connection.summary.received.datagrams = first.datagrams;
        connection.summary.received.record_bytes = first.bytes as u64;
        connection.client_address = Some(address);
        connection.ids.of_endpoint = true;
        if let Err(error) = connection.handle_client_hello(now, rng, received, chosen) {
            connection.fail(error, now);
        }
        Ok(connection)
    }

    /// When [`Connection::handle_timeout`] wants to be called: never on a stream. Ask again after each other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let deadline = self.link.datagrams()?.deadline();
        deadline.filter(|_| self.failure.is_none() && self.store_request().is_none())
    }

    /// Time has passed: over datagrams, what was not answered waits in [`Connection::poll_transmit`] again. Fails when
    /// it was sent often enough, or when the peer refused and did not think better of it.
    pub fn handle_timeout(&mut self, now: Now) -> Result<(), Error> {
        if self.failure.is_some() || self.poll_timeout().is_none_or(|deadline| now.monotonic < deadline) {
            return Ok(());
        }
        self.over_datagrams.map_or(Ok(()), |code| (code.timed_out)(self, now))
    }

    pub(super) fn timed_out(&mut self, now: Now) -> Result<(), Error> {
        let Some(driver) = self.link.datagrams_mut() else { return Ok(()) };
        let is_due = driver.retransmission_is_due(now.monotonic);
        if let Some(description) = driver.unprotected_alert().filter(|_| is_due) {
            let error = Error::AlertReceived(description);
            self.abandon(error, cache::Failure::TimeoutOrClose, now);
            return Err(error);
        }
        if driver.expired(now.monotonic) {
            let error = if driver.saw_too_large() {
                InvalidMessage::HandshakeTooLarge.into() // somebody answers, but not so that it can be taken
            } else {
                Error::TimedOut
            };
            self.tell_peer(&error);
            self.abandon(error, cache::Failure::TimeoutOrClose, now);
            return Err(error);
        }
        if let (true, Some(trace), Some(sent)) = (is_due, &self.config.common().trace, driver.last_sent()) {
            trace.event(TraceEvent::SentAgain { after: now.monotonic.since(sent) });
        }
        Ok(())
    }

    /// When [`Self::forget`] frees something. Nothing else happens then, so it wakes no client.
    pub(crate) fn forgets_at(&self) -> Option<Instant> {
        self.link.datagrams()?.forgets_at()
    }

    /// Forgets the last flight, and the keys of what came before, once they are of no use.
    pub(crate) fn forget(&mut self, now: Now) {
        if let Some(driver) = self.link.datagrams_mut() {
            driver.forget(now.monotonic);
        }
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

    /// The peer has these records. The ACK came in a record of `len` bytes.
    pub(super) fn handle_ack(&mut self, now: Now, numbers: &[RecordNumber], is_protected: bool, len: usize) {
        let Some(driver) = self.link.datagrams_mut() else { return };
        if driver.acknowledged(now.monotonic, numbers, is_protected) == Acknowledged::LastFlight {
            self.summary.received.record_bytes += len as u64;
            if let Some(session) = &mut self.cache {
                session.confirmed();
            }
        }
    }

    /// The peer did not get the answer to its last flight.
    pub(crate) fn peer_repeats(&mut self, now: Now) {
        if let Some(driver) = self.link.datagrams_mut() {
            driver.repeat(now.monotonic);
        }
    }

    /// What came since the last call.
    pub(crate) fn take_arrivals(&mut self) -> Arrivals {
        core::mem::take(&mut self.arrivals)
    }

    /// Whether anything waits to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.link.sender().pending() > 0
    }

    /// Whether a record was put aside that can be opened now.
    pub(crate) fn has_waiting(&self) -> bool {
        self.link.receiver().has_waiting()
    }

    /// All application data that waits: of one record. And whether it is early data.
    pub(crate) fn take_received(&mut self) -> (Vec<u8>, bool) {
        let is_early = core::mem::replace(&mut self.early_data, Progress::Due) != Progress::Due;
        (self.link.receiver_mut().plaintext_mut().take(), is_early)
    }

    pub(super) const fn is_datagram(&self) -> bool {
        matches!(self.summary.transport, Transport::Datagram)
    }
}

/// What datagrams brought, as far as it concerns where the peer is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    /// Bytes of records of which nothing was dropped.
    pub(crate) bytes: usize,
    /// One of them was authentic, and newer than all before.
    pub(crate) is_newer: bool,
    /// The newest of these was no check of return routability, which says nothing about which path the peer prefers.
    pub(crate) is_from_path: bool,
    /// One of these had another connection ID than those before.
    pub(crate) has_new_id: bool,
}
