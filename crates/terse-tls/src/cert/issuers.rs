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
use core::sync::atomic::{AtomicU32, Ordering};

use spin::Mutex;

use super::fields::Fields;
use super::sha256::{Context, sha256};
use crate::error::InvalidMessage;
use crate::lru::Lru;
use crate::proof::FinishedProof;
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

/// The CAs that are known here: the trust anchors, and those learned.
pub(crate) struct IssuerTable {
    anchors: Arc<[(IssuerId, Arc<Issuer>)]>,
    learned: LearnedIssuers,
}

/// Who issued the chains that were verified: CAs between leaf and trust anchor, with their keys, 64 at most, of which
/// the least recently used goes first. Clones are one and the same.
///
/// Each [`Trust`](crate::Trust) that needs them has its own, which end with the process, unless
/// [`Trust::with_issuers`](crate::Trust::with_issuers) gives it those that are saved with a cache
/// ([`snapshot`](crate::cache::snapshot)). They are no trust: they name who signs CRLs and OCSP responses, and each
/// link of a chain that was verified says which of them it means.
#[derive(Clone)]
pub struct LearnedIssuers(Arc<Mutex<Lru<IssuerId, Arc<Issuer>>>>, Arc<AtomicU32>);

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

    pub(crate) fn id(&self) -> IssuerId {
        IssuerId(short(sha256(&[&self.name, &self.public_key, &[self.signs_crls.into()]])))
    }

    /// The certificates that it issued, by their serialNumbers, which are the contents of DER INTEGERs.
    pub(crate) fn certificates(&self) -> impl Fn(&[u8]) -> CertificateId {
        let mut issuer = Context::new();
        issuer.update(&self.name);
        issuer.update(&self.public_key);
        move |serial_number| {
            let mut hash = issuer.clone();
            hash.update(serial_number);
            CertificateId(short(hash.finish()))
        }
    }

    fn fits(&self) -> bool {
        self.name.len() + self.public_key.len() <= MAX_LEN
    }
}

/// The first bytes of a SHA-256.
const fn short(digest: [u8; 32]) -> [u8; 8] {
    let [a, b, c, d, e, f, g, h, ..] = digest;
    [a, b, c, d, e, f, g, h]
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
    pub(super) fn new(certificates: &[Fields<'_>], anchor: Issuer) -> Self {
        let issuer_of = |fields: &Fields<'_>, issuer: &Fields<'_>| {
            Issuer::new(fields.issuer, issuer.public_key, issuer.key_usage.is_none_or(|usage| usage.crl_sign()))
        };
        let pairs = certificates.iter().zip(certificates.get(1..).unwrap_or_default());
        let issuers: Vec<_> = pairs.map(|(fields, issuer)| issuer_of(fields, issuer)).collect();
        let links = certificates.iter().zip(issuers.iter().chain([&anchor])).map(|(fields, issuer)| Link {
            certificate: issuer.certificates()(fields.serial_number),
            issuer: issuer.id(),
        });
        Self { links: Links(links.collect()), issuers }
    }
}

impl IssuerTable {
    pub(crate) fn new(anchors: impl Iterator<Item = Issuer>, learned: LearnedIssuers) -> Self {
        let anchors = anchors.map(|anchor| (anchor.id(), Arc::new(anchor))).collect();
        Self { anchors, learned: learned.check() }
    }

    /// The same with others that were learned.
    pub(super) fn with_learned(&self, learned: LearnedIssuers) -> Self {
        Self { anchors: self.anchors.clone(), learned: learned.check() }
    }

    /// The CA of this name, if it is known.
    pub(crate) fn find(&self, id: IssuerId) -> Option<Arc<Issuer>> {
        let anchor = self.anchors.iter().find(|(known, _)| *known == id).map(|(_, issuer)| issuer.clone());
        anchor.or_else(|| self.learned.0.lock().touch(&id).map(|issuer| issuer.clone()))
    }

    /// Remembers the CAs of a chain that was verified in a handshake that the peer finished.
    pub(crate) fn learn(&self, _: &FinishedProof, issuers: &[Issuer]) {
        for issuer in issuers.iter().filter(|issuer| issuer.fits()) {
            let id = issuer.id();
            if self.find(id).is_none() {
                self.learned.0.lock().insert(id, Arc::new(issuer.clone()));
                self.learned.1.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

impl LearnedIssuers {
    /// None yet.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Lru::new(MAX_LEARNED))), Arc::default())
    }

    /// How many were learned so far, modulo 2^32, also those that are forgotten: whether there are others than before.
    pub fn learned(&self) -> u32 {
        self.1.load(Ordering::SeqCst)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets what came from a file under another name than its own.
    fn check(self) -> Self {
        let mut issuers = self.0.lock();
        let wrong = |(id, issuer): (&IssuerId, &Arc<Issuer>)| (issuer.id() != *id).then_some(*id);
        let wrong: Vec<_> = issuers.oldest_first().filter_map(wrong).collect();
        for id in wrong {
            issuers.remove(&id);
        }
        drop(issuers);
        self
    }
}

impl Default for LearnedIssuers {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LearnedIssuers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LearnedIssuers").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// `count(1)`, then of each, least recently used first, `id(8) || signs_crls(1) || name<0..2^16-1> ||
/// public_key<0..2^16-1>`.
impl Parse<'_> for LearnedIssuers {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let count = usize::from(reader.u8()?);
        let mut issuers = Lru::new(MAX_LEARNED);
        for _ in 0..count {
            let id = IssuerId(reader.array()?);
            let signs_crls = match reader.u8()? {
                0 => false,
                1 => true,
                _ => return Err(InvalidMessage::IllegalValue),
            };
            let issuer = Issuer::new(reader.vec16()?, reader.vec16()?, signs_crls);
            if !issuer.fits() || issuers.peek(&id).is_some() || issuers.len() == MAX_LEARNED {
                return Err(InvalidMessage::IllegalValue);
            }
            issuers.insert(id, Arc::new(issuer));
        }
        Ok(Self(Arc::new(Mutex::new(issuers)), Arc::default()))
    }
}

impl Encode for LearnedIssuers {
    fn encode(&self, writer: &mut Writer<'_>) {
        let issuers = self.0.lock();
        writer.u8(issuers.len() as u8); // there are not more
        for (id, issuer) in issuers.oldest_first() {
            writer.bytes(&id.0);
            writer.u8(issuer.signs_crls.into());
            writer.vec::<2>(|writer| writer.bytes(&issuer.name));
            writer.vec::<2>(|writer| writer.bytes(&issuer.public_key));
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
