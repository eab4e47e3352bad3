//! Revocation lists that can be replaced while connections run, and whether what was verified before is revoked now
//! (docs/caching.md, 7).
//!
//! What must always hold: [`RevocationCheck`] accepts only what path validation with the same lists would accept. In
//! doubt it does not, and a full handshake follows.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateRevocationListDer, SignatureVerificationAlgorithm, UnixTime};
use spin::Mutex;
use webpki::EndEntityCert;

use super::crls::{Crls, Findings};
use super::issuers::{Issued, Issuer, IssuerId, KnownIssuers, Link};
use super::path::{Built, PathBuilder};
use super::signatures::Signatures;
use crate::behind::Behind;
use crate::error::{ApiMisuse, CertificateError};

#[cfg(test)]
mod tests;

/// The revocation lists (CRLs) of a [`Trust`](super::Trust). All clones of the `Trust` share them, even in
/// configurations that are in use.
#[derive(Clone)]
pub struct Revocation {
    issuers: Arc<dyn KnownIssuers>,
    crls: Arc<Mutex<Arc<Crls>>>,
    code: &'static Code,
}

/// The code that reads revocation lists. Only who has lists has a pointer to it: a linker drops it from a program without.
struct Code {
    of: FindingsOf,
    check_built: CheckBuilt,
    check_issued: CheckIssued,
}

type FindingsOf = fn(&Crls, IssuerId, &Issuer, &[&dyn SignatureVerificationAlgorithm]) -> Option<Arc<Findings>>;

type CheckBuilt = for<'a> fn(
    &PathBuilder<'_, 'a>,
    &EndEntityCert<'a>,
    &Built<'a>,
    &Signatures<'a>,
    &Crls,
) -> Result<(), CertificateError>;

type CheckIssued = fn(
    &Revocation,
    &Issued,
    &Issuer,
    &[&dyn SignatureVerificationAlgorithm],
    Option<UnixTime>,
) -> Result<(), CertificateError>;

impl Code {
    const CODE: &'static Self = &Self {
        of: Crls::of,
        check_built: |builder, end_entity, built, signatures, crls| {
            builder.check_revocation(end_entity, built, signatures, crls)
        },
        check_issued: Revocation::check_links,
    };
}

impl Revocation {
    pub(super) fn new(
        issuers: Arc<dyn KnownIssuers>,
        crls: &[CertificateRevocationListDer<'_>],
    ) -> Result<Self, ApiMisuse> {
        let crls = Arc::new(Crls::read(crls)?);
        Ok(Self { issuers, crls: Arc::new(Mutex::new(crls)), code: Code::CODE })
    }

    /// Returns the same lists with another table of known issuers.
    pub(super) fn with_issuers(&self, issuers: Arc<dyn KnownIssuers>) -> Self {
        Self { issuers, ..self.clone() }
    }

    /// Replaces all lists by these. If one of them does not parse, nothing changes.
    ///
    /// A handshake in progress uses the old or the new lists. Cached certificates, sessions and tickets that a new list
    /// revokes are not used any more. All other cached entries stay.
    pub fn replace(&self, crls: &[CertificateRevocationListDer<'_>]) -> Result<(), ApiMisuse> {
        let crls = Arc::new(Crls::read(crls)?);
        let old = core::mem::replace(&mut *self.crls.lock(), crls);
        drop(old); // after the lock is released, since this may take long
        Ok(())
    }

    pub(super) fn in_force(&self) -> Arc<Crls> {
        self.crls.lock().clone()
    }

    /// Checks that no certificate of a path that was built is revoked.
    pub(super) fn check_built<'a>(
        &self,
        builder: &PathBuilder<'_, 'a>,
        end_entity: &EndEntityCert<'a>,
        built: &Built<'a>,
        signatures: &Signatures<'a>,
    ) -> Result<(), CertificateError> {
        (self.code.check_built)(builder, end_entity, built, signatures, &self.in_force())
    }

    /// Checks that no certificate of a path that was not built is revoked, as [`RevocationCheck`] does: a list with an
    /// IssuingDistributionPoint revokes, but covers nothing.
    pub(super) fn check_issued(
        &self,
        issued: &Issued,
        anchor: &Issuer,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        time: Option<UnixTime>,
    ) -> Result<(), CertificateError> {
        (self.code.check_issued)(self, issued, anchor, algorithms, time)
    }

    fn check_links(
        &self,
        issued: &Issued,
        anchor: &Issuer,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        time: Option<UnixTime>,
    ) -> Result<(), CertificateError> {
        let crls = self.in_force();
        let mut result = Ok(());
        let issuers = issued.issuers.iter().chain([anchor]);
        for (depth, (link, issuer)) in issued.links.as_slice().iter().zip(issuers).enumerate() {
            let findings = (self.code.of)(&crls, link.issuer, issuer, algorithms);
            let checked = match &findings {
                Some(findings) if findings.revokes(link) => return Err(CertificateError::Revoked),
                Some(findings) if findings.are_signed() && !findings.is_due_after(time) => {
                    Err(CertificateError::CrlExpired)
                }
                Some(findings) if findings.are_signed() && (depth > 0 || findings.is_complete()) => Ok(()),
                None if depth > 0 => Ok(()),
                _ => Err(CertificateError::UnknownRevocationStatus),
            };
            result = result.and(checked);
        }
        result
    }
}

impl fmt::Debug for Revocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Revocation").field("crls", &self.in_force().len()).finish_non_exhaustive()
    }
}

