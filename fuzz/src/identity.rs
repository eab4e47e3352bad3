//! The fuzz target `identity` takes identities, parameters, files of identity keys and of generators, and the values that
//! a peer sends to a key agreement or to renew a key, with real keys of both algorithms.
//!
//! ```text
//! what(1) bytes
//! ```

use std::sync::{Arc, LazyLock};

use terse_ibc::Generator;
use terse_ibc::files::{KeyFile, parameters_from_pem, parameters_to_pem};
use terse_ibc::renewal::{Renewal, RenewalError};
use terse_ibc::ristretto255::Blinded;
use terse_testkit::pki::NOW;
use terse_testkit::rng::SeededRng;
use terse_tls::Summary;
use terse_tls::crypto::{EphemeralKey, IdentityKey, IdentityPeer, IdentityRole};
use terse_tls::identity::{Authority, Identity, IdentityAlgorithm, IdentityParameters, IdentityType, KnownPeers};

use crate::input::{Operation, Shape};
use crate::machine::Machine;
use crate::modes::{TRANSPARENT, Tweaks};
use crate::onboarding::is_for_people;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((what, bytes)) = data.split_first() else { return };
    let algorithm = IdentityAlgorithm::ALL[usize::from(what >> 4) % IdentityAlgorithm::ALL.len()];
    match what % 16 {
        0 => key_file(&String::from_utf8_lossy(bytes)),
        1 => parameters_file(&String::from_utf8_lossy(bytes)),
        2 => generator_file(&String::from_utf8_lossy(bytes)),
        3 => generator(bytes),
        4 => parameters(bytes),
        5 => identity(bytes),
        6 => known_peers(bytes),
        7 => agreement(algorithm, bytes),
        8 => key(algorithm, bytes),
        // The content in base 64 is hidden from a fuzzer: here it is plain.
        9 => key_file(&in_pem(KEY_LABEL, bytes)),
        10 => parameters_file(&in_pem(PARAMETERS_LABEL, bytes)),
        11 => request(bytes),
        12 => renewal(algorithm, bytes),
        13 => renewed(algorithm, bytes),
        _ => {}
    }
}

/// The label of a key's file.
pub const KEY_LABEL: &str = "TERSE IDENTITY KEY";
/// The label of a file with parameters.
pub const PARAMETERS_LABEL: &str = "TERSE IDENTITY PARAMETERS";

/// A file that loads is written as another one with the same content.
fn key_file(pem: &str) {
    let Ok(file) = KeyFile::from_pem(pem) else { return };
    let written = file.to_pem().expect("what was read");
    let again = KeyFile::from_pem(&written).expect("what was written");
    assert_eq!(again.known_peers, file.known_peers);
    assert_eq!(again.to_pem().as_ref(), Ok(&written));
    let (key, again) = (file.into_dyn().key, again.into_dyn().key);
    assert_eq!((key.parameters(), key.identity()), (again.parameters(), again.identity()));
    assert_eq!(key.public_part(), again.public_part());
}

fn parameters_file(pem: &str) {
    if let Ok(parameters) = parameters_from_pem(pem) {
        assert_eq!(parameters_from_pem(&parameters_to_pem(&parameters)), Ok(parameters));
    }
}

fn generator_file(pem: &str) {
    if let Ok(generator) = Generator::from_pem(pem) {
        check_generator(&generator);
    }
}

fn generator(bytes: &[u8]) {
    if let Ok(generator) = Generator::from_bytes(bytes) {
        assert_eq!(*generator.to_bytes(), bytes);
        check_generator(&generator);
    }
}

/// A generator that loads makes keys that load.
fn check_generator(generator: &Generator) {
    let again = Generator::from_pem(&generator.to_pem()).expect("what was written");
    assert_eq!(again.parameters(), generator.parameters());
    let key = generator.extract(&client()).expect("a secret that is not zero");
    let file = KeyFile { key, known_peers: Vec::new() };
    let written = file.to_pem().expect("a key without peers");
    assert!(KeyFile::from_pem(&written).is_ok(), "its own key");
}

fn parameters(bytes: &[u8]) {
    if let Some(parameters) = IdentityParameters::decode(bytes) {
        assert_eq!(parameters.encode(), bytes);
        assert_eq!(parameters.authority().0, parameters.hash()[..8]);
    }
}

