//! The certificates that come with a registrar's request: which paths are consistent, and which certificate is pinned
//! (RFC 8995, 5.5.2 to 5.5.4).

use pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CrlDistributionPoint, CustomExtension,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, RevokedCertParams,
};
use terse_brski::Malformed;
use terse_brski::cms::Unsigned;
use terse_brski::http::Posted;
use terse_brski::masa::{Context, Nonceless, PinChoice, Policy, Refusal, RegistrarRequest, RevocationStatus};
use terse_brski::voucher::{Pin, VoucherRequest};
use terse_pki::{Authority, Credential, KeyPurpose, RegistrarOptions, Revocation, Validity};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::CertificateError;

use super::scene::{NOW, Scene, at, authority, decide, issue, now, posted, registrar_credential, sign};

/// What the MASA makes of a good request that `signer` signs with these certificates.
fn read_from(
    scene: &Scene,
    signer: &Credential,
    chain: &[CertificateDer<'_>],
    time: u64,
) -> Result<RegistrarRequest, Refusal> {
    let pledge_request = scene.pledge_request(&scene.pledge_fields());
    let request = sign(signer, chain, &scene.registrar_fields(Some(pledge_request)).to_json());
    scene.masa(Policy::default()).read_voucher_request(&posted(&request), at(time))
}

fn read(scene: &Scene, chain: &[CertificateDer<'_>]) -> Result<RegistrarRequest, Refusal> {
    read_from(scene, &scene.registrar, chain, NOW)
}

#[test]
fn chains_of_one_to_four_certificates_are_pinned_as_the_policy_says() {
    for levels in 1..=4_usize {
        // One more than is sent, since terse-pki's smallest chain has two.
        let scene = Scene::with_domain(authority("Plant", &format!("p256x{}", levels.max(2))));
        let chain = &scene.chain()[..levels];
        let nonced = |pin| {
            let mut policy = Policy::default();
            policy.pin = pin;
            let pledge_request = scene.pledge_request(&scene.pledge_fields());
            let fields = scene.registrar_fields(Some(pledge_request));
            let request = sign(&scene.registrar, chain, &fields.to_json());
            decide(&scene.masa(policy), &request, &scene.context()).unwrap().voucher.pins
        };
        let nonceless = |pin| {
            let mut policy = Policy::default();
            policy.nonceless = Some(Nonceless { lifetime: 1_200, pin });
            let mut fields = scene.registrar_fields(None);
            fields.nonce = None;
            let request = sign(&scene.registrar, chain, &fields.to_json());
            let context = Context { customer: Some("Plant"), ..scene.context() };
            decide(&scene.masa(policy), &request, &context).unwrap().voucher.pins
        };
        let pin = |height: usize| vec![Pin::Certificate(chain[height].clone())];
        for (choice, height) in
            [(PinChoice::Registrar, 0), (PinChoice::LowestCa, 1.min(levels - 1)), (PinChoice::Highest, levels - 1)]
        {
            assert_eq!(nonced(choice), pin(height), "{levels} {choice:?}");
            assert_eq!(nonceless(choice), pin(height), "{levels} {choice:?}");
        }
    }
}

#[test]
fn the_order_of_certificates_does_not_count() {
    let scene = Scene::with_domain(authority("Plant", "p256x4"));
    let chain = scene.chain();
    let mut shuffled = chain.clone();
    shuffled[1..].reverse();
    shuffled.push(authority("Another", "p256x2").root().clone());
    for sent in [&chain, &shuffled] {
        let request = read(&scene, sent).unwrap();
        assert_eq!(request.path().certificates().cloned().collect::<Vec<_>>(), chain);
    }
}

#[test]
fn a_path_ends_where_an_issuer_is_missing() {
    let scene = Scene::with_domain(authority("Plant", "p256x4"));
    let chain = scene.chain();
    let gap = [chain[0].clone(), chain[1].clone(), chain[3].clone()];
    let request = read(&scene, &gap).unwrap();
    assert_eq!(request.path().certificates().cloned().collect::<Vec<_>>(), chain[..2]);
}

#[test]
fn of_two_cas_with_one_name_the_one_that_signed_is_found() {
    let scene = Scene::with_domain(authority("Plant", "p256x2"));
    let namesake = authority("Plant", "p256x2").root().clone();
    let root = scene.domain.root().clone();
    for others in [[namesake.clone(), root.clone()], [root.clone(), namesake.clone()]] {
        let chain = [&[scene.registrar.leaf().clone()][..], &others].concat();
        let request = read(&scene, &chain).unwrap();
        assert_eq!(request.path().certificates().nth(1), Some(&root));
        let issuance = issue(&scene.masa(Policy::default()), &request, &scene.context()).unwrap();
        assert_eq!(issuance.voucher.pins, [Pin::Certificate(root.clone())]);
    }
    // The namesake alone is not the issuer.
    let refusal = read(&scene, &[scene.registrar.leaf().clone(), namesake]).unwrap_err();
    assert!(matches!(refusal, Refusal::Registrar(_)), "{refusal}");
    assert_eq!(refusal.status(), 403);
}

#[test]
fn a_signer_without_cmc_ra_is_no_registrar() {
    let scene = Scene::new();
    let mut options = RegistrarOptions::new("registrar.plant.example", Validity::days(NOW - 1, 9));
    options.purposes = vec![KeyPurpose::ServerAuth, KeyPurpose::ClientAuth];
    let server = scene.domain.issue_registrar(&options).unwrap();
    for len in 1..=3 {
        let mut chain = server.chain().to_vec();
        chain.push(scene.domain.root().clone());
        let refusal = read_from(&scene, &server, &chain[..len], NOW).unwrap_err();
        assert_eq!((refusal, refusal.status()), (Refusal::NotRegistrar, 403));
    }
    // A device of the domain is no registrar either (RFC 8995, 5.5.4).
    let refusal = read_from(&scene, &scene.idevid, scene.idevid.chain(), NOW).unwrap_err();
    assert_eq!(refusal, Refusal::NotRegistrar);
    // cmcRA alone is enough, as in the example of the RFC.
    options.purposes = vec![KeyPurpose::CmcRa];
    let registrar = scene.domain.issue_registrar(&options).unwrap();
    let chain = [registrar.chain(), &[scene.domain.root().clone()]].concat();
    assert_eq!(read_from(&scene, &registrar, &chain, NOW).unwrap().path().certificates().len(), 3);
}

#[test]
fn a_certificate_outside_of_its_validity_is_refused() {
    let scene = Scene::new();
    for (time, depth) in [(NOW + 366 * 86_400, 0), (NOW - 90_000, 0)] {
        for len in 1..=3 {
            let refusal = read_from(&scene, &scene.registrar, &scene.chain()[..len], time).unwrap_err();
            let found = match refusal {
                Refusal::Registrar(
                    CertificateError::Expired { depth, .. } | CertificateError::NotYetValid { depth, .. },
                ) => depth,
                other => panic!("{other}"),
            };
            assert_eq!(found, depth, "{refusal}");
        }
    }
    // The CA ends before the registrar's certificate.
    let options = terse_pki::AuthorityOptions::new("p256x2".parse().unwrap(), Validity::days(NOW - 10 * 86_400, 5));
    let ended = Authority::new(&options).unwrap();
    let registrar = registrar_credential(&ended);
    let chain = [registrar.leaf().clone(), ended.root().clone()];
    let refusal = read_from(&scene, &registrar, &chain, NOW).unwrap_err();
    assert!(matches!(refusal, Refusal::Registrar(CertificateError::Expired { depth: 1, .. })), "{refusal}");
}

/// A certificate of any kind, and its key.
pub(crate) struct Odd {
    pub(crate) der: CertificateDer<'static>,
    key: KeyPair,
    params: CertificateParams,
}

impl Odd {
    pub(crate) fn new(name: &str, issuer: Option<&Self>, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = rcgen::date_time_ymd(2025, 1, 1);
        params.not_after = rcgen::date_time_ymd(2035, 1, 1);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.serial_number = Some(name.as_bytes().to_vec().into());
        change(&mut params);
        let certificate = match issuer {
            None => params.self_signed(&key).unwrap(),
            Some(issuer) => params.signed_by(&key, &Issuer::from_params(&issuer.params, &issuer.key)).unwrap(),
        };
        Self { der: certificate.into(), key, params }
    }

    /// A CA that may sign CRLs, and that others may revoke: its CRL distribution point has this name.
    fn revocable_ca(name: &str, issuer: &Self, crl_name: &[u8]) -> Self {
        Self::new(name, Some(issuer), |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            params.custom_extensions = vec![crl_distribution_point(crl_name)];
        })
    }

    /// Issues a CRL with the certificates that have these serial numbers.
    fn crl(&self, revoked: &[&Self], until: i32) -> CertificateRevocationListDer<'static> {
        let revoked = revoked.iter().map(|odd| RevokedCertParams {
            serial_number: odd.params.serial_number.clone().unwrap(),
            revocation_time: rcgen::date_time_ymd(2025, 1, 2),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2025, 1, 2),
            next_update: rcgen::date_time_ymd(until, 6, 1),
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: rcgen::KeyIdMethod::Sha256,
        };
        params.signed_by(&Issuer::from_params(&self.params, &self.key)).unwrap().into()
    }

    pub(crate) fn ca(name: &str) -> Self {
        Self::new(name, None, |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        })
    }

    /// Returns a certificate of the same name and key, signed by itself, after this change.
    pub(crate) fn copy(&self, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut params = self.params.clone();
        change(&mut params);
        let key = KeyPair::try_from(self.key.serialize_der()).unwrap();
        Self { der: params.self_signed(&key).unwrap().into(), key, params }
    }

    /// Returns a certificate of the same name and key that `issuer` has signed.
    pub(crate) fn copy_under(&self, issuer: &Self) -> Self {
        let key = KeyPair::try_from(self.key.serialize_der()).unwrap();
        let der = self.params.signed_by(&key, &Issuer::from_params(&issuer.params, &issuer.key)).unwrap().into();
        Self { der, key, params: self.params.clone() }
    }

    /// Signs a request with these certificates.
    pub(crate) fn sign(&self, chain: &[CertificateDer<'_>], fields: &VoucherRequest) -> Vec<u8> {
        let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let key = PROVIDER.load_key(&der).unwrap();
        let unsigned = Unsigned::new(&PROVIDER, &fields.to_json(), chain, key.schemes()[0], Some(now())).unwrap();
        unsigned.sign(&*key, &mut SeededRng::new(7)).unwrap()
    }

    fn read(&self, scene: &Scene, others: &[&Self]) -> Result<RegistrarRequest, Refusal> {
        let mut chain = vec![self.der.clone()];
        chain.extend(others.iter().map(|other| other.der.clone()));
        let mut fields = scene.pledge_fields();
        fields.proximity_registrar = vec![Pin::Certificate(self.der.clone())];
        let request = self.sign(&chain, &scene.registrar_fields(Some(scene.pledge_request(&fields))));
        scene.masa(Policy::default()).read_voucher_request(&posted(&request), now())
    }
}

