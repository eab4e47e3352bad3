//! What a registrar accepts of a pledge and of a MASA, and everything that it refuses.

use pki_types::CertificateDer;
use terse_brski::artefact::Format;
use terse_brski::certificate::SerialNumberField;
use terse_brski::digest::sha256;
use terse_brski::http::{JSON, Posted, VOUCHER_CMS_JSON};
use terse_brski::registrar::{
    Answer, Decision, DestinationRefused, Devices, MasaResponse, Misconfigured, Policy, Refusal, Registrar,
    RequestRecord, RequestState, text_for_people,
};
use terse_brski::voucher::{Assertion, MAX_LEN, Pin, Voucher, VoucherRequest};
use terse_brski::{Malformed, SignatureRefused};
use terse_pki::{Credential, IdevidOptions, LeafOptions, Usage, Validity, VoucherSignerOptions};
use terse_rustcrypto::PROVIDER;
use terse_tls::CertificateError;

use super::scene::{
    NOW, SERIAL, Scene, at, authority, changed, idevid, issuer_of, nonce, now, other, posted, registrar_credential,
    sign, sign_in,
};

fn read(scene: &Scene, registrar: &Registrar, body: &[u8]) -> Result<(), Refusal> {
    registrar.read_voucher_request(scene.idevid.chain(), &posted(body), now()).map(|_| ())
}

fn refused<T: core::fmt::Debug>(result: Result<T, Refusal>, expected: Refusal, status: u16) {
    let refusal = result.unwrap_err();
    assert_eq!(refusal, expected);
    assert_eq!(refusal.status(), status, "{refusal}");
    assert_eq!(refusal.closes(), status == 401, "{refusal}");
}

/// As at the MASA: whoever repeats a request with something changed that is not signed gets no other record.
#[test]
fn what_is_not_signed_makes_no_other_request() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let registrar = scene.registrar(|_| {});
        let good = scene.pledge_request(&scene.pledge_fields());
        let content_type = Some(format.media_type());
        let read = |body: &[u8]| {
            registrar.read_voucher_request(scene.idevid.chain(), &Posted { content_type, accept: None, body }, now())
        };
        let own = *read(&good).unwrap().sha256();
        for at in 0..good.len() {
            for bit in [0x01, 0x04, 0x20, 0x80] {
                let mut changed = good.clone();
                changed[at] ^= bit;
                if let Ok(request) = read(&changed) {
                    assert_eq!(*request.sha256(), own, "{format:?}: byte {at}, bit {bit:#x}");
                }
            }
        }
        // The same fields, signed again: with ECDSA only the signature is another one.
        let again = scene.pledge_request(&scene.pledge_fields());
        assert_eq!(*read(&again).unwrap().sha256(), own, "{format:?}");
    }
}

#[test]
fn a_good_request_is_read() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let registrar = scene.registrar(|_| {});
        let body = scene.pledge_request(&scene.pledge_fields());
        let request = registrar.read_voucher_request(scene.idevid.chain(), &posted(&body), now()).unwrap();
        assert_eq!(*request.client(), sha256(&PROVIDER, scene.idevid.leaf()));
        assert_eq!(request.idevid().serial_number, SERIAL);
        assert_eq!(Some(request.nonce()), nonce("base64-or-not").as_ref());
        assert_eq!(request.body(), body);
        assert_eq!(request.accept(), Some(format.media_type()));
        assert_eq!(registrar.manufacturer(&request).unwrap().name, "Maker");
    }
}

