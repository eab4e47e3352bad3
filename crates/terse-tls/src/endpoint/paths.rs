//! A peer whose records come from another address (RFC 9146, 6): where the connection goes, and the check whether it is
//! there (RFC 9853).
//!
//! ```text
//!                      a newer record from elsewhere
//!                                   │      what is sent goes there, three times what came from there at most;
//!                                   v      challenges go there, and to the old address
//!            ┌──────────────── checking ─────────────────┐
//!     the old one answers           │           nobody answers, asked ATTEMPTS times
//!     or is heard of again          │                    │
//!            v                      v                    v
//!   back to the old one       only the new one      back to the old one
//!   until the time is over    answered in time
//! ```
//!
//! Both addresses are asked at once, not one after the other (RFC 9853, 5.2): the outcome is the same, but a client
//! whose NAT has given it another port, which is what happens, is asked while it is awake. A client that moves on
//! purpose may show it with another connection ID (RFC 9147, 9): then the new address gets one of its own as well, if
//! there is one. That the old address answers, shows that somebody copies records and is faster than their sender: who
//! has moved is not there any more.
//!
//! What must always hold: an address that is not proven gets no more than three times what came from there; only a peer
//! that was sent the cookie of a challenge, and answers it from there, proves an address; no check is begun because of
//! a check.

use alloc::boxed::Box;
use core::net::SocketAddr;

use super::limits::AddressChange;
use super::{ConnectionHandle, Endpoint, EndpointEvent, MAX_REPLIES, touch};
use crate::connection::MAX_CHECK;
use crate::crypto::{CryptoError, Rng};
use crate::time::{Instant, Now};
use crate::wire::{PathCookie, ReturnRoutabilityCheck};

#[cfg(test)]
mod tests;

/// Where a datagram came from.
pub(super) struct DatagramOrigin {
    pub(super) from: SocketAddr,
    /// In bytes.
    pub(super) len: usize,
    /// With another connection ID than before.
    pub(super) has_new_id: bool,
}

/// How often both addresses are asked.
const ATTEMPTS: usize = 3;

/// A check that has begun.
pub(super) struct Check {
    /// Where the peer was, which is proven.
    pub(super) before: SocketAddr,
    /// For each attempt what the old address is asked, and the new one. Each is random (RFC 9853, 5.3).
    cookies: [[PathCookie; 2]; ATTEMPTS],
    attempts: usize,
    /// Which of the cookies went out: to an address that is not proven nothing may go if too little came from there. Nobody
    /// can have seen the others.
    sent: [[bool; 2]; ATTEMPTS],
    /// When the next attempt is due, or the end.
    pub(super) deadline: Instant,
    old: Old,
    new_answered: bool,
    /// The peer's connection ID is one now that the old address is not to see.
    has_new_id: bool,
}

/// What is known of the old address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Old {
    /// It was not heard of.
    Silent,
    /// The peer is still there.
    Preferred,
    /// The peer can be reached there but has another path (`path_drop`).
    Dropped,
}

/// What an answer to a challenge, or time, makes of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It answers nothing that was asked, or not from where it was asked, or for the second time.
    Nothing,
    /// It is still to be seen where the peer is.
    Open,
    /// Both addresses are to be asked again.
    Ask,
    /// The new address may be sent any amount, but the old one may still answer.
    Reachable,
    /// The peer is at the new address.
    Moved,
    /// The peer is at the old address: others are not listened to until the time is over.
    Stays,
    /// Nobody answered.
    Failed,
    /// The time is over for a peer that stays.
    Over,
}

impl Check {
    fn new(before: SocketAddr, rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut cookies = [[PathCookie::default(); 2]; ATTEMPTS];
        rng.fill(cookies.as_flattened_mut().as_flattened_mut())?;
        let deadline = Instant(0); // until it is asked
        let (old, new_answered, has_new_id) = (Old::Silent, false, false);
        let sent = [[false; 2]; ATTEMPTS];
        Ok(Self { before, cookies, attempts: 0, sent, deadline, old, new_answered, has_new_id })
    }

    /// The next attempt: what to ask the old address, and the new one.
    fn ask(&mut self) -> Option<[PathCookie; 2]> {
        let cookies = self.cookies.get(self.attempts)?;
        self.attempts += 1;
        Some(*cookies)
    }

