//! Chains of every shape are shown: empty, long, in another order, in a circle. Other tests bound how much work they cause.

use core::sync::atomic::{AtomicUsize, Ordering};

use pki_types::{AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use rcgen::CustomExtension;
use terse_testkit::fault::first;
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::crypto::SignatureAlgorithms;
use terse_tls::{
    AlertDescription as Alert, CertificateError as E, ClientAuthentication, Error, HandshakeType, InvalidMessage,
    PeerMisbehaved, ProtocolVersion, SignatureScheme, Trust,
};

use super::maker::{Ca, KEYS, good};
use super::show::{Specimen, VERSIONS, certificate, show, show_in};

/// A server must send a certificate (RFC 9846, 4.5.1).
#[test]
fn empty() {
    show(|role| {
        let refused = match role {
            Side::Server => (PeerMisbehaved::EmptyServerCertificate.into(), Alert::DECODE_ERROR),
            Side::Client => (E::Required.into(), Alert::CERTIFICATE_REQUIRED),
        };
        vec![Specimen { name: "empty", chain: vec![], anchors: vec![Ca::good_root().der], refused: Some(refused) }]
    });
}

/// A side must be prepared for extraneous certificates, and for any order behind the leaf (RFC 9846, 4.5.1).
#[test]
fn order() {
    show(|role| {
        let root = Ca::good_root();
        let sub = root.sub("Sub", good);
        let subsub = sub.sub("Subsub", good);
        let stranger = Ca::root("Stranger", good);
        let leaf = subsub.leaf(role, good);
        let chain = |parts: &[&Vec<u8>]| parts.iter().map(|part| part.to_vec()).collect::<Vec<_>>();
        let accepted = |name, parts: &[&Vec<u8>]| Specimen::accepted(name, chain(parts), &root.der);
        vec![
            accepted("in order", &[&leaf, &subsub.der, &sub.der]),
            accepted("with the root", &[&leaf, &subsub.der, &sub.der, &root.der]),
            accepted("in another order", &[&leaf, &sub.der, &subsub.der]),
            accepted("root first", &[&leaf, &root.der, &sub.der, &subsub.der]),
            accepted("doubled", &[&leaf, &leaf, &subsub.der, &subsub.der, &sub.der, &sub.der]),
            accepted("with a stranger", &[&leaf, &stranger.der, &subsub.der, &sub.der]),
            Specimen::refused(
                "leaf last",
                chain(&[&subsub.der, &sub.der, &leaf]),
                &root.der,
                E::WrongUsage,
                Alert::UNSUPPORTED_CERTIFICATE,
            ),
            Specimen::refused("a gap", chain(&[&leaf, &sub.der]), &root.der, E::UnknownIssuer, Alert::UNKNOWN_CA),
        ]
    });
}

/// A path with six intermediate certificates is accepted, one with seven is not.
#[test]
fn length() {
    show(|role| {
        let root = Ca::good_root();
        let chain = |intermediates: usize| {
            let mut cas = vec![root.sub("CA 0", good)];
            for number in 1..intermediates {
                cas.push(cas[number - 1].sub(&format!("CA {number}"), good));
            }
            let leaf = cas[intermediates - 1].leaf(role, good);
            core::iter::once(leaf).chain(cas.into_iter().rev().map(|ca| ca.der)).collect::<Vec<_>>()
        };
        vec![
            Specimen::accepted("of six CAs", chain(6), &root.der),
            Specimen::refused("of seven CAs", chain(7), &root.der, E::Invalid, Alert::BAD_CERTIFICATE),
            Specimen::refused("of ninety-nine CAs", chain(99), &root.der, E::Invalid, Alert::BAD_CERTIFICATE),
            Specimen::refused(
                "of a hundred CAs",
                chain(100),
                &root.der,
                E::TooManyCertificates,
                Alert::BAD_CERTIFICATE,
            ),
        ]
    });
}

/// CAs certify each other, and none leads to a root.
#[test]
fn circle() {
    show(|role| {
        let root = Ca::good_root();
        let (one, two) = (Ca::root("One", good), Ca::root("Two", good));
        let chain = vec![one.leaf(role, good), one.cross(&two), two.cross(&one)];
        vec![
            Specimen::refused("of two", chain.clone(), &root.der, E::UnknownIssuer, Alert::UNKNOWN_CA),
            // One of them is also certified by the root.
            Specimen::accepted("with a way out", [chain, vec![root.cross(&two)]].concat(), &root.der),
        ]
    });
}

/// A verification algorithm that counts its calls.
#[derive(Debug)]
struct Counting(&'static dyn SignatureVerificationAlgorithm);

static VERIFIED: AtomicUsize = AtomicUsize::new(0);

impl SignatureVerificationAlgorithm for Counting {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.0.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.0.signature_alg_id()
    }

    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        VERIFIED.fetch_add(1, Ordering::Relaxed);
        self.0.verify_signature(key, message, signature)
    }
}

