//! The certificates of a comparison are made for it.
//!
//! What must always hold: two runs have the same sizes. RSA and EdDSA signatures have one length each; the DER of an
//! ECDSA signature must have its most frequent length, and a certificate with another length is made again.

use std::path::{Path, PathBuf};

use clap::Args;
use terse_ibc::Generator;
use terse_net::OsRng;
use terse_net::files;
use terse_net::pki_types::{CertificateDer, ServerName};
use terse_pki::{Authority, AuthorityOptions, Chain, KeyAlgorithm, LeafOptions, Validity};
use terse_sim::compare::{IdentityKeys, Parties};
use terse_tls::crypto::CryptoProvider;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::resume::ExternalPsk;
use terse_tls::{
    CipherSuite, ClientAuthentication, ClientConfig, Credential, Datagrams, EndpointLimits, NamedGroup, ServerAddress,
    ServerConfig, SignatureScheme, Trust,
};

use crate::failure::Failure;

const SERVER: &str = "broker.plant.example";
const CLIENT: &str = "sensor17.plant.example";

/// The certificates' notBefore, 2026-01-01T00:00:00Z. They are valid for a year, and every run begins an hour later.
const NOT_BEFORE: u64 = 1_767_225_600;

/// The time when runs begin, in UNIX seconds.
pub(crate) const NOW: u64 = NOT_BEFORE + 3_600;

/// The algorithms that both sides offer and accept; an empty list stands for the fewest that the certificates need.
pub(crate) struct Algorithms {
    pub(crate) suites: Vec<CipherSuite>,
    pub(crate) groups: Vec<NamedGroup>,
    pub(crate) signature_schemes: Vec<SignatureScheme>,
}

/// The certificates to make.
#[derive(Clone, Copy)]
pub(crate) struct Chains {
    pub(crate) client: Chain,
    pub(crate) server: Chain,
    /// The length of each certificate in bytes of DER; `None` makes them as short as they can be.
    pub(crate) length: Option<usize>,
}

/// The certificate files of both sides.
#[derive(Args, Debug)]
#[command(next_help_heading = "Own certificates")]
pub(crate) struct Files {
    /// The server's certificate chain, leaf first, instead of one made for the occasion
    #[arg(long, value_name = "FILE", requires_all = ["key", "ca", "server_name", "client_cert", "client_key"])]
    cert: Option<PathBuf>,
    /// Its private key
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// The CA that the client trusts
    #[arg(long, value_name = "FILE", requires = "cert")]
    ca: Option<PathBuf>,
    /// The name in the server's certificate
    #[arg(long, value_name = "NAME", requires = "cert")]
    server_name: Option<String>,
    /// The client's certificate chain
    #[arg(long, value_name = "FILE", requires = "cert")]
    client_cert: Option<PathBuf>,
    /// Its private key
    #[arg(long, value_name = "FILE", requires = "cert")]
    client_key: Option<PathBuf>,
    /// The CA that the server trusts [default: that of --ca]
    #[arg(long, value_name = "FILE", requires = "cert")]
    client_ca: Option<PathBuf>,
}

/// The two sides with their certificates.
struct Certified {
    server: Credential,
    client: Credential,
    /// The trust anchors of the client.
    trust: Trust,
    /// The trust anchors of the server.
    client_trust: Trust,
    name: String,
    schemes: Vec<SignatureScheme>,
    suites: Vec<CipherSuite>,
    groups: Vec<NamedGroup>,
    curve: Option<NamedGroup>,
}

/// Makes both sides, each with a new chain.
pub(crate) fn made(
    provider: &'static CryptoProvider,
    chains: Chains,
    algorithms: &Algorithms,
) -> Result<Parties, Failure> {
    let Chains { client, server, length } = chains;
    let server_ca = authority("Plant CA", server, length)?;
    let client_ca = if client == server { None } else { Some(authority("Sensor CA", client, length)?) };
    let client_ca = client_ca.as_ref().unwrap_or(&server_ca);
    let mut schemes = schemes(server.algorithm());
    let of_client = self::schemes(client.algorithm()).into_iter();
    let missing: Vec<_> = of_client.filter(|scheme| !schemes.contains(scheme)).collect();
    schemes.extend(missing);
    let certified = Certified {
        server: credential(provider, &server_ca, server, length, SERVER)?,
        client: credential(provider, client_ca, client, length, CLIENT)?,
        trust: trust(&server_ca)?,
        client_trust: trust(client_ca)?,
        name: SERVER.into(),
        schemes,
        suites: suites(server.algorithm()),
        groups: vec![NamedGroup::X25519],
        curve: curve(server.algorithm()).or(curve(client.algorithm())),
    };
    certified.parties(provider, algorithms)
}

