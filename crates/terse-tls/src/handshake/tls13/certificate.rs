//! Certificate and CertificateVerify of TLS 1.3 (RFC 9846, 4.5.1 and 4.5.2): what is presented, and what is signed.

use alloc::vec::Vec;

use pki_types::CertificateDer;

use crate::crypto::Digest;
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::handshake::certificate_types::Presented;
use crate::wire::{Certificate, CertificateType, Place};

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

/// The entries of a full Certificate. Extensions answer requests (RFC 9846, 4.5.1), and none was made.
pub(super) fn cert_data<'a>(certificate: &Certificate<'a>) -> Result<Vec<&'a [u8]>, Error> {
    let mut entries = Vec::new();
    for entry in certificate.certificate_list.iter() {
        entry.extensions.check_response(Place::Certificate, &[])?;
        if entry.cert_data.is_empty() {
            return Err(InvalidMessage::IllegalLength.into()); // `cert_data<1..2^24-1>`
        }
        entries.push(entry.cert_data);
    }
    Ok(entries)
}

/// What a full Certificate presents; nothing if it is empty. A raw public key comes alone (RFC 9846, 4.5.1).
pub(super) fn presented<'a>(
    certificate: &Certificate<'a>,
    kind: CertificateType,
) -> Result<Option<Presented<'a>>, Error> {
    let entries = cert_data(certificate)?;
    Ok(match (kind, entries.as_slice()) {
        (_, []) => None,
        (CertificateType::RAW_PUBLIC_KEY, [key]) => Some(Presented::RawPublicKey(key)),
        (CertificateType::RAW_PUBLIC_KEY, _) => return Err(PeerMisbehaved::SeveralRawPublicKeys.into()),
        _ => Some(Presented::Chain(entries.into_iter().map(CertificateDer::from).collect())),
    })
}
