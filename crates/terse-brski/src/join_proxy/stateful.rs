//! The stateful mode: a table of the pledges that are there. Each has a source port of its own towards the registrar.
//!
//! A tuple is an address and port of a pledge, and its link. It is **confirmed** when the registrar has answered with more than
//! replies to a first flight, and the pledge has sent something after that: a registrar sends its certificates only to an address
//! that has returned a cookie, and a stranger with a spoofed address sees none. When there is no room for another tuple:
//!
//! - a confirmed tuple stays, so that no flood of others pushes out a pledge that joins: it ends when it is idle, or may be
//!   replaced when it is [`PROTECTED`] old;
//! - another tuple may be replaced when it is [`GRACE`] old, which is the time for an answer; the oldest one goes first;
//! - when the tuples of one address are too many, only one of this address is replaced.
//!
//! If none may be replaced, the datagram is dropped. So strangers with many addresses keep *new* pledges out for a time, and
//! whoever answers as a pledge does holds his tuples. The stateless mode has no such table.
//!
//! A tuple that was answered stays with its registrar, until the network reports that this one is gone, or it is silent for
//! [`SILENCE`] while the pledge sends.
//!
//! What must always hold: the tuples of an address, of an interface and of all are bounded; an answer goes to the pledge whose
//! tuple it came on, and to nobody when that has ended.

use alloc::collections::BTreeMap;
use core::net::SocketAddr;
use core::time::Duration;

use super::failover::Failover;
use super::on_link::{OnLink, canonical};
use super::rate::Rate;
use super::{MAX_INTERFACES, Refusal};

/// The limits of a stateful join proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatefulLimits {
    /// The most tuples of one address.
    pub per_address: usize,
    /// The most tuples of one interface. There are 16 times as many in all.
    pub per_interface: usize,
    /// How long a tuple lasts after the last datagram.
    pub idle: Duration,
    /// The longest datagram, in both directions.
    pub max_content: usize,
    /// The datagrams of an interface that are passed on to the registrar in a second. Each tuple has an equal share.
    pub datagrams_per_second: u32,
}

/// A tuple: a pledge, for as long as it is there. If it comes again later, that is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    pledge: SocketAddr,
    number: u64,
}

impl Tuple {
    /// Returns the pledge. IPv4 addresses are as such, also if the pledge had one that was mapped to IPv6.
    pub const fn pledge(&self) -> SocketAddr {
        self.pledge
    }
}

/// How a datagram is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passed {
    /// The tuple, whose source port it goes from. A tuple that was not there before gets a new one.
    pub tuple: Tuple,
    /// Whether the tuple stays with its registrar, which has answered. Until then it can be for another one.
    pub is_answered: bool,
}

/// A stateful join proxy.
#[derive(Debug)]
pub struct Stateful {
    limits: StatefulLimits,
    on_link: OnLink,
    rate: Rate,
    tuples: BTreeMap<SocketAddr, State>,
    next_number: u64,
}

#[derive(Debug)]
struct State {
    number: u64,
    zone: u32,
    since: Duration,
    last: Duration,
    /// When all datagrams so far will have been due.
    due: Duration,
    /// When the registrar answered last. There is none if the tuple may go to another registrar.
    answered: Option<Duration>,
    /// How many datagrams of the pledge came since the last answer, and when the first of them did.
    unanswered: u32,
    unanswered_since: Duration,
    /// The datagrams of the pledge, and the bytes that were passed back to it.
    sent: usize,
    returned: usize,
    is_confirmed: bool,
}

impl Stateful {
    /// Creates a proxy without any pledges.
    pub fn new(limits: StatefulLimits, on_link: OnLink) -> Self {
        let tuples = u32::try_from(limits.per_interface.max(1)).unwrap_or(u32::MAX);
        let rate = Rate::per_second(limits.datagrams_per_second / tuples);
        Self { limits, on_link, rate, tuples: BTreeMap::new(), next_number: 0 }
    }

    /// Takes a datagram of `len` bytes that came from a pledge.
    pub fn from_pledge(&mut self, pledge: SocketAddr, len: usize, now: Duration) -> Result<Passed, Refusal> {
        let pledge = canonical(pledge);
        if !self.on_link.has(pledge) {
            return Err(Refusal::OffLink);
        }
        self.check_len(len)?;
        let idle = self.limits.idle;
        if self.tuples.get(&pledge).is_none_or(|state| state.has_ended(idle, now)) {
            self.begin(pledge, now)?;
        }
        let state = self.tuples.get_mut(&pledge).ok_or(Refusal::Full)?; // it is there
        if !self.rate.admit(&mut state.due, now) {
            return Err(Refusal::TooMany);
        }
        let is_answered = state.pass_on(now);
        Ok(Passed { tuple: Tuple { pledge, number: state.number }, is_answered })
    }

    /// Takes an answer of `len` bytes that came on a tuple. Returns the pledge to which it goes.
    pub fn from_registrar(&mut self, tuple: &Tuple, len: usize, now: Duration) -> Result<SocketAddr, Refusal> {
        let idle = self.limits.idle;
        let state = self.tuples.get_mut(&tuple.pledge);
        let state = state.filter(|state| state.number == tuple.number && !state.has_ended(idle, now));
        let state = state.ok_or(Refusal::Gone)?;
        if !(1..=self.limits.max_content).contains(&len) {
            return Err(Refusal::Length);
        }
        state.answer(len, now);
        Ok(tuple.pledge)
    }

