//! What a device has of its domain: a file with its LDevID, the trust anchors, and the key.

use alloc::vec::Vec;

use pki_types::CertificateDer;
use terse_device::items::{certificates, item, put, put_certificates};
use zeroize::Zeroizing;

/// An LDevID.
pub struct Ldevid {
    /// The certificate of the device, and those above it.
    pub chain: Vec<CertificateDer<'static>>,
    /// The trust anchors of the domain.
    pub anchors: Vec<CertificateDer<'static>>,
    /// The secret of the key.
    pub key: Zeroizing<[u8; KEY_LEN]>,
}

impl Ldevid {
    /// Reads what [`to_bytes`] has given; `None` for anything else, such as what was never written.
    pub fn parse(mut file: &[u8]) -> Option<Self> {
        let chain = certificates(&mut file)?;
        let anchors = certificates(&mut file)?;
        let key = Zeroizing::new(item(&mut file)?.try_into().ok()?);
        (!chain.is_empty() && file.is_empty()).then_some(Self { chain, anchors, key })
    }
}

/// Returns an LDevID as bytes, which are as secret as its key; `None` if a certificate is too long.
pub fn to_bytes(
    chain: &[CertificateDer<'_>],
    anchors: &[CertificateDer<'_>],
    key: &[u8],
) -> Option<Zeroizing<Vec<u8>>> {
    let certificates = chain.iter().chain(anchors).map(|der| 2 + der.len()).sum::<usize>();
    // Nothing is moved as it grows, so that no copy of the key stays behind.
    let mut file = Zeroizing::new(Vec::with_capacity(certificates + 2 * 2 + 2 + key.len()));
    put_certificates(&mut file, chain)?;
    put_certificates(&mut file, anchors)?;
    put(&mut file, key)?;
    Some(file)
}

/// The bytes of a key's secret.
pub const KEY_LEN: usize = 32;

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn chain(certificates: &[&[u8]]) -> Vec<CertificateDer<'static>> {
        certificates.iter().map(|der| CertificateDer::from(der.to_vec())).collect()
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let (own, anchors) = (chain(&[b"leaf", b"above"]), chain(&[b"root"]));
        let bytes = to_bytes(&own, &anchors, &[7; KEY_LEN]).unwrap();
        assert_eq!(bytes.capacity(), bytes.len());
        let read = Ldevid::parse(&bytes).unwrap();
        assert_eq!((read.chain, read.anchors, *read.key), (own, anchors, [7; KEY_LEN]));
    }

    #[test]
    fn what_is_no_ldevid_is_none() {
        let bytes = to_bytes(&chain(&[b"leaf"]), &chain(&[b"root"]), &[7; KEY_LEN]).unwrap();
        for len in 0..bytes.len() {
            assert!(Ldevid::parse(&bytes[..len]).is_none(), "{len}");
        }
        assert!(Ldevid::parse(&[&bytes[..], &[0]].concat()).is_none());
        assert!(Ldevid::parse(&to_bytes(&[], &chain(&[b"root"]), &[7; KEY_LEN]).unwrap()).is_none());
        assert!(Ldevid::parse(&to_bytes(&chain(&[b"leaf"]), &[], &[7; KEY_LEN - 1]).unwrap()).is_none());
    }

    #[test]
    fn a_certificate_that_is_too_long_is_not_kept() {
        let long = vec![0; usize::from(u16::MAX) + 1];
        assert!(to_bytes(&chain(&[&long]), &[], &[7; KEY_LEN]).is_none());
    }
}
