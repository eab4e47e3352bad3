//! Credential files hold certificates, keys, CRLs, passphrases and pre-shared keys, as PEM (RFC 7468) or DER, where
//! that applies.
//!
//! The type of a file is known by its content, never by its name. What must always hold: everything that is returned
//! has been parsed once, keys and passphrases are zeroized on drop, and an error is one line that names the file, the
//! problem, and the remedy.

use core::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pkcs8::der::{AnyRef, Decode};
use pkcs8::spki::SubjectPublicKeyInfoRef;
use pkcs8::{EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef, pkcs5};
use pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use webpki::BorrowedCertRevocationList;
use zeroize::Zeroizing;

mod error;

pub use error::{FileError, Item, Problem};

/// The largest file that is read.
pub const MAX_FILE_SIZE: u64 = 16 << 20;

/// Reads every certificate of a file, in order: a chain, or a set of trust anchors.
pub fn read_certificates(path: impl AsRef<Path>) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let read = |contents: &[u8]| {
        let blocks = blocks(contents, Item::Certificate)?;
        blocks.into_iter().map(|block| Ok(block.der.to_vec().into())).collect()
    };
    read_file(path.as_ref(), Item::Certificate, read)
}

/// Reads every CRL of a file.
pub fn read_crls(path: impl AsRef<Path>) -> Result<Vec<CertificateRevocationListDer<'static>>, FileError> {
    let read = |contents: &[u8]| {
        let blocks = blocks(contents, Item::Crl)?;
        blocks.into_iter().map(|block| Ok(block.der.to_vec().into())).collect()
    };
    read_file(path.as_ref(), Item::Crl, read)
}

/// Reads every public key of a file: SubjectPublicKeyInfo (RFC 5280, 4.1.2.7), as `openssl pkey -pubout` writes it.
pub fn read_public_keys(path: impl AsRef<Path>) -> Result<Vec<SubjectPublicKeyInfoDer<'static>>, FileError> {
    let read = |contents: &[u8]| {
        let blocks = blocks(contents, Item::PublicKey)?;
        blocks.into_iter().map(|block| Ok(block.der.to_vec().into())).collect()
    };
    read_file(path.as_ref(), Item::PublicKey, read)
}

/// Reads the first private key of a file: PKCS #8, SEC 1 (RFC 5915) or PKCS #1, or PKCS #8 encrypted with PBES2
/// (RFC 8018), for which the passphrase is needed.
pub fn read_private_key(
    path: impl AsRef<Path>,
    passphrase: Option<&[u8]>,
) -> Result<Zeroizing<PrivateKeyDer<'static>>, FileError> {
    let read = |contents: &[u8]| {
        let key = blocks(contents, Item::PrivateKey)?.swap_remove(0); // `blocks` returns at least one
        match key.encrypted {
            false => plain_key(&key.der).ok_or_else(|| malformed(1, "not a PKCS #8, SEC 1 or PKCS #1 structure")),
            true => decrypt(&key.der, passphrase),
        }
    };
    read_file(path.as_ref(), Item::PrivateKey, read)
}

/// Reads the passphrase that is the first line of a file, without its line end.
pub fn read_passphrase(path: impl AsRef<Path>) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let read = |contents: &[u8]| match terse_pem::first_line(contents) {
        [] => Err(Problem::Empty),
        passphrase => Ok(Zeroizing::new(passphrase.to_vec())),
    };
    read_file(path.as_ref(), Item::Passphrase, read)
}

/// Length in bytes of the shortest pre-shared key: one that can have the 128 bits of entropy of RFC 9257, 6.
pub const MIN_PSK_LEN: usize = 16;

/// Reads a pre-shared key in hexadecimal digits, as `openssl s_client -psk` takes them and `openssl rand -hex 32` makes
/// them. White space around them is ignored, and so is a byte order mark.
pub fn read_psk(path: impl AsRef<Path>) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let read = |contents: &[u8]| {
        let digits = terse_pem::without_byte_order_mark(contents).trim_ascii();
        let mut key = Zeroizing::new(vec![0; digits.len() / 2]);
        base16ct::mixed::decode(digits, &mut key).map_err(|_| Problem::NotHexadecimal)?;
        if key.len() < MIN_PSK_LEN { Err(Problem::PskTooShort { len: key.len() }) } else { Ok(key) }
    };
    read_file(path.as_ref(), Item::PreSharedKey, read)
}

fn read_file<T>(path: &Path, wanted: Item, read: impl FnOnce(&[u8]) -> Result<T, Problem>) -> Result<T, FileError> {
    let result = contents(path).and_then(|contents| match contents.trim_ascii() {
        [] => Err(Problem::Empty),
        _ => read(&contents),
    });
    result.map_err(|problem| FileError::new(path, wanted, problem))
}

fn contents(path: &Path) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let file = File::open(path).map_err(Problem::Unreadable)?;
    // The buffer holds the whole file and one byte more, to see its end: growing would leave copies of a key behind.
    let size = file.metadata().map_or(0, |metadata| metadata.len().min(MAX_FILE_SIZE)) as usize;
    let mut contents = Zeroizing::new(Vec::with_capacity(size + 1));
    file.take(MAX_FILE_SIZE + 1).read_to_end(&mut contents).map_err(Problem::Unreadable)?;
    match contents.len() as u64 > MAX_FILE_SIZE {
        true => Err(Problem::TooBig),
        false => Ok(contents),
    }
}

