//! Checks of return routability (RFC 9853): a connection answers challenges. Who knows the peer's addresses makes them:
//! an endpoint.
//!
//! What must always hold: a challenge is answered once, and never without having agreed on it.

use alloc::vec::Vec;

use super::Connection;
use crate::config::TraceEvent;
use crate::error::Error;
use crate::wire::{ContentType, Encode, ReturnRoutabilityCheck, Writer};

/// What a connection knows of its paths.
#[derive(Default)]
pub(super) struct Paths {
    /// Checks that came and wait to be handled.
    received: Vec<ReturnRoutabilityCheck>,
}

/// How many checks wait at most: what one datagram brings. More of them are dropped, as if they had been lost.
const MAX_RECEIVED: usize = 16;

/// The longest record of a check in bytes: the longest head and tail that a record has, with a connection ID of 255.
pub(crate) const MAX_CHECK: usize = 320;

impl Connection {
    /// Returns whether it was dropped.
    pub(super) fn handle_check(&mut self, check: ReturnRoutabilityCheck) -> Result<bool, Error> {
        if !self.checks_routability() || self.paths.received.len() >= MAX_RECEIVED {
            return self.not_due(ContentType::RETURN_ROUTABILITY_CHECK);
        }
        self.paths.received.push(check);
        Ok(false)
    }

    /// Answers the challenges on the only path that is known here. Nobody asked for other checks.
    pub(super) fn answer_challenges(&mut self) {
        if !self.has_checks() {
            return;
        }
        for check in self.take_checks() {
            let has_room = self.link.sender().pending() < self.config.common().max_send_buffer;
            if let Some(response) = check.response().filter(|_| has_room && !self.closed)
                && self.link.sender_mut().record(ContentType::RETURN_ROUTABILITY_CHECK, &bytes(&response)).is_ok()
                && let Some(trace) = &self.config.common().trace
            {
                trace.event(TraceEvent::Note("the peer checks whether this side is here (RFC 9853), and is answered"));
            }
        }
    }

    /// Whether both sides answer checks, and the handshake is complete.
    pub(crate) fn checks_routability(&self) -> bool {
        self.agreed.return_routability_check && self.is_connected()
    }

    /// Sends a record of any type, as a hostile peer may, for tests.
    #[cfg(terse_testing)]
    pub fn send_record(&mut self, content_type: ContentType, content: &[u8]) -> Result<(), Error> {
        self.link.sender_mut().record(content_type, content)
    }

    /// Whether a check came since the last call of [`Self::take_checks`].
    pub(crate) const fn has_checks(&self) -> bool {
        !self.paths.received.is_empty()
    }

    /// The checks that came since the last call.
    pub(crate) fn take_checks(&mut self) -> Vec<ReturnRoutabilityCheck> {
        core::mem::take(&mut self.paths.received)
    }

    /// Makes a record with a check in `out`. Returns its length; `None` if it does not fit, or if the connection is
    /// over.
    pub(crate) fn seal_check(&mut self, check: &ReturnRoutabilityCheck, out: &mut [u8]) -> Option<usize> {
        if !self.checks_routability() {
            return None;
        }
        self.link.datagrams_mut()?.record_apart(ContentType::RETURN_ROUTABILITY_CHECK, &bytes(check), out)
    }

    /// How long an answer is waited for, in milliseconds.
    pub(crate) fn answer_timeout(&self) -> u64 {
        self.link.datagrams().map_or(0, |driver| driver.answer_timeout())
    }
}

impl ReturnRoutabilityCheck {
    /// What a challenge is answered with (RFC 9853, 5.1).
    pub(crate) const fn response(&self) -> Option<Self> {
        match self {
            Self::PathChallenge(cookie) => Some(Self::PathResponse(*cookie)),
            Self::PathResponse(_) | Self::PathDrop(_) => None,
        }
    }
}

fn bytes(check: &ReturnRoutabilityCheck) -> [u8; ReturnRoutabilityCheck::LEN] {
    let mut bytes = [0; ReturnRoutabilityCheck::LEN];
    check.encode(&mut Writer::new(&mut bytes));
    bytes
}
