//! Which peers a side trusts: by path validation (RFC 5280), by raw public keys (RFC 7250), or without verification.
//!
//! What must always hold: [`Trust::id`] is different for two policies that can have different results.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{
    CertificateDer, CertificateRevocationListDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, UnixTime,
};

use super::anchors::Anchors;
use super::issuers::{IssuerTable, KnownIssuers, LearnedIssuers, LearnedSource};
use super::ocsp::Stapling;
use super::path::{InOrder, PathBuilding, PathValidation};
use super::raw_public_keys::{RawPublicKeys, TrustedKeys};
use super::{Expect, Revocation, RevocationCheck, TrustId, VerifiedPeer};
use crate::behind::Behind;
use crate::crypto::{CryptoProvider, Hash};
use crate::error::{ApiMisuse, CertificateError, Setting};
use crate::wire::{CertificateType, SignatureScheme};

/// The peers that a side trusts: trust anchors with their revocation lists, raw public keys, and how to verify without
/// a clock; or all peers, unverified.
#[derive(Clone)]
pub struct Trust {
    pub(super) anchors: Arc<Anchors>,
    /// How paths to the anchors are validated. A linker drops the way that a program does not name.
    pub(super) validation: Option<&'static dyn PathValidation>,
    /// The anchors whose certificates count after their notAfter.
    pub(super) undated: Option<Arc<Anchors>>,
    /// The issuers of verified certificates, which are needed where revocation is checked.
    pub(super) issuers: Option<Arc<dyn KnownIssuers>>,
    /// The issuers that the application keeps.
    learned: Option<Arc<dyn LearnedSource>>,
    pub(super) revocation: Option<Behind<Revocation>>,
    pub(super) raw_public_keys: Option<Arc<dyn TrustedKeys>>,
    stapling: Stapling,
    /// What checks staples, if they are requested. A linker drops it from a program that requests none.
    staple_check: Option<StapleCheck>,
    pub(super) accept_without_clock: bool,
    /// The certificate types that are taken unverified.
    unverified: Option<&'static [CertificateType]>,
}

/// [`Trust::check_staple_of`].
pub(crate) type StapleCheck = fn(
    &Trust,
    &mut Arc<VerifiedPeer>,
    Option<&[u8]>,
    &CryptoProvider,
    &[&dyn SignatureVerificationAlgorithm],
    Option<UnixTime>,
) -> Result<bool, CertificateError>;

/// The certificate types, preferred first. A raw public key is preferred because it is shorter.
const CERTIFICATE_TYPES: &[CertificateType] = &[CertificateType::RAW_PUBLIC_KEY, CertificateType::X509];

