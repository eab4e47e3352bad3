//! Several domains want one device (RFC 8995, 5.5.1, 5.8 and 7.3): who gets a voucher, and who may read the audit log.

use pki_types::CertificateDer;
use terse_brski::digest::public_key_sha256;
use terse_brski::http::{JSON, Posted, VOUCHER_CMS_JSON};
use terse_brski::masa::{
    Claims, Context, Device, Issuance, LogEntry, Masa, PinChoice, Policy, Refusal, RegistrarRequest,
};
use terse_brski::voucher::{Assertion, Pin};
use terse_pki::Credential;
use terse_rustcrypto::PROVIDER;

use super::impostor::Impostor;
use super::scene::{Scene, at, authority, decide, issue, now, posted, registrar_credential, sign};

/// A request of another registrar for the device of `scene`, which the pledge has seen.
fn request_of(scene: &Scene, registrar: &Credential, chain: &[CertificateDer<'_>]) -> Vec<u8> {
    let mut fields = scene.pledge_fields();
    fields.proximity_registrar = vec![Pin::Certificate(registrar.leaf().clone())];
    let fields = scene.registrar_fields(Some(scene.pledge_request(&fields)));
    sign(registrar, chain, &fields.to_json())
}

fn owned_by(scene: &Scene, issuance: &Issuance) -> Device {
    Device { owner: Some(issuance.entry.key), ..scene.device.clone() }
}

fn claims(claims: Claims) -> Policy {
    let mut policy = Policy::default();
    policy.claims = claims;
    policy
}

#[test]
fn the_first_domain_has_the_device_until_it_is_released() {
    let scene = Scene::new();
    let masa = scene.masa(Policy::default());
    let first = decide(&masa, &scene.good_request(), &scene.context()).unwrap();
    let device = owned_by(&scene, &first);
    let context = Context { device: Some(&device), ..Context::default() };

    let other = Scene::with_domain(authority("Other", "p256x3"));
    let claim = request_of(&scene, &other.registrar, &other.chain());
    let refusal = decide(&masa, &claim, &context).unwrap_err();
    assert_eq!((refusal, refusal.status()), (Refusal::Claimed, 403));
    // The owner may have another voucher.
    decide(&masa, &scene.good_request(), &context).unwrap();
    // Released, it is for the next.
    assert_eq!(decide(&masa, &claim, &scene.context()).unwrap().voucher.assertion, Assertion::Proximity);
    // A manufacturer that gives vouchers to everybody says so in the audit log.
    let always = scene.masa(claims(Claims::Always));
    assert_eq!(decide(&always, &claim, &context).unwrap().entry.key, scene_key(&other.chain()[1]));
}

fn scene_key(certificate: &CertificateDer<'_>) -> [u8; 32] {
    public_key_sha256(&PROVIDER, certificate).unwrap()
}

#[test]
fn another_registrar_under_the_pinned_ca_is_of_the_same_domain() {
    let scene = Scene::new();
    let masa = scene.masa(Policy::default());
    let first = decide(&masa, &scene.good_request(), &scene.context()).unwrap();
    let device = owned_by(&scene, &first);
    let context = Context { device: Some(&device), ..Context::default() };
    let replica = registrar_credential(&scene.domain);
    let root = scene.domain.root().clone();
    let chain = [replica.chain(), &[root]].concat();
    decide(&masa, &request_of(&scene, &replica, &chain), &context).unwrap();
    // Without the CA nobody can tell.
    let alone = request_of(&scene, &replica, &chain[..1]);
    assert_eq!(decide(&masa, &alone, &context).unwrap_err(), Refusal::Claimed);
    // A registrar that was pinned itself is not another one of its CA.
    let mut policy = Policy::default();
    policy.pin = PinChoice::Registrar;
    let masa = scene.masa(policy);
    let first = decide(&masa, &scene.good_request(), &scene.context()).unwrap();
    let device = owned_by(&scene, &first);
    let context = Context { device: Some(&device), ..Context::default() };
    decide(&masa, &scene.good_request(), &context).unwrap();
    assert_eq!(decide(&masa, &request_of(&scene, &replica, &chain), &context).unwrap_err(), Refusal::Claimed);
}

#[test]
fn the_owners_certificates_help_nobody_else() {
    // They are public: everybody can send them along.
    let scene = Scene::new();
    let masa = scene.masa(Policy::default());
    let first = decide(&masa, &scene.good_request(), &scene.context()).unwrap();
    let device = owned_by(&scene, &first);
    let context = Context { device: Some(&device), log: &[first.entry], ..Context::default() };
    let thief = Scene::with_domain(authority("Thief", "p256x3"));
    let chain = [thief.chain(), scene.chain()].concat();
    let claim = request_of(&scene, &thief.registrar, &chain);
    assert_eq!(decide(&masa, &claim, &context).unwrap_err(), Refusal::Claimed);
    let request = masa.read_audit_log_request(&posted(&claim), now()).unwrap();
    assert_eq!(masa.audit_log(&request, context.log).unwrap_err(), Refusal::NeverOwner);
}

#[test]
fn nobody_takes_the_domain_id_of_another() {
    // A certificate has the key identifier that its issuer likes: here that of the victim's CA.
    let victim = Scene::new();
    let masa = victim.masa(claims(Claims::Always));
    let issuance = decide(&masa, &victim.good_request(), &victim.context()).unwrap();
    let claim = Impostor::of(&victim).request(&victim);
    let context = Context { log: std::slice::from_ref(&issuance.entry), ..victim.context() };
    let refusal = decide(&masa, &claim, &context).unwrap_err();
    assert_eq!((refusal, refusal.status()), (Refusal::DomainIdTaken, 403));
    // Nor does it open the log: the key counts.
    let read = masa.read_audit_log_request(&posted(&claim), now()).unwrap();
    assert_eq!(masa.audit_log(&read, std::slice::from_ref(&issuance.entry)).unwrap_err(), Refusal::NeverOwner);
    decide(&masa, &victim.good_request(), &context).unwrap();
}

#[test]
fn an_impostor_who_was_first_does_not_lock_a_domain_out() {
    let victim = Scene::new();
    let claim = Impostor::of(&victim).request(&victim);
    for policy in [claims(Claims::Always), Policy::default()] {
        let is_first_come = policy.claims == Claims::FirstCome;
        let masa = victim.masa(policy);
        let stolen = decide(&masa, &claim, &victim.context()).unwrap();
        // Who owns the device is told by the key, whatever domainID it has.
        let owned = owned_by(&victim, &stolen);
        let context = Context { device: Some(&owned), log: std::slice::from_ref(&stolen.entry), ..Context::default() };
        let claimed = decide(&masa, &victim.good_request(), &context).map(|_| ());
        assert_eq!(claimed, if is_first_come { Err(Refusal::Claimed) } else { Ok(()) });
        // Released, it is for the one whose key the domainID is made of.
        let context = Context { device: Some(&victim.device), ..context };
        let issuance = decide(&masa, &victim.good_request(), &context).unwrap();
        assert_eq!(issuance.entry.domain_id, stolen.entry.domain_id);
        assert_ne!(issuance.entry.key, stolen.entry.key);
    }
}

#[test]
fn a_domain_without_a_record_is_told_by_its_key_too() {
    // The device has no record, and the last entry of its log says who has it.
    let victim = Scene::new();
    let mut policy = Policy::default();
    policy.devices_without_record = true;
    let masa = victim.masa(policy);
    let first = decide(&masa, &victim.good_request(), &Context::default()).unwrap();
    let context = Context { log: std::slice::from_ref(&first.entry), ..Context::default() };
    let claim = Impostor::of(&victim).request(&victim);
    assert_eq!(decide(&masa, &claim, &context).unwrap_err(), Refusal::Claimed);
    decide(&masa, &victim.good_request(), &context).unwrap();
}

fn read_log_request(masa: &Masa, request: &[u8], accept: Option<&str>) -> Result<RegistrarRequest, Refusal> {
    let posted = Posted { content_type: Some(VOUCHER_CMS_JSON), accept, body: request };
    masa.read_audit_log_request(&posted, at(now().as_secs() + 30 * 86_400))
}

#[test]
fn every_owner_may_read_the_audit_log_and_nobody_else() {
    let scene = Scene::new();
    let masa = scene.masa(claims(Claims::Always));
    let first = decide(&masa, &scene.good_request(), &scene.context()).unwrap();
    let other = Scene::with_domain(authority("Other", "p256x2"));
    let claim = request_of(&scene, &other.registrar, &other.chain());
    let second = decide(&masa, &claim, &scene.context()).unwrap();
    let second = LogEntry { date: at(first.entry.date.as_secs() + 1), ..second.entry };
    let log = [first.entry, second];
    // The same bytes, a month later, and with the Accept of a voucher or of a log.
    for request in [&scene.good_request(), &claim] {
        for accept in [None, Some(VOUCHER_CMS_JSON), Some(JSON)] {
            let request = read_log_request(&masa, request, accept).unwrap();
            let answer = masa.audit_log(&request, &log).unwrap();
            let domains: Vec<_> = answer.events.iter().map(|event| event.domain_id.clone()).collect();
            assert_eq!(domains, [log[1].domain_id.clone(), log[0].domain_id.clone()], "the newest first");
            assert_eq!(answer.version, 1);
        }
    }
    let stranger = Scene::with_domain(authority("Stranger", "p256x3"));
    let request = request_of(&scene, &stranger.registrar, &stranger.chain());
    let request = read_log_request(&masa, &request, None).unwrap();
    let refusal = masa.audit_log(&request, &log).unwrap_err();
    assert_eq!((refusal, refusal.status()), (Refusal::NeverOwner, 404));
    assert_eq!(masa.audit_log(&request, &[]).unwrap_err(), Refusal::NeverOwner);
    let refusal = read_log_request(&masa, &claim, Some("text/html")).unwrap_err();
    assert_eq!(refusal, Refusal::AcceptNotUnderstood);
}

#[test]
fn manufacturers_may_number_devices_alike() {
    // Two manufacturers, one MASA each, one serial number: each knows its own device by its issuer.
    let (one, two) = (Scene::new(), Scene::new());
    assert_eq!(one.device.serial_number, two.device.serial_number);
    let refusal = decide(&one.masa(Policy::default()), &one.good_request(), &two.context()).unwrap_err();
    assert_eq!(refusal, Refusal::UnknownDevice);
    // One MASA for both.
    let anchors = [one.maker.root().clone(), two.maker.root().clone()];
    let both = Masa::new(&PROVIDER, &anchors, Policy::default()).unwrap();
    for (scene, other) in [(&one, &two), (&two, &one)] {
        let request = both.read_voucher_request(&posted(&scene.good_request()), now()).unwrap();
        let issuance = issue(&both, &request, &scene.context()).unwrap();
        assert_eq!(issuance.voucher.idevid_issuer.as_deref(), Some(scene.device.idevid_issuer.as_slice()));
        assert_eq!(issue(&both, &request, &other.context()).unwrap_err(), Refusal::UnknownDevice);
    }
}
