//! draft-ietf-anima-constrained-voucher-31, "COSE-signed Voucher (Request) Examples".

use alloc::sync::Arc;

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use terse_aws_lc::PROVIDER;
use terse_testkit::vectors;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::{Credential, SignatureScheme};

use super::*;
use crate::certificate::public_key;
use crate::cose::Signed;
use crate::pledge::imprint::VerifiedVoucher;
use crate::voucher::{Assertion, Nonce, Voucher};

/// The key of a device whose private half is not there.
struct Elsewhere(Vec<u8>);

impl SigningKey for Elsewhere {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ECDSA_SECP256R1_SHA256]
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.as_slice().into()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(Signing::Pending)
    }
}

fn vector(name: &str) -> Option<Vec<u8>> {
    vectors::hex(&std::format!("brski/cbrski/{name}.hex"))
}

#[test]
fn the_voucher_of_the_draft_is_accepted_by_its_device() {
    let certificate = |name| vector(name).map(CertificateDer::from);
    let (Some(idevid), Some(manufacturer), Some(registrar), Some(voucher), Some(with_bag)) = (
        certificate("pledge"),
        certificate("masa_ca"),
        certificate("registrar"),
        vector("voucher"),
        vector("voucher_with_unprotected_x5bag"),
    ) else {
        return; // `vectors` has said that they are skipped
    };
    let key = Arc::new(Elsewhere(public_key(&idevid).unwrap().to_vec()));
    let idevid = Credential::new(vec![idevid], key).unwrap();
    let config = super::world::config_with(Coaps::default(), idevid, vec![manufacturer.clone()]);
    assert_eq!(config.serial_number(), "JADA123456789");

    // The request that it answers is not in the draft. Its certificates were made three days after it.
    let signed = Signed::verify(&PROVIDER, &voucher, &[manufacturer]).unwrap();
    let nonce = Voucher::from_cbor(&signed.content).unwrap().nonce.unwrap();
    let date = UnixTime::since_unix_epoch(core::time::Duration::from_secs(1_672_531_200)); // 2023-01-01
    for (voucher, time) in [(&voucher, Some(date)), (&voucher, None), (&with_bag, Some(date))] {
        let mut response = crate::pledge::Response::new(200, voucher);
        response.content_type = Some(b"application/voucher+cose");
        let verified = VerifiedVoucher::verify(&config, time, &nonce, &response);
        let imprint =
            verified.and_then(|it| it.imprint(&config, time, Presented::Chain(core::slice::from_ref(&registrar))));
        assert_eq!(imprint.map(|imprint| imprint.assertion), Ok(Assertion::Proximity));
        let other = VerifiedVoucher::verify(&config, time, &Nonce::of_random_bytes(&[7; 16]), &response).err();
        assert_eq!(other, Some(VoucherRefused::Nonce));
    }
}
