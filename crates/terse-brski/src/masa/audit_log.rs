//! The audit log of a device, for who has or had it (RFC 8995, 5.8 and 5.8.1).
//!
//! What must always hold: nobody learns of a device that it never had a voucher for; what is left out is counted.

use alloc::vec::Vec;

use super::record::LogEntry;
use super::{Masa, Refusal, RegistrarRequest};
use crate::audit_log::{AuditLog, Event, MAX_EVENTS};

impl Masa {
    /// Returns the audit log of the device that a request names. `log` is all that was issued for it, in any order.
    pub fn audit_log(&self, request: &RegistrarRequest, log: &[LogEntry]) -> Result<AuditLog, Refusal> {
        if !log.iter().any(|entry| request.path().has_key(&entry.key)) {
            return Err(Refusal::NeverOwner);
        }
        Ok(abridged(log, self.policy.max_events.min(MAX_EVENTS)))
    }
}

/// Returns a log of at most `max_events`, the newest first. A longer one loses the earlier events of each domain first, with
/// and without a nonce apart; then the oldest. A domain is a key: an event under a domainID never stands for one of another
/// key under the same domainID, so that a registrar sees what an impostor has had in its name.
fn abridged(log: &[LogEntry], max_events: usize) -> AuditLog {
    let mut newest_first: Vec<&LogEntry> = log.iter().collect();
    newest_first.sort_by_key(|entry| core::cmp::Reverse(entry.date));
    let mut abridged = AuditLog { version: 1, ..AuditLog::default() };
    if newest_first.len() <= max_events {
        abridged.events = newest_first.into_iter().map(LogEntry::to_event).collect();
        return abridged;
    }
    let mut kept: Vec<(&LogEntry, Event)> = Vec::new();
    for entry in newest_first {
        let is_later = |(later, _): &&mut (&LogEntry, Event)| {
            (&later.domain_id, &later.key, later.nonce.is_some())
                == (&entry.domain_id, &entry.key, entry.nonce.is_some())
        };
        let is_full = kept.len() >= max_events;
        match kept.iter_mut().find(is_later) {
            Some((_, event)) => {
                count(&mut event.truncated);
                count(match entry.nonce {
                    Some(_) => &mut abridged.nonced_duplicates,
                    None => &mut abridged.nonceless_duplicates,
                });
            }
            None if is_full => count(&mut abridged.arbitrary),
            None => kept.push((entry, entry.to_event())),
        }
    }
    abridged.events = kept.into_iter().map(|(_, event)| event).collect();
    abridged
}

/// Counts one more, up to the number at which counting may end (RFC 8995, 5.8.1).
fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1).min(MAX_COUNT);
}

const MAX_COUNT: u64 = 1_024;

#[cfg(test)]
mod tests;