/// A CRL distribution point with a distributionPoint of this encoding.
fn crl_distribution_point(name: &[u8]) -> CustomExtension {
    let tlv = |tag: u8, contents: &[u8]| [&[tag, contents.len() as u8][..], contents].concat();
    CustomExtension::from_oid_content(&[2, 5, 29, 31], tlv(0x30, &tlv(0x30, &tlv(0xa0, name))))
}

/// The fullName `http://crl.example`.
const URL: &[u8] = b"\xa0\x14\x86\x12http://crl.example";

/// The fullName of a directory: an empty directoryName.
const DIRECTORY: &[u8] = &[0xa0, 4, 0xa4, 2, 0x30, 0];

pub(crate) fn cmc_ra(params: &mut CertificateParams) {
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 28])];
}

#[test]
fn a_self_signed_registrar_is_its_own_domain() {
    let scene = Scene::new();
    let masa = scene.masa(Policy::default());
    let end_entity = Odd::new("registrar", None, cmc_ra);
    let as_ca = Odd::new("registrar", None, |params| {
        cmc_ra(params);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    });
    for registrar in [&end_entity, &as_ca] {
        let request = registrar.read(&scene, &[]).unwrap();
        let issuance = issue(&masa, &request, &scene.context()).unwrap();
        assert_eq!(issuance.voucher.pins, [Pin::Certificate(registrar.der.clone())]);
    }
    let without = Odd::new("registrar", None, |_| {});
    assert_eq!(without.read(&scene, &[]).unwrap_err(), Refusal::NotRegistrar);
}

