//! What is known to a device: its server, its credentials, and the settings of its connections, in one file.
//!
//! The file has items, each behind its length in two bytes: the settings, a text of lines `name=value`; the trust anchors, up to an
//! empty item; the device's chain, up to an empty item; its private key; the identity and the key of a pre-shared key; the
//! content of the file of an identity key. What the settings do not need may be empty. Two things are what the image takes: the private
//! key, which is in PKCS #8 or a scalar of P-256, and the anchors, in whose place stands the SubjectPublicKeyInfo of a server with a
//! raw public key.

use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use pki_types::CertificateDer;
use zeroize::Zeroizing;

use crate::items::{certificates, item};

/// A device.
pub struct Device {
    settings: String,
    /// The trust anchors, or the SubjectPublicKeyInfo of the server.
    pub anchors: Vec<CertificateDer<'static>>,
    /// The device's certificate, and those above it.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key of the certificate, in PKCS #8 or as a scalar of P-256.
    pub key: Zeroizing<Vec<u8>>,
    /// The identity and the key of a pre-shared key.
    pub psk: (Vec<u8>, Zeroizing<Vec<u8>>),
    /// An identity key: the content of its file without PEM.
    pub identity: Zeroizing<Vec<u8>>,
}

impl Device {
    /// Reads a file; `None` if it is cut short, or has no text where there must be one.
    pub fn parse(mut file: &[u8]) -> Option<Self> {
        let settings = String::from_utf8(item(&mut file)?.into()).ok()?;
        let anchors = certificates(&mut file)?;
        let chain = certificates(&mut file)?;
        let key = Zeroizing::new(item(&mut file)?.into());
        let psk = (item(&mut file)?.into(), Zeroizing::new(item(&mut file)?.into()));
        let identity = Zeroizing::new(item(&mut file)?.into());
        Some(Self { settings, anchors, chain, key, psk, identity })
    }

    /// Returns the value of a setting; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        let mut lines = self.settings.lines().filter_map(|line| line.split_once('='));
        lines.find(|(own, _)| *own == name).map_or("", |(_, value)| value)
    }

    /// Returns the value of a setting, if there is one that can be read.
    pub fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name).parse().ok()
    }

    /// Whether a setting is `yes`.
    pub fn is(&self, name: &str) -> bool {
        self.text(name) == "yes"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let items: [&[u8]; 10] = [
            b"port=4433\nname=a.example\ncache=yes\n",
            b"ca",
            b"",
            b"leaf",
            b"above",
            b"",
            b"key",
            b"id",
            b"psk",
            b"identity",
        ];
        items.iter().flat_map(|item| [&(item.len() as u16).to_be_bytes(), *item].concat()).collect()
    }

    #[test]
    fn a_file_has_what_a_device_knows() {
        let device = Device::parse(&file()).unwrap();
        assert_eq!(device.number("port"), Some(4433_u16));
        assert_eq!(device.text("name"), "a.example");
        assert!(device.is("cache") && !device.is("resume"));
        assert_eq!(device.anchors, [CertificateDer::from(&b"ca"[..])]);
        assert_eq!(device.chain.len(), 2);
        assert_eq!(*device.key, b"key");
        assert_eq!((&*device.psk.0, &**device.psk.1), (&b"id"[..], &b"psk"[..]));
        assert_eq!(*device.identity, b"identity");
    }

    #[test]
    fn a_file_that_is_cut_short_is_none() {
        let whole = file();
        for len in 0..whole.len() {
            assert!(Device::parse(&whole[..len]).is_none(), "{len}");
        }
    }
}