impl Files {
    /// Whether certificate files were given.
    pub(super) const fn are_given(&self) -> bool {
        self.cert.is_some()
    }

    /// Returns both sides, with the given certificates. The algorithms of their keys are unknown, so that all suites,
    /// groups and signature schemes are offered unless some are chosen.
    pub(super) fn parties(
        &self,
        provider: &'static CryptoProvider,
        algorithms: &Algorithms,
    ) -> Result<Parties, Failure> {
        let given = |path: &Option<PathBuf>| path.clone().ok_or_else(|| Failure::Usage("a file is missing".into()));
        let (ca, name) = (given(&self.ca)?, self.server_name.clone().unwrap_or_default());
        let client_ca = self.client_ca.clone().unwrap_or_else(|| ca.clone());
        let all = ClientConfig::builder(provider);
        let all = all.config().common();
        let certified = Certified {
            server: from_files(provider, &given(&self.cert)?, &given(&self.key)?)?,
            client: from_files(provider, &given(&self.client_cert)?, &given(&self.client_key)?)?,
            trust: trust_in_file(&ca)?,
            client_trust: trust_in_file(&client_ca)?,
            name,
            schemes: all.signature_schemes().to_vec(),
            suites: all.suites().to_vec(),
            groups: all.groups().to_vec(),
            curve: None,
        };
        certified.parties(provider, algorithms)
    }
}

impl Certified {
    fn parties(self, provider: &'static CryptoProvider, algorithms: &Algorithms) -> Result<Parties, Failure> {
        let mut client = ClientConfig::builder(provider);
        client.trust(self.trust);
        client.credentials(vec![self.client]);
        let mut server = ServerConfig::builder(provider);
        server.credential(self.server);
        server.client_authentication(ClientAuthentication::Required(self.client_trust));
        for common in [client.common_mut(), server.common_mut()] {
            common.set_suites(chosen(&algorithms.suites, &self.suites));
            common.set_groups(chosen(&algorithms.groups, &self.groups));
            common.set_signature_schemes(chosen(&algorithms.signature_schemes, &self.schemes));
        }
        let name = ServerName::try_from(self.name.clone())
            .map_err(|error| Failure::Usage(format!("--server-name {}: {error}", self.name)))?;
        let parties = Parties {
            client,
            server,
            address: ServerAddress::new(name, 8883),
            curve: self.curve,
            psk: ExternalPsk::new(b"sensor17", &[0x5a; 32]).map_err(failed)?,
            ristretto255: identity_keys(IdentityAlgorithm::Ristretto255)?,
            bls12381: identity_keys(IdentityAlgorithm::Bls12381)?,
            datagrams: Datagrams::default(),
            limits: EndpointLimits::default(),
        };
        parties.client.build().map(drop).and_then(|()| parties.server.build().map(drop)).map_err(|error| {
            Failure::Usage(format!("{error}; choose other values for --suite, --group or --sigalg, or leave them out"))
        })?;
        Ok(parties)
    }
}

/// Returns keys of identities of 8 bytes, from a generator of their own.
fn identity_keys(algorithm: IdentityAlgorithm) -> Result<IdentityKeys, Failure> {
    let generator = Generator::new(algorithm, 1, u64::MAX, &mut OsRng).map_err(failed)?;
    let issue = |identity: &str| {
        let identity = identity.parse().map_err(failed)?;
        generator.issue(&identity).map_err(failed)
    };
    Ok(IdentityKeys { client: issue("eui64:0200000000000011")?, server: issue("device:broker01")? })
}