impl Trust {
    /// Returns a `Trust` that accepts certificate chains to one of `anchors`, which are the certificates of CAs.
    ///
    /// `rustls-webpki` builds a path of what the peer has sent, in whatever order. For peers whose chains come in order
    /// [`Self::without_path_building`] needs less code and stack.
    pub fn new(anchors: &[CertificateDer<'_>]) -> Result<Self, ApiMisuse> {
        Self::validating(anchors, &PathBuilding)
    }

    /// Returns a `Trust` that accepts certificate chains to one of `anchors`, which are the certificates of CAs, without
    /// building paths (RFC 4158): each certificate of a chain is certified by the next one, as RFC 9846, 4.5.1,
    /// recommends, and the first one whose issuer has the name of a trust anchor is signed by it. What comes after that
    /// one is not looked at, except where the time is not known or a notAfter is ignored ([`Self::check`]).
    ///
    /// It is for devices in a private PKI, whose servers send chains in order: a program that calls this and not
    /// [`Self::new`] has nothing of `rustls-webpki` in it, unless it has CRLs or requests staples, and its validation
    /// does not recurse. docs/performance.md has the flash and stack that it saves.
    ///
    /// What it accepts, [`Self::new`] accepts as well, but for the keys of a few public CAs that `rustls-webpki` knows and
    /// distrusts. It refuses more:
    ///
    /// | refused | why |
    /// |---|---|
    /// | a chain out of order, with a stranger or a certificate twice in it, or whose certificates lead to a trust anchor only by a way around (cross-certificates, a CA with the name of a trust anchor and another key) | paths are not searched for |
    /// | name constraints, of a certificate and of a trust anchor, whatever they say | they are not processed; [`CertificateError::NameConstraints`] and [`ApiMisuse::ConstrainedTrustAnchor`] say so |
    /// | any extension that comes twice, and critical cRLDistributionPoints | RFC 5280, 4.2 |
    /// | a serial number that is not positive, or longer than 20 bytes; an issuer without a name | RFC 5280, 4.1.2 |
    /// | more than 24 extensions; a certificate of more than 65,535 bytes | work is bounded |
    /// | where CRLs are checked: a leaf that only a CRL with an IssuingDistributionPoint covers | CRLs are checked as for cached peers |
    ///
    /// Self-issued certificates count for pathLenConstraint, as in [`Self::new`]; RFC 5280, 6.1.4 (l), would not count them.
    ///
    /// ```
    /// use terse_tls::{ClientConfig, Trust};
    /// # let pki = terse_testkit::pki::Pki::shared("p256x3");
    /// # let root = pki.root();
    ///
    /// let config = ClientConfig::builder(&terse_rustcrypto::PROVIDER)
    ///     .trust(Trust::without_path_building(&[root])?)
    ///     .build()?;
    /// # Ok::<_, terse_tls::ApiMisuse>(())
    /// ```
    pub fn without_path_building(anchors: &[CertificateDer<'_>]) -> Result<Self, ApiMisuse> {
        Self::validating(anchors, &InOrder)
    }

    fn validating(anchors: &[CertificateDer<'_>], validation: &'static dyn PathValidation) -> Result<Self, ApiMisuse> {
        if anchors.is_empty() {
            return Err(ApiMisuse::NoTrustAnchors);
        }
        let anchors = Anchors::new(anchors, validation)?;
        Ok(Self { validation: Some(validation), ..Self::of_anchors(anchors) })
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
        Self::of_anchors(Anchors::none())
    }

    /// Returns a `Trust` that takes every peer as it presents itself: its certificate chain or raw public key, of the
    /// types that are `accepted`, is kept and not verified. The peer's signature of the handshake is verified, so that it
    /// has the private key. [`Connection::presented`](crate::Connection::presented) returns what it has presented.
    ///
    /// It is for peers about which something else decides after the handshake: a device that does not know its new
    /// owner yet (RFC 8995, 5.1), or a service that answers a stranger with a reason instead of an alert. Until then
    /// everything that such a peer sends is hostile. A configuration with such a `Trust` neither caches nor resumes, and
    /// has no pre-shared or identity keys, so that no connection can be taken for an authenticated one:
    /// [`ConfigBuilder::build`](crate::ConfigBuilder::build) refuses these together.
    ///
    /// ```
    /// use terse_tls::{CertificateType, ClientConfig, Trust};
    ///
    /// // A device that is new in a network, before it knows whose network that is:
    /// let config = ClientConfig::builder(&terse_rustcrypto::PROVIDER)
    ///     .trust(Trust::unverified(&[CertificateType::X509])?)
    ///     .build()?;
    /// # assert!(config.trust().is_unverified());
    /// # Ok::<_, terse_tls::ApiMisuse>(())
    /// ```
    pub fn unverified(accepted: &[CertificateType]) -> Result<Self, ApiMisuse> {
        let has = |kind| accepted.contains(&kind);
        let accepted = match (has(CertificateType::RAW_PUBLIC_KEY), has(CertificateType::X509)) {
            (true, true) => CERTIFICATE_TYPES,
            (true, false) => &CERTIFICATE_TYPES[..1],
            (false, true) => &CERTIFICATE_TYPES[1..],
            (false, false) => return Err(ApiMisuse::EmptyConfiguration(Setting::CertificateType)),
        };
        Ok(Self { unverified: Some(accepted), ..Self::nobody() })
    }

    fn of_anchors(anchors: Anchors) -> Self {
        Self {
            anchors: Arc::new(anchors),
            validation: None,
            undated: None,
            issuers: None,
            learned: None,
            revocation: None,
            raw_public_keys: None,
            stapling: Stapling::Off,
            staple_check: None,
            accept_without_clock: false,
            unverified: None,
        }
    }

    /// Ignores the notAfter of certificates under some trust anchors, which are given by their indices in the list of
    /// [`Self::new`]: such a path counts as if it were the latest notBefore of the certificates that were sent. It is
    /// for the devices of manufacturers whose IDevIDs end while the devices still work (RFC 8995, 2.6.2). A notBefore
    /// that is to come is refused as ever.
    pub fn ignoring_not_after(self, anchors: &[usize]) -> Result<Self, ApiMisuse> {
        let undated = self.anchors.only(anchors);
        if anchors.is_empty() || anchors.iter().any(|index| *index >= self.anchors.len()) {
            return Err(ApiMisuse::NoTrustAnchors);
        }
        Ok(Self { undated: Some(Arc::new(undated)), ..self })
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
    /// one. A CRL with an IssuingDistributionPoint covers a leaf only if the leaf's cRLDistributionPoints name the same
    /// one. Of several CRLs of one issuer and scope (RFC 5280, 5.2.5) the newest, by CRLNumber and thisUpdate, determines
    /// who is covered, until its nextUpdate; a certificate that any of them revokes is refused. A CRL that the issuer's key
    /// did not sign is ignored. To replace the CRLs later, see [`Self::revocation`].
    pub fn with_crls(self, crls: &[CertificateRevocationListDer<'_>]) -> Result<Self, ApiMisuse> {
        let issuers = self.issuers.clone().unwrap_or_else(|| self.issuer_table());
        let revocation = Revocation::new(issuers.clone(), crls)?;
        Ok(Self { issuers: Some(issuers), revocation: Some(Behind::new(revocation)), ..self })
    }

    /// Returns the CRLs, which can be replaced without a new configuration, or `None` if revocation is not checked.
    pub fn revocation(&self) -> Option<&Revocation> {
        self.revocation.as_deref()
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
        let staple_check: Option<StapleCheck> = match stapling {
            Stapling::Off => None,
            Stapling::Ask | Stapling::Require => Some(Self::check_staple_of),
        };
        Self { issuers, stapling, staple_check, ..self }
    }

    /// Keeps the issuers of verified certificates in `learned`, where the application can store them. CRLs and staples
    /// need the issuers, so with stored ones cached peers can be used after a restart without a full handshake first.
    /// Without CRLs and staples this changes nothing.
    pub fn with_issuers(self, learned: &LearnedIssuers) -> Self {
        let issuers = self.issuers.map(|issuers| issuers.with_learned(learned.clone()));
        let revocation = match (&self.revocation, &issuers) {
            (Some(revocation), Some(issuers)) => Some(Behind::new(revocation.with_issuers(issuers.clone()))),
            _ => None, // either both are set or none
        };
        Self { issuers, revocation, learned: Some(Arc::new(learned.clone())), ..self }
    }

    fn issuer_table(&self) -> Arc<dyn KnownIssuers> {
        let learned = self.learned.as_ref().map(|learned| learned.learned()).unwrap_or_default();
        Arc::new(IssuerTable::new(self.anchors.issuers(), learned))
    }

    /// Returns whether a stapled OCSP response is requested from peers, or required.
    pub const fn stapling(&self) -> Stapling {
        self.stapling
    }

    /// Returns what checks staples, if they are requested from peers.
    pub(crate) const fn staple_check(&self) -> Option<StapleCheck> {
        self.staple_check
    }

    /// Accepts certificates on calls that give no wall-clock time, as if it were the latest notBefore of those that
    /// were sent. The summary then has `time_unchecked`. Without this setting such certificates are refused.
    pub fn accept_without_clock(self) -> Self {
        Self { accept_without_clock: true, ..self }
    }

    /// Returns the certificate types that can be trusted, preferred first. A raw public key is preferred because it is
    /// shorter.
    pub fn certificate_types(&self) -> &'static [CertificateType] {
        match (self.unverified, &self.raw_public_keys, self.anchors.is_empty()) {
            (Some(accepted), ..) => accepted,
            (None, Some(_), false) => CERTIFICATE_TYPES,
            (None, Some(_), true) => &CERTIFICATE_TYPES[..1],
            (None, None, false) => &CERTIFICATE_TYPES[1..],
            (None, None, true) => &[],
        }
    }

    /// Returns whether peers are taken unverified ([`Self::unverified`]).
    pub const fn is_unverified(&self) -> bool {
        self.unverified.is_some()
    }

    /// Returns whether a certificate of this type can be trusted.
    pub fn accepts(&self, certificate_type: CertificateType) -> bool {
        self.certificate_types().contains(&certificate_type)
    }

    /// Checks that `provider` can verify signatures of all raw public keys, and that nothing is to be verified of peers
    /// that are taken unverified.
    pub(crate) fn check_configuration(&self, provider: &CryptoProvider) -> Result<(), ApiMisuse> {
        let verifies = self.raw_public_keys.is_some() || self.revocation.is_some() || self.stapling != Stapling::Off;
        if self.is_unverified() && verifies {
            return Err(ApiMisuse::UnverifiedWith(Setting::Verification));
        }
        self.raw_public_keys.as_ref().map_or(Ok(()), |keys| keys.check(provider))
    }

    pub(crate) const fn accepts_without_clock(&self) -> bool {
        self.accept_without_clock
    }

    /// Returns the names of the trust anchors, each a DER `Name`.
    pub(crate) fn names(&self) -> impl Iterator<Item = Vec<u8>> {
        self.anchors.names()
    }

    /// Returns the identifier of everything that a cached result depends on (docs/caching.md, 4.5): what is expected of
    /// the peer, trust anchors, raw public keys, extended key usage, the signatures accepted in chains, whether a notAfter
    /// is ignored, how paths are validated, whether CRLs are required, and the setting for stapling. What CRLs and staples
    /// say is checked at every use.
    pub(crate) fn id(&self, hash: &dyn Hash, expect: Expect<'_>, schemes: &[SignatureScheme]) -> TrustId {
        let mut context = hash.start();
        let (expected, usage) = expect.id();
        context.update(expected);
        context.update(usage);
        context.update(self.anchors.digest());
        if let Some(validation) = self.validation {
            context.update(validation.id());
        }
        if let Some(undated) = &self.undated {
            context.update(b"notAfter ignored");
            context.update(undated.digest());
        }
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
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("anchors", &self.anchors.len())
            .field("revocation", &self.revocation)
            .field("stapling", &self.stapling)
            .field("unverified", &self.unverified)
            .field("raw_public_keys", &self.raw_public_keys.as_ref().map_or(0, |keys| keys.keys().len()))
            .finish_non_exhaustive()
    }
}
