//! A manufacturer and a domain whose keys are all for Ed25519 (RFC 8419; RFC 9053, 2.2): every role signs, and every role verifies.

use terse_brski::artefact::Format;
use terse_brski::masa::{Device, Policy};
use terse_brski::registrar::{Answer, MasaResponse};
use terse_brski::voucher::{Assertion, Voucher};
use terse_brski::{cms, cose};
use terse_rustcrypto::PROVIDER;
use terse_tls::SignatureScheme;
use terse_tls::{Expect, Trust};

use super::roles::{MasaService, forward};
use super::scene::{SERIAL, Scene, authority, idevid, issuer_of, now, registrar_credential};

#[test]
fn all_roles_sign_with_ed25519() {
    for format in Format::ALL {
        let (maker, domain) = (authority("Maker", "ed25519x2"), authority("Plant", "ed25519x3"));
        let (idevid, registrar) = (idevid(&maker, SERIAL), registrar_credential(&domain));
        for credential in [&idevid, &registrar] {
            let key = PROVIDER.load_key(credential.key()).unwrap();
            assert_eq!(key.schemes(), [SignatureScheme::ED25519]);
        }
        let device = Device::new(SERIAL.into(), issuer_of(&idevid));
        let vouchers = authority("Maker vouchers", "ed25519x2");
        let scene = Scene { maker, vouchers, domain, idevid, registrar, device, format };
        let registrar = scene.registrar(|policy| {
            policy.manufacturers[0].voucher_anchors = vec![scene.vouchers.root().to_vec()];
        });
        let masa = MasaService::new(&scene, Policy::default());
        let (_, voucher) = forward(&scene, &registrar, &masa);

        let request = scene.read_by(&registrar);
        let response =
            MasaResponse { status: 200, content_type: Some(format.media_type()), retry_after: None, body: &voucher };
        let Answer::Voucher(received) = registrar.read_masa_response(&request, &response, now()).unwrap() else {
            panic!()
        };
        let findings = received.findings.unwrap();
        assert_eq!((findings.signer_is_known, findings.pins_own_chain), (Some(true), true));
        let (content, chain) = match format {
            Format::CmsJson => {
                let signed = cms::Signed::verify(&PROVIDER, &voucher, &[]).unwrap();
                (Voucher::from_json(&signed.content), signed.chain)
            }
            Format::CoseCbor => {
                let signed = cose::Signed::verify(&PROVIDER, &voucher, &[]).unwrap();
                (Voucher::from_cbor(&signed.content), signed.chain)
            }
        };
        let maker = Trust::new(&[scene.vouchers.root().clone()]).unwrap();
        maker.check(&PROVIDER, &chain, Expect::AnyUsage, Some(now())).unwrap();
        assert_eq!(content.unwrap().assertion, Assertion::Proximity);
    }
}
