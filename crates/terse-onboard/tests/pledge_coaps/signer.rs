//! Devices whose keys are elsewhere, and answer later: as a secure element does.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use terse_aws_lc::PROVIDER;
use terse_brski::pledge::{AttemptFailed, Coaps};
use terse_net::OsRng;
use terse_net::tokio::AsyncSigner;
use terse_onboard::pledge::Device;
use terse_pki::IdevidOptions;
use terse_tls::crypto::{CryptoError, SigningKey};

use super::pki::{PKI, SERIAL};
use super::registrar::{Registrar, Script};
use super::{join, once};

/// How often a signer was asked.
type Asked = Arc<Mutex<usize>>;

/// A signer with a key of its own, which lets others go on before it answers. It signs so many times, and fails then.
fn element(key: Arc<dyn SigningKey>, asked: &Asked, good: usize) -> AsyncSigner {
    let asked = asked.clone();
    Arc::new(move |request| {
        let (key, asked) = (key.clone(), asked.clone());
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            *asked.lock().unwrap() += 1;
            if *asked.lock().unwrap() > good {
                return Err(CryptoError::SigningFailed);
            }
            key.sign(request.scheme(), request.message(), &mut OsRng)?.done().ok_or(CryptoError::SigningFailed)
        })
    })
}

/// A device whose IDevID the manufacturer makes with a key of this algorithm.
fn device(algorithm: &str, asked: &Asked, good: usize) -> (Device<Coaps>, terse_pki::Credential) {
    let options = IdevidOptions { algorithm: Some(algorithm.parse().unwrap()), ..IdevidOptions::new(SERIAL, 0) };
    let idevid = PKI.maker.issue_idevid(&options).unwrap();
    let signer = element(PROVIDER.load_key(idevid.key()).unwrap(), asked, good);
    let device = Device::with_signer(idevid.chain().to_vec(), vec![PKI.vouchers.root().clone()], signer).unwrap();
    (device.with_form(Coaps::default()).unwrap(), idevid)
}

#[tokio::test]
async fn a_key_that_answers_later_signs_the_handshake_and_the_voucher_request() {
    for algorithm in ["p256", "p384", "ed25519"] {
        let registrar = Registrar::start(Script::default()).await;
        let asked = Asked::default();
        let (device, idevid) = device(algorithm, &asked, usize::MAX);
        let onboarded = join(&device, registrar.place(), &once()).await.result.unwrap();
        assert!(onboarded.is_reported);
        assert!(registrar.seen()[..4].iter().all(|seen| seen.client == idevid.chain()[0]));
        assert_eq!(*asked.lock().unwrap(), 2, "{algorithm}: for the connection with the IDevID, and for the request");
    }
}

#[tokio::test]
async fn a_key_that_fails_is_named_as_the_cause() {
    // In the handshake, or for the voucher request.
    for good in [0, 1] {
        let registrar = Registrar::start(Script::default()).await;
        let asked = Asked::default();
        let (device, _) = device("p256", &asked, good);
        let why = join(&device, registrar.place(), &once()).await.failure();
        assert_eq!(why, AttemptFailed::Crypto(CryptoError::SigningFailed), "{good}");
        assert_eq!(*asked.lock().unwrap(), good + 1);
        assert!(registrar.seen().is_empty());
    }
}

/// COSE has no RSA in constrained BRSKI.
#[test]
fn a_device_with_an_rsa_key_has_no_form_for_coaps() {
    let options = IdevidOptions { algorithm: Some("rsa2048".parse().unwrap()), ..IdevidOptions::new(SERIAL, 0) };
    let idevid = PKI.maker.issue_idevid(&options).unwrap();
    let signer = element(PROVIDER.load_key(idevid.key()).unwrap(), &Asked::default(), 0);
    let device = Device::with_signer(idevid.chain().to_vec(), vec![PKI.vouchers.root().clone()], signer).unwrap();
    let error = device.with_form(Coaps::default()).unwrap_err().to_string();
    assert!(error.contains("cannot sign voucher requests"), "{error}");
}