fn identity(bytes: &[u8]) {
    if let Ok(identity) = Identity::decode(bytes) {
        assert_eq!(identity.encoded(), bytes);
        let hashed = identity.hashed(7);
        assert_eq!(hashed.len(), bytes.len() + 6);
        assert!(!identity.to_string().chars().any(char::is_control), "{identity} is shown to people");
    }
    if let Ok(identity) = String::from_utf8_lossy(bytes).parse::<Identity>() {
        assert_eq!(Identity::decode(identity.encoded()).as_ref(), Ok(&identity));
        // Characters of a device's name may be escaped.
        let is_device = identity.kind() == IdentityType::DEVICE_NAME;
        assert!(is_device || identity.to_string().parse().as_ref() == Ok(&identity));
    }
}

/// A store that loads is bounded, and loads again as the same bytes.
fn known_peers(bytes: &[u8]) {
    for capacity in [0, 1, 64] {
        if let Some(known) = KnownPeers::from_snapshot(capacity, bytes) {
            assert!(known.len() <= capacity);
            let snapshot = known.snapshot();
            let again = KnownPeers::from_snapshot(capacity, &snapshot).expect("its own snapshot");
            assert_eq!(again.snapshot(), snapshot);
        }
    }
}

/// An ephemeral key and a public part of a peer are refused, or there is an agreement in which no term is the identity
/// element.
fn agreement(algorithm: IdentityAlgorithm, bytes: &[u8]) {
    let Keys { client, ephemeral, server, .. } = &*KEYS[usize::from(algorithm.code()) - 1];
    for (ephemeral_len, key, role) in
        [(algorithm.ephemeral_len(), client, IdentityRole::Client), (bytes.len() / 2, server, IdentityRole::Server)]
    {
        let (of_peer, public_part) = bytes.split_at(ephemeral_len.min(bytes.len()));
        let peer = if role == IdentityRole::Client { server } else { client };
        let peer = IdentityPeer { identity: peer.identity(), public_part, ephemeral: of_peer };
        if let Ok(terms) = key.terms(role, ephemeral, peer, None) {
            assert_eq!((of_peer.len(), public_part.len()), (algorithm.ephemeral_len(), algorithm.public_part_len()));
            let all = [&terms.k0, &terms.k1, &terms.k2, &terms.k3].map(AsRef::<[u8]>::as_ref);
            assert!(all.iter().all(|term| term.iter().any(|byte| *byte != 0)), "{role:?}: the identity element");
        }
    }
}

/// A private key of any bytes is refused, unless it is the one that the generator made.
fn key(algorithm: IdentityAlgorithm, bytes: &[u8]) {
    let Keys { client, .. } = &*KEYS[usize::from(algorithm.code()) - 1];
    let (parameters, identity) = (client.parameters().clone(), client.identity().clone());
    match algorithm {
        IdentityAlgorithm::Bls12381 => drop(terse_ibc::bls12381::BlsKey::new(parameters, identity, bytes)),
        _ => {
            let (public_part, private) = bytes.split_at(bytes.len().min(algorithm.public_part_len()));
            drop(terse_ibc::ristretto255::RistrettoKey::new(parameters, identity, public_part, private));
        }
    }
}

/// The answer to the same request is always the same.
fn request(bytes: &[u8]) {
    let Some(blinded) = bytes.first_chunk() else { return };
    let answer = || KEYS[1].generator.respond(&client(), Blinded(*blinded));
    assert_eq!(answer(), answer());
}

/// A generator answers any request only over a connection that has proven an identity of it, and always the same; a device takes
/// the answer to its own one.
fn renewal(algorithm: IdentityAlgorithm, bytes: &[u8]) {
    let Keys { generator, .. } = &*KEYS[usize::from(algorithm.code()) - 1];
    let answer = |accepted: &[Authority], summary: &Summary| generator.renew(accepted, summary, bytes);
    assert_eq!(answer(&[authority()], &Summary::default()), Err(RenewalError::NotAuthenticated));
    assert_eq!(answer(&[], &PROVEN), Err(RenewalError::OtherGenerator));
    match answer(&[authority()], &PROVEN) {
        Ok(response) => {
            assert_eq!(answer(&[authority()], &PROVEN).as_ref(), Ok(&response));
            let own = own_renewal(algorithm);
            if own.request() == bytes {
                let key = own.finish(&response).expect("the answer to its own request").into_key();
                assert_eq!((key.identity(), key.parameters()), (proven(), generator.parameters()));
            }
        }
        Err(error) => is_for_people(&error),
    }
}