    /// What of the last attempt went out: to the old address, and to the new one.
    fn asked(&mut self, sent: [bool; 2]) {
        if let Some(last) = self.attempts.checked_sub(1).and_then(|last| self.sent.get_mut(last)) {
            *last = sent;
        }
    }

    /// An answer came, from the new address or from elsewhere.
    fn heard(&mut self, answer: &ReturnRoutabilityCheck, from_new: bool) -> Outcome {
        let (cookie, is_drop) = match answer {
            ReturnRoutabilityCheck::PathChallenge(_) => return Outcome::Nothing,
            ReturnRoutabilityCheck::PathResponse(cookie) => (cookie, false),
            ReturnRoutabilityCheck::PathDrop(cookie) => (cookie, true),
        };
        let answers = |place: usize| {
            self.cookies.iter().zip(&self.sent).any(|(cookies, sent)| sent[place] && cookies[place] == *cookie)
        };
        let (is_of_old, is_of_new) = (answers(0), answers(1));
        // Whoever is faster than the old path brings its answers as well: that they come from elsewhere says nothing.
        match self.old {
            Old::Silent if is_of_old && !is_drop => {
                self.old = Old::Preferred;
                Outcome::Stays
            }
            Old::Silent if is_of_old => {
                self.old = Old::Dropped;
                if self.new_answered { Outcome::Moved } else { Outcome::Open }
            }
            Old::Silent | Old::Dropped if is_of_new && !is_drop && from_new && !self.new_answered => {
                self.new_answered = true;
                if self.old == Old::Dropped { Outcome::Moved } else { Outcome::Reachable }
            }
            _ => Outcome::Nothing,
        }
    }

    /// Whether the peer is known to be at the old address.
    pub(super) fn is_kept(&self) -> bool {
        self.old == Old::Preferred
    }

    /// The deadline has come.
    fn expired(&self) -> Outcome {
        match self.old {
            Old::Preferred => Outcome::Over,
            _ if self.new_answered => Outcome::Moved,
            _ if self.attempts < ATTEMPTS => Outcome::Ask,
            _ => Outcome::Failed,
        }
    }
}

