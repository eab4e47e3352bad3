//! Ephemeral secret tickets that the client keeps, sealed under keys that only this server has. The server remembers only
//! which tickets were used.

use core::fmt;

use alloc::vec::Vec;
use zeroize::Zeroizing;

use super::{SecretTicketRecord, TicketBinding};
use crate::crypto::{Aead, CryptoError, Rng};
use crate::error::ApiMisuse;
use crate::resume::TicketKeys;
use crate::wire::{Encode, Parse};

/// The keys of a server for sealed tickets, and the list of those that were used. They are drawn at random when first
/// needed, and end with the process, after which clients are refused their early data once.
pub struct SecretTicketKeys(TicketKeys);

/// The longest lifetime in seconds. A key seals for one lifetime and opens for two, so none lives longer than two hours.
const MAX_LIFETIME: u32 = 60 * 60;

impl SecretTicketKeys {
    /// Creates keys for `aead`, such as that of a provider's first suite, and for tickets with a lifetime of
    /// `lifetime_seconds`, up to one hour. Up to `used_tickets` used tickets are remembered until they expire, with 24
    /// bytes each; if there are more, early data is refused.
    pub fn new(aead: &'static dyn Aead, lifetime_seconds: u32, used_tickets: usize) -> Result<Self, ApiMisuse> {
        if lifetime_seconds > MAX_LIFETIME {
            return Err(ApiMisuse::TicketLifetime);
        }
        TicketKeys::new(aead, lifetime_seconds, used_tickets).map(Self)
    }

    /// Wipes keys that are too old to open a ticket at `now`, in seconds since 1970. Each use of a ticket has the same
    /// effect; a server that is idle for long should call this from time to time.
    pub fn forget_expired(&self, now: u64) {
        self.0.forget_expired(now);
    }

    pub(super) const fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }

    pub(super) fn seal(
        &self,
        record: &SecretTicketRecord,
        now: u64,
        rng: &mut dyn Rng,
    ) -> Result<Vec<u8>, CryptoError> {
        let content = Zeroizing::new(record.to_vec().map_err(|_| CryptoError::InvalidLength)?);
        let content = content.get(Self::UNSEALED..).unwrap_or_default();
        self.0.seal_content(content, &record.binding.0, now, rng)
    }

    /// Returns the record, if this server sealed it for the same context, and it was not used.
    pub(super) fn open(&self, ticket: &[u8], binding: TicketBinding, now: u64) -> Option<SecretTicketRecord> {
        let content = self.0.open_content(ticket, &binding.0, now)?;
        let mut record = Zeroizing::new(Vec::with_capacity(Self::UNSEALED + content.len()));
        record.push(super::VERSION);
        record.extend_from_slice(&binding.0);
        record.extend_from_slice(&content);
        let record = SecretTicketRecord::parse_all(&record).ok()?;
        self.0.may_be_first(ticket, record.expires, now).then_some(record)
    }

    pub(super) fn take(&self, ticket: &[u8], expires: u64, now: u64) -> bool {
        self.0.is_first(ticket, expires, now)
    }

    /// The version and the binding, which a ticket need not contain: the binding is its additional data.
    const UNSEALED: usize = 1 + 32;
}

impl fmt::Debug for SecretTicketKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
