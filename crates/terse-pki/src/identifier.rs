//! Key identifiers name the key of a certificate, and the key that signed it (RFC 5280, 4.2.1.1 and 4.2.1.2).
//!
//! What must always hold: the identifier that a CA certificate would carry is the one that certificates of this CA name,
//! whether it carries it or not.

use rcgen::CustomExtension;

use crate::der::{OCTET_STRING, SEQUENCE, tlv};

/// Returns the identifier of a key by method 1 of RFC 5280, 4.2.1.2: the SHA-1 hash of the contents of its
/// subjectPublicKey. The hash protects nothing here. OCSP names responders by the same hash (RFC 6960, 4.2.1).
pub(crate) fn of_key(subject_public_key: &[u8]) -> [u8; 20] {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, subject_public_key);
    let mut identifier = [0; 20];
    identifier.copy_from_slice(digest.as_ref()); // SHA-1 has 20 bytes
    identifier
}

/// Returns the subjectKeyIdentifier extension, which is not critical.
pub(crate) fn subject_key_identifier(identifier: &[u8]) -> CustomExtension {
    CustomExtension::from_oid_content(&[2, 5, 29, 14], tlv(OCTET_STRING, &[identifier]))
}

/// Returns the authorityKeyIdentifier extension with its keyIdentifier alone. It is not critical.
pub(crate) fn authority_key_identifier(identifier: &[u8]) -> CustomExtension {
    CustomExtension::from_oid_content(&[2, 5, 29, 35], tlv(SEQUENCE, &[&tlv(0x80, &[identifier])]))
}
