//! Tests that the check by hashes agrees with path validation, for lists of every kind; and of the replacement of
//! lists.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use std::sync::LazyLock;

use pki_types::{CertificateDer, ServerName};
use proptest::prelude::*;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CrlDistributionPoint,
    CrlIssuingDistributionPoint, CrlScope, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, RevokedCertParams, date_time_ymd,
};
use terse_testkit::pki::{SERVER_NAME, unix_time};

use super::*;
use crate::cert::tests::{provider, trusts};
use crate::cert::{Expect, Links, Trust, VerifiedPeer};
use crate::error::CertificateError;
use crate::proof::FinishedProof;

/// A CA. Each impostor has the name of another CA.
struct Ca {
    params: CertificateParams,
    key: KeyPair,
}

/// The CAs root, upper and lower, which issue a chain of three certificates. `chains` differ in whether the upper CA
/// may sign CRLs, and whether the leaf has a distribution point.
struct World {
    root: CertificateDer<'static>,
    chains: Vec<Vec<CertificateDer<'static>>>,
    lists: Vec<List>,
}

/// A CRL, and its properties.
#[derive(Debug)]
struct List {
    der: CertificateRevocationListDer<'static>,
    /// The issuer: 0 is root, 1 upper, 2 lower.
    issuer: usize,
    is_impostors: bool,
    /// Whether the list revokes the certificate that its issuer issued.
    revokes: bool,
    has_scope: bool,
    number: u64,
}

const URI: &str = "http://crl.example/1";

fn ca(name: &str) -> Ca {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid(&mut params);
    Ca { params, key: KeyPair::generate_for(&PKCS_ED25519).unwrap() }
}

fn valid(params: &mut CertificateParams) {
    (params.not_before, params.not_after) = (date_time_ymd(2025, 7, 1), date_time_ymd(2026, 7, 1));
}

impl Ca {
    fn certify(&self, mut params: CertificateParams, key: &KeyPair) -> CertificateDer<'static> {
        params.serial_number = Some(SERIAL_NUMBER.to_vec().into());
        params.signed_by(key, &Issuer::from_params(&self.params, &self.key)).unwrap().der().clone()
    }

    fn list(
        &self,
        is_current: bool,
        revokes: bool,
        scope: Option<Option<CrlScope>>,
        number: u64,
    ) -> CertificateRevocationListDer<'static> {
        let revoked = RevokedCertParams {
            serial_number: SERIAL_NUMBER.to_vec().into(),
            revocation_time: date_time_ymd(2025, 8, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let distribution_point = CrlDistributionPoint { uris: vec![URI.into()] };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2025, 8, 1),
            next_update: if is_current { date_time_ymd(2026, 2, 1) } else { date_time_ymd(2025, 12, 1) },
            crl_number: number.into(),
            issuing_distribution_point: scope.map(|scope| CrlIssuingDistributionPoint { distribution_point, scope }),
            revoked_certs: if revokes { vec![revoked] } else { Vec::new() },
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&Issuer::from_params(&self.params, &self.key)).unwrap().into()
    }
}

/// The serial number of all certificates, which differ in their issuers.
const SERIAL_NUMBER: &[u8] = &[0x5a, 1, 2, 3];

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let names = ["Root", "Upper", "Lower"];
    let (cas, impostors) = (names.map(ca), names.map(ca));
    let [root, upper, lower] = &cas;
    let leaf_key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let mut chains = Vec::new();
    for (upper_signs_crls, has_point) in [(true, false), (true, true), (false, false)] {
        let mut upper_params = upper.params.clone();
        if !upper_signs_crls {
            upper_params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        }
        let mut leaf = CertificateParams::new([SERVER_NAME.into()]).unwrap();
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        valid(&mut leaf);
        if has_point {
            leaf.crl_distribution_points = vec![CrlDistributionPoint { uris: vec![URI.into()] }];
        }
        let issuers = [upper.certify(lower.params.clone(), &lower.key), root.certify(upper_params, &upper.key)];
        chains.push([lower.certify(leaf, &leaf_key)].into_iter().chain(issuers).collect());
    }
    let mut lists = Vec::new();
    for (is_impostors, cas) in [(false, &cas), (true, &impostors)] {
        for (issuer, ca) in cas.iter().enumerate() {
            for (is_current, revokes) in [(true, false), (true, true), (false, false), (false, true)] {
                for scope in [None, Some(None), Some(Some(CrlScope::UserCertsOnly)), Some(Some(CrlScope::CaCertsOnly))]
                {
                    let has_scope = scope.is_some();
                    for number in [1, 200] {
                        let der = ca.list(is_current, revokes, scope, number); // 200 has one byte more
                        lists.push(List { der, issuer, is_impostors, revokes, has_scope, number });
                    }
                }
            }
        }
    }
    let root = root.params.self_signed(&root.key).unwrap().der().clone();
    World { root, chains, lists }
});

