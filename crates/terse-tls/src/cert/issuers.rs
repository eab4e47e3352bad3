//! Which CAs issued a chain: their names and keys, kept once for all entries, to check the signatures of CRLs and
//! staples; and of each certificate the 8 bytes by which a revocation finds it (docs/caching.md, 3.1).
//!
//! What must always hold: beside the trust anchors, [`IssuerTable`] has only CAs of chains that were verified in a
//! handshake whose Finished was verified; and at most [`MAX_LEARNED`] of those.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

use pki_types::{CertificateDer, TrustAnchor};
use spin::Mutex;

use super::anchors::anchor_as_issuer;
use super::fields::Fields;
use super::sha256::{Context, sha256};
use crate::error::{CertificateError, InvalidMessage};
use crate::lru::Lru;
use crate::proof::FinishedProof;
use crate::wire::{Encode, Parse, Reader, Writer};

#[cfg(test)]
mod tests;

/// The name and the key of a CA, and whether it may sign CRLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issuer {
    name: Box<[u8]>,
    public_key: Box<[u8]>,
    signs_crls: bool,
}

/// The identifier of an [`Issuer`]: 8 bytes of SHA-256 over its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IssuerId([u8; 8]);

/// The identifier of a certificate: 8 bytes of SHA-256(issuer name || issuer key || serialNumber).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CertificateId([u8; 8]);

/// A certificate of a verified chain, and its issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) certificate: CertificateId,
    pub(crate) issuer: IssuerId,
}

/// The certificates of a verified chain, leaf first. The list is empty if revocation is not checked, and for a raw
/// public key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links(Box<[Link]>);

/// The issuers of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Issued {
    pub(super) links: Links,
    /// The CAs between leaf and trust anchor of a chain that was just verified. They are learned, and then dropped.
    pub(super) issuers: Vec<Issuer>,
}

/// The known CAs: the trust anchors, and those that were learned.
pub(crate) struct IssuerTable {
    anchors: Arc<[(IssuerId, Arc<Issuer>)]>,
    learned: LearnedIssuers,
}

/// The intermediate CAs of chains that were verified, with their keys. At most 64 are kept; the least recently used one
/// is dropped first. Clones share the same table.
///
/// Each [`Trust`](crate::Trust) that needs them has its own table, which ends with the process, unless
/// [`Trust::with_issuers`](crate::Trust::with_issuers) gives it the table that is saved with a cache
/// ([`snapshot`](crate::cache::snapshot)). The CAs are not trust anchors: they only verify CRLs and OCSP responses, and
/// each link of a verified chain refers to one of them.
#[derive(Clone)]
pub struct LearnedIssuers(Arc<Mutex<Lru<IssuerId, Arc<Issuer>>>>, Arc<AtomicU32>);

/// How many intermediate CAs are remembered. A forgotten one costs a full handshake.
const MAX_LEARNED: usize = 64;

/// The most bytes of a CA's name and key together, which is enough for any ML-DSA key.
const MAX_LEN: usize = 0x1000;

impl Issuer {
    /// Creates a CA with this DER `Name` and DER SubjectPublicKeyInfo. Its keyUsage tells whether it may sign CRLs.
    pub(crate) fn new(name: &[u8], public_key: &[u8], signs_crls: bool) -> Self {
        Self { name: name.into(), public_key: public_key.into(), signs_crls }
    }

    /// Returns the DER `Name`.
    pub(crate) const fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns the DER SubjectPublicKeyInfo.
    pub(crate) const fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// Whether the CA may sign CRLs (cRLSign of RFC 5280, 4.2.1.3).
    pub(crate) const fn signs_crls(&self) -> bool {
        self.signs_crls
    }

    pub(crate) fn id(&self) -> IssuerId {
        IssuerId(short(sha256(&[&self.name, &self.public_key, &[self.signs_crls.into()]])))
    }

    /// Returns a function from a serialNumber, the contents of a DER INTEGER, to the identifier of the certificate that
    /// this CA issued.
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

/// Returns the first bytes of a SHA-256.
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
    /// Returns the issuers of a chain of `certificates`, leaf first, that ends at `anchor`.
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

/// A table of known CAs. A [`Trust`](crate::Trust) reaches it by a vtable, which only those settings name that need it: a firmware
/// without CRLs and staples has none.
pub(crate) trait KnownIssuers: fmt::Debug + Send + Sync {
    /// Returns a table with the same anchors and other learned CAs.
    fn with_learned(&self, learned: LearnedIssuers) -> Arc<dyn KnownIssuers>;

    /// Returns the issuers of a verified `path`, leaf first, of certificates that ends at `anchor`; and `anchor` as an issuer.
    fn issued(
        &self,
        path: &[CertificateDer<'_>],
        anchor: &TrustAnchor<'_>,
    ) -> Result<(Issued, Issuer), CertificateError>;

    /// Returns the CA with this identifier, if it is known.
    fn find(&self, id: IssuerId) -> Option<Arc<Issuer>>;

    /// Remembers the CAs of a chain, once the peer's Finished was verified.
    fn learn(&self, proof: &FinishedProof, issuers: &[Issuer]);
}

/// Where learned CAs are kept, if the application says so.
pub(super) trait LearnedSource: Send + Sync {
    /// Returns the table.
    fn learned(&self) -> LearnedIssuers;
}

impl LearnedSource for LearnedIssuers {
    fn learned(&self) -> LearnedIssuers {
        self.clone()
    }
}

impl IssuerTable {
    pub(crate) fn new(anchors: impl Iterator<Item = Issuer>, learned: LearnedIssuers) -> Self {
        let anchors = anchors.map(|anchor| (anchor.id(), Arc::new(anchor))).collect();
        Self { anchors, learned: learned.check() }
    }
}

impl KnownIssuers for IssuerTable {
    fn with_learned(&self, learned: LearnedIssuers) -> Arc<dyn KnownIssuers> {
        Arc::new(Self { anchors: self.anchors.clone(), learned: learned.check() })
    }

    fn issued(
        &self,
        path: &[CertificateDer<'_>],
        anchor: &TrustAnchor<'_>,
    ) -> Result<(Issued, Issuer), CertificateError> {
        let anchor = anchor_as_issuer(anchor).ok_or(CertificateError::Malformed)?;
        let fields = path.iter().map(|der| Fields::read(der)).collect::<Result<Vec<_>, _>>()?;
        Ok((Issued::new(&fields, anchor.clone()), anchor))
    }

    fn find(&self, id: IssuerId) -> Option<Arc<Issuer>> {
        let anchor = self.anchors.iter().find(|(known, _)| *known == id).map(|(_, issuer)| issuer.clone());
        anchor.or_else(|| self.learned.0.lock().touch(&id).map(|issuer| issuer.clone()))
    }

    fn learn(&self, _: &FinishedProof, issuers: &[Issuer]) {
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
    /// Creates an empty table.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Lru::new(MAX_LEARNED))), Arc::default())
    }

    /// Returns how many CAs were learned so far, modulo 2^32 and including forgotten ones. A change of the number says
    /// that the table has changed.
    pub fn learned(&self) -> u32 {
        self.1.load(Ordering::SeqCst)
    }

    /// Returns how many CAs are in the table.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets CAs from a file whose identifier is wrong.
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

/// Parses `count(1)`, and then for each CA, least recently used first, `id(8) || signs_crls(1) || name<0..2^16-1> ||
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
        writer.u8(issuers.len() as u8); // at most MAX_LEARNED
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

/// Parses `links<0..255>`, each `certificate(8) || issuer(8)`.
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
