//! A handshake over UDP with one peer: which flight is under way, what of the peer's has come, and the timer.

use core::time::Duration;
use std::net::SocketAddr;

use super::{Header, Timers};
use crate::Time;
use crate::host::{SendError, SocketId, Sockets};
use crate::script::{Action, Message, Outcome, conversations};

/// A handshake with one peer.
#[derive(Debug)]
pub(super) struct Conversation {
    script: Vec<Action>,
    /// The next step.
    next: usize,
    /// When the present computation is done.
    done_at: Option<Time>,
    /// The flight that this side sent last, as long as it may have to be sent again: until the peer has answered it.
    sent: Option<Flight>,
    timers: Timers,
    /// The present timeout, and when it is over.
    timeout: Duration,
    timer: Option<Time>,
    /// The datagrams that came of the flight that is waited for.
    came: Came,
    /// The flight of the peer before, which this side has answered.
    before: Option<Before>,
    outcome: Outcome,
}

/// A flight that this side sent.
#[derive(Debug)]
struct Flight {
    message: Message,
    /// How often it was sent before.
    attempt: u32,
    is_last: bool,
}

/// The datagrams that came of a flight.
#[derive(Debug, Default)]
struct Came {
    /// Whether each came, by its place.
    parts: Vec<bool>,
    /// With which repetitions the last one came.
    last: Attempts,
}

/// A flight of the peer that is complete.
#[derive(Debug)]
struct Before {
    message: Message,
    last: Attempts,
}

/// A set of repetitions of a datagram. Those from the 64th on are not told apart.
#[derive(Clone, Copy, Debug, Default)]
struct Attempts(u64);

impl Conversation {
    pub(super) fn new(script: Vec<Action>, timers: Timers, peer: SocketAddr, now: Time) -> Self {
        let outcome = Outcome { began: Some(now), ..Outcome::new(peer) };
        Self {
            script,
            next: 0,
            done_at: None,
            sent: None,
            timers,
            timeout: timers.initial,
            timer: None,
            came: Came::default(),
            before: None,
            outcome,
        }
    }

    /// Does all steps that can be done.
    pub(super) fn advance(&mut self, now: Time, wire: &mut Wire<'_, '_>) {
        while !self.outcome.is_over() {
            if self.done_at.is_some_and(|at| at > now) {
                return;
            }
            self.done_at = None;
            match self.script.get(self.next) {
                Some(Action::Compute(time)) => {
                    wire.sockets.busy(*time);
                    self.done_at = Some(wire.sockets.idle_at());
                }
                Some(Action::Send(message)) => {
                    let message = message.clone();
                    let rest = self.script.iter().skip(self.next + 1);
                    let is_last = !rest.into_iter().any(|action| matches!(action, Action::Await(_)));
                    self.timeout = self.timers.initial;
                    self.send(Flight { message, attempt: 0, is_last }, wire);
                }
                Some(Action::Await(message)) => {
                    self.came.parts.resize(message.parts.len(), false);
                    if !self.came.parts.iter().all(|came| *came) {
                        return;
                    }
                    let Came { last, .. } = core::mem::take(&mut self.came);
                    self.before = Some(Before { message: message.clone(), last });
                    (self.sent, self.timer) = (None, None);
                }
                None => return self.outcome.connected = Some(wire.sockets.idle_at()),
            }
            self.next += 1;
        }
    }

    /// Takes a datagram.
    pub(super) fn take(&mut self, now: Time, header: Header, wire: &mut Wire<'_, '_>) {
        self.advance(now, wire);
        if let Some(Action::Await(message)) = self.script.get(self.next)
            && message.number == header.flight
            && self.done_at.is_none()
        {
            if let Some(came) = self.came.parts.get_mut(usize::from(header.index)) {
                *came = true;
            }
            if is_last_of(message, header) {
                self.came.last.insert(header.attempt);
            }
            return self.advance(now, wire);
        }
        // RFC 6347, 4.2.4: a peer that repeats its flight has not got the answer.
        if let Some(before) = &mut self.before
            && is_last_of(&before.message, header)
            && !before.message.stateless
            && before.last.insert(header.attempt)
        {
            self.repeat(wire);
        }
    }

    /// Handles the end of a computation or of the timer, if one of them is due.
    pub(super) fn expire(&mut self, now: Time, wire: &mut Wire<'_, '_>) {
        self.advance(now, wire);
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        self.timer = None;
        if self.timeout >= self.timers.maximum {
            return self.outcome.fail("the peer did not answer");
        }
        self.timeout = (self.timeout * 2).min(self.timers.maximum);
        self.repeat(wire);
    }

    fn repeat(&mut self, wire: &mut Wire<'_, '_>) {
        if self.outcome.failure.is_none()
            && let Some(flight) = self.sent.take()
        {
            self.outcome.repeated_flights += 1;
            self.send(Flight { attempt: flight.attempt.saturating_add(1), ..flight }, wire);
        }
    }

    fn send(&mut self, flight: Flight, wire: &mut Wire<'_, '_>) {
        if let Err(longest) = wire.check(&flight.message) {
            return self
                .outcome
                .fail(format!("{}: no datagram can be longer than {longest} bytes", flight.message.name));
        }
        wire.send(self.outcome.peer, &flight.message, flight.attempt);
        self.timer = (!flight.is_last).then(|| wire.sockets.idle_at() + self.timeout);
        self.sent = Some(flight);
    }
}

impl conversations::Conversation for Conversation {
    fn deadline(&self) -> Option<Time> {
        if self.outcome.failure.is_some() {
            return None;
        }
        [self.done_at, self.timer].into_iter().flatten().min()
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

impl Attempts {
    /// Adds a repetition, and returns whether it was not there.
    const fn insert(&mut self, attempt: u32) -> bool {
        let bit = 1 << if attempt < 63 { attempt } else { 63 };
        let is_new = self.0 & bit == 0;
        self.0 |= bit;
        is_new
    }
}

fn is_last_of(message: &Message, header: Header) -> bool {
    message.number == header.flight && usize::from(header.index) + 1 == message.parts.len()
}

/// A socket to send flights with.
pub(super) struct Wire<'a, 's> {
    pub(super) socket: SocketId,
    pub(super) sockets: &'a mut Sockets<'s>,
}

impl Wire<'_, '_> {
    /// Sends a flight that was sent `attempt` times before.
    pub(super) fn send(&mut self, to: SocketAddr, message: &Message, attempt: u32) {
        for (index, len) in (0..=u8::MAX).zip(&message.parts) {
            let datagram = Header { flight: message.number, index, attempt }.datagram(*len);
            // Where there is a conversation, `check` has reported a datagram that is too long; a stateless answer is lost.
            let _: Result<(), SendError> = self.sockets.send_to(self.socket, to, &datagram);
        }
    }

    /// Returns the length of the longest datagram, if one of these is longer.
    fn check(&self, message: &Message) -> Result<(), usize> {
        let longest = self.sockets.longest_datagram();
        if message.parts.iter().any(|len| *len > longest) { Err(longest) } else { Ok(()) }
    }
}
