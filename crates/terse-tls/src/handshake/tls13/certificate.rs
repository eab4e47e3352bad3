//! Certificate and CertificateVerify of TLS 1.3 (RFC 9846, 4.5.1 and 4.5.2): the chain, and what is signed.

use alloc::vec::Vec;

use pki_types::CertificateDer;

use crate::crypto::Digest;
use crate::error::{Error, InvalidMessage};
use crate::wire::{Certificate, Place};

/// Who signs.
#[derive(Clone, Copy)]
pub(super) enum Signer {
    Client,
    Server,
}

impl Signer {
    /// The content that is signed: 64 spaces, the context string, a zero, the transcript hash.
    pub(super) fn content(self, messages: &Digest) -> Vec<u8> {
        let context: &[u8] = match self {
            Self::Client => b"TLS 1.3, client CertificateVerify\0",
            Self::Server => b"TLS 1.3, server CertificateVerify\0",
        };
        [&[0x20; 64], context, messages.as_ref()].concat()
    }
}

/// The chain in a full Certificate. Extensions answer requests (RFC 9846, 4.5.1), and none was made.
pub(super) fn chain<'a>(certificate: &Certificate<'a>) -> Result<Vec<CertificateDer<'a>>, Error> {
    let mut chain = Vec::new();
    for entry in certificate.certificate_list.iter() {
        entry.extensions.check_response(Place::Certificate, &[])?;
        if entry.cert_data.is_empty() {
            return Err(InvalidMessage::IllegalLength.into()); // `cert_data<1..2^24-1>`
        }
        chain.push(CertificateDer::from(entry.cert_data));
    }
    Ok(chain)
}
