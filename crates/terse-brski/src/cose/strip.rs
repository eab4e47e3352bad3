//! The certificates are removed from a voucher that a registrar forwards (draft-ietf-anima-constrained-voucher-31, "Registrar
//! Extensions"): they are for the registrar alone, and a constrained network is spared them.

use alloc::vec::Vec;

use super::COSE_SIGN1;
use super::header::{Headers, Label, X5BAG, X5CHAIN};
use super::parse::Sign1;
use crate::Malformed;
use crate::cbor::{Reader, Writer, encoded_len};

/// Removes x5bag and x5chain from the unprotected header of a COSE_Sign1, whose signature is not verified here, and stays
/// what it is. Everything else is kept byte by byte, but the heads of the structure are the shortest. [`Signed::verify`] refuses
/// the same as malformed.
///
/// [`Signed::verify`]: super::Signed::verify
pub fn without_certificates(cose: &[u8]) -> Result<Vec<u8>, Malformed> {
    let sign1 = Sign1::read(cose)?;
    Headers::read(&sign1)?;
    let mut kept = Vec::new();
    let mut reader = Reader::new(sign1.unprotected);
    let mut entries = reader.map()?;
    while entries.next(&mut reader)? {
        let start = reader.position();
        let label = Label::read(&mut reader)?;
        reader.skip()?;
        if label != X5BAG && label != X5CHAIN {
            kept.push(sign1.unprotected.get(start..reader.position()).ok_or(Malformed::Cbor)?);
        }
    }
    let unprotected_len = kept.iter().map(|entry| entry.len()).sum::<usize>();
    let heads_len = 2 + encoded_len(sign1.protected.len()) + 3;
    let mut writer = Writer::with_capacity(heads_len + unprotected_len + sign1.rest.len());
    writer.tag(COSE_SIGN1);
    writer.array(4);
    writer.bytes(&sign1.protected);
    writer.map(kept.len());
    kept.iter().for_each(|entry| writer.encoded(entry));
    writer.encoded(sign1.rest);
    Ok(writer.into_vec())
}