#[test]
fn the_key_of_a_registrar_must_be_for_signatures() {
    let registrar = Odd::new("registrar", None, |params| {
        cmc_ra(params);
        params.key_usages = vec![KeyUsagePurpose::KeyAgreement];
    });
    let refusal = registrar.read(&Scene::new(), &[]).unwrap_err();
    assert_eq!(refusal, Refusal::Registrar(CertificateError::WrongUsage));
}

#[test]
fn who_is_no_ca_cannot_make_registrars() {
    let scene = Scene::new();
    let ca = Odd::ca("Plant");
    let device = Odd::new("device", Some(&ca), |_| {});
    let registrar = Odd::new("registrar", Some(&device), cmc_ra);
    for others in [&[&device][..], &[&device, &ca]] {
        let refusal = registrar.read(&scene, others).unwrap_err();
        assert_eq!((refusal, refusal.status()), (Refusal::IssuerIsNoCa, 403));
    }
    // A CA that may sign no certificates is none.
    let signs_nothing = Odd::new("Plant", None, |params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    let registrar = Odd::new("registrar", Some(&signs_nothing), cmc_ra);
    assert_eq!(registrar.read(&scene, &[&signs_nothing]).unwrap_err(), Refusal::IssuerIsNoCa);
}

#[test]
fn a_ca_for_other_purposes_has_no_registrars() {
    let scene = Scene::new();
    let ca = Odd::ca("Plant");
    let servers = Odd::new("servers", Some(&ca), |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    let registrar = Odd::new("registrar", Some(&servers), cmc_ra);
    assert_eq!(registrar.read(&scene, &[&servers, &ca]).unwrap_err(), Refusal::Registrar(CertificateError::WrongUsage));
}

#[test]
fn a_domain_id_that_nobody_could_read_is_refused() {
    let scene = Scene::new();
    let masa = scene.masa(Policy::default());
    let with = |identifier: Vec<u8>| {
        let registrar = Odd::new("registrar", None, |params| {
            cmc_ra(params);
            let value = [&[0x04, identifier.len() as u8][..], &identifier].concat();
            params.custom_extensions = vec![CustomExtension::from_oid_content(&[2, 5, 29, 14], value)];
        });
        let request = registrar.read(&scene, &[]).unwrap();
        issue(&masa, &request, &scene.context()).map(|issuance| issuance.entry.domain_id)
    };
    assert_eq!(with(vec![7; 64]), Ok(vec![7; 64]));
    let refusal = with(vec![7; 65]).unwrap_err();
    assert_eq!((refusal, refusal.status()), (Refusal::DomainId(Malformed::TooLong(64)), 403));
    assert_eq!(with(vec![]), Err(Refusal::DomainId(Malformed::Invalid("subjectKeyIdentifier"))));
}

#[test]
fn crls_say_whether_a_registrar_is_revoked() {
    let scene = Scene::new();
    let crl = |issuer: usize, revoked: &[&CertificateDer<'_>], days| {
        let revoked: Vec<_> = revoked.iter().map(|der| Revocation::new(der, NOW - 9).unwrap()).collect();
        scene.domain.crl(issuer, &revoked, Validity::days(NOW - 10 * 86_400, days)).unwrap()
    };
    let chain = scene.chain();
    // The CA does not say how to look up its own revocation, so that only the registrar must be covered.
    for sent in [&chain[..], &chain[..2]] {
        let request = read(&scene, sent).unwrap();
        let status = |crls: &[CertificateRevocationListDer<'_>]| request.path().check_crls(&PROVIDER, crls, now());
        assert_eq!(status(&[crl(1, &[], 20)]), RevocationStatus::Good);
        assert_eq!(status(&[crl(1, &[&chain[0]], 20)]), RevocationStatus::Revoked);
        // That of another CA, one that is out of date, one that another has signed, and none say nothing.
        assert_eq!(status(&[crl(0, &[], 20)]), RevocationStatus::Unknown);
        assert_eq!(status(&[crl(1, &[], 5)]), RevocationStatus::Unknown);
        let foreign = authority("Plant", "p256x3").crl(1, &[], Validity::days(NOW - 10, 20)).unwrap();
        assert_eq!(status(&[foreign]), RevocationStatus::Unknown);
        assert_eq!(status(&[]), RevocationStatus::Unknown);
        assert_eq!(status(&[b"garbage".as_slice().into()]), RevocationStatus::Unknown);
    }
    // A revoked CA has no registrars.
    let request = read(&scene, &chain).unwrap();
    let crls = [crl(1, &[], 20), crl(0, &[&chain[1]], 20)];
    assert_eq!(request.path().check_crls(&PROVIDER, &crls, now()), RevocationStatus::Revoked);
    // Nobody has signed a CRL for a registrar that came alone.
    let request = read(&scene, &chain[..1]).unwrap();
    assert_eq!(request.path().check_crls(&PROVIDER, &[crl(1, &[], 20)], now()), RevocationStatus::Unknown);
}

#[test]
fn each_ca_that_can_be_revoked_must_be_looked_up() {
    let scene = Scene::new();
    let root = Odd::ca("Plant");
    let namesake = Odd::ca("Plant");
    for name in [URL, DIRECTORY] {
        let ca = Odd::revocable_ca("Hall", &root, name);
        let registrar = Odd::new("registrar", Some(&ca), cmc_ra);
        let status = |sent: &[&Odd], crls: &[CertificateRevocationListDer<'_>]| {
            registrar.read(&scene, sent).unwrap().path().check_crls(&PROVIDER, crls, now())
        };
        let (of_ca, of_root) = (ca.crl(&[], 2030), root.crl(&[], 2030));
        let whole = [&ca, &root];
        assert_eq!(status(&whole, &[of_ca.clone(), of_root.clone()]), RevocationStatus::Good);
        let revoked = [of_ca.clone(), root.crl(&[&ca], 2030)];
        assert_eq!(status(&whole, &revoked), RevocationStatus::Revoked);
        assert_eq!(status(&whole, &[ca.crl(&[&registrar], 2030)]), RevocationStatus::Revoked);
        // There is no CRL about the CA, or one that is out of date, or one that another has signed.
        assert_eq!(status(&whole, std::slice::from_ref(&of_ca)), RevocationStatus::Unknown);
        assert_eq!(status(&whole, &[of_ca.clone(), root.crl(&[], 2025)]), RevocationStatus::Unknown);
        assert_eq!(status(&whole, &[of_ca.clone(), namesake.crl(&[], 2030)]), RevocationStatus::Unknown);
        // The issuer of the CA did not come along: nothing verifies its CRL.
        assert_eq!(status(&[&ca], &[of_ca, of_root]), RevocationStatus::Unknown);
    }
}

#[test]
fn a_crl_that_is_named_in_another_form_must_be_looked_up() {
    let scene = Scene::new();
    let ca = Odd::ca("Plant");
    let registrar = Odd::new("registrar", Some(&ca), |params| {
        cmc_ra(params);
        params.custom_extensions = vec![crl_distribution_point(DIRECTORY)];
    });
    let request = registrar.read(&scene, &[&ca]).unwrap();
    assert_eq!((request.path().revocation_urls().next(), request.path().states_revocation()), (None, true));
    let refusal = issue(&scene.masa(Policy::default()), &request, &scene.context()).unwrap_err();
    assert_eq!(refusal, Refusal::RevocationUnknown);
    // Only the holder of a self-issued certificate could revoke it.
    let alone = Odd::new("registrar", None, |params| {
        cmc_ra(params);
        params.custom_extensions = vec![crl_distribution_point(URL)];
    });
    assert!(!alone.read(&scene, &[]).unwrap().path().states_revocation());
}

#[test]
fn a_certificate_that_names_a_crl_must_be_looked_up() {
    let scene = Scene::new();
    let ca = Odd::ca("Plant");
    let ocsp = CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], {
        let url = b"http://ocsp.plant.example/";
        let location = [&[0x86, url.len() as u8][..], url].concat();
        let method = [&[0x06, 8, 0x2b, 6, 1, 5, 5, 7, 48, 1][..], &location].concat();
        let access = [&[0x30, method.len() as u8][..], &method].concat();
        [&[0x30, access.len() as u8][..], &access].concat()
    });
    let registrar = Odd::new("registrar", Some(&ca), |params| {
        cmc_ra(params);
        params.crl_distribution_points = vec![CrlDistributionPoint { uris: vec!["http://crl.plant.example/1".into()] }];
        params.custom_extensions = vec![ocsp];
    });
    let request = registrar.read(&scene, &[&ca]).unwrap();
    let urls: Vec<_> = request.path().revocation_urls().collect();
    assert_eq!(urls, ["http://crl.plant.example/1", "http://ocsp.plant.example/"]);
    let decide = |accepts_unknown: bool, revocation| {
        let mut policy = Policy::default();
        policy.unknown_revocation_is_accepted = accepts_unknown;
        let context = Context { revocation, ..scene.context() };
        issue(&scene.masa(policy), &request, &context).map(|_| ())
    };
    assert_eq!(decide(false, RevocationStatus::Good), Ok(()));
    assert_eq!(decide(false, RevocationStatus::Unknown), Err(Refusal::RevocationUnknown));
    // The certificate does say how: whoever claims that it does not has not looked.
    assert_eq!(decide(false, RevocationStatus::NotStated), Err(Refusal::RevocationUnknown));
    assert_eq!(decide(true, RevocationStatus::Unknown), Ok(()));
    assert_eq!(decide(true, RevocationStatus::Revoked), Err(Refusal::Revoked));
    // What was learned is out of date.
    let learned = |next_update| {
        let (revocation, revocation_next_update) = (RevocationStatus::Good, Some(next_update));
        let context = Context { revocation, revocation_next_update, ..scene.context() };
        issue(&scene.masa(Policy::default()), &request, &context).map(|_| ())
    };
    assert_eq!(learned(now()), Ok(()));
    assert_eq!(learned(at(NOW - 1)), Err(Refusal::RevocationUnknown));
    let none: [CertificateRevocationListDer<'_>; 0] = [];
    assert_eq!(request.path().check_crls(&PROVIDER, &none, now()), RevocationStatus::Unknown);
}

#[test]
fn a_request_without_certificates_is_refused() {
    let scene = Scene::new();
    let body = b"\x30\x03\x02\x01\x01";
    let refusal = scene.masa(Policy::default()).read_voucher_request(&posted(body), now()).unwrap_err();
    assert!(matches!(refusal, Refusal::Signature(_)), "{refusal}");
    let empty = Posted { body: b"", ..posted(body) };
    let refusal = scene.masa(Policy::default()).read_voucher_request(&empty, now()).unwrap_err();
    assert!(matches!(refusal, Refusal::Signature(_)), "{refusal}");
}
