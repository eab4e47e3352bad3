//! Which CAs issued a chain: their names and keys, kept once for all entries, to check the signatures of CRLs and
//! staples; and of each certificate the 8 bytes by which a revocation finds it (`caching`, "Objects, fingerprints, what
//! is kept").
//!
//! What must always hold: [`IssuerTable`] has the trust anchors, and beyond them only CAs of chains that led to one in
//! a handshake whose Finished was verified; and never more than [`MAX_LEARNED`] of those.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use spin::Mutex;

use super::fields::Fields;
use crate::cache::FinishedProof;
use crate::crypto::{Digest, Hash};
use crate::error::InvalidMessage;
use crate::lru::Lru;
use crate::wire::{Encode, Parse, Reader, Writer};

#[cfg(test)]
mod tests;

/// A CA, as far as it signs: its name, its key, and what it may do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issuer {
    name: Box<[u8]>,
    public_key: Box<[u8]>,
    signs_crls: bool,
}

/// Names an [`Issuer`]: 8 bytes of a SHA-256 over all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IssuerId([u8; 8]);

/// Names a certificate: 8 bytes of SHA-256(issuer name || issuer key || serialNumber).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CertificateId([u8; 8]);

/// A certificate of a verified chain, and who issued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) certificate: CertificateId,
    pub(crate) issuer: IssuerId,
}

/// The certificates of a verified chain, leaf first. Empty where revocation is not checked, and for a raw public key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links(Box<[Link]>);

/// Who issued a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Issued {
    pub(super) links: Links,
    /// The CAs between leaf and trust anchor, from a chain that was just verified: to be learned, and then dropped.
    pub(super) issuers: Vec<Issuer>,
}

/// The CAs that are known here: the trust anchors, and those learned, of which the least recently used goes first.
pub(crate) struct IssuerTable {
    sha256: &'static dyn Hash,
    anchors: Box<[(IssuerId, Arc<Issuer>)]>,
    learned: Mutex<Lru<IssuerId, Arc<Issuer>>>,
}

/// How many CAs between leaves and trust anchors are remembered. One that is forgotten costs a full handshake.
const MAX_LEARNED: usize = 64;

/// The longest name and key of one together: room for any ML-DSA key.
const MAX_LEN: usize = 0x1000;

impl Issuer {
    /// A CA with this DER `Name` and DER SubjectPublicKeyInfo; whether it may sign CRLs says its keyUsage.
    pub(crate) fn new(name: &[u8], public_key: &[u8], signs_crls: bool) -> Self {
        Self { name: name.into(), public_key: public_key.into(), signs_crls }
    }

    /// The DER `Name`.
    pub(crate) const fn name(&self) -> &[u8] {
        &self.name
    }

    /// The DER SubjectPublicKeyInfo.
    pub(crate) const fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// RFC 5280, 4.2.1.3, cRLSign.
    pub(crate) const fn signs_crls(&self) -> bool {
        self.signs_crls
    }

    pub(crate) fn id(&self, sha256: &dyn Hash) -> IssuerId {
        IssuerId(short(sha256.hash(&[&self.name, &self.public_key, &[self.signs_crls.into()]])))
    }

    /// The certificates that it issued, by their serialNumbers, which are the contents of DER INTEGERs.
    pub(crate) fn certificates(&self, sha256: &dyn Hash) -> impl Fn(&[u8]) -> CertificateId {
        let mut issuer = sha256.start();
        issuer.update(&self.name);
        issuer.update(&self.public_key);
        move |serial_number| {
            let mut hash = issuer.fork();
            hash.update(serial_number);
            CertificateId(short(hash.finish()))
        }
    }

    fn fits(&self) -> bool {
        self.name.len() + self.public_key.len() <= MAX_LEN
    }
}

/// The first bytes of a SHA-256.
fn short(digest: Digest) -> [u8; 8] {
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

impl Links {
    pub(crate) const fn as_slice(&self) -> &[Link] {
        &self.0
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Issued {
    /// A chain of `certificates`, leaf first, that ends at `anchor`.
    pub(super) fn new(sha256: &dyn Hash, certificates: &[Fields<'_>], anchor: Issuer) -> Self {
        let issuer_of = |fields: &Fields<'_>, issuer: &Fields<'_>| {
            Issuer::new(fields.issuer, issuer.public_key, issuer.key_usage.is_none_or(|usage| usage.crl_sign()))
        };
        let pairs = certificates.iter().zip(certificates.get(1..).unwrap_or_default());
        let issuers: Vec<_> = pairs.map(|(fields, issuer)| issuer_of(fields, issuer)).collect();
        let links = certificates.iter().zip(issuers.iter().chain([&anchor])).map(|(fields, issuer)| Link {
            certificate: issuer.certificates(sha256)(fields.serial_number),
            issuer: issuer.id(sha256),
        });
        Self { links: Links(links.collect()), issuers }
    }
}

impl IssuerTable {
    pub(crate) fn new(sha256: &'static dyn Hash, anchors: impl Iterator<Item = Issuer>) -> Self {
        let anchors = anchors.map(|anchor| (anchor.id(sha256), Arc::new(anchor))).collect();
        Self { sha256, anchors, learned: Mutex::new(Lru::new(MAX_LEARNED)) }
    }

    pub(crate) const fn sha256(&self) -> &'static dyn Hash {
        self.sha256
    }

    /// The CA of this name, if it is known.
    pub(crate) fn find(&self, id: IssuerId) -> Option<Arc<Issuer>> {
        let anchor = self.anchors.iter().find(|(known, _)| *known == id).map(|(_, issuer)| issuer.clone());
        anchor.or_else(|| self.learned.lock().touch(&id).map(|issuer| issuer.clone()))
    }

    /// Remembers the CAs of a chain that was verified in a handshake that the peer finished.
    pub(crate) fn learn(&self, _: &FinishedProof, issuers: &[Issuer]) {
        for issuer in issuers.iter().filter(|issuer| issuer.fits()) {
            let id = issuer.id(self.sha256);
            if self.find(id).is_none() {
                self.learned.lock().insert(id, Arc::new(issuer.clone()));
            }
        }
    }
}

impl From<&[Link]> for Links {
    fn from(links: &[Link]) -> Self {
        Self(links.into())
    }
}

impl fmt::Debug for IssuerTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuerTable").field("anchors", &self.anchors.len()).finish_non_exhaustive()
    }
}

/// `links<0..255>`, each `certificate(8) || issuer(8)`.
impl Parse<'_> for Links {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let mut links = Reader::new(reader.vec8()?);
        let mut all = Vec::new();
        while !links.is_empty() {
            all.push(Link { certificate: CertificateId(links.array()?), issuer: IssuerId(links.array()?) });
        }
        Ok(Self(all.into()))
    }
}

impl Encode for Links {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<1>(|writer| {
            for Link { certificate, issuer } in &self.0 {
                writer.bytes(&certificate.0);
                writer.bytes(&issuer.0);
            }
        });
    }
}
