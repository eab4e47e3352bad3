//! Fingerprints of handshake messages (RFC 7924, 5), which identify cached objects.
//!
//! What must always hold: a fingerprint is the whole SHA-256 over the message with its 4-byte TLS header. A chain is
//! hashed in the same form in every version; a raw public key and a CertificateRequest have one form for each version.

use core::iter::once;

use super::Fingerprint;
use super::sha256::{Context, sha256};
use crate::wire::{CertificateRequest, Encode as _, HandshakeType, ProtocolVersion, Writer};

#[cfg(test)]
mod tests;

impl Fingerprint {
    /// Of a Certificate message in its TLS 1.2 form, without context and extensions (BiTHaC, IV-D).
    pub(crate) fn of_chain<'a>(chain: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let list_len: usize = chain.clone().map(|certificate| certificate.len() + 3).sum();
        let mut context = Context::new();
        let mut header = [0; 7];
        let mut writer = Writer::new(&mut header);
        writer.u8(HandshakeType::CERTIFICATE.0);
        writer.u24(list_len + 3);
        writer.u24(list_len);
        context.update(&header);
        for certificate in chain {
            context.update(&(certificate.len() as u32).to_be_bytes()[1..]);
            context.update(certificate);
        }
        Self(context.finish())
    }

    /// Returns the fingerprint of a TLS 1.2 message, with the 4-byte header of TLS even over datagrams.
    pub(crate) fn of_body(kind: HandshakeType, body: &[u8]) -> Self {
        let mut header = [0; 4];
        let mut writer = Writer::new(&mut header);
        kind.encode(&mut writer);
        writer.u24(body.len());
        Self(sha256(&[&header, body]))
    }

    /// Returns the fingerprint of a Certificate message with a raw public key: the key alone in TLS 1.2 (RFC 7250, 3),
    /// a list of one entry in TLS 1.3 (RFC 9846, 4.5.1).
    pub(crate) fn of_raw_public_key(version: ProtocolVersion, key: &[u8]) -> Self {
        if version != ProtocolVersion::TLS_1_2 {
            return Self::of_chain(once(key));
        }
        let mut header = [0; 7];
        let mut writer = Writer::new(&mut header);
        writer.u8(HandshakeType::CERTIFICATE.0);
        writer.u24(key.len() + 3);
        writer.u24(key.len());
        Self(sha256(&[&header, key]))
    }

    /// Returns the fingerprint of a TLS 1.3 CertificateRequest without its context: type, length, extensions.
    pub(crate) fn of_request(request: &CertificateRequest<'_>) -> Self {
        let extensions = request.extensions.as_bytes();
        let mut header = [0; 6];
        let mut writer = Writer::new(&mut header);
        writer.u8(HandshakeType::CERTIFICATE_REQUEST.0);
        writer.u24(2 + extensions.len());
        writer.u16(extensions.len() as u16); // it was parsed from, or will be written to, a field of 16 bits
        Self(sha256(&[&header, extensions]))
    }
}
