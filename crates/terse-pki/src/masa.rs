//! The certificates of a MASA, which signs vouchers for a manufacturer (RFC 8995, 5.4 and 5.6.1).
//!
//! A MASA has two keys. The one of its HTTPS server is as exposed as that of any server: its certificate is that of a
//! leaf with [`crate::Usage::Server`] and the name that the MASA URL has, which registrars check (RFC 8995, 5.4). The other
//! signs vouchers, by which devices change their owner: it belongs into another process or a hardware module, and is not
//! good for TLS. RFC 8995 and constrained BRSKI ask of the voucher signer's certificate only that it chains to an anchor
//! that the manufacturer put into the device; no extended key usage is defined for it.
//!
//! What must always hold: the certificate of a voucher signer names no server and has no extended key usage, so that it is
//! valid for a signature of any purpose; it carries its key's identifier.

use rcgen::KeyUsagePurpose;

use crate::authority::{Template, params};
use crate::name::is_unprintable;
use crate::{Authority, Credential, Error, KeyAlgorithm, Validity};

/// The options of a voucher signer's certificate.
#[derive(Clone, Debug)]
pub struct VoucherSignerOptions {
    /// The common name, which is for people.
    pub name: String,
    /// The first and the last second of validity. A device with a clock checks a voucher against it when it takes the
    /// voucher.
    pub validity: Validity,
    /// The algorithm of its key; by default that of the CA. Devices must be able to verify it.
    pub algorithm: Option<KeyAlgorithm>,
}

impl VoucherSignerOptions {
    /// Returns the options of a voucher signer.
    pub fn new(name: &str, validity: Validity) -> Self {
        Self { name: name.into(), validity, algorithm: None }
    }
}

impl Authority {
    /// Issues a certificate for the key that signs vouchers, for a new key.
    pub fn issue_voucher_signer(&self, options: &VoucherSignerOptions) -> Result<Credential, Error> {
        let name = options.name.trim();
        // RFC 5280, A.1: ub-common-name is 64.
        if name.is_empty() || name.chars().count() > 64 || name.chars().any(is_unprintable) {
            return Err(Error::InvalidSubject(format!("CN={}", options.name)));
        }
        let mut params = params(Some(name.into()), options.validity, None)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        self.issue_by(options.algorithm, Template { names_its_key: true, ..Template::new(params) })
    }
}

#[cfg(test)]
mod tests;