/// Many CAs with one name certify each other: the ways through them are countless, but the signatures that are verified are
/// bounded. Without a bound, or with one for each way, this test does not end.
#[test]
fn work_is_bounded() {
    let provider = terse_aws_lc::PROVIDER;
    let ed25519 = provider.signatures.all.iter().find(|found| found.signature_alg_id() == alg_id::ED25519).unwrap();
    let counting: &'static dyn SignatureVerificationAlgorithm = Box::leak(Box::new(Counting(*ed25519)));
    let all: &'static [&'static dyn SignatureVerificationAlgorithm] = Box::leak(Box::new([counting]));
    let by_scheme = Box::leak(Box::new([(SignatureScheme::ED25519, all)]));
    let counted = provider.signatures(SignatureAlgorithms::new(all, by_scheme));
    for (by, builds_paths) in [(Side::Server, true), (Side::Client, true), (Side::Server, false), (Side::Client, false)]
    {
        let root = Ca::good_root();
        let cas: Vec<_> = (0..12).map(|_| Ca::root("Hydra", good)).collect();
        let leaf = cas[0].leaf(by, good);
        let pairs = cas.iter().flat_map(|issuer| cas.iter().map(|subject| issuer.cross(subject)));
        let chain: Vec<_> = core::iter::once(leaf).chain(pairs).collect();
        assert_eq!(chain.len(), 145);
        let mut setup = Setup::mutual(&provider, &provider, KEYS).only(ProtocolVersion::TLS_1_3);
        let anchors = [CertificateDer::from(root.der)];
        let trust = if builds_paths { Trust::new(&anchors) } else { Trust::without_path_building(&anchors) }.unwrap();
        match by {
            Side::Server => {
                setup.client.trust(trust);
            }
            Side::Client => {
                setup.server.client_authentication(ClientAuthentication::Required(trust));
            }
        }
        setup.common(by.other()).set_provider(counted);
        setup.common(by.other()).set_signature_schemes(vec![SignatureScheme::ED25519]);
        let shown = certificate(ProtocolVersion::TLS_1_3, &chain);
        setup.common(by).set_fault(Some(first(HandshakeType::CERTIFICATE, move |message| message.clone_from(&shown))));
        VERIFIED.store(0, Ordering::Relaxed);
        let mut pair = setup.pair(1);
        pair.run().unwrap_err();
        assert!(matches!(pair.failure(by.other()), Some(Error::Certificate(_))), "{:?}", pair.failure(by.other()));
        let verified = VERIFIED.load(Ordering::Relaxed);
        let most = if builds_paths { 101 } else { 0 };
        assert!(verified <= most, "{verified} signatures of {by:?}'s chain were verified");
    }
}

/// A Certificate message is as large as a message may be, and then one byte larger.
#[test]
fn size() {
    const LIMIT: usize = 0x1_0000;
    for version in VERSIONS {
        show_in(&[version], |role| {
            let root = Ca::good_root();
            let of_len = |padding: usize| {
                let extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![0; padding]);
                vec![root.leaf(role, |params| params.custom_extensions = vec![extension])]
            };
            let len = |chain: &[Vec<u8>]| certificate(version, chain).len() - 4;
            let overhead = len(&of_len(60_000)) - 60_000;
            let (largest, larger) = (of_len(LIMIT - overhead), of_len(LIMIT - overhead + 1));
            assert_eq!((len(&largest), len(&larger)), (LIMIT, LIMIT + 1));
            let refused = Some((InvalidMessage::HandshakeTooLarge.into(), Alert::DECODE_ERROR));
            vec![
                Specimen::accepted("the largest", largest, &root.der),
                Specimen { name: "too large", chain: larger, anchors: vec![root.der.clone()], refused },
            ]
        });
    }
}
