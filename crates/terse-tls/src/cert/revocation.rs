//! Revocation lists that can be replaced while connections run, and whether what was verified before is revoked now
//! (`caching`, "At every use").
//!
//! What must always hold: what [`RevocationCheck`] lets pass, path validation with the same lists would let pass. In
//! doubt it does not, and the connection goes on in full.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateRevocationListDer, SignatureVerificationAlgorithm, UnixTime};
use spin::Mutex;

use super::crls::Crls;
use super::issuers::{IssuerTable, Link};
use crate::error::ApiMisuse;

#[cfg(test)]
mod tests;

/// The revocation lists (CRLs) of a [`Trust`](super::Trust), shared by all its clones: those in configurations that are
/// in use as well.
#[derive(Clone)]
pub struct Revocation {
    issuers: Arc<IssuerTable>,
    crls: Arc<Mutex<Arc<Crls>>>,
}

impl Revocation {
    pub(super) fn new(issuers: Arc<IssuerTable>, crls: &[CertificateRevocationListDer<'_>]) -> Result<Self, ApiMisuse> {
        let crls = Arc::new(Crls::read(crls)?);
        Ok(Self { issuers, crls: Arc::new(Mutex::new(crls)) })
    }

    /// The same lists, with others known to have issued.
    pub(super) fn with_issuers(&self, issuers: Arc<IssuerTable>) -> Self {
        Self { issuers, crls: self.crls.clone() }
    }

    /// From now on these lists are in force, all of them and no others. If one of them does not parse, nothing changes.
    ///
    /// Connections that are being made are judged by the lists of either moment. What a new list revokes is no longer
    /// used: cached certificates, sessions and tickets. Everything else that is cached stays.
    pub fn replace(&self, crls: &[CertificateRevocationListDer<'_>]) -> Result<(), ApiMisuse> {
        let crls = Arc::new(Crls::read(crls)?);
        let old = core::mem::replace(&mut *self.crls.lock(), crls);
        drop(old); // without the lock: it may be long
        Ok(())
    }

    pub(super) fn in_force(&self) -> Arc<Crls> {
        self.crls.lock().clone()
    }
}

impl fmt::Debug for Revocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Revocation").field("crls", &self.in_force().len()).finish_non_exhaustive()
    }
}

/// Whether what was verified before is revoked now.
#[derive(Clone, Debug)]
pub(crate) struct RevocationCheck {
    pub(super) revocation: Option<Revocation>,
    /// Where staples are asked for, who may have issued what they are about.
    pub(super) staples: Option<Arc<IssuerTable>>,
    /// For the signatures of CRLs.
    pub(super) algorithms: Vec<&'static dyn SignatureVerificationAlgorithm>,
    pub(super) time: Option<UnixTime>,
}

/// Why what was verified before is not known to be good any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unchecked {
    Revoked,
    /// No list is about it, or only one that is past its nextUpdate.
    NoCurrentCrl,
    /// Its name and key were not learned, or forgotten: after a restart for instance.
    IssuerUnknown,
    /// A list of that issuer's name is not signed with its key.
    CrlNotVerified,
    /// A staple could not be judged: its issuer was not learned, or forgotten.
    StapleIssuerUnknown,
}

impl RevocationCheck {
    /// Whether none of the certificates of a chain, leaf first, is revoked: as in path validation, the leaf must be in
    /// the scope of a list, and those above it are looked up where there is one.
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

    /// The same of a certificate that would be sent again but for the cache: a staple that comes in its place must be
    /// judged as well.
    pub(crate) fn check_cached(&self, links: &[Link]) -> Result<(), Unchecked> {
        self.check(links)?;
        let is_known =
            |issuers: &Arc<IssuerTable>| links.first().is_some_and(|leaf| issuers.find(leaf.issuer).is_some());
        if self.staples.as_ref().is_none_or(is_known) { Ok(()) } else { Err(Unchecked::StapleIssuerUnknown) }
    }

    fn check_link(
        &self,
        Revocation { issuers, .. }: &Revocation,
        crls: &Crls,
        link: &Link,
        is_leaf: bool,
    ) -> Result<(), Unchecked> {
        let issuer = issuers.find(link.issuer).ok_or(Unchecked::IssuerUnknown)?;
        let Some(findings) = crls.of(link.issuer, &issuer, &self.algorithms) else {
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
