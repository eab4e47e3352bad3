//! Whom to believe: path validation (RFC 5280) through `rustls-webpki`, and raw public keys (RFC 7250).
//!
//! What must always hold: [`Trust::verify`] is the only place that makes a [`VerifiedPeer`] from certificates, and
//! [`Trust::verify_raw_public_key`] from a raw public key.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use pki_types::{
    CertificateDer, CertificateRevocationListDer, ServerName, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer,
    TrustAnchor, UnixTime,
};
use webpki::{EndEntityCert, KeyUsage};
use x509_cert::der::asn1::AnyRef;
use x509_cert::der::{Encode as _, Tag};

use super::TrustId;
use super::fields::{self, Fields};
use super::issuers::{Issuer, IssuerTable, LearnedIssuers, Link};
use super::ocsp::{Judge, Stapling};
use super::path::{Path, PathBuilder};
use super::raw_public_keys::{RawPublicKeys, unknown};
use super::sha256::Context;
use super::webpki_error::named_error;
use super::{CertificateIdentity, Revocation, RevocationCheck, VerifiedPeer};
use crate::crypto::{CryptoProvider, Hash};
use crate::error::{ApiMisuse, CertificateError, StapleError};
use crate::proof::FinishedProof;
use crate::wire::{CertificateType, SignatureScheme};

/// Who is believed: trust anchors with their revocation lists, raw public keys, and what to do without a clock.
#[derive(Clone)]
pub struct Trust {
    inner: Arc<Inner>,
    /// Where revocation is checked: who issued what was verified.
    issuers: Option<Arc<IssuerTable>>,
    /// Where those are that the application keeps.
    learned: Option<LearnedIssuers>,
    revocation: Option<Revocation>,
    raw_public_keys: Option<Arc<RawPublicKeys>>,
    stapling: Stapling,
    accept_without_clock: bool,
}

struct Inner {
    anchors: Vec<TrustAnchor<'static>>,
    /// Hash of them.
    digest: [u8; 32],
}

/// The role of the peer whose chain is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerRole<'a> {
    /// A server, which must have this name.
    Server(&'a ServerName<'a>),
    /// A client, whose name is for the application to judge.
    Client,
}

