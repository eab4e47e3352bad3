//! The file of a generator's secret, which a passphrase can encrypt (docs/identity-format.md, 6).

use std::path::Path;

use pem_rfc7468::LineEnding;
use pkcs8::der::{Decode, Encode};
use pkcs8::pkcs5::EncryptionScheme;
use pkcs8::pkcs5::pbes2::Parameters;
use pkcs8::{EncryptedPrivateKeyInfoOwned, EncryptedPrivateKeyInfoRef};
use terse_ibc::Generator;
use terse_net::OsRng;
use terse_tls::crypto::Rng;
use zeroize::Zeroizing;

use super::Passphrase;
use crate::credentials::{failed, in_file};
use crate::failure::Failure;
use crate::identities::read_text;

/// The label of an encrypted secret.
const ENCRYPTED: &str = "ENCRYPTED TERSE PKG SECRET";

/// How often PBKDF2 hashes the passphrase: what OWASP recommends for HMAC-SHA-256 in 2023.
const ITERATIONS: u32 = 600_000;

/// Returns the file of a generator, encrypted if there is a passphrase.
pub(super) fn to_pem(generator: &Generator, passphrase: Option<&Passphrase>) -> Result<Zeroizing<String>, Failure> {
    let Some(passphrase) = passphrase else { return Ok(generator.to_pem()) };
    let (mut salt, mut iv) = ([0; 16], [0; 16]);
    OsRng.fill(&mut salt).and_then(|()| OsRng.fill(&mut iv)).map_err(failed)?;
    let parameters = Parameters::generate_pbkdf2_sha256_aes256cbc(ITERATIONS, &salt, iv).map_err(failed)?;
    let encryption_algorithm = EncryptionScheme::from(parameters);
    let encrypted = encryption_algorithm.encrypt(passphrase, &generator.to_bytes()).map_err(failed)?;
    let encrypted_data = pkcs8::der::asn1::OctetString::new(encrypted).map_err(failed)?;
    let info = EncryptedPrivateKeyInfoOwned { encryption_algorithm, encrypted_data };
    let der = info.to_der().map_err(failed)?;
    pem_rfc7468::encode_string(ENCRYPTED, LineEnding::LF, &der).map(Zeroizing::new).map_err(failed)
}

/// Reads the file of a generator.
pub(super) fn read(path: &Path, passphrase: Option<&Passphrase>) -> Result<Generator, Failure> {
    let pem = read_text(path)?;
    if !pem.contains(ENCRYPTED) {
        return Generator::from_pem(&pem).map_err(|error| in_file(path, error));
    }
    let Some(passphrase) = passphrase else {
        return Err(in_file(path, "the secret is encrypted; give --passphrase-file"));
    };
    let damaged = |_| in_file(path, "its content is damaged");
    let (label, der) = pem_rfc7468::decode_vec(pem.as_bytes()).map_err(|_| in_file(path, "it is not a PEM file"))?;
    let info = EncryptedPrivateKeyInfoRef::from_der(&der).map_err(damaged)?;
    let wrong = || in_file(path, "the passphrase is wrong, or the file is damaged");
    let content = info.encryption_algorithm.decrypt(passphrase, info.encrypted_data.as_bytes());
    let content = Zeroizing::new(content.map_err(|_| wrong())?);
    let generator = Generator::from_bytes(&content).ok().filter(|_| label == ENCRYPTED);
    generator.ok_or_else(wrong)
}
