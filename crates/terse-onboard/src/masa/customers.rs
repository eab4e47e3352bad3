//! As which customer a registrar has authenticated itself: by a client certificate, or by HTTP Basic (RFC 8995, 5.4.1;
//! RFC 7617).
//!
//! What must always hold: only the hash of a password is kept; who gives a wrong one is nobody, whatever certificate comes
//! with it; the work does not grow with the number of customers.

use std::collections::HashMap;

use base64ct::{Base64, Encoding};
use pki_types::{CertificateDer, UnixTime};
use subtle::ConstantTimeEq;
use terse_brski::digest::{Sha256, sha256};
use terse_net::files::{read_certificates, read_passphrase};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{Expect, PresentedPeer, Trust};
use zeroize::Zeroizing;

use super::config::CustomerConfig;
use crate::config::ConfigError;

/// The customers.
pub(super) struct Customers {
    /// The hash of each customer's password, by name.
    passwords: HashMap<String, Sha256>,
    /// The roots of all customers, and whose each is.
    roots: Vec<(CertificateDer<'static>, String)>,
    trust: Option<Trust>,
}

/// A password or a name is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrongPassword;

impl Customers {
    pub(super) fn read(provider: &CryptoProvider, customers: &[CustomerConfig]) -> Result<Self, ConfigError> {
        let mut read = Self { passwords: HashMap::new(), roots: Vec::new(), trust: None };
        for customer in customers {
            if let Some(path) = customer.secret_file.as_ref().filter(|_| customer.name.contains(':')) {
                return Err(ConfigError::new(path, "the customer's name has a colon, which ends it in HTTP Basic"));
            }
            if let Some(path) = &customer.secret_file {
                let secret = read_passphrase(path)?;
                if secret.len() < MIN_PASSWORD_LEN {
                    let problem = "the password is shorter than 16 characters; make one with `openssl rand -hex 16`";
                    return Err(ConfigError::new(path, problem));
                }
                if read.passwords.insert(customer.name.clone(), sha256(provider, &secret)).is_some() {
                    return Err(ConfigError::new(path, "another customer of this name has a password already"));
                }
            }
            if let Some(path) = &customer.ca {
                for root in read_certificates(path)? {
                    if read.roots.iter().any(|(other, name)| *other == root && *name != customer.name) {
                        return Err(ConfigError::new(path, "another customer has this CA already"));
                    }
                    read.roots.push((root, customer.name.clone()));
                }
            }
        }
        if !read.roots.is_empty() {
            let trust = Trust::new(&read.anchors()).map_err(|error| ConfigError::new("customer".as_ref(), error))?;
            read.trust = Some(trust);
        }
        Ok(read)
    }

    /// Returns the roots of all customers.
    pub(super) fn anchors(&self) -> Vec<CertificateDer<'static>> {
        self.roots.iter().map(|(root, _)| root.clone()).collect()
    }

    /// Whether a client certificate can tell who a registrar is.
    pub(super) const fn have_certificates(&self) -> bool {
        self.trust.is_some()
    }

    /// Returns the name of the customer, or `None` for a stranger.
    pub(super) fn identify(
        &self,
        provider: &CryptoProvider,
        presented: Option<&PresentedPeer>,
        authorization: Option<&str>,
        time: UnixTime,
    ) -> Result<Option<&str>, WrongPassword> {
        if let Some(authorization) = authorization {
            return self.by_password(provider, authorization).map(Some).ok_or(WrongPassword);
        }
        Ok(presented.and_then(|presented| self.by_certificate(provider, presented, time)))
    }

    fn by_password(&self, provider: &CryptoProvider, authorization: &str) -> Option<&str> {
        let (scheme, credentials) = authorization.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("Basic") || credentials.len() > MAX_CREDENTIALS_LEN {
            return None;
        }
        let credentials = Zeroizing::new(Base64::decode_vec(credentials.trim()).ok()?);
        let colon = credentials.iter().position(|byte| *byte == b':')?;
        let (name, password) = (credentials.get(..colon)?, credentials.get(colon + 1..)?);
        let given = sha256(provider, password);
        let found = core::str::from_utf8(name).ok().and_then(|name| self.passwords.get_key_value(name));
        // A name that is not known takes as long as a wrong password.
        let (name, expected) = found.map_or((None, [0; 32]), |(name, password)| (Some(name.as_str()), *password));
        name.filter(|_| bool::from(given.ct_eq(&expected)))
    }

    fn by_certificate(&self, provider: &CryptoProvider, presented: &PresentedPeer, time: UnixTime) -> Option<&str> {
        let chain: Vec<_> = presented.chain().collect();
        let checked = self.trust.as_ref()?.check(provider, &chain, Expect::Client, Some(time)).ok()?;
        self.roots.get(checked.anchor).map(|(_, name)| name.as_str())
    }
}

/// The fewest characters of a password: one that can have 64 bits of entropy. It cannot be guessed at the rate of requests.
const MIN_PASSWORD_LEN: usize = 16;

/// The most characters of a name and password in base64.
const MAX_CREDENTIALS_LEN: usize = 1_024;
