//! The importer of RFC 9258. It derives a key for each version of TLS and DTLS and each KDF from an external key, so
//! that no key is used with two of them.
//!
//! What must always hold: the derivation binds the whole ImportedIdentity as it is sent.

use super::PskHash;
use crate::crypto::{CryptoError, Hash};
use crate::error::InvalidMessage;
use crate::schedule::tls13::hkdf_expand_label;
use crate::wire::{Encode, Parse, ProtocolVersion, Reader, Transport, Writer, non_empty};

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
    /// Creates the identity for version 1.3 over this transport, and for suites with the hash `target`.
    pub(super) const fn new(
        external_identity: &'a [u8],
        context: &'a [u8],
        transport: Transport,
        target: PskHash,
    ) -> Self {
        let target_kdf = match target {
            PskHash::Sha256 => HKDF_SHA256,
            PskHash::Sha384 => HKDF_SHA384,
        };
        let target_protocol = transport.version(ProtocolVersion::TLS_1_3).0;
        Self { external_identity, context, target_protocol, target_kdf }
    }

    /// Returns the hash of the target, if it is version 1.3 over this transport with a known KDF.
    pub(super) const fn target(&self, transport: Transport) -> Option<PskHash> {
        match (transport.version(ProtocolVersion(self.target_protocol)), self.target_kdf) {
            (ProtocolVersion::TLS_1_3, HKDF_SHA256) => Some(PskHash::Sha256),
            (ProtocolVersion::TLS_1_3, HKDF_SHA384) => Some(PskHash::Sha384),
            _ => None,
        }
    }
}

/// `epskx = HKDF-Extract(0, epsk)`, `ipskx = HKDF-Expand-Label(epskx, "derived psk", Hash(ImportedIdentity), L)` (RFC
/// 9258, 5.1), with the label prefix of the transport. `hash` is that of the external key, not of the target; `ipskx`
/// is as long as the target's hash.
pub(super) fn import(
    epsk: &[u8],
    imported_identity: &[u8],
    hash: &dyn Hash,
    transport: Transport,
    ipskx: &mut [u8],
) -> Result<(), CryptoError> {
    let zeros = [0; crate::crypto::MAX_HASH_LEN];
    let epskx = hash.hkdf_extract(&zeros[..hash.output_len()], epsk);
    let context = hash.hash(&[imported_identity]);
    hkdf_expand_label(hash, transport.label_prefix(), &epskx, b"derived psk", context.as_ref(), ipskx)
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
