//! What an operator revokes, and the list that says so.
//!
//! What must always hold: certificates of the own CA, and of the one before it, alone are revoked here, without their keys; the
//! registrar signs the list of the own CA.

use std::path::{Path, PathBuf};

use pki_types::CertificateDer;
use terse_brski::digest::Sha256;
use terse_pki::RevocationReason;

use super::super::config::Enrolment;
use super::super::own_crl::issuer_of;
use super::super::store::revocation::{CrlState, RevokeOrder, StoredCrl};
use super::{Operator, OperatorError, database};
use crate::config::{ConfigError, beside};

/// Who can revoke the certificates of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoker {
    /// The registrar, whose own CA is in the first directory, and the one before in the second one, if that still counts.
    Registrar(PathBuf, Option<PathBuf>),
    /// The CA behind the EST server.
    EstServer,
    /// Nobody: there are no certificates.
    Nobody,
}

/// What became of revoking the certificates of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revoked {
    /// The name of its manufacturer.
    pub manufacturer: String,
    /// How many of its certificates are revoked now.
    pub revoked: u64,
    /// How many were revoked before, and have not ended.
    pub earlier: u64,
    /// How many are of another CA, which only that one can revoke.
    pub foreign: u64,
}

/// The list of revoked certificates (CRL) that the registrar has signed last.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedCrl {
    /// Its DER.
    pub der: Vec<u8>,
    /// Its CRL number.
    pub number: u64,
    /// When there will be another one at the latest, in seconds since 1970.
    pub next_update: u64,
}

impl Revoker {
    pub(super) fn of(path: &Path, enrolment: Option<&Enrolment>) -> Self {
        match enrolment {
            Some(Enrolment { ca: Some(ca), former_ca, .. }) => {
                Self::Registrar(beside(path, ca), former_ca.as_ref().map(|former| beside(path, former)))
            }
            Some(_) => Self::EstServer,
            None => Self::Nobody,
        }
    }

    /// Returns the certificate of the own CA that issues, and its name in the database; and behind it those of the CA before.
    fn own_cas(&self) -> Result<Vec<(CertificateDer<'static>, Sha256)>, OperatorError> {
        let (own, former) = match self {
            Self::Registrar(own, former) => (own, former),
            Self::EstServer => return Err(OperatorError::OtherCa),
            Self::Nobody => return Err(OperatorError::NoCa),
        };
        core::iter::once(own).chain(former).map(|directory| issuing(directory).map_err(OperatorError::Config)).collect()
    }
}

/// Returns the certificate of the CA in a directory that issues, and its name in the database.
fn issuing(directory: &Path) -> Result<(CertificateDer<'static>, Sha256), ConfigError> {
    let certificates = terse_pki::ca_certificates(directory).map_err(|error| ConfigError::new(directory, error))?;
    let issuer = issuer_of(directory, certificates.last())?;
    let issuing = certificates.into_iter().next_back();
    Ok((issuing.ok_or_else(|| ConfigError::new(directory, "there is no CA"))?, issuer))
}

impl Operator {
    /// Returns who can revoke certificates.
    pub const fn revoker(&self) -> &Revoker {
        &self.revoker
    }

    /// Revokes all certificates of a device that have not ended: the one with this serial number, of this manufacturer if one is
    /// given. It renews none of them from now on, and stays out with its IDevID, too, until it is accepted again. The list that
    /// says so is signed by the registrar.
    pub async fn revoke(
        &self,
        serial_number: &str,
        manufacturer: Option<&str>,
        reason: Option<RevocationReason>,
    ) -> Result<Revoked, OperatorError> {
        let cas = self.revoker.own_cas()?;
        let (name, devices) = self.named(serial_number, manufacturer).await?;
        let manufacturer = name.ok_or_else(|| OperatorError::Unknown(serial_number.into()))?;
        let order = RevokeOrder { cas: &cas, reason, time: self.now };
        let mut revoked = Revoked { manufacturer, revoked: 0, earlier: 0, foreign: 0 };
        for device in devices {
            let counts = self.store.revoke(&device.idevid, &order).await.map_err(database)?;
            revoked.revoked += counts.revoked;
            revoked.earlier += counts.earlier;
            revoked.foreign += counts.foreign;
        }
        Ok(revoked)
    }

    /// How many certificates a device has that have not ended, unless they are revoked.
    pub async fn certificates(&self, serial_number: &str, manufacturer: &str) -> Result<u64, OperatorError> {
        let (_, devices) = self.named(serial_number, Some(manufacturer)).await?;
        let mut count = 0;
        for device in devices {
            count += self.store.unrevoked(&device.idevid, self.now).await.map_err(database)?;
        }
        Ok(count)
    }

    /// Returns the list that the registrar has signed last.
    pub async fn crl(&self) -> Result<SignedCrl, OperatorError> {
        let cas = self.revoker.own_cas()?;
        let (_, issuer) = cas.first().ok_or(OperatorError::NoCa)?;
        let list = self.store.crl(issuer).await.map_err(database)?.ok_or(OperatorError::NoCrl)?;
        let StoredCrl { state: CrlState { number, next_update, .. }, crl } = list;
        Ok(SignedCrl { der: crl, number, next_update })
    }
}
