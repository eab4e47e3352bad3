//! Both sides of the paper's handshakes, with certificates of the paper's sizes.
//!
//! The paper's sizes are read as those of PEM files. Each of the four is one that a PEM file can have, as every fourth number
//! is, and the sums of its tables fit chains of two certificates that are a quarter shorter, as their DER is.

use std::sync::Arc;

use terse_sim::compare::itls::{ByLevel, Contestants};
use terse_sim::compare::{Parties, Sides};
use terse_sim::computing::Device;
use terse_tls::crypto::CryptoProvider;
use terse_tls::{CipherSuite, NamedGroup};

use crate::compare::certificates::{self, Algorithms, Chains};
use crate::failure::Failure;

/// The certificates of a level: the chain, whose root is not sent, and the size of each as a PEM file.
struct Certificates {
    chain: &'static str,
    pem: usize,
}

const RSA_112: Certificates = Certificates { chain: "rsa2048x3", pem: 1322 };
const RSA_128: Certificates = Certificates { chain: "rsa3072x3", pem: 1667 };
// At 112 bits the paper has a curve over 224 bits.
const ECC_112: Certificates = Certificates { chain: "p256x3", pem: 814 };
const ECC_128: Certificates = Certificates { chain: "p256x3", pem: 839 };

/// Makes both sides of every handshake, which compute on `devices`, with a provider that counts if they need that.
pub(super) fn made(
    provider: &'static CryptoProvider,
    devices: Option<Sides<Arc<Device>>>,
) -> Result<Contestants, Failure> {
    let parties = |certificates, group| parties(provider, certificates, group);
    let (p256, x25519) = (NamedGroup::SECP256R1, NamedGroup::X25519);
    Ok(Contestants {
        rsa: ByLevel { bits112: parties(&RSA_112, p256)?, bits128: parties(&RSA_128, p256)? },
        ecc: ByLevel { bits112: parties(&ECC_112, p256)?, bits128: parties(&ECC_128, p256)? },
        others: parties(&ECC_128, x25519)?,
        begins: certificates::NOW,
        devices,
    })
}

fn parties(
    provider: &'static CryptoProvider,
    certificates: &Certificates,
    group: NamedGroup,
) -> Result<Parties, Failure> {
    let chain = certificates.chain.parse().map_err(|error| Failure::Failed(format!("{error}")))?;
    let algorithms = Algorithms {
        suites: vec![CipherSuite::TLS_AES_128_CCM_SHA256],
        groups: vec![group],
        signature_schemes: Vec::new(),
    };
    let chains = Chains { client: chain, server: chain, length: der_len(certificates.pem) };
    let mut parties = certificates::made(provider, chains, &algorithms)?;
    parties.client.send_server_name(false);
    Ok(parties)
}

/// Returns the length of the longest certificate in DER whose PEM file has `pem` bytes.
fn der_len(pem: usize) -> Option<usize> {
    let pem_len = |len| terse_pki::to_pem("CERTIFICATE", &vec![0; len]).len();
    // A longer certificate has no shorter file, so that halves can be left out.
    let (mut fits, mut beyond) = (0, pem);
    while beyond - fits > 1 {
        let middle = fits.midpoint(beyond);
        if pem_len(middle) <= pem { fits = middle } else { beyond = middle }
    }
    (pem_len(fits) == pem).then_some(fits)
}

#[cfg(test)]
mod tests;