#[test]
fn each_wrong_field_is_refused() {
    for format in Format::ALL {
        type Change = fn(&mut VoucherRequest);
        let cases: [(Change, Refusal, u16); 6] = [
            (|fields| fields.serial_number = "WI-3006".into(), Refusal::SerialNumber, 403),
            (|fields| fields.nonce = None, Refusal::NoNonce, 403),
            (|fields| fields.assertion = None, Refusal::NoProximity, 401),
            (|fields| fields.assertion = Some(Assertion::Logged), Refusal::NoProximity, 401),
            (|fields| fields.proximity_registrar.clear(), Refusal::NoProximity, 401),
            (|fields| fields.proximity_registrar = vec![Pin::PublicKeySha256([1; 32])], Refusal::OtherRegistrar, 401),
        ];
        let scene = Scene::of(format);
        let registrar = scene.registrar(|_| {});
        for (change, expected, status) in cases {
            let mut fields = scene.pledge_fields();
            change(&mut fields);
            refused(read(&scene, &registrar, &scene.pledge_request(&fields)), expected, status);
        }
    }
}

#[test]
fn the_pledge_names_this_registrar_in_any_of_three_ways() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let registrar = scene.registrar(|_| {});
        let key = terse_brski::certificate::public_key(scene.registrar.leaf()).unwrap();
        let certificate = Pin::Certificate(scene.registrar.leaf().clone());
        let (key, hash) = (Pin::PublicKey(key.into()), Pin::PublicKeySha256(sha256(&PROVIDER, key)));
        let with = |seen: Vec<Pin>| {
            let mut fields = scene.pledge_fields();
            fields.proximity_registrar = seen;
            read(&scene, &registrar, &scene.pledge_request(&fields))
        };
        for seen in
            [vec![certificate.clone()], vec![key.clone()], vec![hash.clone()], vec![certificate, key.clone(), hash]]
        {
            assert_eq!(with(seen), Ok(()));
        }
        // A renewed certificate of the same domain, an attacker's, and one of several that is wrong.
        let renewed = Pin::Certificate(registrar_credential(&scene.domain).leaf().clone());
        let foreign = Pin::Certificate(registrar_credential(&authority("Plant", "p256x3")).leaf().clone());
        for seen in [vec![renewed], vec![foreign], vec![key, Pin::PublicKeySha256([1; 32])]] {
            refused(with(seen), Refusal::OtherRegistrar, 401);
        }
    }
}

#[test]
fn the_signer_is_the_client_of_the_connection() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let registrar = scene.registrar(|_| {});
        // A request of another device, which somebody has recorded.
        let other = Scene { idevid: idevid(&scene.maker, "WI-3006"), ..Scene::of(format) };
        let mut fields = scene.pledge_fields();
        fields.serial_number = "WI-3006".into();
        let (expected, status) = match format {
            Format::CmsJson => (Refusal::OtherSigner, 401),
            Format::CoseCbor => (Refusal::Signature(SignatureRefused::Signature), 403), // it names no signer
        };
        refused(read(&scene, &registrar, &other.pledge_request(&fields)), expected, status);
        let body = scene.pledge_request(&scene.pledge_fields());
        refused(registrar.read_voucher_request(&[], &posted(&body), now()), Refusal::NoCertificate, 401);
        // A chain can come in the connection alone.
        let bare =
            sign_in(format, &scene.idevid, &scene.idevid.chain()[..1], &format.encode_request(&scene.pledge_fields()));
        assert_eq!(read(&scene, &registrar, &bare), Ok(()));
    }
}

#[test]
fn damage_and_garbage_are_refused() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let registrar = scene.registrar(|_| {});
        let good = scene.pledge_request(&scene.pledge_fields());
        let mut damaged = good.clone();
        let at = good.windows(SERIAL.len()).position(|window| window == SERIAL.as_bytes()).unwrap();
        damaged[at] ^= 1;
        refused(read(&scene, &registrar, &damaged), Refusal::Signature(changed(format)), 403);
        let expected = Refusal::Signature(SignatureRefused::Malformed(Malformed::TooLong(MAX_LEN)));
        refused(read(&scene, &registrar, &vec![0x30; MAX_LEN + 1]), expected, 403);
        for body in [&b""[..], b"garbage", &good[..good.len() - 1]] {
            let refusal = read(&scene, &registrar, body).unwrap_err();
            assert!(matches!(refusal, Refusal::Signature(_)), "{refusal}");
        }
        let refusal =
            read(&scene, &registrar, &sign_in(format, &scene.idevid, scene.idevid.chain(), b"{}")).unwrap_err();
        assert!(matches!(refusal, Refusal::Request(_)), "{refusal}");
        assert_eq!(refusal.status(), 406);
    }
}