fn chosen<T: Clone>(chosen: &[T], otherwise: &[T]) -> Vec<T> {
    if chosen.is_empty() { otherwise.to_vec() } else { chosen.to_vec() }
}

fn from_files(provider: &CryptoProvider, chain: &Path, key: &Path) -> Result<Credential, Failure> {
    let certificates = files::read_certificates(chain).map_err(cannot_read)?;
    let der = files::read_private_key(key, None).map_err(cannot_read)?;
    let signing = provider.load_key(&der).map_err(|error| in_file(key, error))?;
    Credential::new(certificates, signing).map_err(|error| in_file(chain, error))
}

fn trust_in_file(path: &Path) -> Result<Trust, Failure> {
    let certificates = files::read_certificates(path).map_err(cannot_read)?;
    Trust::new(&certificates).map_err(|error| in_file(path, error))
}

fn cannot_read(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}

fn in_file(path: &Path, error: impl core::fmt::Display) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// Returns a cipher suite for each version.
fn suites(server: KeyAlgorithm) -> Vec<CipherSuite> {
    let tls12 = match server {
        KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => {
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        }
        _ => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    };
    vec![CipherSuite::TLS_AES_128_GCM_SHA256, tls12]
}

/// Returns the curve of such keys, for TLS 1.2.
const fn curve(algorithm: KeyAlgorithm) -> Option<NamedGroup> {
    match algorithm {
        KeyAlgorithm::P256 => Some(NamedGroup::SECP256R1),
        KeyAlgorithm::P384 => Some(NamedGroup::SECP384R1),
        _ => None,
    }
}

/// Returns the schemes by which chains of such keys, and their handshakes, are signed.
fn schemes(algorithm: KeyAlgorithm) -> Vec<SignatureScheme> {
    match algorithm {
        KeyAlgorithm::P256 => vec![SignatureScheme::ECDSA_SECP256R1_SHA256],
        KeyAlgorithm::P384 => vec![SignatureScheme::ECDSA_SECP384R1_SHA384],
        KeyAlgorithm::Ed25519 => vec![SignatureScheme::ED25519],
        KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => {
            vec![SignatureScheme::RSA_PSS_RSAE_SHA256, SignatureScheme::RSA_PKCS1_SHA256]
        }
    }
}

fn validity() -> Validity {
    Validity::days(NOT_BEFORE, 365)
}

fn authority(name: &str, chain: Chain, length: Option<usize>) -> Result<Authority, Failure> {
    let options = AuthorityOptions { name: name.into(), length, ..AuthorityOptions::new(chain, validity()) };
    loop {
        let authority = Authority::new(&options).map_err(failed)?;
        if are_typical(chain, authority.certificates().skip(1))? {
            return Ok(authority);
        }
    }
}

fn credential(
    provider: &CryptoProvider,
    authority: &Authority,
    chain: Chain,
    length: Option<usize>,
    name: &str,
) -> Result<Credential, Failure> {
    let options = LeafOptions { length, ..LeafOptions::new(name, validity()) };
    let issued = loop {
        let issued = authority.issue(&options).map_err(failed)?;
        if are_typical(chain, issued.chain().iter().take(1))? {
            break issued;
        }
    };
    let key = provider.load_key(issued.key()).map_err(failed)?;
    Credential::new(issued.chain().to_vec(), key).map_err(failed)
}

/// Whether the signatures of `certificates` have the most frequent length, as every second ECDSA signature has.
fn are_typical<'a>(
    chain: Chain,
    mut certificates: impl Iterator<Item = &'a CertificateDer<'static>>,
) -> Result<bool, Failure> {
    let typical = match chain.algorithm() {
        KeyAlgorithm::P256 => 71,
        KeyAlgorithm::P384 => 103,
        _ => return Ok(true),
    };
    certificates
        .try_fold(true, |all, certificate| Ok(all && terse_pki::signature_len(certificate).map_err(failed)? == typical))
}

fn trust(authority: &Authority) -> Result<Trust, Failure> {
    Trust::new(core::slice::from_ref(authority.root())).map_err(failed)
}

fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(format!("cannot make certificates: {error}"))
}
