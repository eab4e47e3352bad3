//! A manufacturer with a device, and a domain with a registrar, made for the occasion.
//!
//! What must always hold: two runs have the same sizes. Certificates and signatures of ECDSA have the length that every second one
//! has.

use std::sync::Arc;

use terse_net::pki_types::CertificateDer;
use terse_pki::{
    Authority, AuthorityOptions, CertificationRequest, IdevidOptions, LdevidPolicy, LeafOptions, RegistrarOptions,
    Subject, Validity, VoucherSignerOptions,
};
use terse_sim::onboarding::{IssuesLdevids, Parties};
use terse_tls::Credential;

use crate::compare::certificates::NOW;
use crate::sim::parties::PROVIDER;

/// Makes all parties.
pub(super) fn made() -> Result<Parties, String> {
    let (maker, domain) = (authority("Maker")?, authority("Plant")?);
    let masa_url = Some("masa.maker.example".parse().map_err(text)?);
    let device = IdevidOptions { masa_url, ..IdevidOptions::new("WI-3005", NOW - 60) };
    let signer = VoucherSignerOptions::new("Maker MASA", validity());
    let registrar = RegistrarOptions::new("registrar.plant.example", validity());
    let key = maker.issue(&LeafOptions::new("key.example", validity())).map_err(text)?;
    Ok(Parties {
        provider: PROVIDER,
        idevid: credential(|| maker.issue_idevid(&device))?,
        manufacturer: maker.root().clone(),
        masa: credential(|| maker.issue_voucher_signer(&signer))?,
        registrar: credential(|| domain.issue_registrar(&registrar))?,
        domain: domain.certificates().cloned().collect(),
        ldevid_key: PROVIDER.load_key(key.key()).map_err(text)?,
        authority: Arc::new(Domain(domain)),
        begins: NOW,
    })
}

/// The CA of the domain.
struct Domain(Authority);

impl IssuesLdevids for Domain {
    fn issue(&self, request: &[u8], idevid: &CertificateDer<'_>) -> Result<Vec<CertificateDer<'static>>, String> {
        let request = CertificationRequest::from_der(request).map_err(text)?;
        let subject = Subject::of(idevid).map_err(text)?;
        loop {
            let policy = LdevidPolicy::new(subject.clone(), validity());
            let issued = self.0.issue_ldevid(&request, &policy).map_err(text)?;
            if is_typical(&issued)? {
                return Ok(issued);
            }
        }
    }
}

fn authority(name: &str) -> Result<Authority, String> {
    let options = AuthorityOptions::new("p256x2".parse().map_err(text)?, validity());
    let options = AuthorityOptions { name: name.into(), key_identifiers: true, ..options };
    loop {
        let authority = Authority::new(&options).map_err(text)?;
        if is_typical(core::slice::from_ref(authority.root()))? {
            return Ok(authority);
        }
    }
}

fn credential(issue: impl Fn() -> Result<terse_pki::Credential, terse_pki::Error>) -> Result<Credential, String> {
    loop {
        let issued = issue().map_err(text)?;
        if is_typical(issued.chain())? {
            let key = PROVIDER.load_key(issued.key()).map_err(text)?;
            return Credential::new(issued.chain().to_vec(), key).map_err(text);
        }
    }
}

/// Whether the signature of the first certificate has the most frequent length.
fn is_typical(certificates: &[CertificateDer<'_>]) -> Result<bool, String> {
    let first = certificates.first().ok_or("nothing was issued")?;
    Ok(terse_pki::signature_len(first).map_err(text)? == TYPICAL)
}

fn validity() -> Validity {
    Validity::days(NOW - 60, 365)
}

fn text(error: impl core::fmt::Display) -> String {
    format!("cannot make certificates: {error}")
}

/// The most frequent length of the DER of an ECDSA signature over P-256, in bytes (RFC 3279, 2.2.3).
const TYPICAL: usize = 71;
