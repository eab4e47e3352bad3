//! A connection of an endpoint, where its peer is, and how much may be sent there.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use core::net::SocketAddr;

use super::hellos::{AddressEvidence, Hellos};
use super::limits::EndpointLimits;
use super::paths::Check;
use super::tables::Events;
use super::{ConnectionHandle, EndpointEvent};
use crate::connection::{Connection, Event};
use crate::error::Error;
use crate::link::datagram::FirstMessage;
use crate::time::{Instant, Now};
use crate::wire::Random;

/// So many milliseconds after a flight would have been sent again: longer than clients wait between two attempts.
const UNHEARD: u64 = 120_000;

/// No record of a handshake is shorter.
const LEAST_DATAGRAM: usize = 64;

pub(super) struct Entry {
    pub(super) connection: Connection,
    /// Where what is sent goes.
    pub(super) address: SocketAddr,
    /// Whether the peer is there.
    pub(super) check: Option<Box<Check>>,
    /// How many bytes may be sent to the address; `None`: any number, since the peer is there.
    pub(super) budget: Option<usize>,
    /// As the endpoint knows it.
    pub(super) timer: Option<Instant>,
    pub(super) has_failed: bool,
    /// How many events wait.
    pub(super) waiting: u32,
    /// The application was told of early data.
    pub(super) has_early_data: bool,
    /// When a client is given up that has shown nothing, if it does not ask again.
    give_up: Option<Instant>,
    /// Of the ClientHello.
    random: Random,
    message_seq: u16,
}

impl Entry {
    pub(super) fn new(
        connection: Connection,
        address: SocketAddr,
        (first, random): (&FirstMessage, Random),
        evidence: AddressEvidence,
        limits: &EndpointLimits,
    ) -> Self {
        let mut entry = Self {
            connection,
            address,
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

    /// So many bytes came from the address.
    pub(super) fn add_budget(&mut self, limits: &EndpointLimits, received: usize) {
        self.give_up = None;
        if let Some(budget) = &mut self.budget {
            *budget = budget.saturating_add(limits.allowance(received));
        }
    }

    /// The address is not proven; so many bytes came from there.
    pub(super) fn limit(&mut self, limits: &EndpointLimits, received: usize) {
        self.budget = Some(0);
        self.add_budget(limits, received);
    }

    /// A timer ran out. A client that has shown nothing yet asks again itself: what comes unasked would go to a
    /// stranger, or meet the next client there.
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

    /// The last address that the peer was known to have.
    pub(super) fn proven_address(&self) -> SocketAddr {
        self.check.as_ref().map_or(self.address, |check| check.before)
    }

    /// To the last address that the peer was known to have.
    pub(super) fn go_back(&mut self) {
        if let Some(check) = self.check.take() {
            self.address = check.before;
            self.budget = None;
        }
    }

    /// When time has passed for the connection or for a check.
    pub(super) fn timeout(&self) -> Option<Instant> {
        let check = self.check.as_ref().map(|check| check.deadline);
        let forgets = self.connection.forgets_at();
        self.connection.poll_timeout().into_iter().chain(check).chain(self.give_up).chain(forgets).min()
    }

    /// An event waits for the application.
    pub(super) fn tell(&mut self, events: &mut Events, handle: ConnectionHandle, event: EndpointEvent) {
        self.waiting = self.waiting.saturating_add(1);
        events.push(handle, event);
    }

    /// What happened to the connection waits for the application.
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
                    hellos.forget(&self.address);
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

    /// The peer answered what was sent to the address.
    pub(super) fn proven(&mut self) {
        self.budget = None;
        self.give_up = None;
    }

    pub(super) const fn is_limited(&self) -> bool {
        self.budget.is_some()
    }

    /// The next datagram, as far as the address may have it.
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
