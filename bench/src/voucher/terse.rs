//! Terse signs CMS with either of its providers.

use std::sync::Arc;

use terse_brski::cms;
use terse_net::OsRng;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoProvider, SigningKey};

use super::{Loaded, Pledge, Signer, now};

/// Terse with one provider.
pub(super) struct Terse {
    name: &'static str,
    provider: &'static CryptoProvider,
}

pub(super) const AWS_LC: Terse = Terse { name: "terse-aws-lc", provider: &terse_aws_lc::PROVIDER };

pub(super) const RUSTCRYPTO: Terse = Terse { name: "terse-rustcrypto", provider: &terse_rustcrypto::PROVIDER };

impl Signer for Terse {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> Result<String, String> {
        Ok(format!("Terse {}", env!("CARGO_PKG_VERSION")))
    }

    fn load<'a>(&self, pledge: &'a Pledge) -> Result<Box<dyn Loaded + 'a>, String> {
        let key = self.provider.load_key(&pledge.key).map_err(|error| error.to_string())?;
        Ok(Box::new(Key { provider: self.provider, key }))
    }
}

struct Key {
    provider: &'static CryptoProvider,
    key: Arc<dyn SigningKey>,
}

impl Loaded for Key {
    fn sign(&self, pledge: &Pledge, take: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
        let signed =
            cms::sign(self.provider, &pledge.content, &pledge.chain, Some(now()), &*self.key, scheme, &mut OsRng);
        take(&signed.map_err(|error| error.to_string())?);
        Ok(())
    }
}