impl Endpoint {
    /// A datagram that was newer than all before came from somewhere: the peer may be there now.
    pub(super) fn came_from(&mut self, handle: ConnectionHandle, now: Now, rng: &mut dyn Rng, origin: &DatagramOrigin) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        if origin.from == entry.address || !entry.connection.is_connected() {
            return;
        }
        match self.limits.address_change {
            AddressChange::Refuse => self.counters.other_address += 1,
            AddressChange::Check if entry.connection.checks_routability() => self.check(handle, now, rng, origin),
            change => {
                if change != AddressChange::Follow {
                    entry.limit(&self.limits, origin.len);
                }
                if origin.has_new_id {
                    entry.connection.path_changed();
                }
                self.settle(handle, origin.from);
            }
        }
    }

    /// Begins a check whether the peer is there, unless it is known to be where it was.
    fn check(&mut self, handle: ConnectionHandle, now: Now, rng: &mut dyn Rng, origin: &DatagramOrigin) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let before = entry.proven_address();
        match &entry.check {
            Some(check) if check.is_kept() => return,
            Some(_) if origin.from == before => return entry.go_back(),
            _ => {}
        }
        let Ok(check) = Check::new(before, rng) else { return };
        entry.check = Some(Box::new(check));
        entry.address = origin.from;
        entry.limit(&self.limits, origin.len);
        self.challenge(handle, now, origin.has_new_id);
    }

    /// Asks both addresses whether the peer is there, the old one under the connection ID that it knows.
    fn challenge(&mut self, handle: ConnectionHandle, now: Now, has_new_id: bool) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let Some(check) = &mut entry.check else { return };
        let Some([old, new]) = check.ask() else { return };
        check.deadline = Instant(now.monotonic.0.saturating_add(entry.connection.answer_timeout()));
        let asks_old = self.limits.ask_old_address(check.old == Old::Silent && !check.has_new_id);
        let (before, address) = (check.before, entry.address);
        let challenge = ReturnRoutabilityCheck::PathChallenge;
        let asked_old = asks_old && self.send_check(handle, before, &challenge(old), MAX_CHECK) > 0;
        if let Some(entry) = self.connections.get_mut(&handle)
            && has_new_id
            && entry.connection.path_changed()
            && let Some(check) = &mut entry.check
        {
            check.has_new_id = true;
        }
        let asked_new = self.send_check(handle, address, &challenge(new), MAX_CHECK) > 0;
        if let Some(check) = self.connections.get_mut(&handle).and_then(|entry| entry.check.as_mut()) {
            check.asked([asked_old, asked_new]);
        }
    }

    /// Sends a check to an address, of `max` bytes at most, and as far as the address may have it. Returns its length;
    /// 0 if it is not sent, as if it had been lost.
    fn send_check(
        &mut self,
        handle: ConnectionHandle,
        to: SocketAddr,
        check: &ReturnRoutabilityCheck,
        max: usize,
    ) -> usize {
        let Some(entry) = self.connections.get_mut(&handle) else { return 0 };
        if self.replies.len() >= MAX_REPLIES {
            return 0;
        }
        let mut budget = entry.budget.as_mut().filter(|_| to == entry.address);
        let allowed = budget.as_ref().map_or(max, |budget| max.min(**budget)).min(MAX_CHECK);
        let mut record = [0; MAX_CHECK];
        let Some(len) = entry.connection.seal_check(check, &mut record[..allowed]) else { return 0 };
        if let Some(budget) = &mut budget {
            **budget -= len; // at most `allowed`
        }
        self.replies.push_back((to, record[..len].into()));
        if let ReturnRoutabilityCheck::PathChallenge(_) = check {
            self.counters.path_challenges += 1;
        }
        len
    }

    /// Handles the checks in a datagram of `len` bytes.
    pub(super) fn handle_checks(&mut self, handle: ConnectionHandle, from: SocketAddr, len: usize) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let mut allowed = self.limits.allowance(len);
        for message in entry.connection.take_checks() {
            if let Some(response) = message.response() {
                // RFC 9853, 5.4: to where the challenge came from.
                allowed -= self.send_check(handle, from, &response, allowed);
            } else {
                self.answered(handle, from, &message);
            }
        }
    }

    /// An answer to a challenge came.
    fn answered(&mut self, handle: ConnectionHandle, from: SocketAddr, answer: &ReturnRoutabilityCheck) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let is_there = from == entry.address;
        let outcome = match &mut entry.check {
            Some(check) => self.limits.take_path_response(check.heard(answer, is_there)),
            None => Outcome::Nothing,
        };
        self.conclude(handle, outcome);
    }

    /// The time of a check has passed.
    pub(super) fn check_expired(&mut self, handle: ConnectionHandle, now: Now) {
        let Some(check) = self.connections.get(&handle).and_then(|entry| entry.check.as_ref()) else { return };
        if now.monotonic < check.deadline {
            return;
        }
        match check.expired() {
            Outcome::Ask => self.challenge(handle, now, false),
            outcome => self.conclude(handle, outcome),
        }
    }

    pub(super) fn conclude(&mut self, handle: ConnectionHandle, outcome: Outcome) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        if entry.has_failed {
            entry.check = None; // nothing more is told of it
            return;
        }
        match outcome {
            Outcome::Open | Outcome::Ask => {}
            Outcome::Nothing => self.counters.path_responses_dropped += 1,
            Outcome::Reachable => entry.budget = None,
            Outcome::Moved => {
                entry.budget = None;
                let address = entry.address;
                self.settle(handle, address);
            }
            Outcome::Stays => {
                self.counters.paths_kept += 1;
                entry.address = entry.proven_address();
                entry.budget = None;
            }
            Outcome::Failed => {
                self.counters.paths_unproven += 1;
                entry.go_back();
            }
            Outcome::Over => entry.check = None,
        }
        touch(&mut self.touched, handle);
    }

    /// The peer is at `to`, as far as is known.
    pub(super) fn settle(&mut self, handle: ConnectionHandle, to: SocketAddr) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let from = entry.proven_address();
        entry.address = to;
        entry.check = None;
        if from == to {
            return;
        }
        self.by_address.remove(from, handle);
        self.by_address.insert_if_free(to, handle);
        if let Some(entry) = self.connections.get_mut(&handle) {
            entry.tell(&mut self.events, handle, EndpointEvent::AddressChanged { from, to });
        }
    }
}
