use std::sync::{Arc, LazyLock};
use std::vec;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, UnixTime};
use terse_pki::{Authority, AuthorityOptions, Credential, Validity, VoucherSignerOptions};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoProvider, SigningKey};

use super::*;
use crate::{Malformed, SignatureRefused};

mod algorithms;
mod forge;
mod hostile;
mod signing;
mod vectors;

const NOW: u64 = 1_767_225_600;
const CONTENT: &[u8] = br#"{"ietf-voucher:voucher":{"assertion":"logged","serial-number":"1"}}"#;

/// A chain and its key.
struct Signer {
    chain: std::vec::Vec<CertificateDer<'static>>,
    key: Arc<dyn SigningKey>,
    scheme: SignatureScheme,
}

impl Signer {
    /// Returns the signer of a new CA, which has an intermediate CA.
    fn new(chain: &str, scheme: SignatureScheme) -> Self {
        let validity = Validity::days(NOW, 365);
        let options = AuthorityOptions::new(chain.parse().unwrap(), validity);
        let authority = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
        let signer: Credential = authority.issue_voucher_signer(&VoucherSignerOptions::new("Maker", validity)).unwrap();
        let key = terse_aws_lc::PROVIDER.load_key(signer.key()).unwrap();
        Self { chain: signer.chain().to_vec(), key, scheme }
    }

    fn unsigned(&self, content: &[u8], time: Option<UnixTime>) -> Result<Unsigned, SignatureRefused> {
        Unsigned::new(&PROVIDER, content, &self.chain, self.scheme, time)
    }

    fn sign(&self, content: &[u8]) -> std::vec::Vec<u8> {
        let unsigned = self.unsigned(content, Some(time(NOW))).unwrap();
        unsigned.sign(&*self.key, &mut SeededRng::new(1)).unwrap()
    }
}

static P256: LazyLock<Signer> = LazyLock::new(|| Signer::new("p256x3", SignatureScheme::ECDSA_SECP256R1_SHA256));
static P384: LazyLock<Signer> = LazyLock::new(|| Signer::new("p384x3", SignatureScheme::ECDSA_SECP384R1_SHA384));
static RSA: LazyLock<Signer> = LazyLock::new(|| Signer::new("rsa2048x3", SignatureScheme::RSA_PKCS1_SHA256));

static ED25519_SIGNER: LazyLock<Signer> = LazyLock::new(|| Signer::new("ed25519x3", SignatureScheme::ED25519));

fn time(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(core::time::Duration::from_secs(seconds))
}

/// Verifies in both ways, which agree on DER, and returns why it is refused.
fn refusal(encoded: &[u8]) -> SignatureRefused {
    let refused = Signed::verify(&PROVIDER, encoded, &[]).unwrap_err();
    assert_eq!(Signed::verify_ber(&PROVIDER, encoded, &[]).unwrap_err(), refused);
    refused
}

/// Verifies in both ways, which agree on DER.
fn verify(encoded: &[u8]) -> Signed {
    let signed = Signed::verify(&PROVIDER, encoded, &[]).unwrap();
    let of_services = Signed::verify_ber(&PROVIDER, encoded, &[]).unwrap();
    assert_eq!(of_services.content, signed.content);
    assert_eq!(of_services.chain, signed.chain);
    assert_eq!(of_services.signing_time, signed.signing_time);
    signed
}
