//! The shim has trust anchors, and credentials of its own.
//!
//! What must always hold: the chains and keys of the runner are verified like any other; where BoringSSL's shim accepts
//! everything, this one is given the root, or the raw public keys, that the runner uses.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

use pki_types::pem::PemObject as _;
use pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use terse_aws_lc::PROVIDER;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_tls::crypto::{CryptoError, KeyError, Rng, Signing, SigningKey};
use terse_tls::resume::ExternalPsk;
use terse_tls::{CertificateType, Credential, SignatureScheme, Trust};

use crate::Failure;
use crate::options::{CredentialKind, CredentialOptions, Options, Refusal};

/// The environment variable that names a directory with the runner's keys: Terse must know its peer's raw public key
/// beforehand (RFC 7250, 6).
const KEYS: &str = "BOGO_KEYS";

/// The number of the credential that signed last; -1 for none, or for the one without a number.
pub(crate) type Selected = Arc<AtomicI32>;

/// Returns the trust of a connection with these options.
pub(crate) fn trust(options: &Options) -> Result<Trust, Failure> {
    let types = accepted_types(options)?;
    let mut trust = Trust::nobody();
    if types.contains(&CertificateType::X509) {
        trust = Trust::new(&[anchor(options)?])?;
    }
    if types.contains(&CertificateType::RAW_PUBLIC_KEY) {
        let keys = raw_public_keys(options.verify_fail)?;
        let keys: Vec<_> = keys.iter().map(|key| SubjectPublicKeyInfoDer::from(key.as_slice())).collect();
        trust = trust.with_raw_public_keys(&keys)?;
    }
    Ok(trust)
}

/// Returns the accepted types. Terse prefers raw public keys, so that another order is refused as unimplemented.
fn accepted_types(options: &Options) -> Result<Vec<CertificateType>, Refusal> {
    let types: Vec<_> = options.accepted_peer_cert_types.iter().copied().map(CertificateType).collect();
    match types[..] {
        [] => Ok(vec![CertificateType::X509]),
        [CertificateType::X509 | CertificateType::RAW_PUBLIC_KEY]
        | [CertificateType::RAW_PUBLIC_KEY, CertificateType::X509] => Ok(types),
        _ => Err(Refusal::Unimplemented("-accepted-peer-cert-types with X.509 before raw public keys".into())),
    }
}

/// Returns the root that the runner names, or an unrelated one for `-verify-fail` and where the runner's peer has none.
fn anchor(options: &Options) -> Result<CertificateDer<'static>, Failure> {
    match &options.trust_cert {
        Some(path) if !options.verify_fail => certificates(path)?.pop().ok_or(Failure::File("no certificate")),
        _ => Ok(stranger()?.root().clone()),
    }
}

fn raw_public_keys(verify_fail: bool) -> Result<Vec<Vec<u8>>, Failure> {
    if verify_fail {
        let leaf = stranger()?.issue(&LeafOptions::new("stranger.example", ALWAYS)).map_err(|_| Failure::Pki)?;
        return Ok(vec![load_key(leaf.key())?.public_key().to_vec()]);
    }
    let Some(directory) = std::env::var_os(KEYS) else {
        return Err(Refusal::Unimplemented(format!("raw public keys without {KEYS}")).into());
    };
    let key = |file| {
        let der = PrivateKeyDer::from_pem_file(Path::new(&directory).join(file));
        Ok(load_key(&der.map_err(|_| Failure::File("a key of the runner"))?)?.public_key().to_vec())
    };
    ["ecdsa_p256_key.pem", "ecdsa_p384_key.pem", "rsa_2048_key.pem"].map(key).into_iter().collect()
}

/// Returns a CA that issued none of the runner's certificates; it is the same in all connections.
fn stranger() -> Result<&'static Authority, Failure> {
    static STRANGER: OnceLock<Option<Authority>> = OnceLock::new();
    let make = || Authority::new(&AuthorityOptions::new("p256x2".parse().ok()?, ALWAYS)).ok();
    STRANGER.get_or_init(make).as_ref().ok_or(Failure::Pki)
}

/// The years from 1970 to 2100.
const ALWAYS: Validity = Validity { not_before: 0, not_after: 4_102_444_800 };

/// Returns the credentials in order, the one without a number last.
pub(crate) fn credentials(options: &Options, selected: &Selected) -> Result<Vec<Credential>, Failure> {
    let signs = |credential: &&CredentialOptions| credential.kind != CredentialKind::PreSharedKey;
    let numbered = (0..).zip(&options.credentials).filter(|(_, credential)| signs(credential));
    let last = options.credential.key_file.is_some().then_some((-1, &options.credential));
    numbered.chain(last).map(|(number, one)| credential(one, number, options.slow, selected)).collect()
}

fn credential(
    options: &CredentialOptions,
    number: i32,
    is_pending: bool,
    selected: &Selected,
) -> Result<Credential, Failure> {
    let file = options.key_file.as_deref().ok_or(Failure::File("no private key"))?;
    let der = PrivateKeyDer::from_pem_file(file).map_err(|_| Failure::File("a private key"))?;
    let key = load_key(&der)?;
    let preferred: Vec<_> = options.signing_prefs.iter().copied().map(SignatureScheme).collect();
    let schemes = match preferred[..] {
        [] => key.schemes().to_vec(),
        _ if preferred.iter().any(|scheme| scheme.name().is_none()) => {
            return Err(Refusal::Unimplemented(format!("-signing-prefs {preferred:?}")).into());
        }
        _ => preferred.into_iter().filter(|scheme| key.schemes().contains(scheme)).collect(),
    };
    let key = Arc::new(Key {
        key,
        schemes,
        number,
        selected: selected.clone(),
        is_pending,
        was_asked: AtomicBool::new(false),
    });
    let credential = match (&options.cert_file, options.kind) {
        (Some(path), CredentialKind::X509) => Credential::new(certificates(path)?, key)?,
        _ => Credential::raw_public_key(key)?,
    };
    Ok(if options.must_match_issuer { credential.only_for_named_authorities() } else { credential })
}

fn load_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Failure> {
    PROVIDER.load_key(key).map_err(|error| match error {
        KeyError::Malformed => Failure::File("a private key"),
        _ => Refusal::Unimplemented(format!("a private key: {error}")).into(),
    })
}

/// Returns the pre-shared keys, all of which the runner imports (RFC 9258).
pub(crate) fn pre_shared_keys(options: &Options) -> Result<Vec<ExternalPsk>, Failure> {
    let keys = options.credentials.iter().filter(|credential| credential.kind == CredentialKind::PreSharedKey);
    keys.map(|key| {
        let psk = ExternalPsk::new(&key.psk_identity, &key.psk_key)?;
        let hash = key.psk_hash.ok_or(Failure::File("no hash of a pre-shared key"))?;
        Ok(psk.with_hash(hash).imported(&key.psk_context)?)
    })
    .collect()
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    all.map_err(|_| Failure::File("a certificate"))
}

/// A key that records that it signed, uses only the schemes that the runner allows, and may answer later.
struct Key {
    key: Arc<dyn SigningKey>,
    schemes: Vec<SignatureScheme>,
    number: i32,
    selected: Selected,
    is_pending: bool,
    /// Whether the key was asked before; its first answer is that the signature is pending.
    was_asked: AtomicBool,
}

impl SigningKey for Key {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.key.public_key()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        if self.is_pending && !self.was_asked.fetch_not(Ordering::Relaxed) {
            return Ok(Signing::Pending);
        }
        self.selected.store(self.number, Ordering::Relaxed);
        self.key.sign(scheme, message, rng)
    }
}
