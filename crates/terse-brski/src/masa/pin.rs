//! Which certificate or key a voucher pins, and until when one without a nonce counts (RFC 8995, 5.5.2 and 5.6;
//! draft-ietf-anima-constrained-voucher-31).
//!
//! What must always hold: what is pinned is on the registrar's path; the entry for the audit log names it by a domainID that
//! others can read, and that nobody takes away from a domain by having been there first.

use alloc::vec::Vec;
use core::time::Duration;

use pki_types::UnixTime;

use super::key_identifier::is_domain_id_derived;
use super::record::LogEntry;
use super::{Context, Masa, PinChoice, Refusal, RegistrarRequest};
use crate::Malformed;
use crate::audit_log::MAX_DOMAIN_ID_LEN;
use crate::certificate::{domain_id, public_key};
use crate::stored::after;
use crate::voucher::{Pin, Voucher};

impl Masa {
    /// Pins a certificate of the registrar's path, or the registrar's key, and returns the entry for the audit log. That of a key
    /// is the entry of the registrar's own certificate.
    pub(super) fn pin(
        &self,
        voucher: &mut Voucher,
        request: &RegistrarRequest,
        log: &[LogEntry],
        pin: PinChoice,
        time: UnixTime,
    ) -> Result<LogEntry, Refusal> {
        let Some((certificate, key)) = request.path().at_most(height(pin)) else {
            return Err(Refusal::NotRegistrar); // a path has a registrar
        };
        let domain_id = self.domain_id(certificate)?;
        // Whoever took a domainID that is made of another's key does not keep that one out: its registrar sees in the audit
        // log that it did not request the impostor's voucher (RFC 8995, 5.8.3).
        let is_taken = log.iter().any(|entry| entry.domain_id == domain_id && entry.key != *key);
        if is_taken && !is_domain_id_derived(&self.provider, certificate).map_err(Refusal::DomainId)? {
            return Err(Refusal::DomainIdTaken);
        }
        let pinned = match pin {
            PinChoice::RegistrarKey if knows_key_digests(request) => Pin::PublicKeySha256(*key),
            PinChoice::RegistrarKey => Pin::PublicKey(public_key(certificate).map_err(Refusal::DomainId)?.into()),
            PinChoice::Registrar | PinChoice::LowestCa | PinChoice::Highest => Pin::Certificate(certificate.clone()),
        };
        // A key has no status that could be looked up.
        voucher.domain_cert_revocation_checks = matches!(pinned, Pin::Certificate(_)).then_some(false);
        voucher.pins.push(pinned);
        let (nonce, assertion) = (voucher.nonce.clone(), voucher.assertion);
        Ok(LogEntry { date: time, domain_id, key: *key, nonce, assertion })
    }

    /// Returns the domainID of a certificate that is to be pinned. It must be one that readers of the audit log can read:
    /// else a domain could hide the log of a device from all others.
    fn domain_id(&self, certificate: &[u8]) -> Result<Vec<u8>, Refusal> {
        let domain_id = domain_id(&self.provider, certificate).map_err(Refusal::DomainId)?;
        if domain_id.len() > MAX_DOMAIN_ID_LEN {
            return Err(Refusal::DomainId(Malformed::TooLong(MAX_DOMAIN_ID_LEN)));
        }
        Ok(domain_id)
    }
}

/// Whether the pledge has named its registrar by the SHA-256 of a public key, so that it knows such pins.
fn knows_key_digests(request: &RegistrarRequest) -> bool {
    request.pledge.as_ref().is_some_and(|pledge| pledge.knows_key_digests)
}

/// Returns when a voucher without a nonce expires (RFC 8995, 5.6): after its lifetime, or with the first of the certificates
/// that it relies on, or when their revocation must be looked up anew.
pub(super) fn expires_on(
    request: &RegistrarRequest,
    context: &Context<'_>,
    lifetime: u64,
    pin: PinChoice,
    time: UnixTime,
) -> UnixTime {
    let end = request.path().first_not_after(height(pin));
    let next_update = context.revocation_next_update.filter(|next_update| time <= *next_update);
    let end = next_update.map_or(end, |next_update| end.min(next_update.as_secs()));
    let end = after(time, lifetime).as_secs().min(end);
    UnixTime::since_unix_epoch(Duration::from_secs(end))
}

/// Returns the height in a path of the certificate that is pinned, or whose key is.
const fn height(pin: PinChoice) -> usize {
    match pin {
        PinChoice::Registrar | PinChoice::RegistrarKey => 0,
        PinChoice::LowestCa => 1,
        PinChoice::Highest => usize::MAX,
    }
}
