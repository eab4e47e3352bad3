//! The Certificate message of TLS 1.2: a chain (RFC 5246, 7.4.2), or a raw public key (RFC 7250, 3).

use alloc::vec::Vec;

use pki_types::CertificateDer;

use crate::cert::Credential;
use crate::error::Error;
use crate::handshake::certificate_types::{Presented, check_room};
use crate::handshake::{Message, Output};
use crate::schedule::Transcript;
use crate::wire::{Asn1Cert, Certificate12, CertificateType, HandshakeType, List, RawPublicKey12};

/// Parses a full Certificate; returns `None` if it is empty.
pub(super) fn presented<'a>(message: Message<'a>, kind: CertificateType) -> Result<Option<Presented<'a>>, Error> {
    if kind == CertificateType::RAW_PUBLIC_KEY {
        let RawPublicKey12(key) = message.expect(HandshakeType::CERTIFICATE)?;
        return Ok(Some(key).filter(|key| !key.is_empty()).map(Presented::RawPublicKey));
    }
    let Certificate12(certificates) = message.expect(HandshakeType::CERTIFICATE)?;
    let mut chain = Vec::new();
    for Asn1Cert(certificate) in certificates.iter() {
        check_room(chain.len())?;
        chain.push(CertificateDer::from(certificate));
    }
    Ok(Some(chain).filter(|chain| !chain.is_empty()).map(Presented::Chain))
}

/// Sends the full Certificate of a credential.
pub(super) fn send(credential: &Credential, transcript: &mut Transcript, output: &mut Output<'_>) -> Result<(), Error> {
    let kind = HandshakeType::CERTIFICATE;
    if credential.certificate_type() == CertificateType::RAW_PUBLIC_KEY {
        return output.send(kind, &RawPublicKey12(&credential.public_key()), transcript);
    }
    let chain: Vec<_> = credential.chain().iter().map(|certificate| Asn1Cert(certificate)).collect();
    output.send(kind, &Certificate12(List::Items(&chain)), transcript)
}