#[test]
fn media_types_are_checked_first() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let read = |registrar: &Registrar, content_type, accept| {
            let body = scene.pledge_request(&scene.pledge_fields());
            let posted = Posted { content_type, accept, body: &body };
            let result = registrar.read_voucher_request(scene.idevid.chain(), &posted, now());
            result.map(|_| ()).map_err(|refusal| (refusal, refusal.status()))
        };
        let registrar = scene.registrar(|_| {});
        let [own, other] = [format, other(format)].map(|format| Some(format.media_type()));
        assert_eq!(read(&registrar, own, None), Ok(()));
        assert_eq!(read(&registrar, Some(JSON), None), Err((Refusal::ContentType, 415)));
        assert_eq!(read(&registrar, None, None), Err((Refusal::ContentType, 415)));
        assert_eq!(read(&registrar, own, Some("text/html")), Err((Refusal::AcceptNotUnderstood, 415)));
        assert_eq!(read(&registrar, own, other), Err((Refusal::NotAcceptable, 406)));
        let opaque = scene.registrar(|policy| policy.manufacturers[0].opaque_vouchers = true);
        assert_eq!(read(&opaque, own, Some("application/voucher-of-tomorrow")), Ok(()));
    }
}

#[test]
fn only_devices_of_trusted_manufacturers_are_read() {
    let scene = Scene::new();
    let registrar = scene.registrar(|_| {});
    let read_as = |idevid: &Credential, time| {
        let body = sign(idevid, idevid.chain(), &scene.pledge_fields().to_json());
        registrar.read_voucher_request(idevid.chain(), &posted(&body), at(time)).map(|_| ())
    };
    assert_eq!(read_as(&scene.idevid, NOW), Ok(()));
    let foreign = idevid(&authority("Another", "p256x2"), SERIAL);
    refused(read_as(&foreign, NOW), Refusal::UnknownManufacturer, 403);
    let namesake = idevid(&authority("Maker", "p256x2"), SERIAL);
    let refusal = read_as(&namesake, NOW).unwrap_err();
    assert!(matches!(refusal, Refusal::UnknownManufacturer | Refusal::Idevid(_)), "{refusal}");
    let refusal = read_as(&scene.idevid, NOW - 90_000).unwrap_err();
    assert!(matches!(refusal, Refusal::Idevid(CertificateError::NotYetValid { .. })), "{refusal}");
    assert_eq!(refusal.status(), 404);
    let server = scene.maker.issue(&LeafOptions::new("masa.maker.example", Validity::days(NOW - 1, 9))).unwrap();
    refused(read_as(&server, NOW), Refusal::IdevidField(Malformed::Missing("serialNumber")), 404);
}

#[test]
fn the_policy_of_each_manufacturer_counts_for_its_devices_alone() {
    let scene = Scene::new();
    let other = authority("Other", "p256x2");
    let ended = |maker: &terse_pki::Authority| {
        let mut options = IdevidOptions::new(SERIAL, NOW - 1_000);
        options.validity.not_after = NOW - 10;
        maker.issue_idevid(&options).unwrap()
    };
    let registrar = scene.registrar(|policy| {
        let mut manufacturer = policy.manufacturers[0].clone();
        manufacturer.name = "Other".into();
        manufacturer.anchors = vec![other.root().to_vec()];
        manufacturer.ignores_not_after = true;
        policy.manufacturers.push(manufacturer);
    });
    let read_as = |idevid: &Credential| {
        let body = sign(idevid, idevid.chain(), &scene.pledge_fields().to_json());
        let request = registrar.read_voucher_request(idevid.chain(), &posted(&body), now())?;
        Ok(registrar.manufacturer(&request).unwrap().name.clone())
    };
    assert_eq!(read_as(&scene.idevid), Ok("Maker".into()));
    assert_eq!(read_as(&ended(&other)), Ok("Other".into()));
    let refusal: Refusal = read_as(&ended(&scene.maker)).unwrap_err();
    assert!(matches!(refusal, Refusal::Idevid(CertificateError::Expired { .. })), "{refusal}");
    // Where the serial number stands: here, nowhere that the manufacturer says.
    let by_name = scene.registrar(|policy| {
        policy.manufacturers[0].serial_number_field = SerialNumberField::CommonName;
    });
    let body = scene.pledge_request(&scene.pledge_fields());
    refused(read(&scene, &by_name, &body), Refusal::IdevidField(Malformed::Missing("commonName")), 404);
}

