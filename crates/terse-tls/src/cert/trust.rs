//! Decides which peers are trusted, by path validation (RFC 5280) through `rustls-webpki`, and by raw public keys (RFC
//! 7250).
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

/// The peers that a side trusts: trust anchors with their revocation lists, raw public keys, and how to verify without
/// a clock.
#[derive(Clone)]
pub struct Trust {
    inner: Arc<Inner>,
    /// The issuers of verified certificates, which are needed where revocation is checked.
    issuers: Option<Arc<IssuerTable>>,
    /// The issuers that the application keeps.
    learned: Option<LearnedIssuers>,
    revocation: Option<Revocation>,
    raw_public_keys: Option<Arc<RawPublicKeys>>,
    stapling: Stapling,
    accept_without_clock: bool,
}

struct Inner {
    anchors: Vec<TrustAnchor<'static>>,
    /// The hash of the trust anchors.
    digest: [u8; 32],
}

/// The role of the peer whose chain is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerRole<'a> {
    /// A server, which must have this name.
    Server(&'a ServerName<'a>),
    /// A client, whose name the application must check.
    Client,
}

impl Trust {
    /// Returns a `Trust` that accepts certificate chains to one of `anchors`, which are the certificates of CAs.
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

    /// Returns a `Trust` that accepts these raw public keys (RFC 7250), each a DER SubjectPublicKeyInfo, and no
    /// certificates.
    ///
    /// A raw public key says nothing about names or time: a client accepts each of these keys from any server, whatever
    /// name it connects to. To expect one key of one server, give the connections to it a `Trust` of that key alone. A
    /// key is trusted until it is no longer configured.
    pub fn raw_public_keys(keys: &[SubjectPublicKeyInfoDer<'_>]) -> Result<Self, ApiMisuse> {
        Self::nobody().with_raw_public_keys(keys)
    }

    /// Returns a `Trust` that accepts no certificate or raw public key, for a side whose peers have pre-shared keys.
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

    /// Trusts these raw public keys as well, with the meaning that [`Self::raw_public_keys`] describes.
    pub fn with_raw_public_keys(self, keys: &[SubjectPublicKeyInfoDer<'_>]) -> Result<Self, ApiMisuse> {
        if keys.is_empty() {
            return Err(ApiMisuse::NoTrustAnchors);
        }
        let keys = RawPublicKeys::new(self.raw_public_keys.as_deref(), keys)?;
        Ok(Self { raw_public_keys: Some(Arc::new(keys)), ..self })
    }

    /// Checks revocation. One of `crls` must cover the leaf; the certificates above it are checked if their issuer has
    /// one. Of several CRLs of one issuer and scope (RFC 5280, 5.2.5) the newest, by CRLNumber and thisUpdate,
    /// determines who is covered, until its nextUpdate; a certificate that any of them revokes is refused. A CRL that
    /// the issuer's key did not sign is ignored. To replace the CRLs later, see [`Self::revocation`].
    pub fn with_crls(self, crls: &[CertificateRevocationListDer<'_>]) -> Result<Self, ApiMisuse> {
        let issuers = self.issuers.clone().unwrap_or_else(|| self.issuer_table());
        let revocation = Revocation::new(issuers.clone(), crls)?;
        Ok(Self { issuers: Some(issuers), revocation: Some(revocation), ..self })
    }

    /// Returns the CRLs, which can be replaced without a new configuration, or `None` if revocation is not checked.
    pub const fn revocation(&self) -> Option<&Revocation> {
        self.revocation.as_ref()
    }

    /// Returns the check that a cached peer must pass at `time`, in addition to the comparison of [`Self::id`].
    /// `algorithms` verify the CRLs.
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

    /// Requests a stapled OCSP response from peers with a certificate, or requires one (RFC 6066, 8). A client in TLS
    /// 1.2 cannot send one, so a server that requires it refuses such clients. A raw public key needs none.
    pub fn with_stapling(self, stapling: Stapling) -> Self {
        let issuers = match stapling {
            Stapling::Off => self.issuers.clone(),
            Stapling::Ask | Stapling::Require => Some(self.issuers.clone().unwrap_or_else(|| self.issuer_table())),
        };
        Self { issuers, stapling, ..self }
    }

    /// Keeps the issuers of verified certificates in `learned`, where the application can store them. CRLs and staples
    /// need the issuers, so with stored ones cached peers can be used after a restart without a full handshake first.
    /// Without CRLs and staples this changes nothing.
    pub fn with_issuers(self, learned: &LearnedIssuers) -> Self {
        let issuers = self.issuers.map(|issuers| Arc::new(issuers.with_learned(learned.clone())));
        let revocation = match (&self.revocation, &issuers) {
            (Some(revocation), Some(issuers)) => Some(revocation.with_issuers(issuers.clone())),
            _ => None, // either both are set or none
        };
        Self { issuers, revocation, learned: Some(learned.clone()), ..self }
    }

    fn issuer_table(&self) -> Arc<IssuerTable> {
        let anchors = self.inner.anchors.iter().filter_map(anchor_as_issuer);
        Arc::new(IssuerTable::new(anchors, self.learned.clone().unwrap_or_default()))
    }

    /// Returns whether a stapled OCSP response is requested from peers, or required.
    pub const fn stapling(&self) -> Stapling {
        self.stapling
    }

    /// Accepts certificates on calls that give no wall-clock time, as if it were the latest notBefore of those that
    /// were sent. The summary then has `time_unchecked`. Without this setting such certificates are refused.
    pub fn accept_without_clock(self) -> Self {
        Self { accept_without_clock: true, ..self }
    }

    /// Returns the certificate types that can be trusted, preferred first. A raw public key is preferred because it is
    /// shorter.
    pub fn certificate_types(&self) -> &'static [CertificateType] {
        const ALL: &[CertificateType] = &[CertificateType::RAW_PUBLIC_KEY, CertificateType::X509];
        match (&self.raw_public_keys, self.inner.anchors.is_empty()) {
            (Some(_), false) => ALL,
            (Some(_), true) => &ALL[..1],
            (None, false) => &ALL[1..],
            (None, true) => &[],
        }
    }

    /// Returns whether a certificate of this type can be trusted.
    pub fn accepts(&self, certificate_type: CertificateType) -> bool {
        self.certificate_types().contains(&certificate_type)
    }

    /// Checks that `provider` can verify signatures of all raw public keys.
    pub(crate) fn check(&self, provider: &CryptoProvider) -> Result<(), ApiMisuse> {
        self.raw_public_keys.as_ref().map_or(Ok(()), |keys| keys.check(provider))
    }

    pub(crate) const fn accepts_without_clock(&self) -> bool {
        self.accept_without_clock
    }

    /// Returns the names of the trust anchors, each a DER `Name`.
    pub(crate) fn names(&self) -> impl Iterator<Item = Vec<u8>> {
        self.inner.anchors.iter().filter_map(|anchor| name(&anchor.subject).ok())
    }

    /// Returns the identifier of everything that a cached result depends on (docs/caching.md, 4.5): role, trust
    /// anchors, raw public keys, extended key usage, the signatures accepted in chains, whether CRLs are required, and
    /// the setting for stapling. What CRLs and staples say is checked at every use.
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

    /// Verifies `chain`, leaf first, at `time`, and returns the data to keep. The second value is true if the time
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
        // RFC 9846, 4.5.1.1: a key usage must allow digital signatures.
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

    /// Verifies a raw public key, in either role and at any time: it must be one of those configured (RFC 7250, 4.3 and
    /// 4.4), and of a kind that `algorithms` verify.
    pub(crate) fn verify_raw_public_key(
        &self,
        key: &[u8],
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<VerifiedPeer, CertificateError> {
        self.raw_public_keys.as_ref().ok_or_else(|| unknown(key))?.verify(key, algorithms)
    }

    /// Checks the OCSP response that came with the certificate of `peer`, or that none came. The certificate was
    /// verified, now or before it entered the cache. Returns the last second at which a good response is valid.
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

    /// Returns the issuer of the leaf, if it is known here.
    fn issuer_of(&self, peer: &VerifiedPeer) -> Option<(Link, Arc<Issuer>)> {
        let link = *peer.links().first()?;
        let just_verified = peer.issuers().first().cloned().map(Arc::new);
        let issuer = just_verified.or_else(|| self.issuers.as_ref()?.find(link.issuer))?;
        Some((link, issuer))
    }

    /// Remembers the issuers of the chain of `peer`, after its Finished was verified.
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

/// Returns a trust anchor as an issuer, which may sign CRLs: it is a name and a key without restrictions on key usage.
pub(super) fn anchor_as_issuer(anchor: &TrustAnchor<'_>) -> Option<Issuer> {
    Some(Issuer::new(&name(&anchor.subject).ok()?, &name(&anchor.subject_public_key_info).ok()?, true))
}

/// Checks that an RSA key has the length that the algorithms of all providers require. They would report every
/// signature of a shorter key as wrong. `depth` is that of its certificate.
pub(super) fn check_key_size(spki: &[u8], depth: usize) -> Result<(), CertificateError> {
    match fields::rsa_bits(spki) {
        Some(bits @ ..MIN_RSA_BITS) => Err(CertificateError::ShortRsaKey { depth, bits }),
        _ => Ok(()),
    }
}

const MIN_RSA_BITS: usize = 2_048;

/// Returns the DER form of a `Name`, or another SEQUENCE, of which webpki gives the contents.
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

/// Returns the latest notBefore of a chain, at which all its certificates can be valid, for a device without a clock.
fn latest_not_before(chain: &[CertificateDer<'_>]) -> Result<UnixTime, CertificateError> {
    let mut latest = 0;
    for certificate in chain {
        latest = latest.max(Fields::read(certificate)?.not_before);
    }
    Ok(UnixTime::since_unix_epoch(Duration::from_secs(latest)))
}
