//! The certificates of a manufacturer, of a domain, and of strangers.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use terse_aws_lc::PROVIDER;
use terse_brski::pledge::PledgeConfig;
use terse_onboard::pledge::Device;
use terse_pki::{Authority, AuthorityOptions, IdevidOptions, RegistrarOptions, Validity, VoucherSignerOptions};
use terse_tls::Credential;

/// The serial number of the device.
pub(crate) const SERIAL: &str = "WI-3005";

/// The certificates of a manufacturer, of a domain, and of strangers.
pub(crate) struct Pki {
    /// The CA of the devices.
    pub(crate) maker: Authority,
    /// The CA of the voucher signers.
    pub(crate) vouchers: Authority,
    pub(crate) domain: Authority,
    pub(crate) idevid: Credential,
    pub(crate) masa: Credential,
    pub(crate) registrar: Credential,
    pub(crate) stranger_masa: Credential,
    pub(crate) stranger_registrar: Credential,
}

pub(crate) static PKI: LazyLock<Pki> = LazyLock::new(|| {
    let [maker, domain, stranger] = [("Maker", "p256x2"), ("Plant", "p256x3"), ("Stranger", "p256x2")].map(authority);
    let vouchers = authority(("Maker vouchers", "p256x2"));
    let signer = VoucherSignerOptions::new("MASA", validity());
    let registrar = RegistrarOptions::new("registrar.plant.example", validity());
    Pki {
        idevid: credential(&maker.issue_idevid(&IdevidOptions::new(SERIAL, 0)).unwrap()),
        masa: credential(&vouchers.issue_voucher_signer(&signer).unwrap()),
        registrar: credential(&domain.issue_registrar(&registrar).unwrap()),
        stranger_masa: credential(&stranger.issue_voucher_signer(&signer).unwrap()),
        stranger_registrar: credential(&stranger.issue_registrar(&registrar).unwrap()),
        maker,
        vouchers,
        domain,
    }
});

impl Pki {
    pub(crate) fn device(&self) -> Device {
        let config = PledgeConfig::new(&PROVIDER, self.idevid.clone(), vec![self.vouchers.root().clone()]).unwrap();
        Device::new(self.idevid.clone(), config)
    }
}

pub(crate) fn validity() -> Validity {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    Validity { not_before: now - 3_600, ..Validity::days(now, 30) }
}

pub(crate) fn authority((name, chain): (&str, &str)) -> Authority {
    let options = AuthorityOptions::new(chain.parse().unwrap(), Validity::without_end(0));
    Authority::new(&AuthorityOptions { name: name.into(), key_identifiers: true, ..options }).unwrap()
}

fn credential(issued: &terse_pki::Credential) -> Credential {
    Credential::new(issued.chain().to_vec(), PROVIDER.load_key(issued.key()).unwrap()).unwrap()
}