#[test]
fn a_wrong_policy_is_refused() {
    let scene = Scene::new();
    let misconfigured = |change: fn(&mut Policy)| {
        let mut policy = Policy::default();
        let anchors = vec![scene.maker.root().to_vec()];
        policy.manufacturers.push(terse_brski::registrar::Manufacturer::new("Maker", anchors));
        change(&mut policy);
        Registrar::new(&PROVIDER, scene.chain(), policy).err()
    };
    assert_eq!(misconfigured(|_| {}), None);
    assert_eq!(misconfigured(|policy| policy.manufacturers.clear()), Some(Misconfigured::NoManufacturer));
    let found = misconfigured(|policy| policy.manufacturers[0].anchors.clear());
    assert!(matches!(found, Some(Misconfigured::Anchors(0, _))), "{found:?}");
    let found = misconfigured(|policy| policy.manufacturers[0].anchors = vec![b"garbage".to_vec()]);
    assert!(matches!(found, Some(Misconfigured::Anchors(0, _))), "{found:?}");
    let found = misconfigured(|policy| policy.manufacturers.push(policy.manufacturers[0].clone()));
    assert_eq!(found, Some(Misconfigured::SharedAnchor(1)));
    let found = misconfigured(|policy| policy.manufacturers[0].masa_url = Some("http://masa/".into()));
    assert!(matches!(found, Some(Misconfigured::MasaUrl(0, _))), "{found:?}");
    for chain in [vec![], vec![CertificateDer::from(&b"garbage"[..])]] {
        assert_eq!(Registrar::new(&PROVIDER, chain, Policy::default()).err(), Some(Misconfigured::OwnCertificate));
    }
}

#[test]
fn the_masa_is_asked_for_what_was_verified() {
    let scene = Scene::new();
    let registrar = scene.registrar(|_| {});
    let request = scene.read_by(&registrar);
    let Decision::Forward(forward) = registrar.decide(&request, None, at(NOW + 5)).unwrap() else { panic!() };
    assert_eq!(forward.masa.base(), "https://masa.maker.example:9443/.well-known/brski");
    assert!(!forward.masa.is_configured());
    let mut expected = VoucherRequest::new(SERIAL.into());
    expected.created_on = Some(at(NOW + 5));
    expected.assertion = Some(Assertion::Proximity);
    expected.nonce = nonce("base64-or-not");
    expected.idevid_issuer = Some(issuer_of(&scene.idevid).into());
    expected.prior_signed_voucher_request = Some(request.body().into());
    assert_eq!(forward.request, expected, "and no proximity-registrar-cert (RFC 8995, 5.5)");
    assert!(registrar.permits(&forward.masa, "1.1.1.1".parse().unwrap()));
    assert!(!registrar.permits(&forward.masa, "10.1.1.1".parse().unwrap()));
}

