//! Tickets that contain the session, sealed under keys that only this server has (RFC 9846, 4.7.1; RFC 5077, 4), so
//! that the server keeps no state for a client.
//!
//! ```text
//! nonce(12) || AEAD(key, nonce, additional data = binding, session) || tag(16)
//! ```
//!
//! A ticket has 70 bytes for a TLS 1.3 session with SHA-256 and a client without a certificate. It has no key name: the
//! current key is tried, and then the previous one. The second attempt costs less than a microsecond, helps a forger by
//! one bit, and saves 16 bytes, which would be sent twice. A key name would also tell an observer which server made the
//! ticket, and since when. The two keys are random and never leave the process, so nobody can make a ticket that
//! decrypts under both.
//!
//! What must always hold: a key encrypts tickets for at most one ticket lifetime, and decrypts them for at most two.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use spin::Mutex;
use zeroize::Zeroizing;

use super::replay::ClientHellos;
use super::{Binding, MAX_LIFETIME, Session};
use crate::crypto::{Aead, AeadKey, CryptoError, NONCE_LEN, Rng};
use crate::error::{ApiMisuse, Setting};
use crate::wire::Parse;

#[cfg(test)]
mod tests;

/// The keys of a server for tickets that contain the session. All connections share them. They are drawn at random when
/// first needed, replaced as time passes, and end with the process, after which clients need a full handshake.
pub struct TicketKeys {
    aead: &'static dyn Aead,
    lifetime: u32,
    keys: Mutex<Keys>,
    /// The accepted ClientHellos with early data. They live as long as the keys: an older ClientHello cannot be
    /// replayed, since its ticket does not decrypt.
    client_hellos: Mutex<ClientHellos>,
}

#[derive(Default)]
struct Keys {
    current: Option<Key>,
    previous: Option<Key>,
}

struct Key {
    key: Box<dyn AeadKey>,
    /// When the key was drawn, in seconds since 1970.
    since: u64,
    sealed: u32,
}

impl TicketKeys {
    /// Creates keys for `aead`, such as that of a provider's first suite, and for tickets with a lifetime of
    /// `lifetime_seconds`, up to seven days. Up to `recorded_hellos` ClientHellos with early data are remembered while
    /// they could be replayed; if there are more, early data is refused. Each takes 24 bytes; use 0 if no early data is
    /// accepted.
    pub fn new(aead: &'static dyn Aead, lifetime_seconds: u32, recorded_hellos: usize) -> Result<Self, ApiMisuse> {
        if !(1..=MAX_LIFETIME).contains(&lifetime_seconds) {
            return Err(ApiMisuse::TicketLifetime);
        }
        if aead.tag_len() != TAG_LEN {
            return Err(ApiMisuse::Unsupported(Setting::TicketAlgorithm));
        }
        let client_hellos = Mutex::new(ClientHellos::new(recorded_hellos));
        Ok(Self { aead, lifetime: lifetime_seconds, keys: Mutex::default(), client_hellos })
    }

    pub(crate) const fn lifetime(&self) -> u32 {
        self.lifetime
    }

    /// Returns a ticket for `session`, which is created now.
    pub(super) fn seal(&self, session: &Session, binding: &Binding, rng: &mut dyn Rng) -> Result<Vec<u8>, CryptoError> {
        self.seal_content(&session.to_bytes(), binding.as_ref(), session.created, rng)
    }

    /// Returns a ticket with `content`, which is made at `now` for the context `binding`.
    pub(crate) fn seal_content(
        &self,
        content: &[u8],
        binding: &[u8],
        now: u64,
        rng: &mut dyn Rng,
    ) -> Result<Vec<u8>, CryptoError> {
        let mut ticket = vec![0; NONCE_LEN + content.len() + TAG_LEN];
        let (nonce, rest) = ticket.split_first_chunk_mut::<NONCE_LEN>().ok_or(CryptoError::InvalidLength)?;
        rng.fill(nonce)?;
        let (data, tag) = rest.split_at_mut(content.len());
        data.copy_from_slice(content);
        let mut keys = self.keys.lock();
        keys.rotate(self.lifetime, now);
        let key = match keys.current.take() {
            Some(key) => key,
            None => self.draw(now, rng)?,
        };
        let key = keys.current.insert(key);
        key.sealed += 1; // `rotate` keeps it below its limit
        key.key.seal(nonce, binding, data, tag)?;
        Ok(ticket)
    }

    /// Returns the session in `ticket`, if this server sealed it for the same context, and it may still be used.
    pub(super) fn open(&self, ticket: &[u8], binding: &Binding, now: u64) -> Option<Session> {
        let content = self.open_content(ticket, binding.as_ref(), now)?;
        let session = Session::parse_all(&content).ok()?;
        session.is_alive(self.lifetime, now).then_some(session)
    }

    /// Returns the content of `ticket`, if this server sealed it for the same context, and its key is still there.
    pub(crate) fn open_content(&self, ticket: &[u8], binding: &[u8], now: u64) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, sealed) = ticket.split_first_chunk::<NONCE_LEN>()?;
        let mut keys = self.keys.lock();
        keys.rotate(self.lifetime, now);
        keys.in_turn().find_map(|key| {
            let mut data = Zeroizing::new(sealed.to_vec());
            let len = key.key.open(nonce, binding, &mut data).ok()?;
            data.truncate(len);
            Some(data)
        })
    }

    /// Wipes keys that are too old to open a ticket at `now`.
    pub(crate) fn forget_expired(&self, now: u64) {
        self.keys.lock().rotate(self.lifetime, now);
    }

    /// Remembers the ClientHello with `binder`, which counts as fresh until `fresh_until`. Returns false if it came
    /// before, or cannot be remembered.
    pub(crate) fn is_first(&self, binder: &[u8], fresh_until: u64, now: u64) -> bool {
        self.client_hellos.lock().is_first(binder, fresh_until, now)
    }

    /// Returns whether [`Self::is_first`] would return true. Remembers nothing.
    pub(crate) fn may_be_first(&self, binder: &[u8], fresh_until: u64, now: u64) -> bool {
        self.client_hellos.lock().may_be_first(binder, fresh_until, now)
    }

    fn draw(&self, since: u64, rng: &mut dyn Rng) -> Result<Key, CryptoError> {
        let mut key = Zeroizing::new(vec![0; self.aead.key_len()]);
        rng.fill(&mut key)?;
        Ok(Key { key: self.aead.key(&key)?, since, sealed: 0 })
    }
}

impl Keys {
    /// Retires the current key after one ticket lifetime, or when it has sealed as often as random nonces allow, and
    /// drops the previous key when all of its tickets have expired. A clock that is set back changes nothing.
    fn rotate(&mut self, lifetime: u32, now: u64) {
        let age = |key: &Key| now.saturating_sub(key.since);
        if self.current.as_ref().is_some_and(|key| age(key) >= lifetime.into() || key.sealed == MAX_SEALED) {
            self.previous = self.current.take();
        }
        if self.previous.as_ref().is_some_and(|key| age(key) >= 2 * u64::from(lifetime)) {
            self.previous = None;
        }
    }

    fn in_turn(&self) -> impl Iterator<Item = &Key> {
        self.current.iter().chain(&self.previous)
    }
}

impl fmt::Debug for TicketKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketKeys").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

const TAG_LEN: usize = 16;

/// How many tickets a key may seal. Among 2^32 random nonces of 96 bits, two are equal with a probability of 2^-33
/// (NIST SP 800-38D, 8.3).
const MAX_SEALED: u32 = u32::MAX;
