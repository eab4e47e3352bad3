//! Chains are changed at random: what is accepted without path building is accepted with it.

use alloc::vec::Vec;

use pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, ServerName, SignatureVerificationAlgorithm, alg_id,
};
use rcgen::{BasicConstraints, CrlDistributionPoint, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, NameConstraints};
use terse_testkit::pki::{DAY, SERVER_NAME, unix_time};
use terse_testkit::rng::{SeededRng, seeds};

use super::ca::{Holder, good};
use super::der::Element;
use crate::cert::tests::provider;
use crate::cert::{Expect, KeyPurposeId, Trust};

/// An algorithm that accepts every signature, so that changes are judged that no signature covers any more.
#[derive(Debug)]
struct AcceptsAll;

impl SignatureVerificationAlgorithm for AcceptsAll {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }

    fn verify_signature(&self, _: &[u8], _: &[u8], _: &[u8]) -> Result<(), InvalidSignature> {
        Ok(())
    }
}

/// Trust anchors, chains to them, and certificates that belong to none.
struct World {
    anchors: Vec<CertificateDer<'static>>,
    chains: Vec<Vec<Vec<u8>>>,
    others: Vec<Vec<u8>>,
}

impl World {
    fn new() -> Self {
        let (root, other_root, same_name) = (Holder::root("Root"), Holder::root("Other"), Holder::root("Root"));
        let limited = root.sub("Upper", |params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1)));
        let lower = limited.sub("Lower", |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            params.extended_key_usages =
                [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth].into();
            params.crl_distribution_points =
                [CrlDistributionPoint { uris: ["http://crl.example".into()].into() }].into();
        });
        let (leaf, direct) = (lower.server(good), root.server(good));
        let self_issued = limited.sub("Upper", good);
        let below = self_issued.server(|params| params.extended_key_usages.clear());
        let subtrees = [GeneralSubtree::DnsName("plant.example".into())].into();
        let named = other_root.sub("Named", |params| {
            params.name_constraints =
                Some(NameConstraints { permitted_subtrees: subtrees, excluded_subtrees: Vec::new() });
        });
        let of_named = named.server(good);
        let others = [root.cross(&lower), other_root.cross(&limited), same_name.cross(&lower), lower.cross(&limited)];
        Self {
            chains: [
                [leaf.der, lower.der, limited.der.clone()].into(),
                [direct.der].into(),
                [below.der, self_issued.der, limited.der].into(),
                [of_named.der, named.der].into(),
            ]
            .into(),
            anchors: [&root, &other_root, &same_name].map(|anchor| anchor.der.clone().into()).into(),
            others: others.into(),
        }
    }

    /// Returns a chain that was changed at random.
    fn mutated(&self, rng: &mut SeededRng) -> Vec<CertificateDer<'static>> {
        let mut chain = self.chains[rng.below(self.chains.len())].clone();
        for _ in 0..=rng.below(3) {
            if chain.is_empty() {
                break;
            }
            let at = rng.below(chain.len());
            let elsewhere = rng.below(chain.len());
            match rng.below(12) {
                0 => chain.swap(at, elsewhere),
                1 => drop(chain.remove(at)),
                2 => chain.insert(at, chain[elsewhere].clone()),
                3 => chain.insert(at, self.others[rng.below(self.others.len())].clone()),
                4 => chain[at] = self.others[rng.below(self.others.len())].clone(),
                5 if !chain[at].is_empty() => {
                    let byte = rng.below(chain[at].len());
                    chain[at][byte] ^= 1 << rng.below(8);
                }
                _ => {
                    if let Some(mut certificate) = Element::parse(&chain[at]) {
                        certificate.mutate(rng);
                        chain[at] = certificate.encode();
                    }
                }
            }
        }
        chain.into_iter().map(CertificateDer::from).collect()
    }
}

#[test]
fn what_is_accepted_in_order_is_accepted_by_path_building() {
    const SEEDS: u64 = 20_000;
    let world = World::new();
    let (building, in_order) =
        (Trust::new(&world.anchors).unwrap(), Trust::without_path_building(&world.anchors).unwrap());
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let usage = Expect::Usage(KeyPurposeId::SERVER_AUTH);
    let expectations = [Expect::Server(&name), Expect::Client, Expect::AnyUsage, Expect::Unrestricted, usage];
    let all = provider().signatures.all;
    let (mut accepted, mut only_with_building) = (0, 0);
    for seed in seeds(SEEDS) {
        let mut rng = SeededRng::new(seed);
        let chain = world.mutated(&mut rng);
        let expect = expectations[rng.below(expectations.len())];
        let time = Some(unix_time(if rng.below(8) == 0 { 400 * DAY } else { 0 }));
        let algorithms = if rng.below(4) == 0 { all } else { &[&AcceptsAll as &dyn SignatureVerificationAlgorithm] };
        let with = building.verify(&chain, expect, algorithms, time);
        let without = in_order.verify(&chain, expect, algorithms, time);
        match (with, without) {
            (Ok(with), Ok(without)) => {
                assert_eq!(with.peer.public_key(), without.peer.public_key(), "seed {seed}");
                assert_eq!(with.peer.identity, without.peer.identity, "seed {seed}");
                accepted += 1;
            }
            (Err(error), Ok(_)) => panic!("seed {seed}: path building refuses with {error:?}, which is right to do"),
            (Ok(_), Err(_)) => only_with_building += 1,
            (Err(_), Err(_)) => {}
        }
    }
    assert!(accepted > SEEDS / 20 && only_with_building > SEEDS / 100, "{accepted}, {only_with_building}");
}
