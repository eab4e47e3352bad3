//! What is other about requests in COSE than in CMS: media types, keys, and nonces that are no text.

use terse_aws_lc::PROVIDER;
use terse_brski::artefact::Format;
use terse_brski::audit_log::AuditLog;
use terse_brski::cose::Signed;
use terse_brski::http::{JSON, VOUCHER_CMS_JSON, VOUCHER_COSE, VOUCHER_COSE_CBOR};
use terse_brski::voucher::Nonce;
use terse_onboard::client::Outgoing;

use super::scene::{Scene, issued, refused, send, voucher};

const COSE: Format = Format::CoseCbor;

#[tokio::test(flavor = "multi_thread")]
async fn the_older_name_of_the_type_is_taken_and_answered() {
    let scene = Scene::of(COSE).await;
    let masa = scene.start().await;
    let mut connection = scene.connect(masa.address, None).await;
    let request = voucher(&scene.request("a nonce"));
    let mut bodies = Vec::new();
    for (content_type, accept, expected) in [
        (VOUCHER_COSE_CBOR, None, VOUCHER_COSE_CBOR),
        (VOUCHER_COSE_CBOR, Some(VOUCHER_COSE), VOUCHER_COSE),
        (VOUCHER_COSE, Some(VOUCHER_COSE_CBOR), VOUCHER_COSE_CBOR),
        (VOUCHER_COSE, Some("*/*"), VOUCHER_COSE),
    ] {
        let outgoing = Outgoing { content_type: Some(content_type), accept, ..request.clone() };
        let answer = send(&mut connection, outgoing).await.unwrap();
        assert_eq!((answer.status, answer.content_type.as_deref()), (200, Some(expected)));
        bodies.push(answer.body);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "one voucher, whatever its type is called");
    assert_eq!(scene.log().await.len(), 1);
    let refused_types = [
        (VOUCHER_COSE, Some(VOUCHER_CMS_JSON), 406, "of the type of the request"),
        (VOUCHER_CMS_JSON, None, 403, "the registrar's signature is refused"),
        ("application/cose", None, 415, "Content-Type"),
        (VOUCHER_COSE, Some("text/html"), 415, "Accept"),
    ];
    for (content_type, accept, status, part) in refused_types {
        let outgoing = Outgoing { content_type: Some(content_type), accept, ..request.clone() };
        refused(&send(&mut connection, outgoing).await.unwrap(), status, part);
    }
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn vouchers_are_signed_as_the_key_of_the_signer_is() {
    for (keys, protected) in
        [("p256x2", &b"\xa1\x01\x26"[..]), ("ed25519x2", b"\xa1\x01\x27"), ("p384x3", b"\xa1\x01\x38\x22")]
    {
        let scene = Scene::with_keys(COSE, keys).await;
        let masa = scene.start().await;
        let answer = scene.ask(masa.address, &scene.request("a nonce")).await;
        issued(&scene, &answer);
        // A tagged array of four, with the protected header first.
        let header = [&[0xd2, 0x84, 0x40 | protected.len() as u8][..], protected].concat();
        assert!(answer.body.starts_with(&header), "{keys}");
        // Its chain is in the unprotected header, in x5bag: label 32.
        assert_eq!(answer.body[header.len()..][..3], [0xa1, 0x18, 0x20], "{keys}");
        assert!(!Signed::verify(&PROVIDER, &answer.body, &[]).unwrap().chain.is_empty());
        masa.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_for_rsa_signs_no_voucher_in_cose() {
    let scene = Scene::with_keys(COSE, "rsa2048x2").await;
    let masa = scene.start().await;
    let answer = scene.ask(masa.address, &scene.nonceless_request()).await;
    refused(&answer, 406, "signs no vouchers in COSE");
    assert_eq!(scene.log().await, []);
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_of_bytes_is_in_base64_in_the_audit_log() {
    let scene = Scene::of(COSE).await;
    let masa = scene.start().await;
    let nonce = Nonce::of_random_bytes(&[0xff; 8]);
    let mut pledge_fields = scene.pledge_fields(&scene.domain, "a nonce");
    pledge_fields.nonce = Some(nonce.clone());
    let mut fields = scene.fields(&scene.domain, "a nonce");
    fields.nonce = Some(nonce.clone());
    fields.prior_signed_voucher_request = Some(scene.sign_as_pledge(&pledge_fields).into());
    let request = scene.sign_as(&scene.domain, &fields);
    assert_eq!(issued(&scene, &scene.ask(masa.address, &request).await).nonce, Some(nonce.clone()));
    assert_eq!(scene.log().await[0].nonce, Some(nonce), "the database has it as it is");
    let answer = scene.ask_audit_log(masa.address, &request).await;
    assert_eq!((answer.status, answer.content_type.as_deref()), (200, Some(JSON)));
    let log = AuditLog::from_json(&answer.body, 4_096).unwrap();
    assert_eq!(log.events[0].nonce, Some(Nonce::new(b"//////////8=").unwrap()));
    masa.stop().await;
}
