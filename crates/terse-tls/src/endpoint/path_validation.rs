//! Path validation for a peer whose records come from another address (RFC 9146, 6), by the return routability check
//! (RFC 9853).
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
//! An address stands for a whole path here: the header that a relay puts before datagrams belongs to it ([`Path`]).
//!
//! Both addresses are challenged at once, not one after the other (RFC 9853, 5.2). The outcome is the same, but a
//! client with a new port of its NAT, the usual case, is challenged while it is awake. A client that moves on purpose
//! may use another connection ID (RFC 9147, 9): then another one of the peer's IDs, if there is one, is used for the
//! new address. If the old address answers, an attacker forwards copies of records faster than the peer, which has not
//! moved.
//!
//! What must always hold: an address that is not validated is sent at most three times as many bytes as came from
//! there; an address is validated only if the cookie of a challenge that was sent there returns from there; a message
//! of a check never begins another check.

use alloc::boxed::Box;

use super::limits::AddressChange;
use super::{ConnectionHandle, Endpoint, EndpointEvent, MAX_REPLIES, Path, touch};
use crate::connection::MAX_CHECK;
use crate::crypto::{CryptoError, Rng};
use crate::time::{Instant, Now};
use crate::wire::{PathCookie, ReturnRoutabilityCheck};

#[cfg(test)]
mod tests;

/// The origin of a datagram.
pub(super) struct DatagramOrigin<'a> {
    pub(super) from: &'a Path,
    /// The length of the datagram's accepted records in bytes.
    pub(super) len: usize,
    /// Whether it had a newer connection ID than before.
    pub(super) has_new_id: bool,
}

/// How often both addresses are challenged.
const ATTEMPTS: usize = 3;

/// A path validation in progress.
pub(super) struct Check {
    /// The old path, which is validated.
    pub(super) before: Path,
    /// The cookies of each attempt, for the old address and for the new one. All are random (RFC 9853, 5.3).
    cookies: [[PathCookie; 2]; ATTEMPTS],
    attempts: usize,
    /// Which of the cookies were sent. Too few bytes may have come from the new address for a challenge. A cookie that
    /// was not sent has no valid answer.
    sent: [[bool; 2]; ATTEMPTS],
    /// When the next attempt is due, or the validation ends.
    pub(super) deadline: Instant,
    old: Old,
    new_answered: bool,
    /// Whether the peer's connection ID was changed, so that it must not be sent to the old address.
    has_new_id: bool,
}

/// The state of the old address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Old {
    /// The old address has not answered.
    Silent,
    /// The peer is still at the old address (`path_response`).
    Preferred,
    /// The peer can be reached at the old address, but prefers another path (`path_drop`).
    Dropped,
}

/// The effect of an answer, or of an expired deadline, on a path validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The answer is ignored: it answers no challenge, comes from a wrong address, or comes again.
    Nothing,
    /// The validation continues.
    Open,
    /// Both addresses are challenged again.
    Ask,
    /// The new address is validated, so the limit is removed, but the old one may still answer.
    Reachable,
    /// The peer is at the new address.
    Moved,
    /// The peer is at the old address. New addresses are ignored until the deadline.
    Stays,
    /// No address has answered.
    Failed,
    /// The deadline has passed for a peer that stays at the old address.
    Over,
}

impl Check {
    fn new(before: Path, rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut cookies = [[PathCookie::default(); 2]; ATTEMPTS];
        rng.fill(cookies.as_flattened_mut().as_flattened_mut())?;
        let deadline = Instant(0); // until the first challenge
        let (old, new_answered, has_new_id) = (Old::Silent, false, false);
        let sent = [[false; 2]; ATTEMPTS];
        Ok(Self { before, cookies, attempts: 0, sent, deadline, old, new_answered, has_new_id })
    }

    /// Begins the next attempt. Returns the cookies for the old address and for the new one.
    fn ask(&mut self) -> Option<[PathCookie; 2]> {
        let cookies = self.cookies.get(self.attempts)?;
        self.attempts += 1;
        Some(*cookies)
    }

    /// Notes which challenges of the last attempt were sent: to the old address, and to the new one.
    fn asked(&mut self, sent: [bool; 2]) {
        if let Some(last) = self.attempts.checked_sub(1).and_then(|last| self.sent.get_mut(last)) {
            *last = sent;
        }
    }

    /// Handles an answer that came from the new address, or from elsewhere.
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
        // An attacker that is faster than the old path also forwards answers, so their source address is ignored for
        // the old path.
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

    /// Whether the peer has answered at the old address.
    pub(super) fn is_kept(&self) -> bool {
        self.old == Old::Preferred
    }