#[test]
fn a_masa_url_leads_where_the_policy_allows() {
    let scene = Scene::new();
    let decide = |url: Option<&str>, change: fn(&mut Policy)| {
        let masa_url = url.map(|url| url.parse().unwrap());
        let idevid =
            scene.maker.issue_idevid(&IdevidOptions { masa_url, ..IdevidOptions::new(SERIAL, NOW - 9) }).unwrap();
        let registrar = scene.registrar(change);
        let body = sign(&idevid, idevid.chain(), &scene.pledge_fields().to_json());
        let request = registrar.read_voucher_request(idevid.chain(), &posted(&body), now()).unwrap();
        match registrar.decide(&request, None, now())? {
            Decision::Forward(forward) => Ok(forward.masa.base().to_owned()),
            other => panic!("{other:?}"),
        }
    };
    let expected = Ok("https://masa.maker.example/.well-known/brski".into());
    assert_eq!(decide(Some("masa.maker.example"), |_| {}), expected);
    refused(decide(None, |_| {}), Refusal::NoMasaUrl, 403);
    for (url, expected) in [
        ("registrar.plant.example", DestinationRefused::Own),
        ("127.0.0.1:8443", DestinationRefused::Address),
        ("https://192.168.0.1/admin", DestinationRefused::Address),
        ("printer.local", DestinationRefused::LocalName),
    ] {
        refused(decide(Some(url), |_| {}), Refusal::MasaUrl(expected), 403);
    }
    let configured = |policy: &mut Policy| policy.manufacturers[0].masa_url = Some("127.0.0.1:9443".into());
    for url in [None, Some("masa.maker.example"), Some("printer.local")] {
        assert_eq!(decide(url, configured), Ok("https://127.0.0.1:9443/.well-known/brski".into()));
    }
}

#[test]
fn the_list_of_devices_and_operators_decide() {
    let scene = Scene::new();
    let listed = |serial: &str| Devices::Listed(vec![serial.into()]);
    let asked = |serial: &str| Devices::ListedOrAsked(vec![serial.into()]);
    let decide = |devices: Devices, state: Option<RequestState>, time| {
        let registrar = scene.registrar(|policy| policy.manufacturers[0].devices = devices);
        let request = scene.read_by(&registrar);
        let record = state.map(|state| RequestRecord { request: *request.sha256(), received: now(), state });
        let decision = registrar.decide(&request, record.as_ref(), at(time))?;
        Ok(match decision {
            Decision::Answer { .. } => "answer".into(),
            Decision::Wait { retry_after, record: Some(record) } => format!("{retry_after} {:?}", record.state),
            Decision::Wait { retry_after, record: None } => format!("{retry_after}"),
            Decision::Forward(_) => "forward".into(),
            Decision::Resend { .. } => "resend".into(),
        })
    };
    let wait = Some(RequestState::AwaitingOperator);
    let four_days = 4 * 86_400;
    assert_eq!(decide(listed(SERIAL), None, NOW), Ok("forward".into()));
    refused(decide(listed("WI-3006"), None, NOW), Refusal::UnknownDevice, 404);
    assert_eq!(decide(asked(SERIAL), None, NOW), Ok("forward".into()));
    assert_eq!(decide(asked("WI-3006"), None, NOW), Ok("60 AwaitingOperator".into()));
    assert_eq!(decide(asked("WI-3006"), wait.clone(), NOW + four_days), Ok("60".into()));
    refused(decide(asked("WI-3006"), wait.clone(), NOW + four_days + 1), Refusal::NotDecided, 403);
    assert_eq!(decide(asked(SERIAL), wait.clone(), NOW + 1), Ok("forward".into()), "it was listed meanwhile");
    refused(decide(listed("WI-3006"), wait, NOW), Refusal::UnknownDevice, 404);
    assert_eq!(decide(asked("WI-3006"), Some(RequestState::Allowed), NOW), Ok("forward".into()));
    refused(decide(asked("WI-3006"), Some(RequestState::Rejected), NOW), Refusal::Rejected, 406);
}

#[test]
fn an_operator_is_not_asked_for_what_would_fail() {
    let scene = Scene::new();
    let options = IdevidOptions::new(SERIAL, NOW - 9);
    let idevid = scene.maker.issue_idevid(&options).unwrap();
    let registrar = scene.registrar(|policy| policy.manufacturers[0].devices = Devices::ListedOrAsked(vec![]));
    let body = sign(&idevid, idevid.chain(), &scene.pledge_fields().to_json());
    let request = registrar.read_voucher_request(idevid.chain(), &posted(&body), now()).unwrap();
    refused(registrar.decide(&request, None, now()), Refusal::NoMasaUrl, 403);
}

