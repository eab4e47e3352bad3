//! Whatever bytes come, a service answers with a refusal, or with a decision about what was signed.

use proptest::prelude::*;
use terse_brski::artefact::Format;
use terse_brski::est::CsrAttributes;
use terse_brski::http::Posted;
use terse_brski::masa::Policy;
use terse_brski::registrar::{MasaResponse, check_certification_request, text_for_people};

use super::scene::{Scene, now, posted};

/// A change of some bytes: at a place, to a value; or the end cut off there.
fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, bool)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), prop::bool::weighted(0.1)), 1..4)
}

fn changed(good: &[u8], changes: &[(prop::sample::Index, u8, bool)]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for (at, value, is_cut) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = at.index(bytes.len());
        match is_cut {
            true => bytes.truncate(at),
            false => bytes[at] = *value,
        }
    }
    bytes
}

thread_local! {
    static SCENES: [Scene; 2] = Format::ALL.map(Scene::of);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_changed_request_to_a_masa_has_its_content_or_is_refused(changes in changes(), form in 0..2_usize) {
        SCENES.with(|scenes| {
            let scene = &scenes[form];
            let good = scene.good_request();
            let read = scene.masa(Policy::default()).read_voucher_request(&Posted { body: &changed(&good, &changes), ..posted(&good) }, now());
            match read {
                Ok(request) => {
                    prop_assert_eq!(request.serial_number(), "WI-3005");
                    prop_assert!(request.path().certificates().len() <= 3);
                }
                Err(refusal) => prop_assert!((400..500).contains(&refusal.status())),
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_changed_request_to_a_registrar_has_its_content_or_is_refused(changes in changes(), form in 0..2_usize) {
        SCENES.with(|scenes| {
            let scene = &scenes[form];
            let good = scene.pledge_request(&scene.pledge_fields());
            let body = changed(&good, &changes);
            let registrar = scene.registrar(|_| {});
            match registrar.read_voucher_request(scene.idevid.chain(), &Posted { body: &body, ..posted(&good) }, now()) {
                Ok(request) => prop_assert_eq!(request.nonce().as_bytes(), b"base64-or-not"),
                Err(refusal) => prop_assert!((400..500).contains(&refusal.status())),
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_changed_client_certificate_is_refused(changes in changes()) {
        SCENES.with(|[scene, _]| {
            let body = scene.pledge_request(&scene.pledge_fields());
            let certificate = changed(scene.idevid.leaf(), &changes);
            let is_changed = certificate != **scene.idevid.leaf();
            let registrar = scene.registrar(|_| {});
            let read = registrar.read_voucher_request(&[certificate.into()], &posted(&body), now());
            prop_assert_eq!(read.is_err(), is_changed);
            Ok(())
        })?;
    }

    #[test]
    fn garbage_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..600), accept in ".{0,60}", form in 0..2_usize) {
        SCENES.with(|scenes| {
            let scene = &scenes[form];
            let content_type = Some(scene.format.media_type());
            let posted = Posted { content_type, accept: Some(&accept), body: &bytes };
            prop_assert!(scene.masa(Policy::default()).read_voucher_request(&posted, now()).is_err());
            let registrar = scene.registrar(|_| {});
            prop_assert!(registrar.read_voucher_request(scene.idevid.chain(), &posted, now()).is_err());
            let response = MasaResponse { status: 200, content_type, retry_after: None, body: &bytes };
            prop_assert!(registrar.read_masa_response(&scene.read_by(&registrar), &response, now()).is_err());
            let attributes = CsrAttributes::default();
            prop_assert!(check_certification_request(&bytes, &attributes).is_err());
            prop_assert!(text_for_people(&bytes).is_none_or(|text| !text.contains('\x1b')));
            Ok(())
        })?;
    }
}
