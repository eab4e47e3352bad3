//! The stateless mode: what the proxy must know for an answer is in a header before each datagram, which the registrar returns.
//!
//! What must always hold: no pledge costs memory; a header that this proxy has not made, or made too long ago, sends nothing
//! anywhere.

use core::net::SocketAddr;
use core::time::Duration;

use super::Refusal;
use super::header::{HEADER_LEN, HeaderKey};
use super::on_link::{OnLink, canonical};
use super::rate::Rates;

/// The limits of a stateless join proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatelessLimits {
    /// The longest datagram of a pledge, and of a registrar for it.
    pub max_content: usize,
    /// The datagrams of an interface that are passed on to the registrar in a second. Each pledge has a 32nd of them.
    pub datagrams_per_second: u32,
}

/// A stateless join proxy.
#[derive(Debug)]
pub struct Stateless {
    limits: StatelessLimits,
    on_link: OnLink,
    key: HeaderKey,
    previous: Option<HeaderKey>,
    /// When the key was the previous one's successor.
    renewed: Duration,
    rates: Rates,
}

impl Stateless {
    /// Creates a proxy with a new key. The seed is random, too.
    pub fn new(limits: StatelessLimits, on_link: OnLink, key: HeaderKey, seed: [u64; 2], now: Duration) -> Self {
        let rates = Rates::new(limits.datagrams_per_second, seed);
        Self { limits, on_link, key, previous: None, renewed: now, rates }
    }

    /// Returns the header to put before a datagram of `len` bytes that came from a pledge. It is the same for all datagrams of
    /// a pledge until the key is renewed.
    pub fn header(&mut self, pledge: SocketAddr, len: usize, now: Duration) -> Result<[u8; HEADER_LEN], Refusal> {
        let pledge = canonical(pledge);
        if !self.on_link.has(pledge) {
            return Err(Refusal::OffLink);
        }
        self.check_len(len)?;
        if !self.rates.admit(self.on_link.zone(pledge), pledge.ip(), now) {
            return Err(Refusal::TooMany);
        }
        self.key.seal(pledge, &self.on_link).ok_or(Refusal::OffLink)
    }

    /// Returns the pledge to which an answer of `len` bytes with this header goes. IPv4 addresses are as such, also if the
    /// pledge had one that was mapped to IPv6.
    pub fn pledge(&mut self, header: &[u8], len: usize, now: Duration) -> Result<SocketAddr, Refusal> {
        let header = header.try_into().map_err(|_| Refusal::NotAuthentic)?;
        if now >= self.key_due() {
            self.previous = None;
        }
        let found = self.key.open(header, &self.on_link);
        let found = found.or_else(|| self.previous.as_mut()?.open(header, &self.on_link));
        let pledge = found.ok_or(Refusal::NotAuthentic)?;
        self.check_len(len)?;
        Ok(pledge)
    }

    /// Returns when the key is to be renewed.
    pub fn key_due(&self) -> Duration {
        self.renewed.saturating_add(KEY_LIFETIME)
    }

    /// Makes headers with a new key from now on. Those of the key before are good until the next one is due.
    pub fn renew_key(&mut self, key: HeaderKey, now: Duration) {
        self.previous = Some(core::mem::replace(&mut self.key, key));
        self.renewed = now;
    }

    fn check_len(&self, len: usize) -> Result<(), Refusal> {
        match (1..=self.limits.max_content).contains(&len) {
            true => Ok(()),
            false => Err(Refusal::Length),
        }
    }
}

/// How long headers are made with a key, and how long it is good after that.
pub const KEY_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

#[cfg(test)]
mod tests;
