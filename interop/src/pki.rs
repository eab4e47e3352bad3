//! Certificates for both sides, valid now, in memory for this side and as PEM files for peers that are programs.
//!
//! What must always hold: both sides of a cell have certificates of the same CA, but for a [`Holder::Stranger`].

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use tempfile::TempDir;
use terse_pki::{
    Authority, AuthorityOptions, KeyAlgorithm, LeafOptions, OcspOptions, OcspStatus, Usage, Validity, to_pem,
};
use terse_tls::crypto::{CryptoProvider, SigningKey};
use terse_tls::{Credential, Trust};

/// The name in every server certificate.
pub const SERVER_NAME: &str = "broker.plant.example";

/// A name that is in no certificate.
pub const WRONG_NAME: &str = "elsewhere.plant.example";

/// The name in every client certificate.
pub const CLIENT_NAME: &str = "sensor-17.plant.example";

/// The name of the key that both sides know.
pub const PSK_IDENTITY: &str = "sensor-17";

/// The key that both sides know.
pub const PSK: [u8; 16] = *b"not very secret!";

/// Encodes hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hexadecimal digits.
pub fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().map(|digit| digit.to_digit(16).expect("a hexadecimal digit") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The holder of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Side {
    /// Returns the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The defect of a certificate, if it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Holder {
    /// The certificate is valid.
    #[default]
    Member,
    /// The certificate expired yesterday.
    Expired,
    /// The certificate was issued by a CA that the other side does not trust.
    Stranger,
}

/// A CA, and the certificates that it has issued so far.
pub struct Pki {
    authority: Authority,
    stranger: Authority,
    leaf: Option<KeyAlgorithm>,
    issued: Mutex<HashMap<(Side, Holder), Arc<terse_pki::Credential>>>,
}

/// Files for a program, which are removed when this is dropped.
pub struct Files {
    directory: TempDir,
    /// The root certificate.
    pub root: PathBuf,
    /// The program's own credential, if it has one.
    pub credential: Option<CredentialFiles>,
    /// A file in which a client may keep a session.
    pub session: PathBuf,
    /// [`PSK_IDENTITY`] and [`PSK`], in GnuTLS's format.
    pub psk: PathBuf,
    /// The public keys, if they are the means of authentication.
    pub raw_keys: Option<RawKeyFiles>,
}

/// Raw public keys in files.
pub struct RawKeyFiles {
    /// The program's own key, in PEM.
    pub own_pem: PathBuf,
    /// The program's own key, in DER.
    pub own_der: PathBuf,
    /// The other side's key, in DER.
    pub peer_der: PathBuf,
}

/// A credential in files.
pub struct CredentialFiles {
    /// The leaf and the intermediates.
    pub chain: PathBuf,
    /// The intermediates, if there are any.
    pub intermediates: Option<PathBuf>,
    /// The private key.
    pub key: PathBuf,
}

impl Pki {
    /// Returns the CA for `chain`, such as `p256x3`, that all cells share; leaves have a key of `leaf`, or like the
    /// CA's.
    pub fn shared(chain: &'static str, leaf: Option<KeyAlgorithm>) -> Arc<Self> {
        type Shared = HashMap<(&'static str, Option<KeyAlgorithm>), Arc<Pki>>;
        static SHARED: LazyLock<Mutex<Shared>> = LazyLock::new(Mutex::default);
        let mut shared = SHARED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        shared.entry((chain, leaf)).or_insert_with(|| Arc::new(Self::new(chain, leaf))).clone()
    }

    fn new(chain: &str, leaf: Option<KeyAlgorithm>) -> Self {
        let authority = |name: &str| {
            let chain = chain.parse().expect("a chain's name");
            let options = AuthorityOptions::new(chain, validity(Holder::Member));
            Authority::new(&AuthorityOptions { name: name.into(), ..options }).expect("keys can be made")
        };
        let (authority, stranger) = (authority("Plant CA"), authority("Stranger CA"));
        Self { authority, stranger, leaf, issued: Mutex::default() }
    }

    /// Returns the certificate of `side`, the same one at every call.
    pub fn issued(&self, side: Side, holder: Holder) -> Arc<terse_pki::Credential> {
        let mut issued = self.issued.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        issued.entry((side, holder)).or_insert_with(|| Arc::new(self.issue(side, holder))).clone()
    }

    fn issue(&self, side: Side, holder: Holder) -> terse_pki::Credential {
        let (name, usage) = match side {
            Side::Client => (CLIENT_NAME, Usage::Client),
            Side::Server => (SERVER_NAME, Usage::Server),
        };
        let options = LeafOptions { usage, algorithm: self.leaf, ..LeafOptions::new(name, validity(holder)) };
        let authority = if holder == Holder::Stranger { &self.stranger } else { &self.authority };
        authority.issue(&options).expect("a valid name")
    }

    /// Creates files with the root and, if there is a holder, the credential of `side`.
    pub fn files(&self, side: Side, holder: Option<Holder>) -> Files {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let session = directory.path().join("session");
        let mut files =
            Files { root: PathBuf::new(), credential: None, session, psk: PathBuf::new(), raw_keys: None, directory };
        files.root = files.write("ca.pem", self.authority.root_pem());
        files.psk = files.write("psk", format!("{PSK_IDENTITY}:{}\n", hex(&PSK)));
        files.credential = holder.map(|holder| {
            let issued = self.issued(side, holder);
            let intermediates: String = issued.chain()[1..].iter().map(|der| to_pem("CERTIFICATE", der)).collect();
            CredentialFiles {
                chain: files.write("chain.pem", issued.chain_pem()),
                intermediates: (!intermediates.is_empty()).then(|| files.write("intermediates.pem", &intermediates)),
                key: files.write("key.pem", issued.key_pem()),
            }
        });
        files
    }

    /// Returns an OCSP response about the certificate of `side`, valid from yesterday on. `Revoked` is since then.
    pub fn ocsp_response(&self, side: Side, status: OcspStatus) -> Vec<u8> {
        let Validity { not_before, .. } = validity(Holder::Expired);
        let status = if let OcspStatus::Revoked(_) = status { OcspStatus::Revoked(not_before) } else { status };
        let options = OcspOptions { status, ..OcspOptions::good(not_before, 9) };
        let issued = self.issued(side, Holder::Member);
        self.authority.ocsp_response(issued.leaf(), &options).expect("it is of this CA")
    }

    /// Creates files with public keys: that of `side`, whose private key is in its credential, and the other side's.
    pub fn raw_key_files(&self, provider: &CryptoProvider, side: Side, files: &Files) -> RawKeyFiles {
        let own = self.raw_key(provider, side);
        RawKeyFiles {
            own_pem: files.write("own.pem", to_pem("PUBLIC KEY", &own)),
            own_der: files.write("own.der", &*own),
            peer_der: files.write("peer.der", &*self.raw_key(provider, side.other())),
        }
    }

    /// Returns the public key of `side`.
    pub fn raw_key(&self, provider: &CryptoProvider, side: Side) -> SubjectPublicKeyInfoDer<'static> {
        self.key(provider, side, Holder::Member).public_key().into_owned()
    }

    fn key(&self, provider: &CryptoProvider, side: Side, holder: Holder) -> Arc<dyn SigningKey> {
        provider.load_key(self.issued(side, holder).key()).expect("a key that the provider signs with")
    }

    /// Returns the root certificate.
    pub fn root(&self) -> CertificateDer<'static> {
        self.authority.root().clone()
    }

    /// Returns trust in the root.
    pub fn trust(&self) -> Trust {
        Trust::new(&[self.root()]).expect("a valid root")
    }

    /// Returns the credential of `side` for the engine.
    pub fn credential(&self, provider: &CryptoProvider, side: Side, holder: Holder) -> Credential {
        let key = self.key(provider, side, holder);
        let chain = self.issued(side, holder).chain().to_vec();
        Credential::new(chain, key).expect("key and chain of one credential")
    }

    /// Returns the raw public key of `side`, with its private key, for the engine.
    pub fn raw_credential(&self, provider: &CryptoProvider, side: Side) -> Credential {
        Credential::raw_public_key(self.key(provider, side, Holder::Member)).expect("a public key")
    }

    /// Returns trust in the other side's raw public key.
    pub fn raw_trust(&self, provider: &CryptoProvider, side: Side) -> Trust {
        Trust::raw_public_keys(&[self.raw_key(provider, side.other())]).expect("a public key")
    }
}

impl Files {
    /// Writes another file.
    pub fn write(&self, file: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.directory.path().join(file);
        fs::write(&path, contents).expect("a temporary file");
        path
    }
}

/// Returns a validity around now, or until yesterday.
fn validity(holder: Holder) -> Validity {
    const DAY: u64 = 86_400;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set").as_secs();
    match holder {
        Holder::Expired => Validity { not_before: now - 3 * DAY, not_after: now - DAY },
        Holder::Member | Holder::Stranger => Validity { not_before: now - 3 * DAY, not_after: now + 30 * DAY },
    }
}
