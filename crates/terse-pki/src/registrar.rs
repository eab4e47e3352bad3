//! The certificate of a registrar, which accepts devices into a domain (RFC 8995; RFC 7030, 3.6.1).
//!
//! What must always hold: the certificate carries its key's identifier, by which audit logs name the domain if it is
//! pinned itself (RFC 8995, 5.8.2), and the extended key usages that were requested, with none twice.

use rcgen::ExtendedKeyUsagePurpose;

use crate::authority::Template;
use crate::leaf::named;
use crate::{Authority, Credential, Error, KeyAlgorithm, Validity};

/// What a key may be used for, as extKeyUsage says it (RFC 5280, 4.2.1.12: a KeyPurposeId).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyPurpose {
    /// id-kp-cmcRA: its holder is a registration authority (RFC 6402, 2.10). By it a client knows an EST server whose name
    /// it does not know (RFC 7030, 3.6.1), and the MASA knows that the domain meant this key to sign voucher requests
    /// (RFC 8995, 5.5.4).
    CmcRa,
    /// id-kp-serverAuth: it authenticates a TLS server.
    ServerAuth,
    /// id-kp-clientAuth: it authenticates a TLS client.
    ClientAuth,
}

impl KeyPurpose {
    fn purpose(self) -> ExtendedKeyUsagePurpose {
        match self {
            Self::CmcRa => ExtendedKeyUsagePurpose::Other(ID_KP_CMC_RA.into()),
            Self::ServerAuth => ExtendedKeyUsagePurpose::ServerAuth,
            Self::ClientAuth => ExtendedKeyUsagePurpose::ClientAuth,
        }
    }
}

/// The options of a registrar's certificate.
///
/// One certificate serves for everything: the registrar is a TLS server for devices, a TLS client of the MASA, and signs
/// voucher requests, and the MASA compares the last with what the device saw of the first (RFC 8995, 5.5.5).
#[derive(Clone, Debug)]
pub struct RegistrarOptions {
    /// DNS names and IP addresses; the first one is the common name too.
    pub names: Vec<String>,
    /// The extended key usages; by default all three. The example of RFC 8995 has cmcRA alone, which strict validators
    /// refuse for a TLS server.
    pub purposes: Vec<KeyPurpose>,
    /// The first and the last second of validity.
    pub validity: Validity,
    /// The algorithm of its key; by default that of the CA.
    pub algorithm: Option<KeyAlgorithm>,
}

impl RegistrarOptions {
    /// Returns the options of a registrar with one name.
    pub fn new(name: &str, validity: Validity) -> Self {
        let purposes = vec![KeyPurpose::CmcRa, KeyPurpose::ServerAuth, KeyPurpose::ClientAuth];
        Self { names: vec![name.into()], purposes, validity, algorithm: None }
    }
}

impl Authority {
    /// Issues a certificate for a registrar, for a new key.
    pub fn issue_registrar(&self, options: &RegistrarOptions) -> Result<Credential, Error> {
        let mut params = named(&options.names, options.validity, None)?;
        for purpose in &options.purposes {
            params.insert_extended_key_usage(purpose.purpose());
        }
        self.issue_by(options.algorithm, Template { names_its_key: true, ..Template::new(params) })
    }
}

/// The OID 1.3.6.1.5.5.7.3.28 (RFC 6402, 2.10).
const ID_KP_CMC_RA: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 3, 28];

#[cfg(test)]
mod tests;
