//! The IDevIDs of manufacturers: their path to a trust anchor, and the fields that name a device (RFC 8995, 2.3 and 5.3).
//!
//! What must always hold: the fields of an IDevID are read only after its path was validated.

use pki_types::{CertificateDer, UnixTime};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{ApiMisuse, CertificateError, Expect, Trust};

use crate::Malformed;
use crate::certificate::{Idevid, SerialNumberField};

/// The trust anchors of the IDevIDs of one or more manufacturers.
#[derive(Clone, Debug)]
pub(crate) struct DeviceAnchors {
    trust: Trust,
}

/// Why an IDevID is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdevidRefused {
    /// No valid path leads to an anchor.
    Path(CertificateError),
    /// A field is missing or malformed.
    Field(Malformed),
}

/// An IDevID whose path is valid.
#[derive(Clone, Debug)]
pub(crate) struct VerifiedIdevid {
    pub(crate) idevid: Idevid,
    /// The index of the trust anchor.
    pub(crate) anchor: usize,
}

impl DeviceAnchors {
    /// Takes the anchors, and the indices of those whose IDevIDs count after their notAfter (RFC 8995, 2.6.2).
    pub(crate) fn new(certificates: &[CertificateDer<'_>], ignoring_not_after: &[usize]) -> Result<Self, ApiMisuse> {
        let trust = Trust::new(certificates)?;
        let trust = match ignoring_not_after {
            [] => trust,
            indices => trust.ignoring_not_after(indices)?,
        };
        Ok(Self { trust })
    }

    /// Verifies a chain, leaf first, and reads its IDevID. `field` says where the manufacturer with this anchor puts the
    /// serial number.
    pub(crate) fn verify(
        &self,
        provider: &CryptoProvider,
        chain: &[CertificateDer<'_>],
        field: impl Fn(usize) -> SerialNumberField,
        time: UnixTime,
    ) -> Result<VerifiedIdevid, IdevidRefused> {
        // An IDevID may have no extended key usage or any (RFC 8995, 2.3), and its name is checked by its holder's records.
        let checked = self.trust.check(provider, chain, Expect::AnyUsage, Some(time)).map_err(IdevidRefused::Path)?;
        let leaf = chain.first().ok_or(IdevidRefused::Path(CertificateError::Malformed))?;
        let idevid = Idevid::read(provider, leaf, field(checked.anchor)).map_err(IdevidRefused::Field)?;
        Ok(VerifiedIdevid { idevid, anchor: checked.anchor })
    }
}
