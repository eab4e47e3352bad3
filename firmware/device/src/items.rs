//! Files of a device: items, each behind its length in two bytes.

use alloc::vec::Vec;

use pki_types::CertificateDer;

/// Takes the first item; `None` if it is cut short.
pub fn item<'a>(file: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = file.split_first_chunk()?;
    let (item, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
    *file = rest;
    Some(item)
}

/// Takes certificates up to an empty item.
pub fn certificates(file: &mut &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let mut certificates = Vec::new();
    loop {
        match item(file)? {
            [] => return Some(certificates),
            der => certificates.push(CertificateDer::from(der.to_vec())),
        }
    }
}

/// Appends an item; `None` if it is longer than an item can be.
pub fn put(file: &mut Vec<u8>, item: &[u8]) -> Option<()> {
    file.extend_from_slice(&u16::try_from(item.len()).ok()?.to_be_bytes());
    file.extend_from_slice(item);
    Some(())
}

/// Appends certificates and an empty item.
pub fn put_certificates(file: &mut Vec<u8>, certificates: &[CertificateDer<'_>]) -> Option<()> {
    certificates.iter().try_for_each(|der| put(file, der))?;
    put(file, &[])
}
