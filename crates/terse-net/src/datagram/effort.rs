//! What a client over datagrams has done to get an answer, for the error that says that none came.

use core::time::Duration;
use std::io::ErrorKind;

use terse_tls::{AlertDescription, Connection, Instant};

use crate::NetError;
use crate::error::NoAnswer;

/// The effort to get an answer.
pub(crate) struct Effort {
    /// The time when the flight that waits for an answer was first sent.
    pub(crate) since: Instant,
    /// The number of times it was sent.
    pub(crate) asked: u32,
    /// What the network said last.
    pub(crate) network: Option<ErrorKind>,
}

impl Effort {
    /// Begins: a flight is sent for the first time.
    pub(crate) const fn begin(since: Instant) -> Self {
        Self { since, asked: 1, network: None }
    }

    /// Begins to wait anew. What the network said still counts.
    pub(crate) const fn restart(&mut self, since: Instant) {
        (self.since, self.asked) = (since, 1);
    }

    /// Returns the error that no answer has come, but perhaps an unprotected alert.
    pub(crate) fn no_answer(&self, connection: &Connection, now: Instant, alert: Option<AlertDescription>) -> NetError {
        let summary = connection.summary();
        NetError::NoAnswer(NoAnswer {
            in_handshake: !connection.is_connected(),
            heard: heard(connection) > 0,
            asked: self.asked,
            waited: Duration::from_millis(now.since(self.since)),
            alert,
            network: self.network,
            dropped: summary.dropped.total(),
        })
    }
}

/// Returns how many bytes of handshake messages have been received.
pub(crate) fn heard(connection: &Connection) -> u64 {
    connection.summary().received.handshake_bytes
}
