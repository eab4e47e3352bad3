//! The two sides of the engine, with certificates made for them.
//!
//! What must always hold: two runs of the command have the same sizes. Certificates and signatures of ECDSA have the length
//! that every second one has.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use terse_aws_lc::{PROVIDER as AWS_LC, group, hash, suites, verify};
use terse_net::pki_types::PrivateKeyDer;
use terse_sim::compare::Parties;
use terse_sim::computing::counting;
use terse_sim::scenario::{Aead, EngineOptions, Group, MakesParties};
use terse_tls::crypto::{CryptoProvider, KeyError, SigningKey};
use terse_tls::{CipherSuite, NamedGroup};

use crate::compare::certificates::{self, Algorithms, Chains};
use crate::compare::one_length::OneLength;

/// Makes the parties of each set of options once.
#[derive(Debug, Default)]
pub(super) struct Maker {
    known: Mutex<BTreeMap<(String, Group, Aead), Parties>>,
    /// Where the names of traces begin: beside the scenario file.
    folder: PathBuf,
}

impl Maker {
    /// Creates a maker for a scenario file.
    pub(super) fn beside(file: &Path) -> Self {
        Self { folder: file.parent().unwrap_or(Path::new("")).into(), ..Self::default() }
    }
}

impl MakesParties for Maker {
    fn parties(&self, options: &EngineOptions) -> Result<Parties, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (options.certificates.clone(), options.group, options.aead);
        if let Some(parties) = known.get(&key) {
            return Ok(parties.clone());
        }
        let parties = made(options)?;
        known.insert(key, parties.clone());
        Ok(parties)
    }

    fn begins(&self) -> u64 {
        certificates::NOW
    }

    fn trace(&self, name: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        let length = fs::metadata(&path).map(|metadata| metadata.len());
        if length.is_ok_and(|length| length > LONGEST_TRACE) {
            return Err(format!("{} is too long to be a trace: at most {LONGEST_TRACE} bytes", path.display()));
        }
        fs::read_to_string(&path).map_err(|error| {
            format!("cannot read the trace {}: {error}; radio.trace names a file beside the scenario's", path.display())
        })
    }
}

/// The longest trace, in bytes.
const LONGEST_TRACE: u64 = 256 << 20;

fn made(options: &EngineOptions) -> Result<Parties, String> {
    let provider = counting(&PROVIDER).ok_or("this program counts too many providers")?;
    let chain = options.certificates.parse().map_err(|error| format!("{}: {error}", options.certificates))?;
    let tls12_and_13 = match options.aead {
        Aead::Aes128Ccm => [CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM, CipherSuite::TLS_AES_128_CCM_SHA256],
        Aead::Aes128Ccm8 => [CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8, CipherSuite::TLS_AES_128_CCM_8_SHA256],
        Aead::Aes128Gcm => [CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, CipherSuite::TLS_AES_128_GCM_SHA256],
    };
    let algorithms = Algorithms {
        suites: tls12_and_13.to_vec(),
        groups: vec![match options.group {
            Group::X25519 => NamedGroup::X25519,
            Group::Secp256r1 => NamedGroup::SECP256R1,
        }],
        signature_schemes: Vec::new(),
    };
    let chains = Chains { client: chain, server: chain, length: None };
    let mut parties = certificates::made(provider, chains, &algorithms).map_err(|failure| failure.to_string())?;
    parties.client.send_server_name(false);
    Ok(parties)
}

/// AWS-LC, whose ECDSA signatures differ by chance, so that one can be had that has the usual length.
pub(super) static PROVIDER: CryptoProvider = CryptoProvider::new("aws-lc", verify::ALL, hash::SHA256, load_key)
    .tls13_suites(suites::ALL_TLS13)
    .tls12_suites(suites::ALL_TLS12)
    .groups(group::ALL);

fn load_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    Ok(Arc::new(OneLength(AWS_LC.load_key(key)?)))
}
