//! OCSP stapling (RFC 6066, 8; RFC 6960): checks whether a response shows that a certificate is good, and keeps the
//! response for a side's own certificate.
//!
//! What must always hold: a response counts only if it is about the certificate in question, is signed by its issuer or
//! by a responder that the issuer has certified for that, and is current; and it counts only in the handshake in which
//! it came.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

use super::fields::{Fields, sequence, split_public_key};
use super::issuers::Issuer;
use crate::crypto::CryptoProvider;
use crate::error::{ApiMisuse, CertificateError, Date, StapleError};

mod response;

use response::{BasicResponse, CertId, CertIdHash, CertStatus, ResponderId, SingleResponse};

#[cfg(test)]
mod tests;

/// Whether a peer must prove by a stapled OCSP response that its certificate is good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stapling {
    /// No response is requested.
    #[default]
    Off,
    /// A response is requested, but not required. A response that comes must be good.
    Ask,
    /// A response is requested, and the peer is refused without a good one.
    Require,
}

/// Checks OCSP responses.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) provider: &'a CryptoProvider,
    pub(super) algorithms: &'a [&'a dyn SignatureVerificationAlgorithm],
    /// The current time; with `None` the dates of a response are not checked.
    pub(super) time: Option<UnixTime>,
}

impl Judge<'_> {
    /// Checks that `response` shows that a certificate of `issuer` is good, whose serial number `is_it` accepts.
    /// Returns the last second at which the response is valid.
    #[inline(never)]
    pub(super) fn check(
        &self,
        response: &[u8],
        issuer: &Issuer,
        is_it: impl Fn(&[u8]) -> bool,
    ) -> Result<u64, CertificateError> {
        let response = BasicResponse::read(response).map_err(CertificateError::Staple)?;
        let is_about = |single: &SingleResponse<'_>| {
            is_it(single.cert_id.serial_number)
                && self.is_hash_of(&single.cert_id, single.cert_id.issuer_name_hash, issuer.name())
                && split_public_key(issuer.public_key())
                    .is_ok_and(|(_, key)| self.is_hash_of(&single.cert_id, single.cert_id.issuer_key_hash, key))
        };
        let single = response.find(is_about).map_err(CertificateError::Staple)?;
        let single = single.ok_or(CertificateError::Staple(StapleError::OtherCertificate))?;
        self.check_signature(&response, issuer).map_err(CertificateError::Staple)?;
        if let Some(time) = self.time {
            single.current_at(time).map_err(CertificateError::Staple)?;
        }
        match single.status {
            CertStatus::Good => Ok(single.end()),
            CertStatus::Revoked => Err(CertificateError::Revoked),
            CertStatus::Unknown => Err(CertificateError::Staple(StapleError::UnknownStatus)),
        }
    }

    fn is_hash_of(&self, cert_id: &CertId<'_>, hash: &[u8], data: &[u8]) -> bool {
        match cert_id.hash {
            CertIdHash::Sha1 => self.provider.sha1.is_some_and(|sha1| sha1(data) == hash),
            CertIdHash::Sha256 => self.provider.sha256.hash(&[data]).as_ref() == hash,
            CertIdHash::Other => false,
        }
    }

    /// Checks that the issuer, or a responder that it has certified, signed the response (RFC 6960, 3.2).
    fn check_signature(&self, response: &BasicResponse<'_>, issuer: &Issuer) -> Result<(), StapleError> {
        if self.may_be(response.responder, issuer.name(), issuer.public_key()) {
            return self.verify(response, issuer.public_key());
        }
        let responders = response.certs().take(MAX_CERTS);
        let mut responders = responders.filter_map(|der| {
            let der = CertificateDer::from(der);
            let fields = Fields::read(&der).ok()?;
            self.may_be(response.responder, fields.subject, fields.public_key).then_some(())?;
            Some(der)
        });
        let responder = responders.next().ok_or(StapleError::NotFromIssuer)?;
        self.check_responder(&responder, issuer).ok_or(StapleError::NotFromIssuer)?;
        let responder = Fields::read(&responder)?;
        self.verify(response, responder.public_key)
    }

    /// Whether `responder` has this name or key. Without SHA-1 a key cannot be compared, so the signature decides.
    fn may_be(&self, responder: ResponderId<'_>, name: &[u8], public_key: &[u8]) -> bool {
        match (responder, self.provider.sha1) {
            (ResponderId::ByName(wanted), _) => wanted == name,
            (ResponderId::ByKey(_), None) => true,
            (ResponderId::ByKey(wanted), Some(sha1)) => {
                split_public_key(public_key).is_ok_and(|(_, key)| sha1(key) == wanted)
            }
        }
    }

    fn verify(&self, response: &BasicResponse<'_>, public_key: &[u8]) -> Result<(), StapleError> {
        let (key_algorithm, key) = split_public_key(public_key)?;
        let algorithm = self.algorithms.iter().find(|algorithm| {
            algorithm.public_key_alg_id().as_ref() == key_algorithm
                && algorithm.signature_alg_id().as_ref() == response.signature_algorithm
        });
        let algorithm = algorithm.ok_or(StapleError::UnsupportedAlgorithm)?;
        algorithm.verify_signature(key, response.signed, response.signature).map_err(|_| StapleError::NotFromIssuer)
    }

    /// Checks that the CA that issued the certificate in question also issued the responder's, directly and with
    /// id-kp-OCSPSigning (RFC 6960, 4.2.2.2). The responder's own revocation is not checked, which 4.2.2.2.1 allows:
    /// such certificates are short-lived.
    #[inline(never)]
    fn check_responder(&self, responder: &CertificateDer<'_>, issuer: &Issuer) -> Option<()> {
        let end_entity = EndEntityCert::try_from(responder).ok()?;
        let fields = Fields::read(responder).ok()?;
        let at = self.time.unwrap_or_else(|| seconds(fields.not_before));
        let anchor = TrustAnchor {
            subject: sequence(issuer.name()).ok()?.into(),
            subject_public_key_info: sequence(issuer.public_key()).ok()?.into(),
            name_constraints: None,
        };
        let usage = KeyUsage::required(OCSP_SIGNING);
        end_entity.verify_for_usage(self.algorithms, &[anchor], &[], at, usage, None, None).ok()?;
        fields.key_usage.is_none_or(|usage| usage.digital_signature()).then_some(())
    }
}

