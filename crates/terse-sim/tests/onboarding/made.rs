//! A manufacturer with a device, and a domain with a registrar.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use pki_types::CertificateDer;
use terse_pki::{
    Authority, AuthorityOptions, CertificationRequest, IdevidOptions, LdevidPolicy, LeafOptions, RegistrarOptions,
    Subject, Validity, VoucherSignerOptions,
};
use terse_rustcrypto::PROVIDER;
use terse_sim::onboarding::{IssuesLdevids, Parties};
use terse_tls::Credential;

/// The cryptography is deterministic: with these parties a run is a function of its setting.
pub(crate) static PARTIES: LazyLock<Parties> = LazyLock::new(made);

fn made() -> Parties {
    let (maker, domain) = (authority("Maker"), authority("Plant"));
    let masa_url = Some("masa.maker.example".parse().unwrap());
    let idevid = maker.issue_idevid(&IdevidOptions { masa_url, ..IdevidOptions::new("WI-3005", NOW - 3_600) }).unwrap();
    let signer = maker.issue_voucher_signer(&VoucherSignerOptions::new("Maker MASA", validity())).unwrap();
    let registrar = domain.issue_registrar(&RegistrarOptions::new("registrar.plant.example", validity())).unwrap();
    let key = maker.issue(&LeafOptions::new("key.example", validity())).unwrap();
    Parties {
        provider: PROVIDER,
        idevid: credential(&idevid),
        manufacturer: maker.root().clone(),
        masa: credential(&signer),
        registrar: credential(&registrar),
        domain: domain.certificates().cloned().collect(),
        ldevid_key: PROVIDER.load_key(key.key()).unwrap(),
        authority: Arc::new(Domain { authority: domain, issued: Mutex::default() }),
        begins: NOW,
    }
}

/// A CA that answers the same request by the same certificate, whose serial number is random: runs then sign the same.
struct Domain {
    authority: Authority,
    issued: Mutex<BTreeMap<Vec<u8>, Vec<CertificateDer<'static>>>>,
}

impl IssuesLdevids for Domain {
    fn issue(&self, request: &[u8], idevid: &CertificateDer<'_>) -> Result<Vec<CertificateDer<'static>>, String> {
        let mut issued = self.issued.lock().unwrap();
        if let Some(known) = issued.get(request) {
            return Ok(known.clone());
        }
        let parsed = CertificationRequest::from_der(request).map_err(|error| error.to_string())?;
        let subject = Subject::of(idevid).map_err(|error| error.to_string())?;
        let new = self.authority.issue_ldevid(&parsed, &LdevidPolicy::new(subject, validity()));
        let new = new.map_err(|error| error.to_string())?;
        issued.insert(request.to_vec(), new.clone());
        Ok(new)
    }
}

fn authority(name: &str) -> Authority {
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), validity());
    Authority::new(&AuthorityOptions { name: name.into(), key_identifiers: true, ..options }).unwrap()
}

fn validity() -> Validity {
    Validity::days(NOW - 3_600, 365)
}

fn credential(issued: &terse_pki::Credential) -> Credential {
    Credential::new(issued.chain().to_vec(), PROVIDER.load_key(issued.key()).unwrap()).unwrap()
}

const NOW: u64 = 1_767_225_600;