impl Trust {
    /// Believes what leads to one of `anchors`, the certificates of CAs.
    pub fn new(anchors: &[CertificateDer<'_>]) -> Result<Self, ApiMisuse> {
        if anchors.is_empty() {
            return Err(ApiMisuse::NoTrustAnchors);
        }
        let mut anchors = (anchors.iter())
            .map(|anchor| webpki::anchor_from_trusted_cert(anchor).map(|anchor| anchor.to_owned()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| ApiMisuse::MalformedCertificate)?;
        anchors.sort_by(|a, b| a.subject_public_key_info.cmp(&b.subject_public_key_info));
        Ok(Self::of_anchors(anchors))
    }

    /// Believes these raw public keys (RFC 7250), each a DER SubjectPublicKeyInfo, and no certificate.
    ///
    /// A raw public key says nothing about names or time: a client takes each of these keys from any server, whatever
    /// name it connects to. To expect one key of one server, give the connections to it a `Trust` of that key alone. A
    /// key is believed until it is no longer configured.
    pub fn raw_public_keys(keys: &[SubjectPublicKeyInfoDer<'_>]) -> Result<Self, ApiMisuse> {
        Self::nobody().with_raw_public_keys(keys)
    }

    /// Believes nobody: for a side whose peers are known by pre-shared keys.
    pub fn nobody() -> Self {
        Self::of_anchors(Vec::new())
    }

    fn of_anchors(anchors: Vec<TrustAnchor<'static>>) -> Self {
        let digest = digest_of(&anchors);
        Self {
            inner: Arc::new(Inner { anchors, digest }),
            issuers: None,
            learned: None,
            revocation: None,
            raw_public_keys: None,
            stapling: Stapling::Off,
            accept_without_clock: false,
        }
    }

    /// Believes these raw public keys as well; see [`Self::raw_public_keys`] for what that means.
    pub fn with_raw_public_keys(self, keys: &[SubjectPublicKeyInfoDer<'_>]) -> Result<Self, ApiMisuse> {
        if keys.is_empty() {
            return Err(ApiMisuse::NoTrustAnchors);
        }
        let keys = RawPublicKeys::new(self.raw_public_keys.as_deref(), keys)?;
        Ok(Self { raw_public_keys: Some(Arc::new(keys)), ..self })
    }

    /// Checks revocation: the leaf must be covered by one of `crls`; the certificates above it are checked where their
    /// issuer has one. Of several CRLs of one issuer and scope (RFC 5280, 5.2.5) the newest says who is covered, by
    /// CRLNumber and thisUpdate, and only until its nextUpdate; whatever any of them revokes is refused. A CRL that the
    /// key of the issuer did not sign counts for nothing. To replace them later, see [`Self::revocation`].
    pub fn with_crls(self, crls: &[CertificateRevocationListDer<'_>]) -> Result<Self, ApiMisuse> {
        let issuers = self.issuers.clone().unwrap_or_else(|| self.issuer_table());
        let revocation = Revocation::new(issuers.clone(), crls)?;
        Ok(Self { issuers: Some(issuers), revocation: Some(revocation), ..self })
    }

    /// The CRLs, to be replaced without a new configuration; `None` where revocation is not checked.
    pub const fn revocation(&self) -> Option<&Revocation> {
        self.revocation.as_ref()
    }

    /// What the use of something that was verified before must pass at `time`, besides that [`Self::id`] is the same.
    /// CRLs are verified by `algorithms`.
    pub(crate) fn revocation_check(
        &self,
        algorithms: impl FnOnce() -> Vec<&'static dyn SignatureVerificationAlgorithm>,
        time: Option<UnixTime>,
    ) -> Option<RevocationCheck> {
        let staples = self.issuers.clone().filter(|_| self.stapling != Stapling::Off);
        let revocation = self.revocation.clone();
        let is_needed = revocation.is_some() || staples.is_some();
        is_needed.then(|| RevocationCheck { revocation, staples, algorithms: algorithms(), time })
    }

    /// Asks peers with a certificate for a stapled OCSP response, or requires one (RFC 6066, 8). A client in TLS 1.2
    /// cannot send one, and so is refused by a server that requires it. A raw public key has none and needs none.
    pub fn with_stapling(self, stapling: Stapling) -> Self {
        let issuers = match stapling {
            Stapling::Off => self.issuers.clone(),
            Stapling::Ask | Stapling::Require => Some(self.issuers.clone().unwrap_or_else(|| self.issuer_table())),
        };
        Self { issuers, stapling, ..self }
    }

    /// Remembers who issued what it verifies, which it needs for CRLs and staples, where the application keeps it: so
    /// that what is cached can be used after a restart without a full handshake first. Without CRLs and staples it
    /// changes nothing.
    pub fn with_issuers(self, learned: &LearnedIssuers) -> Self {
        let issuers = self.issuers.map(|issuers| Arc::new(issuers.with_learned(learned.clone())));
        let revocation = match (&self.revocation, &issuers) {
            (Some(revocation), Some(issuers)) => Some(revocation.with_issuers(issuers.clone())),
            _ => None, // who has the one has the other
        };
        Self { issuers, revocation, learned: Some(learned.clone()), ..self }
    }

    fn issuer_table(&self) -> Arc<IssuerTable> {
        let anchors = self.inner.anchors.iter().filter_map(anchor_as_issuer);
        Arc::new(IssuerTable::new(anchors, self.learned.clone().unwrap_or_default()))
    }

    /// What peers are asked for beside their certificate.
    pub const fn stapling(&self) -> Stapling {
        self.stapling
    }

    /// Accepts certificates on calls that give no wall-clock time, as if it were the latest notBefore of those that
    /// were sent; the summary then says `time_unchecked`. Without this they are refused.
    pub fn accept_without_clock(self) -> Self {
        Self { accept_without_clock: true, ..self }
    }

    /// What a peer's Certificate message can carry to be believed, preferred first: a raw public key is the shorter
    /// one.
    pub fn certificate_types(&self) -> &'static [CertificateType] {
        const ALL: &[CertificateType] = &[CertificateType::RAW_PUBLIC_KEY, CertificateType::X509];
        match (&self.raw_public_keys, self.inner.anchors.is_empty()) {
            (Some(_), false) => ALL,
            (Some(_), true) => &ALL[..1],
            (None, false) => &ALL[1..],
            (None, true) => &[],
        }
    }

    /// Whether a Certificate message that carries this can be believed.
    pub fn accepts(&self, certificate_type: CertificateType) -> bool {
        self.certificate_types().contains(&certificate_type)
    }

    /// Finds what `provider` cannot verify.
    pub(crate) fn check(&self, provider: &CryptoProvider) -> Result<(), ApiMisuse> {
        self.raw_public_keys.as_ref().map_or(Ok(()), |keys| keys.check(provider))
    }

    pub(crate) const fn accepts_without_clock(&self) -> bool {
        self.accept_without_clock
    }

    /// The names of the trust anchors, each a DER `Name`.
    pub(crate) fn names(&self) -> impl Iterator<Item = Vec<u8>> {
        self.inner.anchors.iter().filter_map(|anchor| name(&anchor.subject).ok())
    }

    /// What a cached result depends on (docs/caching.md, 4.5): role, trust anchors, raw public keys, extended key usage, the
    /// signatures accepted in chains, and whether CRLs are required. What they say is checked at every use.
    pub(crate) fn id(&self, hash: &dyn Hash, role: PeerRole<'_>, schemes: &[SignatureScheme]) -> TrustId {
        let mut context = hash.start();
        context.update(match role {
            PeerRole::Server(_) => b"server, id-kp-serverAuth",
            PeerRole::Client => b"client, id-kp-clientAuth",
        });
        context.update(&self.inner.digest);
        if self.revocation.is_some() {
            context.update(b"CRLs required");
        }
        if let Some(keys) = &self.raw_public_keys {
            context.update(b"raw public keys");
            context.update(keys.digest());
        }
        match self.stapling {
            Stapling::Off => {}
            Stapling::Ask => context.update(b"staples asked for"),
            Stapling::Require => context.update(b"staples required"),
        }
        for scheme in schemes {
            context.update(&scheme.0.to_be_bytes());
        }
        TrustId::from_digest(context.finish())
    }

    /// Verifies `chain`, leaf first, at `time`, and keeps what is worth keeping. The second value says that the time
    /// could not be checked.
    pub(crate) fn verify(
        &self,
        chain: &[CertificateDer<'_>],
        role: PeerRole<'_>,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        time: Option<UnixTime>,
    ) -> Result<(VerifiedPeer, bool), CertificateError> {
        let leaf = chain.first().ok_or(CertificateError::Malformed)?;
        let end_entity = EndEntityCert::try_from(leaf).map_err(|error| named_error(&error, chain))?;
        let at = match time {
            Some(time) => time,
            None if self.accept_without_clock => latest_not_before(chain)?,
            None => return Err(CertificateError::NoTime),
        };
        let usage = match role {
            PeerRole::Server(_) => KeyUsage::server_auth(),
            PeerRole::Client => KeyUsage::client_auth(),
        };
        let builder = PathBuilder {
            anchors: &self.inner.anchors,
            chain,
            algorithms,
            at,
            usage,
            issuers: self.issuers.as_deref(),
        };
        let Path { validity, signatures, issued, .. } = builder.verify(&end_entity, self.revocation.as_ref(), time)?;
        if let PeerRole::Server(name) = role {
            end_entity.verify_is_valid_for_subject_name(name).map_err(|error| named_error(&error, chain))?;
        }
        let leaf_fields = Fields::read(leaf)?;
        // RFC 9846, 4.5.1.1
        if leaf_fields.key_usage.is_some_and(|usage| !usage.digital_signature()) {
            return Err(CertificateError::WrongUsage);
        }
        check_key_size(leaf_fields.public_key, 0)?;
        let identity = CertificateIdentity {
            subject: name(end_entity.subject()).map_err(|_| CertificateError::Malformed)?.into(),
            subject_alt_name: leaf_fields.subject_alt_name.into(),
        };
        let public_key = end_entity.subject_public_key_info().as_ref().into();
        let peer = VerifiedPeer::of_chain(public_key, validity, identity, signatures).issued(issued);
        Ok((peer, time.is_none()))
    }

    /// Believes a raw public key, in either role and at any time, if it is one of those configured (RFC 7250, 4.3 and
    /// 4.4) and of a kind that `algorithms` verify.
    pub(crate) fn verify_raw_public_key(
        &self,
        key: &[u8],
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<VerifiedPeer, CertificateError> {
        self.raw_public_keys.as_ref().ok_or_else(|| unknown(key))?.verify(key, algorithms)
    }

    /// Judges the OCSP response that came with the certificate of `peer`, which was verified, now or before it entered
    /// the cache; or that none came. Returns the last second at which one that is good counts.
    pub(crate) fn check_staple(
        &self,
        peer: &VerifiedPeer,
        response: Option<&[u8]>,
        provider: &CryptoProvider,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        time: Option<UnixTime>,
    ) -> Result<Option<u64>, CertificateError> {
        let is_needed = self.stapling == Stapling::Require && peer.certificate_type() == CertificateType::X509;
        let Some(response) = response else {
            return if is_needed { Err(CertificateError::Staple(StapleError::Missing)) } else { Ok(None) };
        };
        let (link, issuer) = self.issuer_of(peer).ok_or(CertificateError::Staple(StapleError::OtherCertificate))?;
        let certificate = issuer.certificates();
        let judge = Judge { provider, algorithms, time };
        judge.check(response, &issuer, |serial| certificate(serial) == link.certificate).map(Some)
    }

    /// Who issued the leaf, if that is known here.
    fn issuer_of(&self, peer: &VerifiedPeer) -> Option<(Link, Arc<Issuer>)> {
        let link = *peer.links().first()?;
        let just_verified = peer.issuers().first().cloned().map(Arc::new);
        let issuer = just_verified.or_else(|| self.issuers.as_ref()?.find(link.issuer))?;
        Some((link, issuer))
    }

    /// The Finished of `peer` was verified: remembers who issued its chain.
    pub(crate) fn learn(&self, proof: &FinishedProof, peer: &VerifiedPeer) {
        if let Some(issuers) = &self.issuers {
            issuers.learn(proof, peer.issuers());
        }
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("anchors", &self.inner.anchors.len())
            .field("revocation", &self.revocation)
            .field("stapling", &self.stapling)
            .field("raw_public_keys", &self.raw_public_keys.as_ref().map_or(0, |keys| keys.len()))
            .finish_non_exhaustive()
    }
}

/// A trust anchor may sign CRLs: it is a name and a key, and nothing says otherwise.
pub(super) fn anchor_as_issuer(anchor: &TrustAnchor<'_>) -> Option<Issuer> {
    Some(Issuer::new(&name(&anchor.subject).ok()?, &name(&anchor.subject_public_key_info).ok()?, true))
}

/// RSA keys must be as long as the algorithms of all providers want them: whatever a shorter one signs, they call wrong.
/// `depth` is that of its certificate.
pub(super) fn check_key_size(spki: &[u8], depth: usize) -> Result<(), CertificateError> {
    match fields::rsa_bits(spki) {
        Some(bits @ ..MIN_RSA_BITS) => Err(CertificateError::ShortRsaKey { depth, bits }),
        _ => Ok(()),
    }
}

const MIN_RSA_BITS: usize = 2_048;

/// A DER `Name`, or another SEQUENCE, from its contents, which is what webpki gives.
fn name(contents: &[u8]) -> x509_cert::der::Result<Vec<u8>> {
    AnyRef::new(Tag::Sequence, contents)?.to_der()
}

fn digest_of(anchors: &[TrustAnchor<'_>]) -> [u8; 32] {
    let mut context = Context::new();
    for anchor in anchors {
        let name_constraints = anchor.name_constraints.as_deref().unwrap_or_default();
        for part in [&anchor.subject[..], &anchor.subject_public_key_info, name_constraints] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
    }
    context.finish()
}

/// A time at which every certificate of a chain can be valid, for a device without a clock.
fn latest_not_before(chain: &[CertificateDer<'_>]) -> Result<UnixTime, CertificateError> {
    let mut latest = 0;
    for certificate in chain {
        latest = latest.max(Fields::read(certificate)?.not_before);
    }
    Ok(UnixTime::since_unix_epoch(Duration::from_secs(latest)))
}
