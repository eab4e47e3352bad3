//! Stapled OCSP responses (RFC 6066, 8; RFC 6960): whether one shows that a certificate is good, and what a side
//! staples to its own.
//!
//! What must always hold: a response counts only if it is about the certificate in question, signed by its issuer or by
//! a responder that the issuer certified for that, and current; and it counts in the handshake in which it came, never
//! later.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

use super::fields::{Fields, sequence, split_public_key};
use super::issuers::Issuer;
use crate::crypto::CryptoProvider;
use crate::error::{ApiMisuse, CertificateError, StapleError};

mod response;

use response::{BasicResponse, CertId, CertIdHash, CertStatus, ResponderId, SingleResponse};

#[cfg(test)]
mod tests;

/// What is asked of a peer beside its certificate: an OCSP response that shows that it is good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stapling {
    /// Nothing.
    #[default]
    Off,
    /// It is asked for a response, and goes on without one; a response that comes must be good.
    Ask,
    /// It is asked for a response, and refused without a good one.
    Require,
}

/// What judges a response.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) provider: &'a CryptoProvider,
    pub(super) algorithms: &'a [&'a dyn SignatureVerificationAlgorithm],
    /// `None`: what depends on the time is not checked.
    pub(super) time: Option<UnixTime>,
}

impl Judge<'_> {
    /// Whether `response` shows that the certificate that `issuer` gave a serial number that `is_it` is good. Returns
    /// the last second at which it counts.
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

    /// RFC 6960, 3.2: by the issuer, or by whom it certified.
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

    /// Whether `responder` has this name or key. Without SHA-1 a key can be anybody's, which the signature will show.
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

    /// RFC 6960, 4.2.2.2: issued by the same CA as the certificate in question, directly, with id-kp-OCSPSigning. Its
    /// own status cannot be had here (4.2.2.2.1 leaves that open): such certificates are short-lived.
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
    /// The last second at which it counts.
    fn end(&self) -> u64 {
        self.next_update.unwrap_or(self.this_update.saturating_add(MAX_AGE))
    }

    /// RFC 6960, 4.2.2.1
    fn current_at(&self, time: UnixTime) -> Result<(), StapleError> {
        if time.as_secs() < self.this_update {
            return Err(StapleError::NotYetValid(seconds(self.this_update)));
        }
        if time.as_secs() > self.end() {
            return Err(StapleError::OutOfDate(seconds(self.end())));
        }
        Ok(())
    }
}

/// A response that a side staples to its own certificate.
#[derive(Clone)]
pub(super) struct Staple {
    response: Arc<[u8]>,
    /// When it counts, in seconds since 1970.
    from: u64,
    to: u64,
}

impl Staple {
    /// Checks that `response` is about `leaf`, as far as that can be said without the issuer's key. What it says is for
    /// the peer to judge.
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

    /// Whatever it is: what a hostile side may staple.
    #[cfg(terse_testing)]
    pub(super) fn of_anything(response: &[u8]) -> Self {
        Self { response: response.into(), from: 0, to: u64::MAX }
    }

    /// The response, if it counts at `time`: an old one is worse than none for peers that only ask.
    pub(super) fn current_at(&self, time: Option<UnixTime>) -> Option<Arc<[u8]>> {
        let is_current = time.is_none_or(|time| (self.from..=self.to).contains(&time.as_secs()));
        is_current.then(|| self.response.clone())
    }
}

/// Whether a side with this leaf would staple `response`.
#[cfg(terse_testing)]
pub(crate) fn can_staple(provider: &CryptoProvider, leaf: &[u8], response: &[u8]) -> bool {
    Staple::new(provider, leaf, response).is_ok()
}

fn seconds(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// How long a response without nextUpdate counts, in seconds. Newer ones are always there, it says (RFC 6960, 2.4); so
/// a day is long.
const MAX_AGE: u64 = 86_400;

/// How many certificates of a response are looked at. There is one, if any.
const MAX_CERTS: usize = 4;

/// The longest response to be stapled: it must fit into an extension with room to spare.
const MAX_STAPLE: usize = 0x4000;

/// id-kp-OCSPSigning, 1.3.6.1.5.5.7.3.9 (RFC 6960, 4.2.2.2), as webpki takes it.
const OCSP_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 9];