/// An object of the wanted kind.
struct Block {
    der: Zeroizing<Vec<u8>>,
    encrypted: bool,
}

/// Finds the objects of one kind, at least one, and checks that each can be parsed.
fn blocks(contents: &[u8], wanted: Item) -> Result<Vec<Block>, Problem> {
    if let Some((item, encrypted)) = classify(contents) {
        return match item == wanted {
            true => Ok(vec![Block { der: Zeroizing::new(contents.to_vec()), encrypted }]),
            false => Err(Problem::Missing { found: vec![item] }),
        };
    }
    let mut blocks = Vec::new();
    let mut found = Vec::new();
    for section in terse_pem::sections(contents) {
        let section = section.map_err(|_| Problem::Truncated)?;
        let item = Item::from_label(section.label);
        if item != wanted {
            if !found.contains(&item) {
                found.push(item);
            }
            continue;
        }
        if section.body.trim_ascii_start().starts_with(b"Proc-Type: 4,ENCRYPTED") {
            return Err(Problem::LegacyEncryption); // RFC 1421, 4.6.1.1: it is the first header
        }
        let der = section.decode().map_err(|_| malformed(blocks.len() + 1, "not base64"))?;
        let block = Block { der, encrypted: section.label == "ENCRYPTED PRIVATE KEY" };
        match check(&block.der, &wanted) {
            Ok(()) => blocks.push(block),
            Err(reason) => return Err(malformed(blocks.len() + 1, reason)),
        }
    }
    match (blocks.is_empty(), found.is_empty()) {
        (false, _) => Ok(blocks),
        (true, false) => Err(Problem::Missing { found }),
        (true, true) => Err(Problem::Unrecognized),
    }
}

/// Returns the type of a DER value, and whether it is encrypted.
fn classify(der: &[u8]) -> Option<(Item, bool)> {
    if AnyRef::from_der(der).is_err() {
        return None; // `der` is not one complete value
    }
    if plain_key(der).is_some() {
        return Some((Item::PrivateKey, false));
    }
    if EncryptedPrivateKeyInfoRef::from_der(der).is_ok() {
        return Some((Item::PrivateKey, true));
    }
    if SubjectPublicKeyInfoRef::from_der(der).is_ok() {
        return Some((Item::PublicKey, false));
    }
    [Item::Certificate, Item::Crl].into_iter().find(|item| check(der, item).is_ok()).map(|item| (item, false))
}

/// Parses an object, so that a malformed one is found now rather than in a handshake.
fn check(der: &[u8], item: &Item) -> Result<(), String> {
    let parsed = match item {
        Item::Certificate => match webpki::anchor_from_trusted_cert(&CertificateDer::from(der)) {
            // The validation of the certificate deals with critical extensions.
            Err(webpki::Error::UnsupportedCriticalExtension) => Ok(()),
            other => other.map(|_| ()),
        },
        Item::Crl => BorrowedCertRevocationList::from_der(der).map(|_| ()),
        Item::PublicKey => {
            return SubjectPublicKeyInfoRef::from_der(der).map(|_| ()).map_err(|_| "not a SubjectPublicKeyInfo".into());
        }
        _ => return AnyRef::from_der(der).map(|_| ()).map_err(|e| e.to_string()),
    };
    parsed.map_err(|error| match error {
        webpki::Error::BadDer | webpki::Error::TrailingData(_) => "not valid DER".into(),
        _ => error.to_string(),
    })
}

fn plain_key(der: &[u8]) -> Option<Zeroizing<PrivateKeyDer<'static>>> {
    AnyRef::from_der(der).ok()?;
    let key = PrivateKeyDer::try_from(der).ok()?;
    if let PrivateKeyDer::Pkcs8(pkcs8) = &key {
        PrivateKeyInfoRef::try_from(pkcs8.secret_pkcs8_der()).ok()?;
    }
    Some(Zeroizing::new(key.clone_key()))
}

fn decrypt(der: &[u8], passphrase: Option<&[u8]>) -> Result<Zeroizing<PrivateKeyDer<'static>>, Problem> {
    let encrypted = EncryptedPrivateKeyInfoRef::from_der(der).map_err(|_| Problem::UnsupportedEncryption)?;
    let passphrase = passphrase.ok_or(Problem::PassphraseNeeded)?;
    let key = encrypted.decrypt(passphrase).map_err(|error| match error {
        pkcs8::Error::EncryptedPrivateKey(pkcs5::Error::DecryptFailed) => Problem::WrongPassphrase,
        pkcs8::Error::EncryptedPrivateKey(_) => Problem::UnsupportedEncryption,
        _ => Problem::WrongPassphrase, // one in 256 wrong keys leaves a valid padding, but no DER
    })?;
    plain_key(key.as_bytes()).ok_or(Problem::WrongPassphrase)
}

fn malformed(number: usize, reason: impl fmt::Display) -> Problem {
    Problem::Malformed { number, reason: reason.to_string() }
}

#[cfg(test)]
mod tests;
