//! A connection of an endpoint with the path to its peer, and how much may be sent there.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use super::hellos::{AddressEvidence, Hellos};
use super::limits::EndpointLimits;
use super::path_validation::Check;
use super::tables::Events;
use super::{ConnectionHandle, EndpointEvent, Path};
use crate::connection::{Connection, Event};
use crate::error::Error;
use crate::link::datagram::FirstMessage;
use crate::time::{Instant, Now};
use crate::wire::Random;

/// So many milliseconds after a flight would have been sent again: longer than clients wait between two attempts.
const UNHEARD: u64 = 120_000;

/// The smallest useful datagram of a handshake, in bytes.
const LEAST_DATAGRAM: usize = 64;

pub(super) struct Entry {
    pub(super) connection: Connection,
    /// The path that datagrams are sent on.
    pub(super) path: Path,
    /// The path validation in progress, if any.
    pub(super) check: Option<Box<Check>>,
    /// How many bytes may be sent on the path; `None` if it is validated.
    pub(super) budget: Option<usize>,
    /// The timer that is registered in the endpoint.
    pub(super) timer: Option<Instant>,
    pub(super) has_failed: bool,
    /// How many events of this connection wait to be returned.
    pub(super) waiting: u32,
    /// Whether early data was reported to the application.
    pub(super) has_early_data: bool,
    /// When the connection is given up, if the client is not validated and does not retransmit.
    give_up: Option<Instant>,
    /// The `random` of the ClientHello.
    random: Random,
    message_seq: u16,
}

impl Entry {
    pub(super) fn new(
        connection: Connection,
        path: Path,
        (first, random): (&FirstMessage, Random),
        evidence: AddressEvidence,
        limits: &EndpointLimits,
    ) -> Self {
        let mut entry = Self {
            connection,
            path,
            check: None,
            budget: (evidence != AddressEvidence::Cookie).then_some(0),
            timer: None,
            has_failed: false,
            waiting: 0,
            has_early_data: false,
            give_up: None,
            random,
            message_seq: first.message_seq,
        };
        entry.add_budget(limits, first.bytes);
        entry
    }

    /// Whether this ClientHello is the one that the connection began with.
    pub(super) fn began_with(&self, first: &FirstMessage, random: Random) -> bool {
        (self.random, self.message_seq) == (random, first.message_seq)
    }

    /// Notes that `received` bytes came on the path.
    pub(super) fn add_budget(&mut self, limits: &EndpointLimits, received: usize) {
        self.give_up = None;
        if let Some(budget) = &mut self.budget {
            *budget = budget.saturating_add(limits.allowance(received));
        }
    }

    /// Limits what is sent on the path, which is not validated, after `received` bytes came on it.
    pub(super) fn limit(&mut self, limits: &EndpointLimits, received: usize) {
        self.budget = Some(0);
        self.add_budget(limits, received);
    }

    /// Handles an expired timer. A client that is not validated must retransmit itself: an unrequested retransmission
    /// could reach a victim, or another client on this path. So nothing more is sent until then, and the connection
    /// is given up after a while.
    pub(super) fn unheard(&mut self, now: Now, limits: &EndpointLimits) -> Result<(), Error> {
        if self.budget.is_none() || self.connection.is_connected() || self.has_failed {
            self.give_up = None;
            return Ok(());
        }
        if self.give_up.is_some_and(|time| time <= now.monotonic) {
            self.connection.give_up(now);
            self.give_up = None;
            return Err(Error::TimedOut);
        }
        if self.give_up.is_none() {
            self.limit(limits, 0);
            self.give_up = Some(Instant(now.monotonic.0.saturating_add(UNHEARD)));
        }
        Ok(())
    }

    /// Returns the last path to the peer that was validated.
    pub(super) fn proven_path(&self) -> &Path {
        self.check.as_ref().map_or(&self.path, |check| &check.before)
    }

    /// Returns to the last path to the peer that was validated.
    pub(super) fn go_back(&mut self) {
        if let Some(check) = self.check.take() {
            self.path = check.before;
            self.budget = None;
        }
    }

    /// Returns when the next timer of the connection, or of its path validation, expires.
    pub(super) fn timeout(&self) -> Option<Instant> {
        let check = self.check.as_ref().map(|check| check.deadline);
        let forgets = self.connection.forgets_at();
        self.connection.poll_timeout().into_iter().chain(check).chain(self.give_up).chain(forgets).min()
    }

    /// Queues an event for the application.
    pub(super) fn tell(&mut self, events: &mut Events, handle: ConnectionHandle, event: EndpointEvent) {
        self.waiting = self.waiting.saturating_add(1);
        events.push(handle, event);
    }

    /// Queues the events of the connection for the application.
    pub(super) fn report(
        &mut self,
        handle: ConnectionHandle,
        half_open: &mut BTreeSet<ConnectionHandle>,
        hellos: &mut Hellos,
        events: &mut Events,
    ) {
        while let Some(event) = self.connection.poll_event() {
            let event = match event {
                Event::Connected => {
                    self.proven();
                    if !half_open.remove(&handle) {
                        continue; // reported before data
                    }
                    hellos.forget(&self.path);
                    EndpointEvent::Connected
                }
                Event::NeedSignature => EndpointEvent::NeedSignature,
                Event::NeedStore => EndpointEvent::NeedStore,
                Event::PeerClosed => EndpointEvent::PeerClosed,
                Event::EarlyData => continue, // reported with the data itself
            };
            self.tell(events, handle, event);
        }
    }

    /// Marks the path as validated: the peer has answered on it.
    pub(super) fn proven(&mut self) {
        self.budget = None;
        self.give_up = None;
    }

    pub(super) const fn is_limited(&self) -> bool {
        self.budget.is_some()
    }

    /// Writes the next datagram, within the limit of the path.
    pub(super) fn transmit(&mut self, now: Now, out: &mut [u8]) -> Option<usize> {
        let allowed = self.budget.map_or(out.len(), |budget| budget.min(out.len()));
        if self.budget.is_some() && allowed < LEAST_DATAGRAM {
            return None;
        }
        let len = self.connection.poll_transmit(now, &mut out[..allowed])?;
        if let Some(budget) = &mut self.budget {
            *budget -= len; // at most `allowed`
        }
        Some(len)
    }
}