#[test]
fn the_same_request_is_answered_from_the_record() {
    let scene = Scene::new();
    let registrar = scene.registrar(|_| {});
    let request = scene.read_by(&registrar);
    let record = |state| RequestRecord { request: *request.sha256(), received: now(), state };
    let answered = record(RequestState::Answered {
        registrar_request: b"request".to_vec(),
        content_type: VOUCHER_CMS_JSON.into(),
        voucher: b"voucher".to_vec(),
    });
    let expected = Decision::Answer { content_type: VOUCHER_CMS_JSON, voucher: b"voucher" };
    assert_eq!(registrar.decide(&request, Some(&answered), at(NOW + 999_999)), Ok(expected));
    // The record of another request is none of this one.
    let other = RequestRecord { request: [0; 32], ..answered };
    assert!(matches!(registrar.decide(&request, Some(&other), now()), Ok(Decision::Forward(_))));
    // A replica that died: the same bytes go to the MASA again, for the same voucher.
    let forwarded = record(RequestState::Forwarded {
        created_on: now(),
        sent: now(),
        registrar_request: b"signed request".to_vec(),
    });
    for time in [NOW, NOW + 60] {
        let decision = registrar.decide(&request, Some(&forwarded), at(time));
        assert_eq!(decision, Ok(Decision::Wait { retry_after: 5, record: None }));
    }
    let Decision::Resend { masa, registrar_request } =
        registrar.decide(&request, Some(&forwarded), at(NOW + 61)).unwrap()
    else {
        panic!()
    };
    assert_eq!(masa.base(), "https://masa.maker.example:9443/.well-known/brski");
    assert_eq!(registrar_request, b"signed request");
    // A MASA was away for so long that it would refuse the request as stale.
    let day = record(RequestState::Forwarded {
        created_on: at(NOW - 12 * 3_600),
        sent: at(NOW - 120),
        registrar_request: b"signed request".to_vec(),
    });
    assert!(matches!(registrar.decide(&request, Some(&day), now()), Ok(Decision::Resend { .. })));
    let Ok(Decision::Forward(forward)) = registrar.decide(&request, Some(&day), at(NOW + 1)) else { panic!() };
    assert_eq!(forward.request.created_on, Some(at(NOW + 1)));
}

/// A voucher signer of the manufacturer, and a voucher as it should be.
fn voucher(scene: &Scene) -> (Credential, Voucher) {
    let options = VoucherSignerOptions::new("Maker MASA", Validity::days(NOW - 1, 9));
    let mut voucher = Voucher::new(SERIAL.into(), Assertion::Proximity);
    voucher.nonce = nonce("base64-or-not");
    voucher.pins = vec![Pin::Certificate(scene.chain()[1].clone())];
    (scene.vouchers.issue_voucher_signer(&options).unwrap(), voucher)
}

fn answer(scene: &Scene, registrar: &Registrar, response: &MasaResponse<'_>) -> Result<Answer, Refusal> {
    registrar.read_masa_response(&scene.read_by(registrar), response, now())
}

fn response(body: &[u8]) -> MasaResponse<'_> {
    MasaResponse { status: 200, content_type: Some(Format::of_artefact(body).media_type()), retry_after: None, body }
}

