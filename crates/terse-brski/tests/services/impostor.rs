//! A domain whose CA certificate carries the public subject key identifier of another domain's: it asks first, and keeps nobody
//! out; and the other domain's registrar notices (RFC 8995, 5.8.2 and 5.8.3).

use pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};
use terse_brski::audit_log::AuditLog;
use terse_brski::certificate::domain_id;
use terse_brski::cms::Unsigned;
use terse_brski::masa::{Claims, Context, Issuance, Policy, Refusal};
use terse_brski::registrar::{AuditRefused, History};
use terse_brski::voucher::Pin;
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::Hash;

use super::roles::{MasaService, forward};
use super::scene::{Scene, decide, nonce, now};

/// A registrar and the CA that has issued its certificate.
pub(crate) struct Impostor {
    chain: [CertificateDer<'static>; 2],
    key: KeyPair,
}

impl Impostor {
    /// Makes a CA whose subject key identifier is made by this method of its key, which is on P-256.
    fn with_key_identifier(identifier: impl FnOnce(&KeyPair) -> Vec<u8>) -> Self {
        let (ca_key, key) = (key(), key());
        let mut ca = params("Impostor");
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        ca.key_identifier_method = KeyIdMethod::PreSpecified(identifier(&ca_key));
        let mut registrar = params("registrar.impostor.example");
        registrar.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        registrar.extended_key_usages = vec![ExtendedKeyUsagePurpose::Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 28])];
        let leaf = registrar.signed_by(&key, &Issuer::from_params(&ca, &ca_key)).unwrap().der().clone();
        let root = ca.self_signed(&ca_key).unwrap().der().clone();
        Self { chain: [leaf, root], key }
    }

    /// Makes one whose CA has the subject key identifier of `victim`'s, which its certificates show to everybody.
    pub(crate) fn of(victim: &Scene) -> Self {
        Self::with_key_identifier(|_| domain_id(&PROVIDER, &victim.chain()[1]).unwrap())
    }

    /// Asks for a voucher for the device of `scene`, which has seen this registrar.
    pub(crate) fn request(&self, scene: &Scene) -> Vec<u8> {
        let mut fields = scene.pledge_fields();
        fields.proximity_registrar = vec![Pin::Certificate(self.chain[0].clone())];
        fields.nonce = nonce("the impostor's");
        let mut request = scene.registrar_fields(Some(scene.pledge_request(&fields)));
        request.nonce = fields.nonce;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let key = PROVIDER.load_key(&key).unwrap();
        let unsigned = Unsigned::new(&PROVIDER, &request.to_json(), &self.chain, key.schemes()[0], Some(now()));
        unsigned.unwrap().sign(&*key, &mut SeededRng::new(7)).unwrap()
    }
}

fn key() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap()
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = rcgen::date_time_ymd(2025, 1, 1);
    params.not_after = rcgen::date_time_ymd(2035, 1, 1);
    params
}

/// Whether the MASA gives a domain a voucher although another key has had one under the domainID.
fn gets_a_voucher(domain: &Impostor) -> Result<(), Refusal> {
    let scene = Scene::new();
    let mut policy = Policy::default();
    policy.claims = Claims::Always;
    let masa = scene.masa(policy);
    let Issuance { mut entry, .. } = decide(&masa, &domain.request(&scene), &scene.context())?;
    (entry.key, entry.nonce) = ([9; 32], nonce("of the other key"));
    let context = Context { log: &[entry], ..scene.context() };
    decide(&masa, &domain.request(&scene), &context).map(|_| ())
}

#[test]
fn a_key_identifier_that_is_made_of_the_key_is_never_taken() {
    let suite = |len| {
        let hashes = PROVIDER.tls13_suites.iter().map(|suite| suite.hash);
        hashes.into_iter().find(|hash: &&dyn Hash| hash.output_len() == len).unwrap()
    };
    let (sha1, sha512) = (PROVIDER.sha1.unwrap(), PROVIDER.sha512.unwrap());
    let sha256 = |data: &[u8]| suite(32).hash(&[data]).as_ref().to_vec();
    let sha384 = |data: &[u8]| suite(48).hash(&[data]).as_ref().to_vec();
    // The subjectPublicKey of a key on P-256 is a point of 65 bytes, which ends its SubjectPublicKeyInfo.
    let whole = |key: &KeyPair| key.subject_public_key_info();
    let point = |key: &KeyPair| whole(key).split_off(26);
    // RFC 5280, 4.2.1.2, method 1, and RFC 7093, 2.
    assert_eq!(gets_a_voucher(&Impostor::with_key_identifier(|key| sha1(&point(key)).to_vec())), Ok(()));
    for hash in [&sha256 as &dyn Fn(&[u8]) -> Vec<u8>, &sha384, &|data| sha512(data).to_vec()] {
        assert_eq!(gets_a_voucher(&Impostor::with_key_identifier(|key| hash(&point(key))[..20].to_vec())), Ok(()));
        assert_eq!(gets_a_voucher(&Impostor::with_key_identifier(|key| hash(&whole(key))[..20].to_vec())), Ok(()));
        assert_eq!(gets_a_voucher(&Impostor::with_key_identifier(|key| hash(&whole(key)))), Ok(()));
    }
    // Whatever is not made of the key, or is so short that another key can be found with it (method 2 of RFC 5280).
    let taken = Err(Refusal::DomainIdTaken);
    assert_eq!(gets_a_voucher(&Impostor::with_key_identifier(|_| vec![7; 20])), taken);
    assert_eq!(gets_a_voucher(&Impostor::with_key_identifier(|key| sha256(&point(key))[..19].to_vec())), taken);
    let method_2 = Impostor::with_key_identifier(|key| {
        let mut identifier = sha1(&point(key))[12..].to_vec();
        identifier[0] = identifier[0] & 0x0f | 0x40;
        identifier
    });
    assert_eq!(gets_a_voucher(&method_2), taken);
}

#[test]
fn the_registrar_of_the_victim_sees_that_it_did_not_request_the_impostors_voucher() {
    let scene = Scene::new();
    let registrar = scene.registrar(|_| {});
    let mut policy = Policy::default();
    policy.claims = Claims::Always;
    let masa = MasaService::new(&scene, policy);
    masa.voucher(&Impostor::of(&scene).request(&scene), now()).unwrap();
    let (request, _) = forward(&scene, &registrar, &masa);
    let log = AuditLog::from_json(&masa.audit_log(&request), 16_384).unwrap();
    assert_eq!(log.events.len(), 2);
    assert_eq!(log.events[0].domain_id, log.events[1].domain_id, "one domainID under two keys");

    let pledge_request = scene.read_by(&registrar);
    let own = domain_id(&PROVIDER, &scene.chain()[1]).unwrap();
    let nonces = [pledge_request.nonce().clone()];
    let policy = &registrar.manufacturer(&pledge_request).unwrap().audit;
    let nonce = Some(pledge_request.nonce());
    let history = History { domain_ids: &[&own], nonce, nonces: Some(&nonces), nonceless: &[] };
    assert_eq!(policy.check(&log, &history), Err(AuditRefused::NotRequested));
}
