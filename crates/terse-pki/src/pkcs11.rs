//! The key of a CA in a PKCS #11 module: an HSM, a smart card, or a signer process behind `p11-kit-client.so`.
//!
//! A file of one line, `intermediate1.key-uri`, names the module and the key by a PKCS #11 URI (RFC 7512). The public key is
//! that of the certificate, and each signature is verified by it: tokens need no public key object.
//!
//! What must always hold: a PIN that a token has refused is not tried again; a PIN is erased from memory, and in no message;
//! a module is initialised once in a process; a session that has ended is opened again once for a signature.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::authority::parse;
use crate::level::Level;
use crate::{Error, KeyAlgorithm};

mod key;
mod module;
mod pin;
mod problem;
mod token;
mod uri;

use key::TokenKey;
use module::Module;
use uri::KeyUri;

/// Opens the key that the file at `path` names, for the certificate of a level.
pub(crate) fn open(path: &Path, level: &Level) -> Result<TokenKey, Error> {
    let wrong = |problem: &dyn core::fmt::Display| Error::file(path, problem);
    let uri = KeyUri::parse(&read(path)?).map_err(|problem| wrong(&problem))?;
    let algorithm = match level.algorithm()? {
        Some(algorithm @ (KeyAlgorithm::P256 | KeyAlgorithm::P384 | KeyAlgorithm::Ed25519)) => algorithm,
        _ => return Err(wrong(&OTHER_ALGORITHM)),
    };
    let public_key = parse(&level.certificate)?.public_key().subject_public_key.data.to_vec();
    let pin = uri.pin_source.as_ref().map(|source| pin::read(&beside(path, source))).transpose()?;
    let module = Module::at(&uri.module_path).map_err(|problem| wrong(&problem))?;
    let key = TokenKey::new(uri, module, pin, algorithm, public_key);
    key.open().map_err(|problem| wrong(&problem))?;
    Ok(key)
}

/// Returns the file with the PIN of the key that the file at `path` names.
pub(crate) fn pin_file(path: &Path) -> Option<PathBuf> {
    let source = KeyUri::parse(&read(path).ok()?).ok()?.pin_source?;
    Some(beside(path, &source))
}

/// Returns a path that is relative to the folder of a file.
fn beside(path: &Path, other: &Path) -> PathBuf {
    path.parent().map_or_else(|| other.into(), |folder| folder.join(other))
}

/// Reads a file that has only a URI.
fn read(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_LEN).read_to_string(&mut text));
    read.map_err(|e| Error::file(path, format!("cannot be read: {e}; write a PKCS #11 URI there")))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).trim().to_owned())
}

/// More than the longest URI and the white space around it.
const MAX_FILE_LEN: u64 = 2 * uri::MAX_LEN as u64;

const OTHER_ALGORITHM: &str = "the certificate has a key that is not supported in a PKCS #11 module; use one with P-256, P-384 or \
                               Ed25519, or keep the key in a file";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_read_as_editors_leave_it() {
        let scratch = tempfile::TempDir::new().unwrap();
        let path = scratch.path().join("ca.uri");
        let uri = "pkcs11:token=plant;object=ca";
        for contents in [uri.to_owned(), format!("{uri}\n"), format!("\u{feff}{uri} \t\r\n\r\n")] {
            std::fs::write(&path, contents).unwrap();
            assert_eq!(read(&path).unwrap(), uri);
        }
    }
}
