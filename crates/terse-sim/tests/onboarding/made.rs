//! A manufacturer with a device, and a domain with a registrar.
//!
//! What must always hold: all certificates and signatures have the same lengths in every process, though their keys are new
//! in each. ECDSA signatures in DER vary in length (RFC 3279, 2.2.3), and one byte more can be one frame more.

use std::sync::{Arc, LazyLock};

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use terse_pki::{
    Authority, AuthorityOptions, CertificationRequest, IdevidOptions, LdevidPolicy, LeafOptions, RegistrarOptions,
    Subject, Validity, VoucherSignerOptions,
};
use terse_rustcrypto::PROVIDER;
use terse_sim::onboarding::{IssuesLdevids, Parties};
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::{Credential, SignatureScheme};

/// With these parties a run is a function of its setting.
pub(crate) static PARTIES: LazyLock<Parties> = LazyLock::new(made);

fn made() -> Parties {
    let (maker, domain) = (authority("Maker"), authority("Plant"));
    let masa_url = Some("masa.maker.example".parse().unwrap());
    let of_device = IdevidOptions { masa_url, ..IdevidOptions::new("WI-3005", NOW - 3_600) };
    let idevid = issued(|| maker.issue_idevid(&of_device).unwrap());
    let of_signer = VoucherSignerOptions::new("Maker MASA", validity());
    let signer = issued(|| maker.issue_voucher_signer(&of_signer).unwrap());
    let of_registrar = RegistrarOptions::new("registrar.plant.example", validity());
    let registrar = issued(|| domain.issue_registrar(&of_registrar).unwrap());
    let ldevid_key = maker.issue(&LeafOptions::new("key.example", validity())).unwrap();
    Parties {
        provider: PROVIDER,
        idevid: credential(&idevid),
        manufacturer: maker.root().clone(),
        masa: credential(&signer),
        registrar: credential(&registrar),
        domain: domain.certificates().cloned().collect(),
        ldevid_key: key(&ldevid_key),
        authority: Arc::new(Domain(domain)),
        begins: NOW,
    }
}

/// The CA of the domain.
struct Domain(Authority);

impl IssuesLdevids for Domain {
    fn issue(&self, request: &[u8], idevid: &CertificateDer<'_>) -> Result<Vec<CertificateDer<'static>>, String> {
        let parsed = CertificationRequest::from_der(request).map_err(|error| error.to_string())?;
        let policy = LdevidPolicy::new(Subject::of(idevid).map_err(|error| error.to_string())?, validity());
        loop {
            let new = self.0.issue_ldevid(&parsed, &policy).map_err(|error| error.to_string())?;
            if ends_with_usual_signature(&new[0]) {
                return Ok(new);
            }
        }
    }
}

/// A key whose signatures have the usual length.
struct Usual(Arc<dyn SigningKey>);

impl SigningKey for Usual {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        loop {
            match self.0.sign(scheme, message, rng)? {
                Signing::Done(signature) if signature.len() != USUAL => {}
                signed => return Ok(signed),
            }
        }
    }
}

/// The most frequent length of an ECDSA signature by a key on P-256. Every second one has it.
const USUAL: usize = 71;

/// Whether a certificate ends with a BIT STRING that has a signature of the usual length.
fn ends_with_usual_signature(certificate: &CertificateDer<'_>) -> bool {
    let bit_string = certificate.len().checked_sub(USUAL + 3).and_then(|start| certificate.get(start..));
    bit_string.is_some_and(|bit_string| bit_string.starts_with(&[0x03, 1 + USUAL as u8, 0, 0x30, USUAL as u8 - 2]))
}

fn issued(issue: impl Fn() -> terse_pki::Credential) -> terse_pki::Credential {
    core::iter::repeat_with(issue).find(|issued| ends_with_usual_signature(issued.leaf())).unwrap()
}

fn authority(name: &str) -> Authority {
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), validity());
    let options = AuthorityOptions { name: name.into(), key_identifiers: true, ..options };
    let mut all = core::iter::repeat_with(|| Authority::new(&options).unwrap());
    all.find(|authority| authority.certificates().all(ends_with_usual_signature)).unwrap()
}

fn validity() -> Validity {
    Validity::days(NOW - 3_600, 365)
}

fn credential(issued: &terse_pki::Credential) -> Credential {
    Credential::new(issued.chain().to_vec(), key(issued)).unwrap()
}

/// AWS-LC makes another signature each time; those of RustCrypto are deterministic.
fn key(issued: &terse_pki::Credential) -> Arc<dyn SigningKey> {
    Arc::new(Usual(terse_aws_lc::PROVIDER.load_key(issued.key()).unwrap()))
}

const NOW: u64 = 1_767_225_600;