    /// Returns what to do at the deadline.
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
    /// Handles a record that is newer than all before and came from another address: the peer may have moved there.
    pub(super) fn came_from(
        &mut self,
        handle: ConnectionHandle,
        now: Now,
        rng: &mut dyn Rng,
        origin: &DatagramOrigin<'_>,
    ) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        if *origin.from == entry.path || !entry.connection.is_connected() {
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
                self.change_path(handle, origin.from.clone());
            }
        }
    }

    /// Begins a path validation of the new address, unless the peer has answered at the old one.
    fn check(&mut self, handle: ConnectionHandle, now: Now, rng: &mut dyn Rng, origin: &DatagramOrigin<'_>) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let before = entry.proven_path().clone();
        match &entry.check {
            Some(check) if check.is_kept() => return,
            Some(_) if *origin.from == before => return entry.go_back(),
            _ => {}
        }
        let Ok(check) = Check::new(before, rng) else { return };
        entry.check = Some(Box::new(check));
        entry.path = origin.from.clone();
        entry.limit(&self.limits, origin.len);
        self.challenge(handle, now, origin.has_new_id);
    }

    /// Sends a challenge to both addresses, to the old one with the connection ID that was used there.
    fn challenge(&mut self, handle: ConnectionHandle, now: Now, has_new_id: bool) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let Some(check) = &mut entry.check else { return };
        let Some([old, new]) = check.ask() else { return };
        check.deadline = Instant(now.monotonic.0.saturating_add(entry.connection.answer_timeout()));
        let asks_old = self.limits.ask_old_address(check.old == Old::Silent && !check.has_new_id);
        let (before, path) = (check.before.clone(), entry.path.clone());
        let challenge = ReturnRoutabilityCheck::PathChallenge;
        let asked_old = asks_old && self.send_check(handle, &before, &challenge(old), MAX_CHECK) > 0;
        if let Some(entry) = self.connections.get_mut(&handle)
            && has_new_id
            && entry.connection.path_changed()
            && let Some(check) = &mut entry.check
        {
            check.has_new_id = true;
        }
        let asked_new = self.send_check(handle, &path, &challenge(new), MAX_CHECK) > 0;
        if let Some(check) = self.connections.get_mut(&handle).and_then(|entry| entry.check.as_mut()) {
            check.asked([asked_old, asked_new]);
        }
    }

    /// Sends a return routability check message of at most `max` bytes, within the limit of the address. Returns its
    /// length; 0 if it is not sent, as if it had been lost.
    fn send_check(&mut self, handle: ConnectionHandle, to: &Path, check: &ReturnRoutabilityCheck, max: usize) -> usize {
        let Some(entry) = self.connections.get_mut(&handle) else { return 0 };
        if self.replies.len() >= MAX_REPLIES {
            return 0;
        }
        let mut budget = entry.budget.as_mut().filter(|_| *to == entry.path);
        let allowed = budget.as_ref().map_or(max, |budget| max.min(**budget)).min(MAX_CHECK);
        let mut record = [0; MAX_CHECK];
        let Some(len) = entry.connection.seal_check(check, &mut record[..allowed]) else { return 0 };
        if let Some(budget) = &mut budget {
            **budget -= len; // at most `allowed`
        }
        self.replies.push_back((to.clone(), record[..len].into()));
        if let ReturnRoutabilityCheck::PathChallenge(_) = check {
            self.counters.path_challenges += 1;
        }
        len
    }

    /// Handles the return routability check messages in a datagram of `len` bytes.
    pub(super) fn handle_checks(&mut self, handle: ConnectionHandle, from: &Path, len: usize) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let mut allowed = self.limits.allowance(len);
        for message in entry.connection.take_checks() {
            if let Some(response) = message.response() {
                // RFC 9853, 5.4: the response is sent to the address that the challenge came from.
                allowed -= self.send_check(handle, from, &response, allowed);
            } else {
                self.answered(handle, from, &message);
            }
        }
    }

    /// Handles an answer to a challenge.
    fn answered(&mut self, handle: ConnectionHandle, from: &Path, answer: &ReturnRoutabilityCheck) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let is_there = *from == entry.path;
        let outcome = match &mut entry.check {
            Some(check) => self.limits.take_path_response(check.heard(answer, is_there)),
            None => Outcome::Nothing,
        };
        self.conclude(handle, outcome);
    }

    /// Handles the deadline of a path validation.
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
            entry.check = None; // nothing more is reported
            return;
        }
        match outcome {
            Outcome::Open | Outcome::Ask => {}
            Outcome::Nothing => self.counters.path_responses_dropped += 1,
            Outcome::Reachable => entry.budget = None,
            Outcome::Moved => {
                entry.budget = None;
                let path = entry.path.clone();
                self.change_path(handle, path);
            }
            Outcome::Stays => {
                self.counters.paths_kept += 1;
                entry.path = entry.proven_path().clone();
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

    /// Changes the path to the peer to `to`.
    pub(super) fn change_path(&mut self, handle: ConnectionHandle, to: Path) {
        let Some(entry) = self.connections.get_mut(&handle) else { return };
        let from = entry.proven_path().clone();
        entry.path = to.clone();
        entry.check = None;
        if from == to {
            return;
        }
        self.by_path.remove(&from, handle);
        self.by_path.insert_if_free(to.clone(), handle);
        if let Some(entry) = self.connections.get_mut(&handle) {
            entry.tell(&mut self.events, handle, EndpointEvent::AddressChanged { from, to });
        }
    }
}
