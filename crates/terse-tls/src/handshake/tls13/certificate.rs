//! Certificate and CertificateVerify of TLS 1.3: their entries and their signed content (RFC 9846, 4.5.1 and 4.5.2).

use alloc::vec::Vec;

use pki_types::CertificateDer;

use crate::cert::Credential;
use crate::crypto::Digest;
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::handshake::certificate_types::{Presented, check_room};
use crate::wire::{
    Certificate, CertificateEntry, CertificateStatus, CertificateType, ExtensionMessage, ExtensionType, Extensions,
};

/// The side that signs.
#[derive(Clone, Copy)]
pub(super) enum Signer {
    Client,
    Server,
}

impl Signer {
    /// Returns the content that is signed: 64 spaces, the context string, a zero byte, and the transcript hash (RFC
    /// 9846, 4.5.2).
    pub(super) fn content(self, messages: &Digest) -> Vec<u8> {
        let context: &[u8] = match self {
            Self::Client => b"TLS 1.3, client CertificateVerify\0",
            Self::Server => b"TLS 1.3, server CertificateVerify\0",
        };
        [&[0x20; 64], context, messages.as_ref()].concat()
    }
}

/// Returns the entries of a full Certificate. Their extensions may only answer those that were `asked` for (RFC 9846,
/// 4.5.1).
pub(super) fn cert_data<'a>(certificate: &Certificate<'a>, asked: &[ExtensionType]) -> Result<Vec<&'a [u8]>, Error> {
    let mut entries = Vec::new();
    for entry in certificate.certificate_list.iter() {
        entry.extensions.check_response(ExtensionMessage::Certificate, asked)?;
        if entry.cert_data.is_empty() {
            return Err(InvalidMessage::IllegalLength.into()); // `cert_data<1..2^24-1>`
        }
        check_room(entries.len())?;
        entries.push(entry.cert_data);
    }
    Ok(entries)
}

/// Returns the chain or raw public key of a full Certificate, or `None` if it is empty. A raw public key must be the
/// only entry (RFC 9846, 4.5.1).
pub(super) fn presented<'a>(
    certificate: &Certificate<'a>,
    kind: CertificateType,
    asked: &[ExtensionType],
) -> Result<Option<Presented<'a>>, Error> {
    let entries = cert_data(certificate, asked)?;
    Ok(match (kind, entries.as_slice()) {
        (_, []) => None,
        (CertificateType::RAW_PUBLIC_KEY, [key]) => Some(Presented::RawPublicKey(key)),
        (CertificateType::RAW_PUBLIC_KEY, _) => return Err(PeerMisbehaved::SeveralRawPublicKeys.into()),
        _ => Some(Presented::Chain(entries.into_iter().map(CertificateDer::from).collect())),
    })
}

/// Returns the one entry of a reduced Certificate, which has no certificate but the live extensions of the leaf.
pub(super) fn reduced<'a>(
    certificate: &Certificate<'a>,
    asked: &[ExtensionType],
) -> Result<CertificateEntry<'a>, Error> {
    let mut entries = certificate.certificate_list.iter();
    let reduced = entries.next().filter(|entry| entry.cert_data.is_empty());
    let (Some(reduced), None) = (reduced, entries.next()) else {
        return Err(PeerMisbehaved::IllegalCachedMessage.into());
    };
    reduced.extensions.check_response(ExtensionMessage::Certificate, asked)?;
    Ok(reduced)
}

/// Returns the OCSP response that is stapled to the leaf, which is the first entry.
pub(super) fn staple<'a>(certificate: &Certificate<'a>) -> Result<Option<CertificateStatus<'a>>, InvalidMessage> {
    certificate.certificate_list.iter().next().map_or(Ok(None), |leaf| leaf.extensions.get())
}

/// Returns the entries of this side's full Certificate, with the extensions of its leaf.
pub(super) fn entries<'a>(credential: &'a Credential, leaf: Extensions<'a>) -> Vec<CertificateEntry<'a>> {
    let mut entries: Vec<_> = credential.cert_data().map(CertificateEntry::new).collect();
    if let Some(entry) = entries.first_mut() {
        entry.extensions = leaf;
    }
    entries
}