impl SingleResponse<'_> {
    /// Returns the last second at which the response is valid.
    fn end(&self) -> u64 {
        self.next_update.unwrap_or(self.this_update.saturating_add(MAX_AGE))
    }

    /// Checks that the response is valid at `time` (RFC 6960, 4.2.2.1).
    fn current_at(&self, time: UnixTime) -> Result<(), StapleError> {
        if time.as_secs() < self.this_update {
            return Err(StapleError::NotYetValid(Date::of_seconds(self.this_update)));
        }
        if time.as_secs() > self.end() {
            return Err(StapleError::OutOfDate(Date::of_seconds(self.end())));
        }
        Ok(())
    }
}

/// A response that a side staples to its own certificate.
#[derive(Clone)]
pub(super) struct Staple {
    response: Arc<[u8]>,
    /// The first second at which the response is valid, since 1970.
    from: u64,
    to: u64,
}

impl Staple {
    /// Checks that `response` is about `leaf`, as far as possible without the issuer's key. The peer checks the rest.
    pub(super) fn new(provider: &CryptoProvider, leaf: &[u8], response: &[u8]) -> Result<Self, ApiMisuse> {
        if response.len() > MAX_STAPLE {
            return Err(ApiMisuse::MalformedStaple);
        }
        let basic = BasicResponse::read(response).map_err(|_| ApiMisuse::MalformedStaple)?;
        let leaf = Fields::read(leaf).map_err(|_| ApiMisuse::MalformedCertificate)?;
        let judge = Judge { provider, algorithms: &[], time: None };
        let is_about = |single: &SingleResponse<'_>| {
            let cert_id = &single.cert_id;
            cert_id.serial_number == leaf.serial_number
                && judge.is_hash_of(cert_id, cert_id.issuer_name_hash, leaf.issuer)
        };
        let single = basic.find(is_about).map_err(|_| ApiMisuse::MalformedStaple)?;
        let single = single.ok_or(ApiMisuse::StapleOfOtherCertificate)?;
        Ok(Self { response: response.into(), from: single.this_update, to: single.end() })
    }

    /// Creates a staple without checks, as a hostile side may send it.
    #[cfg(terse_testing)]
    pub(super) fn of_anything(response: &[u8]) -> Self {
        Self { response: response.into(), from: 0, to: u64::MAX }
    }

    /// Returns the response, if it is valid at `time`. A peer that does not require a response would refuse an old one.
    pub(super) fn current_at(&self, time: Option<UnixTime>) -> Option<Arc<[u8]>> {
        let is_current = time.is_none_or(|time| (self.from..=self.to).contains(&time.as_secs()));
        is_current.then(|| self.response.clone())
    }
}

/// Whether a side with the certificate `leaf` would staple `response`.
#[cfg(terse_testing)]
pub(crate) fn can_staple(provider: &CryptoProvider, leaf: &[u8], response: &[u8]) -> bool {
    Staple::new(provider, leaf, response).is_ok()
}

fn seconds(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// How long a response without nextUpdate is valid, in seconds. It says that newer information is always available (RFC
/// 6960, 2.4), so a day is enough.
const MAX_AGE: u64 = 86_400;

/// How many certificates of a response are examined. There is usually at most one.
const MAX_CERTS: usize = 4;

/// The longest response that is stapled, which fits into an extension.
const MAX_STAPLE: usize = 0x4000;

/// id-kp-OCSPSigning, 1.3.6.1.5.5.7.3.9 (RFC 6960, 4.2.2.2), in the encoding of webpki.
const OCSP_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 9];
