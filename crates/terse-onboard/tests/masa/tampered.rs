//! Requests in which one thing was changed, in either form: each is refused with its status, and leaves nothing behind.

use terse_brski::artefact::Format;
use terse_brski::voucher::{Nonce, Pin, VoucherRequest};
use terse_net::pki_types::UnixTime;
use terse_onboard::masa::{DeviceOptions, make_idevid};
use terse_pki::{LeafOptions, Validity};
use terse_tls::crypto::CryptoProvider;

use super::scene::{Party, Scene, issued, now, refused};

const PROVIDER: CryptoProvider = terse_aws_lc::PROVIDER;

type Change = fn(&mut VoucherRequest);

fn at(seconds: u64) -> Option<UnixTime> {
    Some(UnixTime::since_unix_epoch(core::time::Duration::from_secs(seconds)))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_that_is_changed_is_refused() {
    let of_registrar: [(Change, &str); 7] = [
        (|fields| fields.serial_number = "WI-3006".into(), "the serial numbers"),
        (|fields| fields.nonce = Some(Nonce::new(b"another nonce").unwrap()), "the nonces"),
        (|fields| fields.idevid_issuer = Some(b"\x04\x04\x30\x02\x80\x00".as_slice().into()), "idevid-issuer"),
        (|fields| fields.created_on = at(now() - 2 * 86_400), "too long ago"),
        (|fields| fields.created_on = at(now() + 3_600), "in the future"),
        (|fields| fields.created_on = None, "no created-on"),
        (|fields| fields.prior_signed_voucher_request = None, "needs a prior-signed-voucher-request"),
    ];
    let of_pledge: [(Change, &str); 5] = [
        (|fields| fields.serial_number = "WI-3006".into(), "the serial numbers"),
        (|fields| fields.nonce = Some(Nonce::new(b"another nonce").unwrap()), "the nonces"),
        (|fields| fields.nonce = None, "the nonces"),
        (|fields| fields.proximity_registrar = vec![Pin::PublicKeySha256([1; 32])], "another registrar"),
        (
            |fields| fields.proximity_registrar = vec![Pin::PublicKey(b"\x30\x00".as_slice().into())],
            "another registrar",
        ),
    ];
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let masa = scene.start().await;
        for (change, part) in of_registrar {
            let mut fields = scene.fields(&scene.domain, "a nonce");
            change(&mut fields);
            refused(&scene.ask(masa.address, &scene.sign_as(&scene.domain, &fields)).await, 403, part);
        }
        for (change, part) in of_pledge {
            let mut pledge_fields = scene.pledge_fields(&scene.domain, "a nonce");
            change(&mut pledge_fields);
            let mut fields = scene.fields(&scene.domain, "a nonce");
            fields.prior_signed_voucher_request = Some(scene.sign_as_pledge(&pledge_fields).into());
            refused(&scene.ask(masa.address, &scene.sign_as(&scene.domain, &fields)).await, 403, part);
        }
        assert_eq!(scene.log().await, [], "{format:?}");
        issued(&scene, &scene.ask(masa.address, &scene.request("a nonce")).await);
        assert_eq!(scene.log().await.len(), 1);
        masa.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_signature_and_chain_that_is_changed_is_refused() {
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let masa = scene.start().await;
        let content = |prior: Vec<u8>| {
            let mut fields = scene.fields(&scene.domain, "a nonce");
            fields.prior_signed_voucher_request = Some(prior.into());
            format.encode_request(&fields)
        };
        let path = [scene.device.chain.clone(), scene.roots()].concat();
        let prior = scene.pledge_request(&scene.domain, "a nonce");
        // The registrar's signature, and the pledge's.
        let mut request = scene.request("a nonce");
        *request.last_mut().unwrap() ^= 1;
        refused(&scene.ask(masa.address, &request).await, 403, "the registrar's signature is refused");
        let mut damaged = prior.clone();
        *damaged.last_mut().unwrap() ^= 1;
        let request = scene.domain.registrar.sign(format, &path, &content(damaged));
        refused(&scene.ask(masa.address, &request).await, 403, "the pledge's signature is refused");
        // A pledge's request of the other form.
        let wrong = match format {
            Format::CmsJson => scene.device.sign_bare(&scene.pledge_fields(&scene.domain, "a nonce").to_cbor()),
            Format::CoseCbor => {
                let fields = scene.pledge_fields(&scene.domain, "a nonce").to_json();
                scene.device.sign(Format::CmsJson, &[], &fields)
            }
        };
        let request = scene.domain.registrar.sign(format, &path, &content(wrong));
        refused(&scene.ask(masa.address, &request).await, 403, "the pledge's signature is refused");
        // A signer that is no registrar, and one whose certificate has ended.
        let options = LeafOptions::new("plant.example", Validity::days(now() - 86_400, 30));
        let leaf = scene.domain.authority.issue(&options).unwrap();
        let no_registrar = Party { chain: leaf.chain().to_vec(), key: PROVIDER.load_key(leaf.key()).unwrap() };
        let request = no_registrar.sign(format, &path, &content(prior.clone()));
        refused(&scene.ask(masa.address, &request).await, 403, "the signer is no registrar");
        let options = terse_pki::RegistrarOptions::new("plant.example", Validity::days(now() - 10 * 86_400, 3));
        let ended = scene.domain.authority.issue_registrar(&options).unwrap();
        let ended = Party { chain: ended.chain().to_vec(), key: PROVIDER.load_key(ended.key()).unwrap() };
        let request = ended.sign(format, &path, &content(prior.clone()));
        refused(&scene.ask(masa.address, &request).await, 403, "the registrar's certificates are refused");
        assert_eq!(scene.log().await, [], "{format:?}");
        masa.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_cose_the_path_of_the_idevid_must_come_along() {
    let scene = Scene::of(Format::CoseCbor).await;
    let out = scene.directory.path().join("another");
    make_idevid(&scene.config, "WI-3006", &DeviceOptions::default(), &out, now()).await.unwrap();
    let another = terse_net::files::read_certificates(out.join("WI-3006.pem")).unwrap();
    let masa = scene.start().await;
    let content = scene.format.encode_request(&scene.fields(&scene.domain, "a nonce"));
    for path in [vec![], another] {
        let request = scene.domain.registrar.sign(scene.format, &path, &content);
        refused(&scene.ask(masa.address, &request).await, 403, "the pledge's signature is refused");
    }
    assert_eq!(scene.log().await, []);
    let request = scene.domain.registrar.sign(scene.format, &scene.device.chain, &content);
    issued(&scene, &scene.ask(masa.address, &request).await);
    masa.stop().await;
}
