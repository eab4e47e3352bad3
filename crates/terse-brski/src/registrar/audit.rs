//! Compares the audit log of a device with the policy of the domain (RFC 8995, 5.8.3).
//!
//! What must always hold: a log that does not name the voucher that was just had, by domainID and nonce, is not the device's;
//! an event counts against a device unless the policy says otherwise.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use pki_types::UnixTime;

use super::{AuditPolicy, NoncelessEvents};
use crate::audit_log::{AuditLog, Event};
use crate::base64;
use crate::stored::after;
use crate::voucher::Nonce;

/// What the registrar itself knows about the vouchers of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History<'a> {
    /// The domainIDs of the own domain: of each certificate that was ever pinned for it. Not empty.
    pub domain_ids: &'a [&'a [u8]],
    /// The nonce of the voucher that the domain has just had, or `None` if that has none.
    pub nonce: Option<&'a Nonce>,
    /// The nonces for which the domain has requested vouchers for this device, or `None` if no such history is kept. A
    /// domainID is in public certificates, so that another domain could use it; the nonces tell.
    pub nonces: Option<&'a [Nonce]>,
    /// The vouchers without a nonce that the domain has requested for this device. They count if [`Self::nonces`] are kept:
    /// then each stands for one event at most, whose date is within its time.
    pub nonceless: &'a [NoncelessRequest],
}

/// A voucher without a nonce that the domain has requested.
///
/// No nonce tells the event of the domain from that of another one that uses its domainID. What tells them is the number, and
/// the date that the MASA has given: a second event, or one at another time, was not requested. One that somebody else
/// caused at the same time is taken for that of the domain if the domain's own request never reached the MASA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoncelessRequest {
    /// When it was first sent.
    pub first_sent: UnixTime,
    /// When it was last sent. The same request has one event.
    pub last_sent: UnixTime,
}

impl NoncelessRequest {
    /// Whether the event of this request can have this date.
    fn can_be(&self, date: UnixTime) -> bool {
        date >= self.earliest() && date <= self.latest()
    }

    fn earliest(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(self.first_sent.as_secs().saturating_sub(CLOCK_TOLERANCE)))
    }

    fn latest(&self) -> UnixTime {
        after(self.last_sent, CLOCK_TOLERANCE + ANSWER_SECONDS)
    }
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
        let is_named = |event: &Event| {
            is_own(event, history)
                && match (&event.nonce, history.nonce) {
                    (Some(logged), Some(own)) => is_one_of(logged, core::slice::from_ref(own)),
                    (logged, own) => logged.is_none() && own.is_none(),
                }
        };
        if !log.events.iter().any(is_named) {
            return Err(AuditRefused::NotNamed);
        }
        if log.arbitrary > 0 && !self.accepts_arbitrary_truncation {
            return Err(AuditRefused::Truncated);
        }
        let counts = |event: &&Event| self.since.is_none_or(|since| event.date >= since);
        let events = || log.events.iter().filter(counts);
        events().try_for_each(|event| self.check_event(event, history))?;
        if history.nonces.is_some() {
            check_nonceless(
                events().filter(|event| event.nonce.is_none() && is_own(event, history)),
                history.nonceless,
            )?;
        }
        Ok(())
    }

    /// Checks one event. The duplicates that it stands for were earlier ones of its domain, with or without a nonce as it.
    fn check_event(&self, event: &Event, history: &History<'_>) -> Result<(), AuditRefused> {
        let is_own = is_own(event, history);
        let is_known = is_own || self.known_domains.contains(&event.domain_id);
        let Some(nonce) = &event.nonce else { return self.check_without_nonce(is_own, is_known) };
        if is_own && history.nonces.is_some_and(|nonces| !is_one_of(nonce, nonces)) {
            return Err(AuditRefused::NotRequested);
        }
        if is_known || self.accepts_unknown_domains { Ok(()) } else { Err(AuditRefused::UnknownDomain) }
    }

    fn check_without_nonce(&self, is_own: bool, is_known: bool) -> Result<(), AuditRefused> {
        let is_accepted = match self.nonceless {
            NoncelessEvents::Own => is_own,
            NoncelessEvents::Known => is_known,
            NoncelessEvents::All => true,
        };
        match is_accepted {
            true if is_known || self.accepts_unknown_domains => Ok(()),
            true => Err(AuditRefused::UnknownDomain),
            false => Err(AuditRefused::Nonceless),
        }
    }
}

/// Finds for each event of the own domain without a nonce a request of its own. Events that were removed, for which a later
/// one stands, need one each as well.
fn check_nonceless<'a>(
    events: impl Iterator<Item = &'a Event>,
    requests: &[NoncelessRequest],
) -> Result<(), AuditRefused> {
    let mut events: Vec<&Event> = events.collect();
    events.sort_by_key(|event| event.date);
    let mut unused: Vec<&NoncelessRequest> = requests.iter().collect();
    unused.sort_by_key(|request| request.latest());
    let mut removed = 0_u64;
    for event in events {
        // Of the requests that it can be of, the one whose time ends first: the others can be those of later events.
        let request = unused.iter().position(|request| request.can_be(event.date));
        unused.remove(request.ok_or(AuditRefused::NotRequested)?);
        removed = removed.saturating_add(event.truncated);
    }
    if removed > unused.len() as u64 { Err(AuditRefused::NotRequested) } else { Ok(()) }
}

/// Whether the nonce of an event is one of these. The nonce of a request in CBOR is bytes, which are in base64 in the log.
fn is_one_of(logged: &Nonce, nonces: &[Nonce]) -> bool {
    let text = core::str::from_utf8(logged.as_bytes()).ok();
    let bytes = text.and_then(|text| base64::decode(text, "nonce").ok()).and_then(|bytes| Nonce::new(&bytes).ok());
    nonces.iter().any(|own| own == logged || Some(own) == bytes.as_ref())
}

fn is_own(event: &Event, history: &History<'_>) -> bool {
    history.domain_ids.iter().any(|own| *own == event.domain_id)
}

/// How many seconds the clocks of registrar and MASA may differ.
const CLOCK_TOLERANCE: u64 = 300;

/// How many seconds a request may take.
const ANSWER_SECONDS: u64 = 60;

#[cfg(test)]
mod tests;