/// Checks whether a chain that was verified before is revoked now.
#[derive(Clone, Debug)]
pub(crate) struct RevocationCheck {
    pub(super) revocation: Option<Behind<Revocation>>,
    /// The known issuers, if staples are requested.
    pub(super) staples: Option<Arc<dyn KnownIssuers>>,
    /// The algorithms for the signatures of CRLs.
    pub(super) algorithms: Vec<&'static dyn SignatureVerificationAlgorithm>,
    pub(super) time: Option<UnixTime>,
}

/// Why a chain that was verified before is not accepted any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unchecked {
    Revoked,
    /// No list covers the certificate, or only one that is past its nextUpdate.
    NoCurrentCrl,
    /// The issuer was not learned, or was forgotten, for instance after a restart.
    IssuerUnknown,
    /// No list with the issuer's name is signed with its key.
    CrlNotVerified,
    /// A staple could not be checked, because its issuer was not learned, or was forgotten.
    StapleIssuerUnknown,
}

impl RevocationCheck {
    /// Checks that none of the certificates of a chain, leaf first, is revoked. As in path validation, a list must
    /// cover the leaf; the certificates above it are looked up if their issuer has a list.
    pub(crate) fn check(&self, links: &[Link]) -> Result<(), Unchecked> {
        let Some(revocation) = &self.revocation else { return Ok(()) };
        let crls = revocation.in_force();
        let mut doubt = links.is_empty().then_some(Unchecked::IssuerUnknown);
        for (depth, link) in links.iter().enumerate() {
            match self.check_link(revocation, &crls, link, depth == 0) {
                Ok(()) => {}
                Err(Unchecked::Revoked) => return Err(Unchecked::Revoked),
                Err(other) => doubt = doubt.or(Some(other)),
            }
        }
        doubt.map_or(Ok(()), Err)
    }

    /// Checks a chain that comes from the cache instead of a message. The issuer of its leaf must also be known if
    /// staples are requested, since a staple is then checked with its key.
    pub(crate) fn check_cached(&self, links: &[Link]) -> Result<(), Unchecked> {
        self.check(links)?;
        let is_known =
            |issuers: &Arc<dyn KnownIssuers>| links.first().is_some_and(|leaf| issuers.find(leaf.issuer).is_some());
        if self.staples.as_ref().is_none_or(is_known) { Ok(()) } else { Err(Unchecked::StapleIssuerUnknown) }
    }

    fn check_link(
        &self,
        Revocation { issuers, code, .. }: &Revocation,
        crls: &Crls,
        link: &Link,
        is_leaf: bool,
    ) -> Result<(), Unchecked> {
        let issuer = issuers.find(link.issuer).ok_or(Unchecked::IssuerUnknown)?;
        let Some(findings) = (code.of)(crls, link.issuer, &issuer, &self.algorithms) else {
            return if is_leaf { Err(Unchecked::NoCurrentCrl) } else { Ok(()) };
        };
        if findings.revokes(link) {
            return Err(Unchecked::Revoked);
        }
        if !findings.are_signed() {
            return Err(Unchecked::CrlNotVerified);
        }
        if !findings.is_due_after(self.time) || (is_leaf && !findings.is_complete()) {
            return Err(Unchecked::NoCurrentCrl);
        }
        Ok(())
    }
}
