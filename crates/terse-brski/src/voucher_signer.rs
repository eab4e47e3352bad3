//! The path of a voucher signer (RFC 8995, 5.6.1).
//!
//! The signer of a voucher gives a device to a domain. RFC 8995 asks only that its certificate leads to an anchor of the
//! manufacturer, and no extended key usage stands for it; but below the CAs of a manufacturer there are certificates of web
//! servers and of devices as well, whose keys are in other hands.
//!
//! What must always hold: a certificate whose extended key usage names any purpose signs no voucher, and neither does one that a
//! CA for such a purpose has issued, or that of a device.

use pki_types::{CertificateDer, UnixTime};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{CertificateError, Expect, Trust};

use crate::Malformed;
use crate::certificate::is_device;

/// Why a chain is not that of a voucher signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignerRefused {
    /// No valid path leads to an anchor, or a certificate of it is for another purpose.
    Chain(CertificateError),
    /// It is a device.
    Device,
    /// The certificate cannot be read.
    Malformed(Malformed),
}

/// Checks a chain, leaf first, under the anchors of voucher signers.
pub(crate) fn check(
    provider: &CryptoProvider,
    anchors: &Trust,
    chain: &[CertificateDer<'_>],
    time: Option<UnixTime>,
) -> Result<(), SignerRefused> {
    anchors.check(provider, chain, Expect::Unrestricted, time).map_err(SignerRefused::Chain)?;
    let signer = chain.first().ok_or(SignerRefused::Chain(CertificateError::Malformed))?;
    match is_device(signer) {
        Ok(false) => Ok(()),
        Ok(true) => Err(SignerRefused::Device),
        Err(malformed) => Err(SignerRefused::Malformed(malformed)),
    }
}
