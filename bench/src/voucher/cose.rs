//! Terse signs COSE with either of its providers, as a pledge of constrained BRSKI does: the voucher request is encoded in CBOR, and
//! nothing but the signature is added, no certificate and no time.

use std::sync::Arc;

use pki_types::CertificateDer;
use terse_brski::cose::{Signed, Unsigned};
use terse_brski::voucher::VoucherRequest;
use terse_net::OsRng;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoProvider, SigningKey};

use super::{Form, Loaded, Pledge, Signer};

/// Terse with one provider, and one way to name the registrar.
pub(super) struct Cose {
    name: &'static str,
    provider: &'static CryptoProvider,
    request: fn(&Pledge) -> &VoucherRequest,
}

pub(super) const AWS_LC: Cose =
    Cose { name: "terse-aws-lc-cose", provider: &terse_aws_lc::PROVIDER, request: |pledge| &pledge.short_request };

pub(super) const AWS_LC_CERTIFICATE: Cose =
    Cose { name: "terse-aws-lc-cose-cert", request: |pledge| &pledge.request, ..AWS_LC };

pub(super) const RUSTCRYPTO: Cose =
    Cose { name: "terse-rustcrypto-cose", provider: &terse_rustcrypto::PROVIDER, ..AWS_LC };

pub(super) const RUSTCRYPTO_CERTIFICATE: Cose =
    Cose { name: "terse-rustcrypto-cose-cert", request: |pledge| &pledge.request, ..RUSTCRYPTO };

impl Signer for Cose {
    fn name(&self) -> &'static str {
        self.name
    }

    fn form(&self) -> Form {
        Form::Cose
    }

    fn version(&self) -> Result<String, String> {
        Ok(format!("Terse {}", env!("CARGO_PKG_VERSION")))
    }

    fn load<'a>(&self, pledge: &'a Pledge) -> Result<Box<dyn Loaded + 'a>, String> {
        let key = self.provider.load_key(&pledge.key).map_err(|error| error.to_string())?;
        Ok(Box::new(Key { request: self.request, key }))
    }

    fn check(&self, pledge: &Pledge, signed: &[u8]) -> Result<(), String> {
        let signed = Signed::verify(&terse_rustcrypto::PROVIDER, signed, &pledge.chain);
        let Signed { content, chain } = signed.map_err(|error| error.to_string())?;
        let is_signer = chain.first().map(CertificateDer::as_ref) == pledge.chain.first().map(CertificateDer::as_ref);
        match content == (self.request)(pledge).to_cbor() && is_signer {
            true => Ok(()),
            false => Err("what was signed is not this pledge's voucher request".into()),
        }
    }
}

struct Key {
    request: fn(&Pledge) -> &VoucherRequest,
    key: Arc<dyn SigningKey>,
}

impl Loaded for Key {
    fn sign(&self, pledge: &Pledge, take: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        let leaf = pledge.chain.first().ok_or("the pledge has no certificate")?;
        let content = (self.request)(pledge).to_cbor();
        let unsigned = Unsigned::new(&content, leaf, &[], SignatureScheme::ECDSA_SECP256R1_SHA256);
        drop(content); // it is in what is to be signed
        let signed = unsigned.and_then(|unsigned| unsigned.sign(&*self.key, &mut OsRng));
        take(&signed.map_err(|error| error.to_string())?);
        Ok(())
    }
}
