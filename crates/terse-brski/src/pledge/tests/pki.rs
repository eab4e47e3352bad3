//! The certificates of the tests: of a manufacturer, of a domain, and of strangers.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;
use std::sync::LazyLock;

use pki_types::{CertificateDer, UnixTime};
use terse_aws_lc::PROVIDER;
use terse_pki::{
    Authority, AuthorityOptions, IdevidOptions, NameAttribute, RegistrarOptions, Subject, Validity,
    VoucherSignerOptions,
};
use terse_tls::Credential;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};

use super::super::PledgeConfig;

/// When the tests take place, in UNIX seconds.
pub(in crate::pledge) const NOW: u64 = 1_767_225_600;

pub(in crate::pledge) fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// The serial number of the device.
pub(in crate::pledge) const SERIAL: &str = "WI-3005";

pub(in crate::pledge) struct Pki {
    /// The CA of the devices.
    pub(in crate::pledge) maker: Authority,
    /// The CA of the voucher signers.
    pub(in crate::pledge) vouchers: Authority,
    pub(in crate::pledge) masa: Credential,
    pub(in crate::pledge) idevid: Credential,
    pub(in crate::pledge) domain: Authority,
    pub(in crate::pledge) registrar: Credential,
    /// Another CA, with a registrar and a voucher signer.
    pub(in crate::pledge) stranger: Authority,
    pub(in crate::pledge) other_registrar: Credential,
    pub(in crate::pledge) other_masa: Credential,
}

pub(in crate::pledge) static PKI: LazyLock<Pki> = LazyLock::new(|| {
    let (maker, domain, stranger) =
        (authority("Maker", "p256x2"), authority("Plant", "p256x3"), authority("Stranger", "p256x2"));
    let vouchers = authority("Maker vouchers", "p256x2");
    let subject = Subject::empty().with(NameAttribute::Organization, "Maker").unwrap();
    let idevid = maker.issue_idevid(&IdevidOptions { subject, ..IdevidOptions::new(SERIAL, NOW - 1_000) }).unwrap();
    let signer = VoucherSignerOptions::new("MASA", validity());
    let registrar = RegistrarOptions::new("registrar.plant.example", validity());
    Pki {
        masa: credential(&vouchers.issue_voucher_signer(&signer).unwrap()),
        other_masa: credential(&stranger.issue_voucher_signer(&signer).unwrap()),
        registrar: credential(&domain.issue_registrar(&registrar).unwrap()),
        other_registrar: credential(&stranger.issue_registrar(&registrar).unwrap()),
        idevid: credential(&idevid),
        maker,
        vouchers,
        domain,
        stranger,
    }
});

pub(in crate::pledge) fn validity() -> Validity {
    Validity { not_before: NOW - 1_000, not_after: NOW + 365 * 86_400 }
}

pub(in crate::pledge) fn authority(name: &str, chain: &str) -> Authority {
    let options = AuthorityOptions::new(chain.parse().unwrap(), Validity::without_end(NOW - 1_000));
    Authority::new(&AuthorityOptions { name: String::from(name), key_identifiers: true, ..options }).unwrap()
}

pub(in crate::pledge) fn credential(issued: &terse_pki::Credential) -> Credential {
    Credential::new(issued.chain().to_vec(), PROVIDER.load_key(issued.key()).unwrap()).unwrap()
}

/// Returns a new key, for an LDevID.
pub(in crate::pledge) fn new_key() -> Arc<dyn SigningKey> {
    let issued = PKI.stranger.issue(&terse_pki::LeafOptions::new("key.example", validity())).unwrap();
    PROVIDER.load_key(issued.key()).unwrap()
}

pub(in crate::pledge) fn config() -> PledgeConfig {
    config_with(PKI.idevid.clone())
}

pub(in crate::pledge) fn config_with(idevid: Credential) -> PledgeConfig {
    PledgeConfig::new(&PROVIDER, idevid, [PKI.vouchers.root().clone()].into()).unwrap()
}

/// Returns the certificates of an authority, root first.
pub(in crate::pledge) fn certificates(authority: &Authority) -> Vec<CertificateDer<'static>> {
    authority.certificates().cloned().collect()
}

/// A key that answers later, as in a secure element.
pub(in crate::pledge) struct Late(pub(in crate::pledge) Arc<dyn SigningKey>);

impl SigningKey for Late {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> pki_types::SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(Signing::Pending)
    }
}

/// Returns the key of the IDevID itself.
pub(in crate::pledge) fn idevid_key() -> Arc<dyn SigningKey> {
    struct Idevid;
    impl SigningKey for Idevid {
        fn schemes(&self) -> &[SignatureScheme] {
            PKI.idevid.key().schemes()
        }

        fn public_key(&self) -> pki_types::SubjectPublicKeyInfoDer<'_> {
            PKI.idevid.key().public_key()
        }

        fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
            PKI.idevid.key().sign(scheme, message, rng)
        }
    }
    Arc::new(Idevid)
}
