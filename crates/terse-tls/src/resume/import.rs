//! The importer of RFC 9258: of one external key a TLS key for each version and KDF, so that none is used with two.
//!
//! What must always hold: the derivation binds the whole identity, as it is sent.

use super::PskHash;
use crate::crypto::{CryptoError, Hash};
use crate::error::InvalidMessage;
use crate::schedule::tls13::hkdf_expand_label;
use crate::wire::{Encode, Parse, ProtocolVersion, Reader, Writer, non_empty};

#[cfg(test)]
mod tests;

/// `ImportedIdentity` (RFC 9258, 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ImportedIdentity<'a> {
    pub(super) external_identity: &'a [u8],
    pub(super) context: &'a [u8],
    pub(super) target_protocol: u16,
    pub(super) target_kdf: u16,
}

/// The TLS KDF Identifiers (RFC 9258, 10).
const HKDF_SHA256: u16 = 0x0001;
const HKDF_SHA384: u16 = 0x0002;

impl<'a> ImportedIdentity<'a> {
    pub(super) const fn tls13(external_identity: &'a [u8], context: &'a [u8], target: PskHash) -> Self {
        let target_kdf = match target {
            PskHash::Sha256 => HKDF_SHA256,
            PskHash::Sha384 => HKDF_SHA384,
        };
        Self { external_identity, context, target_protocol: ProtocolVersion::TLS_1_3.0, target_kdf }
    }

    /// The hash of the target, if it is TLS 1.3 with a KDF that is known here.
    pub(super) const fn target_of_tls13(&self) -> Option<PskHash> {
        match (ProtocolVersion(self.target_protocol), self.target_kdf) {
            (ProtocolVersion::TLS_1_3, HKDF_SHA256) => Some(PskHash::Sha256),
            (ProtocolVersion::TLS_1_3, HKDF_SHA384) => Some(PskHash::Sha384),
            _ => None,
        }
    }
}

/// `epskx = HKDF-Extract(0, epsk)`, `ipskx = HKDF-Expand-Label(epskx, "derived psk", Hash(ImportedIdentity), L)` (RFC
/// 9258, 5.1). `hash` is that of the external key, whatever the target; `ipskx` is as long as the target needs.
pub(super) fn import(
    epsk: &[u8],
    imported_identity: &[u8],
    hash: &dyn Hash,
    ipskx: &mut [u8],
) -> Result<(), CryptoError> {
    let zeros = [0; crate::crypto::MAX_HASH_LEN];
    let epskx = hash.hkdf_extract(&zeros[..hash.output_len()], epsk);
    hkdf_expand_label(hash, b"tls13 ", &epskx, b"derived psk", hash.hash(&[imported_identity]).as_ref(), ipskx)
}

impl<'a> Parse<'a> for ImportedIdentity<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            external_identity: non_empty(reader.vec16()?)?,
            context: reader.vec16()?,
            target_protocol: reader.u16()?,
            target_kdf: reader.u16()?,
        })
    }
}

impl Encode for ImportedIdentity<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(self.external_identity);
        writer.vec16(self.context);
        writer.u16(self.target_protocol);
        writer.u16(self.target_kdf);
    }
}
