//! Which one of several registrars is used. UDP tells nobody that a registrar is not there, so that silence has to.
//!
//! What must always hold: a registrar that answers is kept; one that failed is tried again after all others.

use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// The registrars, and which one of them is used.
#[derive(Debug)]
pub struct Failover {
    silence: Duration,
    addresses: Vec<SocketAddr>,
    current: usize,
    /// When the first datagram since the last answer was passed on.
    unanswered_since: Option<Duration>,
    answered: Option<Duration>,
}

impl Failover {
    /// Creates the choice among these registrars, of which the first one is preferred. One that has answered is given up when
    /// it is silent for `silence`.
    ///
    /// In the stateful mode that is [`Self::FIRST_SILENCE`]: a tuple that was answered stays with its registrar. In the stateless
    /// mode all pledges change at once, and what strangers send is not answered either, so that it is [`Self::LONG_SILENCE`].
    pub fn new(addresses: Vec<SocketAddr>, silence: Duration) -> Self {
        Self { silence, addresses, current: 0, unanswered_since: None, answered: None }
    }

    /// Replaces the registrars. The one that is used stays, if it is still among them.
    pub fn replace(&mut self, addresses: Vec<SocketAddr>) {
        let current = self.current();
        self.addresses = addresses;
        let kept = self.addresses.iter().position(|address| Some(*address) == current);
        match kept {
            Some(kept) => self.current = kept,
            None => self.begin(0),
        }
    }

    /// Returns the registrar that is used.
    pub fn current(&self) -> Option<SocketAddr> {
        self.addresses.get(self.current).copied()
    }

    /// Returns the registrar to which a datagram is passed on now: the next one, if the one that is used has been silent for
    /// too long: the time given to [`Self::new`], or [`Self::FIRST_SILENCE`] if it has not answered yet.
    pub fn pass_on(&mut self, now: Duration) -> Option<SocketAddr> {
        let limit = if self.answered.is_some() { self.silence } else { Self::FIRST_SILENCE };
        if self.unanswered_since.is_some_and(|since| now.saturating_sub(since) >= limit) {
            self.next();
        }
        self.unanswered_since.get_or_insert(now);
        self.current()
    }

    /// Takes an answer of a registrar.
    pub fn answered(&mut self, from: SocketAddr, now: Duration) {
        if self.current() == Some(from) {
            self.unanswered_since = None;
            self.answered = Some(now);
        }
    }

    /// Takes an error of the network about a registrar, and goes on to the next one. Who can forge the error cannot do so while
    /// the registrar answers.
    pub fn failed(&mut self, address: SocketAddr, now: Duration) {
        let is_fresh = self.answered.is_some_and(|answered| now.saturating_sub(answered) < Self::FIRST_SILENCE);
        if self.current() == Some(address) && !is_fresh {
            self.next();
        }
    }

    /// How long a registrar that has not answered yet may be silent. A pledge without progress tries another proxy after five
    /// seconds.
    pub const FIRST_SILENCE: Duration = Duration::from_secs(3);

    /// How long is enough for all pledges to come back that were told to wait: they do after 25 seconds at most.
    pub const LONG_SILENCE: Duration = Duration::from_secs(30);

    fn next(&mut self) {
        self.begin((self.current + 1) % self.addresses.len().max(1));
    }

    fn begin(&mut self, current: usize) {
        (self.current, self.unanswered_since, self.answered) = (current, None, None);
    }
}

#[cfg(test)]
mod tests;
