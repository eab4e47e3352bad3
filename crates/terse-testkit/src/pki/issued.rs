//! Certificates are issued for tests. This needs a CA, and so the feature `issue`.

use alloc::sync::Arc;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use pki_types::CertificateDer;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Usage, Validity};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{Credential, Trust};

use super::{CLIENT_NAME, DAY, NOW, SERVER_NAME};

/// A CA with a server and a client.
pub struct Pki {
    /// The CA, which can issue more certificates.
    pub authority: Authority,
    /// The server's chain and key.
    pub server: terse_pki::Credential,
    /// The client's chain and key.
    pub client: terse_pki::Credential,
}

impl Pki {
    /// Creates a CA for a chain such as `p256x3`, with new keys.
    pub fn new(chain: &str) -> Self {
        Self::named(chain, "Terse CA")
    }

    /// Creates a CA called `name` for a chain such as `p256x3`, with new keys.
    pub fn named(chain: &str, name: &str) -> Self {
        let options = AuthorityOptions::new(chain.parse().expect("a chain"), validity());
        let authority = Authority::new(&AuthorityOptions { name: name.into(), ..options }).expect("keys can be made");
        let issue = |name: &str, usage| {
            let options = LeafOptions { usage, ..LeafOptions::new(name, validity()) };
            authority.issue(&options).expect("a valid name")
        };
        let server = issue(SERVER_NAME, Usage::Server);
        let client = issue(CLIENT_NAME, Usage::Client);
        Self { authority, server, client }
    }

    /// Returns the CA for `chain` that all tests of a process share, because making keys takes time.
    pub fn shared(chain: &str) -> Arc<Self> {
        static SHARED: LazyLock<Mutex<HashMap<String, Arc<Pki>>>> = LazyLock::new(Mutex::default);
        let mut shared = SHARED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        shared.entry(chain.into()).or_insert_with(|| Arc::new(Self::new(chain))).clone()
    }

    /// Returns the root certificate.
    pub fn root(&self) -> CertificateDer<'static> {
        self.authority.root().clone()
    }

    /// Returns trust in the root.
    pub fn trust(&self) -> Trust {
        Trust::new(&[self.root()]).expect("a valid root")
    }

    /// Returns the server's credential for the engine.
    pub fn server(&self, provider: &CryptoProvider) -> Credential {
        credential(provider, &self.server)
    }

    /// Returns the client's credential for the engine.
    pub fn client(&self, provider: &CryptoProvider) -> Credential {
        credential(provider, &self.client)
    }
}

/// Converts an issued credential for the engine.
pub fn credential(provider: &CryptoProvider, issued: &terse_pki::Credential) -> Credential {
    let key = provider.load_key(issued.key()).expect("a key that the provider signs with");
    Credential::new(issued.chain().to_vec(), key).expect("key and chain of one credential")
}

/// Returns a validity of a year around [`NOW`].
pub fn validity() -> Validity {
    Validity { not_before: NOW - 180 * DAY, not_after: NOW + 180 * DAY }
}