impl World {
    fn find(&self, issuer: usize, revokes: bool) -> CertificateRevocationListDer<'static> {
        let fits = |list: &&List| {
            (list.issuer, list.revokes, list.has_scope, list.is_impostors) == (issuer, revokes, false, false)
        };
        self.lists.iter().find(fits).unwrap().der.clone() // the first list of each kind is current
    }

    /// Returns a trust policy with only the list that is needed.
    fn trust(&self) -> Trust {
        let [building, _] = self.trusts();
        building
    }

    /// Returns the same with path building, and without.
    fn trusts(&self) -> [Trust; 2] {
        trusts(core::slice::from_ref(&self.root)).map(|trust| trust.with_crls(&[self.find(2, false)]).unwrap())
    }
}

fn verify(trust: &Trust, chain: &[CertificateDer<'_>]) -> Result<VerifiedPeer, CertificateError> {
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let role = Expect::Server(&name);
    trust.verify(chain, role, provider().signatures.all, Some(unix_time(0))).map(|checked| checked.peer)
}

/// Returns the links of a chain that was verified and learned.
fn links(trust: &Trust, chain: &[CertificateDer<'_>]) -> Links {
    let peer = verify(trust, chain).unwrap();
    trust.learn(&FinishedProof::after_finished(), &peer);
    peer.links().into()
}

fn check(trust: &Trust, links: &Links) -> Result<(), Unchecked> {
    trust.revocation_check(|| provider().signatures.all.to_vec(), Some(unix_time(0))).unwrap().check(links.as_slice())
}

fn replace(trust: &Trust, lists: &[CertificateRevocationListDer<'_>]) {
    trust.revocation().unwrap().replace(lists).unwrap();
}

#[test]
fn each_doubt() {
    let trust = WORLD.trust();
    let links = links(&trust, &WORLD.chains[0]);
    let (good, impostors) =
        (WORLD.find(2, false), WORLD.lists.iter().find(|list| list.is_impostors && list.issuer == 2));
    let impostors = impostors.unwrap().der.clone();
    let expired = WORLD.lists.iter().filter(|list| list.issuer == 2 && !list.has_scope && !list.is_impostors).nth(4);
    let expired = expired.unwrap().der.clone();
    for (lists, expected) in [
        (vec![good.clone()], Ok(())),
        (vec![good.clone(), WORLD.find(0, false), WORLD.find(1, false)], Ok(())),
        (vec![WORLD.find(2, true)], Err(Unchecked::Revoked)),
        (vec![good.clone(), WORLD.find(1, true)], Err(Unchecked::Revoked)),
        (vec![good.clone(), WORLD.find(0, true)], Err(Unchecked::Revoked)),
        (vec![], Err(Unchecked::NoCurrentCrl)),
        (vec![WORLD.find(1, false)], Err(Unchecked::NoCurrentCrl)),
        (vec![expired], Err(Unchecked::NoCurrentCrl)),
        (vec![impostors.clone()], Err(Unchecked::CrlNotVerified)),
        (vec![good.clone(), impostors.clone()], Ok(())),
        (vec![impostors.clone(), good.clone()], Ok(())),
        (vec![WORLD.find(2, true), impostors], Err(Unchecked::Revoked)),
        (vec![good], Ok(())),
    ] {
        replace(&trust, &lists);
        assert_eq!(check(&trust, &links), expected);
        assert!(expected.is_err() || verify(&trust, &WORLD.chains[0]).is_ok());
    }
}

/// The lists of an issuer are in any order: the newest one says which certificates are good, and all say which are
/// revoked.
#[test]
fn of_several_lists_the_newest_counts_and_what_any_revokes_is_refused() {
    let find = |is_current: bool, revokes: bool, number: u64| {
        let fits = |list: &&List| {
            (list.issuer, list.is_impostors, list.has_scope) == (2, false, false)
                && (list.revokes, list.number) == (revokes, number)
        };
        WORLD.lists.iter().filter(fits).nth(usize::from(!is_current)).unwrap().der.clone() // the current one first
    };
    for (lists, full, cached) in [
        ([find(true, false, 1), find(true, true, 200)], Err(CertificateError::Revoked), Err(Unchecked::Revoked)),
        ([find(true, true, 1), find(true, false, 200)], Err(CertificateError::Revoked), Err(Unchecked::Revoked)),
        ([find(false, false, 1), find(true, false, 200)], Ok(()), Ok(())),
        (
            [find(true, false, 1), find(false, false, 200)],
            Err(CertificateError::CrlExpired),
            Err(Unchecked::NoCurrentCrl),
        ),
        ([find(true, false, 1), find(true, false, 200)], Ok(()), Ok(())),
    ] {
        for lists in [lists.clone(), [lists[1].clone(), lists[0].clone()]] {
            for trust in WORLD.trusts() {
                let links = links(&trust, &WORLD.chains[0]);
                replace(&trust, &lists);
                assert_eq!(verify(&trust, &WORLD.chains[0]).map(|_| ()), full);
                assert_eq!(check(&trust, &links), cached);
            }
        }
    }
}

/// A list for one distribution point says nothing about a leaf that names none: another list may revoke it.
#[test]
fn a_list_with_a_scope_covers_only_a_leaf_that_names_its_distribution_point() {
    let scoped =
        |list: &&List| (list.issuer, list.revokes, list.has_scope, list.is_impostors) == (2, false, true, false);
    let scoped = WORLD.lists.iter().find(scoped).unwrap().der.clone();
    let trust = WORLD.trust();
    replace(&trust, core::slice::from_ref(&scoped));
    let [without_point, with_point, _] = &WORLD.chains[..] else { panic!("there are three chains") };
    assert_eq!(verify(&trust, without_point), Err(CertificateError::UnknownRevocationStatus));
    assert!(verify(&trust, with_point).is_ok());
    replace(&trust, &[scoped, WORLD.find(2, false)]);
    assert!(verify(&trust, without_point).is_ok());
}

#[test]
fn an_issuer_that_was_not_learned_proves_nothing() {
    let links = links(&WORLD.trust(), &WORLD.chains[0]);
    let restarted = WORLD.trust();
    assert_eq!(check(&restarted, &links), Err(Unchecked::IssuerUnknown));
    assert_eq!(check(&restarted, &Links::default()), Err(Unchecked::IssuerUnknown));
    verify(&restarted, &WORLD.chains[0]).unwrap();
    assert_eq!(check(&restarted, &links), Err(Unchecked::IssuerUnknown), "before Finished");
    super::tests::links(&restarted, &WORLD.chains[0]);
    assert_eq!(check(&restarted, &links), Ok(()));
}

/// A certificate of the root is found without any learned issuer.
#[test]
fn a_revoked_certificate_is_found_though_another_issuer_is_unknown() {
    let links = links(&WORLD.trust(), &WORLD.chains[0]);
    let restarted = WORLD.trust();
    replace(&restarted, &[WORLD.find(2, false), WORLD.find(0, true)]);
    assert_eq!(check(&restarted, &links), Err(Unchecked::Revoked));
}

#[test]
fn all_lists_are_replaced_or_none() {
    let trust = WORLD.trust();
    let links = links(&trust, &WORLD.chains[0]);
    let of_a_clone = trust.clone();
    let bad = CertificateRevocationListDer::from(vec![0x30, 0]);
    let result = trust.revocation().unwrap().replace(&[WORLD.find(2, true), bad]);
    assert_eq!(result, Err(ApiMisuse::MalformedCrl));
    assert_eq!(check(&trust, &links), Ok(()), "as before");
    replace(&trust, &[WORLD.find(2, true)]);
    for trust in [&trust, &of_a_clone] {
        assert_eq!(check(trust, &links), Err(Unchecked::Revoked));
        assert_eq!(verify(trust, &WORLD.chains[0]), Err(CertificateError::Revoked));
    }
}

#[test]
fn without_any_list_nobody_is_believed() {
    for trust in WORLD.trusts() {
        replace(&trust, &[]);
        assert_eq!(verify(&trust, &WORLD.chains[0]), Err(CertificateError::UnknownRevocationStatus));
    }
    for without in trusts(core::slice::from_ref(&WORLD.root)) {
        assert!(without.revocation().is_none());
        assert!(verify(&without, &WORLD.chains[0]).is_ok(), "nothing was asked for");
    }
}

#[test]
fn lists_count_only_with_the_algorithms_of_the_configuration() {
    let trust = WORLD.trust();
    let links = links(&trust, &WORLD.chains[0]);
    let with = |algorithms: Vec<_>| {
        let check = trust.revocation_check(|| algorithms, Some(unix_time(0))).unwrap();
        check.check(links.as_slice())
    };
    let all = provider().signatures.all;
    for _ in 0..2 {
        assert_eq!(with(all.to_vec()), Ok(()));
        assert_eq!(with(Vec::new()), Err(Unchecked::CrlNotVerified));
    }
}

#[test]
fn without_a_clock_a_list_does_not_end() {
    let trust = WORLD.trust();
    let links = links(&trust, &WORLD.chains[0]);
    let at =
        |time| trust.revocation_check(|| provider().signatures.all.to_vec(), time).unwrap().check(links.as_slice());
    assert_eq!(at(None), Ok(()));
    assert_eq!(at(Some(unix_time(60 * 86_400))), Err(Unchecked::NoCurrentCrl));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// The check never accepts more than path validation, and the same where it has all the information. Without path
    /// building a chain is judged as by the check.
    #[test]
    fn agrees_with_path_validation(
        of_lower in 0..32_usize,
        others in prop::collection::vec(0..192_usize, 0..6),
        swap in any::<bool>(),
        chain in 0..3_usize,
    ) {
        let trust = WORLD.trust();
        let all: Vec<_> = WORLD.chains.iter().map(|chain| links(&trust, chain)).collect();
        // Without a list of the lower CA every check would fail.
        let mut lists: Vec<_> = [64 + of_lower].into_iter().chain(others).map(|at| &WORLD.lists[at]).collect();
        if swap {
            lists.reverse();
        }
        let ders: Vec<_> = lists.iter().map(|list| list.der.clone()).collect();
        replace(&trust, &ders);
        let (full, cached) = (verify(&trust, &WORLD.chains[chain]), check(&trust, &all[chain]));
        prop_assert!(cached.is_err() || full.is_ok(), "{full:?} but {cached:?} under {lists:?}");
        if lists.iter().all(|list| !list.has_scope) {
            prop_assert_eq!(cached.is_ok(), full.is_ok(), "{:?} under {:?}", cached, lists);
        }
        let revoking = lists.iter().any(|list| list.revokes && !list.is_impostors && (list.issuer != 1 || chain != 2));
        prop_assert_eq!(cached == Err(Unchecked::Revoked), revoking, "{:?} under {:?}", cached, lists);
        prop_assert_eq!(full == Err(CertificateError::Revoked), revoking, "{:?} under {:?}", full, lists);
        let [_, in_order] = WORLD.trusts();
        replace(&in_order, &ders);
        let in_order = verify(&in_order, &WORLD.chains[chain]);
        prop_assert_eq!(in_order.is_ok(), cached.is_ok(), "{:?} but {:?} under {:?}", in_order, cached, lists);
        prop_assert_eq!(in_order == Err(CertificateError::Revoked), revoking, "{:?} under {:?}", in_order, lists);
    }
}

/// The lists may be used from any thread.
#[test]
fn is_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>(_: &T) {}
    shared(WORLD.trust().revocation().unwrap());
    let _: Box<dyn Send + Sync> = Box::new(WORLD.trust());
}
