//! Compares the audit log of a device with the policy of the domain (RFC 8995, 5.8.3).
//!
//! What must always hold: a log that does not name the voucher that was just had, by domainID and nonce, is not the device's;
//! an event counts against a device unless the policy says otherwise.

use core::fmt;

use super::{AuditPolicy, NoncelessEvents};
use crate::audit_log::{AuditLog, Event};
use crate::voucher::Nonce;

/// What the registrar itself knows about the vouchers of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History<'a> {
    /// The domainIDs of the own domain: of each certificate that was ever pinned for it. Not empty.
    pub domain_ids: &'a [&'a [u8]],
    /// The nonce of the voucher that the domain has just had.
    pub nonce: &'a Nonce,
    /// The nonces for which the domain has requested vouchers for this device, or `None` if no such history is kept. A
    /// domainID is in public certificates, so that another domain could use it; the nonces tell. With them, a voucher of the
    /// own domain without a nonce is one that it did not request.
    pub nonces: Option<&'a [Nonce]>,
}

/// Why a device may not join, or stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditRefused {
    /// The log has a later version.
    LaterVersion,
    /// The log does not name the voucher that this domain has just had.
    NotNamed,
    /// Another domain has had the device.
    UnknownDomain,
    /// A voucher without a nonce was issued to somebody who may have none. It can be used again to take the device.
    Nonceless,
    /// Events are missing for which no later one stands.
    Truncated,
    /// A voucher was issued in the name of this domain that it did not request.
    NotRequested,
}

impl fmt::Display for AuditRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LaterVersion => "the audit log has a later version than is known here",
            Self::NotNamed => "the audit log does not name the voucher that this domain has just had",
            Self::UnknownDomain => "another domain has had the device",
            Self::Nonceless => "somebody has a voucher without a nonce for the device, which can be used again",
            Self::Truncated => "events are missing in the audit log",
            Self::NotRequested => "the audit log names a voucher of this domain that it did not request",
        })
    }
}

impl core::error::Error for AuditRefused {}

impl AuditPolicy {
    /// Compares a log with the policy.
    pub fn check(&self, log: &AuditLog, history: &History<'_>) -> Result<(), AuditRefused> {
        if self.is_ignored {
            return Ok(());
        }
        if log.version > 1 && !self.accepts_later_versions {
            return Err(AuditRefused::LaterVersion);
        }
        let is_named = |event: &Event| is_own(event, history) && event.nonce.as_ref() == Some(history.nonce);
        if !log.events.iter().any(is_named) {
            return Err(AuditRefused::NotNamed);
        }
        if log.arbitrary > 0 && !self.accepts_arbitrary_truncation {
            return Err(AuditRefused::Truncated);
        }
        log.events.iter().try_for_each(|event| self.check_event(event, history))
    }

    /// Checks one event. The duplicates that it stands for were earlier ones of its domain, with or without a nonce as it.
    fn check_event(&self, event: &Event, history: &History<'_>) -> Result<(), AuditRefused> {
        if self.since.is_some_and(|since| event.date < since) {
            return Ok(());
        }
        let is_own = is_own(event, history);
        let is_known = is_own || self.known_domains.contains(&event.domain_id);
        // Each request of the domain has a nonce, so that a voucher without one was not requested either.
        let is_requested = |nonces: &[Nonce]| event.nonce.as_ref().is_some_and(|nonce| nonces.contains(nonce));
        if is_own && history.nonces.is_some_and(|nonces| !is_requested(nonces)) {
            return Err(AuditRefused::NotRequested);
        }
        if event.nonce.is_none() {
            let is_accepted = match self.nonceless {
                NoncelessEvents::Own => is_own,
                NoncelessEvents::Known => is_known,
                NoncelessEvents::All => true,
            };
            return match is_accepted {
                true if is_known || self.accepts_unknown_domains => Ok(()),
                true => Err(AuditRefused::UnknownDomain),
                false => Err(AuditRefused::Nonceless),
            };
        }
        if is_known || self.accepts_unknown_domains { Ok(()) } else { Err(AuditRefused::UnknownDomain) }
    }
}

fn is_own(event: &Event, history: &History<'_>) -> bool {
    history.domain_ids.iter().any(|own| *own == event.domain_id)
}

#[cfg(test)]
mod tests;
