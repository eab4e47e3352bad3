//! Which one of several registrars is used. UDP tells nobody that a registrar is not there, so that silence has to. The draft has
//! no such rule: it leaves it to pledges to try another proxy.
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
    /// When the last datagram was passed on.
    last_passed: Option<Duration>,
    /// Whether anything was passed on to the current one, or it follows one that failed.
    is_used: bool,
    answered: Option<Duration>,
}

impl Failover {
    /// Creates the choice among these registrars, of which the first one is preferred. One that has answered is given up when
    /// it is silent for `silence`.
    ///
    /// In the stateful mode that is [`Self::FIRST_SILENCE`]: a tuple that was answered stays with its registrar. In the stateless
    /// mode all pledges change at once, and what strangers send is not answered either, so that it is [`Self::LONG_SILENCE`].
    pub fn new(addresses: Vec<SocketAddr>, silence: Duration) -> Self {
        Self {
            silence,
            addresses,
            current: 0,
            unanswered_since: None,
            last_passed: None,
            is_used: false,
            answered: None,
        }
    }

    /// Replaces the registrars. The one that is used stays, if it is still among them. If none was used yet, the first one is.
    pub fn replace(&mut self, addresses: Vec<SocketAddr>) {
        let current = self.current().filter(|_| self.is_used);
        self.addresses = addresses;
        let kept = self.addresses.iter().position(|address| Some(*address) == current);
        match kept {
            Some(kept) => self.current = kept,
            None => {
                self.begin(0);
                self.is_used = false;
            }
        }
    }

    /// Returns the registrar that is used.
    pub fn current(&self) -> Option<SocketAddr> {
        self.addresses.get(self.current).copied()
    }

    /// Returns the registrar to which a datagram is passed on now: the next one, if the one that is used has been silent for
    /// too long: the time given to [`Self::new`], or [`Self::FIRST_SILENCE`] if it has not answered yet. Time in which nothing is
    /// passed on is no silence: after as long as that, or [`Self::PAUSE`] if that is longer, it is counted anew.
    pub fn pass_on(&mut self, now: Duration) -> Option<SocketAddr> {
        self.current()?;
        let limit = if self.answered.is_some() { self.silence } else { Self::FIRST_SILENCE };
        let is_since = |time: Option<Duration>, limit| time.is_some_and(|time| now.saturating_sub(time) >= limit);
        if is_since(self.last_passed, limit.max(Self::PAUSE)) {
            self.unanswered_since = None;
        } else if is_since(self.unanswered_since, limit) {
            self.next();
        }
        self.unanswered_since.get_or_insert(now);
        (self.last_passed, self.is_used) = (Some(now), true);
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
            self.is_used = true;
        }
    }

    /// How long a registrar that has not answered yet may be silent. A pledge without progress tries another proxy after five
    /// seconds.
    pub const FIRST_SILENCE: Duration = Duration::from_secs(3);

    /// How long no datagram comes at least before the silence of a registrar is counted anew. A constrained pledge alone sends
    /// again after 9 seconds first (RFC 7925, 11).
    pub const PAUSE: Duration = Duration::from_secs(10);

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
