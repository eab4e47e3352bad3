//! Devices whose keys are elsewhere, and answer later: as a secure element does.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use terse_aws_lc::PROVIDER;
use terse_brski::pledge::AttemptFailed;
use terse_net::OsRng;
use terse_net::pki_types::CertificateDer;
use terse_net::tokio::AsyncSigner;
use terse_onboard::discovery::Fixed;
use terse_onboard::pledge::{CredentialDirectory, Device, DeviceError, GaveUp, Onboarded, onboard};
use terse_pki::IdevidOptions;
use terse_tls::crypto::{CryptoError, SigningKey};

use super::once;
use super::pki::{PKI, SERIAL};
use super::registrar::Registrar;
use crate::deadline::soon;

/// What a signer was asked to sign.
type Asked = Arc<Mutex<Vec<Vec<u8>>>>;

/// A signer with a key of its own, which lets others go on before it answers. It signs so many times, and fails then.
fn element(key: Arc<dyn SigningKey>, asked: &Asked, good: usize) -> AsyncSigner {
    let asked = asked.clone();
    Arc::new(move |request| {
        let (key, asked) = (key.clone(), asked.clone());
        Box::pin(async move {
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let number = {
                let mut asked = asked.lock().unwrap();
                asked.push(request.message().to_vec());
                asked.len()
            };
            if number > good {
                return Err(CryptoError::SigningFailed);
            }
            key.sign(request.scheme(), request.message(), &mut OsRng)?.done().ok_or(CryptoError::SigningFailed)
        })
    })
}

fn device(chain: &[CertificateDer<'static>], signer: AsyncSigner) -> Result<Device, DeviceError> {
    Device::with_signer(chain.to_vec(), vec![PKI.vouchers.root().clone()], signer)
}

async fn join(device: &Device, registrar: &Registrar) -> Result<Onboarded, GaveUp> {
    let folder = tempfile::tempdir().unwrap();
    let credentials = CredentialDirectory::new(folder.path().join("credentials"));
    soon(onboard(device, Fixed::new([registrar.place()]), &credentials, &once(), |_| {})).await
}

/// The IDevID that the manufacturer makes with a key of this algorithm.
fn idevid(algorithm: &str) -> terse_pki::Credential {
    let options = IdevidOptions { algorithm: Some(algorithm.parse().unwrap()), ..IdevidOptions::new(SERIAL, 0) };
    PKI.maker.issue_idevid(&options).unwrap()
}

#[tokio::test]
async fn a_key_that_answers_later_signs_the_handshake_and_the_voucher_request() {
    for algorithm in ["p256", "p384", "ed25519"] {
        let registrar = Registrar::start(|_| None).await;
        let (asked, idevid) = (Asked::default(), idevid(algorithm));
        let signer = element(PROVIDER.load_key(idevid.key()).unwrap(), &asked, usize::MAX);
        let device = device(idevid.chain(), signer).unwrap();
        assert_eq!(device.serial_number(), SERIAL);
        let onboarded = join(&device, &registrar).await.unwrap();
        assert!(onboarded.is_reported);
        let requests = registrar.requests();
        assert!(requests[..5].iter().all(|request| request.client == idevid.chain()[0]));
        // One signature for the connection with the IDevID, and one for the voucher request.
        assert_eq!(asked.lock().unwrap().len(), 2, "{algorithm}");
    }
}

#[tokio::test]
async fn a_key_that_fails_is_named_as_the_cause() {
    // In the handshake, or for the voucher request.
    for good in [0, 1] {
        let registrar = Registrar::start(|_| None).await;
        let (asked, idevid) = (Asked::default(), idevid("p256"));
        let signer = element(PROVIDER.load_key(idevid.key()).unwrap(), &asked, good);
        let result = join(&device(idevid.chain(), signer).unwrap(), &registrar).await;
        let Err(GaveUp::Failed(_, why)) = result else { panic!("{result:?}") };
        assert_eq!(why, AttemptFailed::Crypto(CryptoError::SigningFailed), "{good}");
        assert!(why.to_string().contains("the private key could not sign"), "{why}");
        assert_eq!(asked.lock().unwrap().len(), good + 1);
        assert_eq!(registrar.requests().len(), 0);
    }
}

/// A key that never answers keeps no thread: whatever else runs on it goes on.
#[tokio::test]
async fn a_silent_key_blocks_nobody() {
    let registrar = Registrar::start(|_| None).await;
    let signer: AsyncSigner = Arc::new(|_| Box::pin(std::future::pending()));
    let device = device(PKI.idevid.chain(), signer).unwrap();
    let others = async {
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        result = join(&device, &registrar) => panic!("{result:?}"),
        () = others => {}
    }
}

#[test]
fn certificates_that_are_no_idevids_are_refused() {
    let signer: AsyncSigner = Arc::new(|_| Box::pin(std::future::pending()));
    let error = device(&[], signer.clone()).unwrap_err();
    assert!(error.to_string().contains("no certificate"), "{error}");
    let error = device(&[vec![0x30, 0].into()], signer.clone()).unwrap_err();
    assert!(error.to_string().contains("the IDevID cannot be used"), "{error}");
    let text = format!("{:?}", device(PKI.idevid.chain(), signer).unwrap());
    assert!(text.contains(SERIAL), "{text}");
}