#[test]
fn a_voucher_is_looked_at() {
    let scene = Scene::new();
    let (signer, mut fields) = voucher(&scene);
    let anchored = |anchor: &CertificateDer<'_>| {
        let anchor = anchor.to_vec();
        scene.registrar(|policy| policy.manufacturers[0].voucher_anchors = vec![anchor])
    };
    let look = |registrar: &Registrar, fields: &Voucher| {
        let body = sign(&signer, signer.chain(), &fields.to_json());
        let Ok(Answer::Voucher(voucher)) = answer(&scene, registrar, &response(&body)) else { panic!() };
        assert_eq!(voucher.content_type, VOUCHER_CMS_JSON);
        voucher.findings.unwrap()
    };
    let findings = look(&scene.registrar(|_| {}), &fields);
    assert_eq!(findings.assertion, Assertion::Proximity);
    assert!(findings.has_nonce && findings.pins_own_chain);
    assert_eq!(findings.expires_on, None);
    assert_eq!(findings.domain_id, Some(terse_brski::certificate::domain_id(&PROVIDER, &scene.chain()[1]).unwrap()));
    assert_eq!(findings.signer_is_known, None);
    // The signer leads to the anchor, or is the anchor, or is somebody else.
    assert_eq!(look(&anchored(scene.vouchers.root()), &fields).signer_is_known, Some(true));
    assert_eq!(look(&anchored(signer.leaf()), &fields).signer_is_known, Some(true));
    let stranger = authority("Maker", "p256x2");
    assert_eq!(look(&anchored(stranger.root()), &fields).signer_is_known, Some(false));
    // A device or a web server leads to the same anchor; or the anchor is the CA of devices.
    let server = LeafOptions { usage: Usage::Server, ..LeafOptions::new("masa.example", Validity::days(NOW - 1, 9)) };
    let one_ca = scene.maker.issue_voucher_signer(&VoucherSignerOptions::new("MASA", Validity::days(NOW - 1, 9)));
    for (signer, ca) in [
        (idevid(&scene.vouchers, "WI-3006"), &scene.vouchers),
        (scene.vouchers.issue(&server).unwrap(), &scene.vouchers),
        (idevid(&scene.maker, "WI-3006"), &scene.maker),
        (one_ca.unwrap(), &scene.maker),
    ] {
        let body = sign(&signer, signer.chain(), &fields.to_json());
        let found = answer(&scene, &anchored(ca.root()), &response(&body));
        let Ok(Answer::Voucher(found)) = found else { panic!("{found:?}") };
        assert_eq!(found.findings.unwrap().signer_is_known, Some(false));
    }
    // What it pins, and that it can be used again, are for people to judge.
    fields.pins = vec![Pin::Certificate(stranger.root().clone())];
    fields.nonce = None;
    fields.expires_on = Some(at(NOW + 9));
    let findings = look(&scene.registrar(|_| {}), &fields);
    assert!(!findings.has_nonce && !findings.pins_own_chain);
    assert_eq!(findings.expires_on, Some(at(NOW + 9)));
}

#[test]
fn a_voucher_for_another_request_is_refused() {
    for format in Format::ALL {
        type Change = fn(&mut Voucher);
        let cases: [Change; 2] =
            [|fields| fields.serial_number = "WI-3006".into(), |fields| fields.nonce = nonce("another nonce")];
        let scene = Scene::of(format);
        let registrar = scene.registrar(|_| {});
        for change in cases {
            let (signer, mut fields) = voucher(&scene);
            change(&mut fields);
            let body = sign_in(format, &signer, signer.chain(), &format.encode_voucher(&fields));
            refused(answer(&scene, &registrar, &response(&body)), Refusal::OtherVoucher, 502);
        }
    }
}

#[test]
fn what_is_no_voucher_is_refused() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let registrar = scene.registrar(|_| {});
        let (signer, fields) = voucher(&scene);
        let body = sign_in(format, &signer, signer.chain(), &format.encode_voucher(&fields));
        let mut damaged = body.clone();
        let place = body.windows(SERIAL.len()).position(|window| window == SERIAL.as_bytes()).unwrap();
        damaged[place] ^= 1;
        let expected = Refusal::VoucherSignature(changed(format));
        refused(answer(&scene, &registrar, &response(&damaged)), expected, 502);
        let empty = sign_in(format, &signer, signer.chain(), b"{}");
        let refusal = answer(&scene, &registrar, &response(&empty)).unwrap_err();
        assert!(matches!(refusal, Refusal::Voucher(_)), "{refusal}");
        assert_eq!(refusal.status(), 502);
        refused(answer(&scene, &registrar, &response(&vec![0; MAX_LEN + 1])), Refusal::VoucherTooLong, 502);
        for content_type in [None, Some("text/html"), Some(other(format).media_type())] {
            refused(
                answer(&scene, &registrar, &MasaResponse { content_type, ..response(&body) }),
                Refusal::VoucherType,
                502,
            );
        }
    }
}