/// A device takes only a key of its own name, of the same generator, and of no earlier epoch.
fn renewed(algorithm: IdentityAlgorithm, response: &[u8]) {
    let Keys { generator, .. } = &*KEYS[usize::from(algorithm.code()) - 1];
    match own_renewal(algorithm).finish(response) {
        Ok(key) => {
            let key = key.into_key();
            let (new, current) = (key.parameters(), generator.parameters());
            assert_eq!((key.identity(), new.authority_key()), (proven(), current.authority_key()));
            assert!(new.epoch() >= current.epoch());
        }
        Err(error) => is_for_people(&error),
    }
}

/// Returns the renewal of the key of the identity that [`PROVEN`] has.
pub fn own_renewal(algorithm: IdentityAlgorithm) -> Renewal {
    let Keys { generator, .. } = &*KEYS[usize::from(algorithm.code()) - 1];
    let key = generator.issue(proven()).expect("a key");
    Renewal::new(&*key, &mut SeededRng::new(5)).expect("random bytes")
}

/// The server's summary of a connection whose client has proven an identity.
pub static PROVEN: LazyLock<Summary> = LazyLock::new(|| {
    let mode = TRANSPARENT.iter().find(|mode| mode.name == "identity-both").expect("a mode with identities");
    let tweaks = Tweaks([0, 0]);
    let mut sides = [Machine::client(tweaks.client(mode), tweaks), Machine::server(tweaks.server(mode), tweaks)];
    for from in (0..8).map(|turn| turn % 2) {
        let flight = core::mem::take(&mut sides[from].output);
        sides[1 - from].apply(&Operation::new(Shape::Raw, 0, &flight));
    }
    sides[1].connection.summary().clone()
});

fn proven() -> &'static Identity {
    &PROVEN.peer.identity_based.as_ref().expect("a client with an identity").identity
}

/// Returns the authority that made the key of the connection.
pub fn authority() -> Authority {
    PROVEN.peer.identity_based.as_ref().expect("a client with an identity").authority
}

/// Real keys of one algorithm.
pub struct Keys {
    /// Their generator.
    pub generator: Generator,
    /// The client's.
    pub client: Arc<dyn IdentityKey>,
    /// The server's.
    pub server: Arc<dyn IdentityKey>,
    /// An ephemeral key of either.
    pub ephemeral: EphemeralKey,
}

/// The keys, by the code of the algorithm less one.
pub static KEYS: [LazyLock<Keys>; 2] =
    [LazyLock::new(|| keys(IdentityAlgorithm::Bls12381)), LazyLock::new(|| keys(IdentityAlgorithm::Ristretto255))];

fn keys(algorithm: IdentityAlgorithm) -> Keys {
    let mut rng = SeededRng::new(7);
    let generator = Generator::new(algorithm, 7, NOT_AFTER, &mut rng).expect("a generator");
    let [client, server] = [client(), server()].map(|identity| generator.issue(&identity).expect("a key"));
    let ephemeral = client.ephemeral(&mut rng).expect("random bytes");
    Keys { generator, client, server, ephemeral }
}

/// The last second of all keys.
pub const NOT_AFTER: u64 = NOW + 1_000_000_000;

/// Returns the client's identity.
pub fn client() -> Identity {
    Identity::eui64([2, 0, 0, 0, 0, 0, 0, 17])
}

/// Returns the server's identity, which is its name.
pub fn server() -> Identity {
    format!("dns:{}", terse_testkit::pki::SERVER_NAME).parse().expect("an identity")
}

fn in_pem(label: &str, content: &[u8]) -> String {
    let mut body = String::new();
    for group in content.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = char::from(DIGITS[(bits >> (18 - 6 * at)) as usize & 63]);
            body.push(if at <= group.len() { digit } else { '=' });
        }
    }
    let lines: Vec<_> = body.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line)).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Returns the content of a block that [`KeyFile::to_pem`] made.
pub fn content(pem: &str) -> Vec<u8> {
    let mut content = Vec::new();
    let (mut bits, mut many) = (0u32, 0);
    for digit in pem.lines().filter(|line| !line.starts_with('-')).flat_map(str::bytes) {
        let Some(value) = DIGITS.iter().position(|other| *other == digit) else { continue };
        (bits, many) = (bits << 6 | value as u32, many + 6);
        if many >= 8 {
            many -= 8;
            content.push((bits >> many) as u8);
        }
    }
    content
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