    /// Takes an error of the network about the registrar of a tuple, which can be for another one then. Who can forge the error
    /// cannot do so while the registrar answers.
    pub fn failed(&mut self, tuple: &Tuple, now: Duration) {
        let state = self.tuples.get_mut(&tuple.pledge).filter(|state| state.number == tuple.number);
        if let Some(state) = state
            && state.answered.is_some_and(|answered| now.saturating_sub(answered) >= Failover::FIRST_SILENCE)
        {
            state.answered = None;
        }
    }

    /// Removes the tuples that are idle.
    pub fn expire(&mut self, now: Duration) {
        let idle = self.limits.idle;
        self.tuples.retain(|_, state| !state.has_ended(idle, now));
    }

    /// Whether a tuple is still there. The source port of one that is not is closed.
    pub fn has(&self, tuple: &Tuple) -> bool {
        self.tuples.get(&tuple.pledge).is_some_and(|state| state.number == tuple.number)
    }

    /// Returns the number of tuples.
    pub fn len(&self) -> usize {
        self.tuples.len()
    }

    /// Whether there are no tuples.
    pub fn is_empty(&self) -> bool {
        self.tuples.is_empty()
    }

    fn check_len(&self, len: usize) -> Result<(), Refusal> {
        match (1..=self.limits.max_content).contains(&len) {
            true => Ok(()),
            false => Err(Refusal::Length),
        }
    }

    /// Makes a tuple, in place of another one if there is no room.
    fn begin(&mut self, pledge: SocketAddr, now: Duration) -> Result<(), Refusal> {
        self.expire(now);
        let zone = self.on_link.zone(pledge);
        let is_of_address = |other: &SocketAddr, state: &State| other.ip() == pledge.ip() && state.zone == zone;
        let is_of_interface = |_: &SocketAddr, state: &State| state.zone == zone;
        let count = |is_of: &dyn Fn(&SocketAddr, &State) -> bool| {
            self.tuples.iter().filter(|(other, state)| is_of(other, state)).count()
        };
        if count(&is_of_address) >= self.limits.per_address {
            self.replace(is_of_address, now)?;
        } else if count(&is_of_interface) >= self.limits.per_interface {
            self.replace(is_of_interface, now)?;
        } else if self.tuples.len() >= self.limits.per_interface.saturating_mul(MAX_INTERFACES) {
            self.replace(|_, _| true, now)?;
        }
        let number = self.next_number;
        self.next_number += 1; // it takes centuries to overflow
        self.tuples.insert(pledge, State::new(number, zone, now));
        Ok(())
    }

    /// Removes the oldest one of those tuples that may be replaced.
    fn replace(&mut self, is_of: impl Fn(&SocketAddr, &State) -> bool, now: Duration) -> Result<(), Refusal> {
        let may_go = |state: &State| {
            let age = now.saturating_sub(state.since);
            age >= PROTECTED || (age >= GRACE && !state.is_confirmed)
        };
        let those = self.tuples.iter().filter(|(other, state)| is_of(other, state) && may_go(state));
        let oldest = those.min_by_key(|(_, state)| state.number).map(|(other, _)| *other);
        self.tuples.remove(&oldest.ok_or(Refusal::Full)?);
        Ok(())
    }
}

impl State {
    const fn new(number: u64, zone: u32, now: Duration) -> Self {
        Self {
            number,
            zone,
            since: now,
            last: now,
            due: Duration::ZERO,
            answered: None,
            unanswered: 0,
            unanswered_since: now,
            sent: 0,
            returned: 0,
            is_confirmed: false,
        }
    }

    /// Counts a datagram of the pledge. Returns whether the tuple stays with its registrar. One datagram may be lost, or need no
    /// answer: two do not.
    fn pass_on(&mut self, now: Duration) -> bool {
        if self.unanswered >= 2 && now.saturating_sub(self.unanswered_since) >= SILENCE {
            (self.answered, self.unanswered) = (None, 0);
        }
        if self.unanswered == 0 {
            self.unanswered_since = now;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        self.is_confirmed |= self.returned > self.sent.max(2).saturating_mul(COOKIE_REPLY);
        self.sent = self.sent.saturating_add(1);
        self.last = now;
        self.answered.is_some()
    }

    /// Counts an answer of the registrar.
    fn answer(&mut self, len: usize, now: Duration) {
        self.returned = self.returned.saturating_add(len);
        (self.answered, self.unanswered, self.last) = (Some(now), 0, now);
    }

    fn has_ended(&self, idle: Duration, now: Duration) -> bool {
        now.saturating_sub(self.last) >= idle
    }
}

/// How long a registrar that has answered on a tuple may be silent while the pledge sends, before another one may be used.
pub const SILENCE: Duration = Duration::from_secs(10);

/// The most bytes of the reply to a datagram whose sender has not shown that he receives at his address: a request with a cookie,
/// or an alert. A registrar's certificates take more than two of them.
const COOKIE_REPLY: usize = 256;

/// How old a tuple is at least before another one takes its place.
pub const GRACE: Duration = Duration::from_secs(5);

/// How long a confirmed tuple is protected. An onboarding that takes longer goes on, if nobody needs its place.
pub const PROTECTED: Duration = Duration::from_secs(15 * 60);

#[cfg(test)]
mod tests;
