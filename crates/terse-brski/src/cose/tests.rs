use std::string::ToString as _;
use std::sync::{Arc, LazyLock};
use std::vec;
use std::vec::Vec;

use pki_types::CertificateDer;
use terse_pki::{Authority, AuthorityOptions, Validity, VoucherSignerOptions};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::SignatureScheme;
use terse_tls::crypto::SigningKey;

use super::*;
use crate::cbor::Writer;
use crate::{Malformed, SignatureRefused};

mod forge;
mod headers;
mod hostile;
mod signatures;
mod signing;
mod stripping;
mod vectors;

const NOW: u64 = 1_767_225_600;

/// `{2451: {1: 1, 11: "1"}}`
const CONTENT: &[u8] = b"\xa1\x19\x09\x93\xa2\x01\x01\x0b\x611";

/// A chain and its key.
struct Signer {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<dyn SigningKey>,
    scheme: SignatureScheme,
}

impl Signer {
    /// Returns the signer of a new CA, which has an intermediate CA.
    fn new(chain: &str, scheme: SignatureScheme) -> Self {
        let validity = Validity::days(NOW, 365);
        let options = AuthorityOptions::new(chain.parse().unwrap(), validity);
        let authority = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
        let signer = authority.issue_voucher_signer(&VoucherSignerOptions::new("Maker", validity)).unwrap();
        let key = terse_aws_lc::PROVIDER.load_key(signer.key()).unwrap();
        Self { chain: signer.chain().to_vec(), key, scheme }
    }

    fn unsigned(&self, content: &[u8], x5bag: &[CertificateDer<'_>]) -> Unsigned {
        Unsigned::new(content, &self.chain[0], x5bag, self.scheme).unwrap()
    }

    /// Signs as a pledge does, without a certificate.
    fn sign(&self, content: &[u8]) -> Vec<u8> {
        self.unsigned(content, &[]).sign(&*self.key, &mut SeededRng::new(1)).unwrap()
    }

    /// Signs as a service does, with its chain.
    fn sign_with_chain(&self, content: &[u8]) -> Vec<u8> {
        self.unsigned(content, &self.chain).sign(&*self.key, &mut SeededRng::new(1)).unwrap()
    }
}

static P256: LazyLock<Signer> = LazyLock::new(|| Signer::new("p256x3", SignatureScheme::ECDSA_SECP256R1_SHA256));
static P384: LazyLock<Signer> = LazyLock::new(|| Signer::new("p384x3", SignatureScheme::ECDSA_SECP384R1_SHA384));
static ED25519: LazyLock<Signer> = LazyLock::new(|| Signer::new("ed25519x3", SignatureScheme::ED25519));
static RSA: LazyLock<Signer> = LazyLock::new(|| Signer::new("rsa2048x3", SignatureScheme::RSA_PKCS1_SHA256));

fn all() -> [&'static Signer; 3] {
    [&P256, &P384, &ED25519]
}

fn verify(cose: &[u8], signers: &[CertificateDer<'_>]) -> Result<Signed, SignatureRefused> {
    let signed = Signed::verify(&PROVIDER, cose, signers);
    let other = Signed::verify(&terse_aws_lc::PROVIDER, cose, signers);
    assert_eq!(signed.as_ref().err(), other.as_ref().err());
    signed
}

fn refusal(cose: &[u8]) -> SignatureRefused {
    let refused = verify(cose, &P256.chain[..1]).unwrap_err();
    assert!(!refused.to_string().is_empty());
    refused
}

fn encode(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::with_capacity(0);
    write(&mut writer);
    writer.into_vec()
}