#[test]
fn a_voucher_of_tomorrow_passes_where_the_pledge_asked_for_it() {
    let scene = Scene::new();
    let look = |is_allowed: bool, accept: Option<&str>, content_type| {
        let registrar = scene.registrar(|policy| policy.manufacturers[0].opaque_vouchers = is_allowed);
        let body = scene.pledge_request(&scene.pledge_fields());
        let posted = Posted { accept, ..posted(&body) };
        let request = registrar.read_voucher_request(scene.idevid.chain(), &posted, now()).unwrap();
        let response =
            MasaResponse { status: 200, content_type: Some(content_type), retry_after: None, body: b"opaque" };
        match registrar.read_masa_response(&request, &response, now())? {
            Answer::Voucher(voucher) => Ok((voucher.content_type, voucher.findings.is_none())),
            other => panic!("{other:?}"),
        }
    };
    let tomorrow = "application/voucher-of-tomorrow";
    let both = Some("application/voucher-cms+json, application/voucher-of-tomorrow");
    assert_eq!(look(true, both, tomorrow), Ok((tomorrow.into(), true)));
    assert_eq!(look(false, both, tomorrow), Err(Refusal::VoucherType));
    assert_eq!(look(true, Some(VOUCHER_CMS_JSON), tomorrow), Err(Refusal::VoucherType));
    assert_eq!(look(true, None, tomorrow), Err(Refusal::VoucherType));
    // A pledge that takes anything has not said that it reads this as a voucher.
    for (accept, content_type) in
        [("*/*", "text/html"), ("application/*", tomorrow), ("application/*", "application/*")]
    {
        assert_eq!(look(true, Some(accept), content_type), Err(Refusal::VoucherType), "{accept}");
    }
}

#[test]
fn the_status_of_a_masa_has_a_meaning_for_the_pledge() {
    let scene = Scene::new();
    let registrar = scene.registrar(|_| {});
    let status =
        |status| answer(&scene, &registrar, &MasaResponse { status, content_type: None, retry_after: None, body: b"" });
    for later in [202, 408, 429, 500, 503] {
        assert_eq!(status(later), Ok(Answer::Later { retry_after: 30 }), "{later}");
    }
    for (said, expected) in [(0, 1), (10, 10), (60, 60), (3_600, 60), (u64::MAX, 60)] {
        let response = MasaResponse { status: 503, content_type: None, retry_after: Some(said), body: b"" };
        assert_eq!(answer(&scene, &registrar, &response), Ok(Answer::Later { retry_after: expected }));
    }
    for (theirs, ours) in
        [(403, 403), (404, 404), (406, 406), (415, 415), (401, 403), (400, 502), (302, 502), (204, 502), (100, 502)]
    {
        // To a pledge a 401 would mean that somebody is between it and the registrar.
        refused(status(theirs), Refusal::Masa(theirs), ours);
    }
}

#[test]
fn the_text_of_an_error_cannot_deceive() {
    assert_eq!(text_for_people(b" The device was stolen.\n"), Some("The device was stolen."));
    assert_eq!(text_for_people("Das Gerät ist gesperrt.".as_bytes()), Some("Das Gerät ist gesperrt."));
    let deceptive =
        ["sold\n12:00 INFO the device is good", "a\rb", "a\tb", "a\u{202e}b", "a\u{2028}b"].map(str::as_bytes);
    for body in [&b""[..], b" \n", b"\xff", b"a\x1b[2Jb", &[b'a'; 1_025]].into_iter().chain(deceptive) {
        assert_eq!(text_for_people(body), None, "{body:?}");
    }
}
