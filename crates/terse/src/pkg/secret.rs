//! The file of a generator's secret, which a passphrase can encrypt (docs/identity-format.md, 6).

use std::path::Path;

use pem_rfc7468::LineEnding;
use pkcs8::der::{Decode, Encode};
use pkcs8::pkcs5::EncryptionScheme;
use pkcs8::pkcs5::pbes2::{EncryptionScheme as Cipher, Parameters, Pbkdf2Prf};
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

/// The most iterations that are accepted, so that a file does not keep its reader busy for minutes.
const MAX_ITERATIONS: u32 = 5_000_000;

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
    let der = match terse_pem::first(pem.as_bytes(), &[ENCRYPTED]) {
        Err(terse_pem::Error::Missing) => return Generator::from_pem(&pem).map_err(|error| in_file(path, error)),
        der => der.map_err(|error| in_file(path, format!("it {error}")))?,
    };
    let Some(passphrase) = passphrase else {
        return Err(in_file(path, "the secret is encrypted; give --passphrase-file"));
    };
    let damaged = |_| in_file(path, "its content is damaged");
    let info = EncryptedPrivateKeyInfoRef::from_der(&der).map_err(damaged)?;
    if !is_accepted(&info.encryption_algorithm) {
        let how = "PBKDF2 with HMAC-SHA-256 and at most 5,000,000 iterations, and AES-256-CBC";
        return Err(in_file(path, format!("the secret is encrypted in another way than {how}; encrypt it so")));
    }
    let wrong = || in_file(path, "the passphrase is wrong, or the file is damaged");
    let content = info.encryption_algorithm.decrypt(passphrase, info.encrypted_data.as_bytes());
    let content = Zeroizing::new(content.map_err(|_| wrong())?);
    Generator::from_bytes(&content).ok().ok_or_else(wrong)
}

/// Whether a secret is encrypted as docs/identity-format.md, 6, says. Others that the library knows, such as scrypt, can ask
/// for any amount of memory.
fn is_accepted(scheme: &EncryptionScheme) -> bool {
    let Some(parameters) = scheme.pbes2() else { return false };
    let is_pbkdf2 = parameters
        .kdf
        .pbkdf2()
        .is_some_and(|pbkdf2| pbkdf2.prf == Pbkdf2Prf::HmacWithSha256 && pbkdf2.iteration_count <= MAX_ITERATIONS);
    is_pbkdf2 && matches!(parameters.encryption, Cipher::Aes256Cbc { .. })
}
