use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::vectors::{client, generator, server};

fn key_file(algorithm: IdentityAlgorithm) -> KeyFile<AnyKey> {
    let generator = generator(algorithm);
    let known = generator.issue(&server()).expect("a key");
    let known_peers = match algorithm.public_part_len() {
        0 => Vec::new(),
        _ => Vec::from([(server(), known.public_part().to_vec())]),
    };
    KeyFile { key: generator.extract(&client()).expect("a key"), known_peers }
}

#[test]
fn keys_are_read_back() {
    for algorithm in IdentityAlgorithm::ALL {
        let file = key_file(algorithm);
        let pem = file.to_pem().expect("a file");
        let read = KeyFile::from_pem(&pem).expect("its own file");
        assert_eq!((read.to_pem(), &read.known_peers), (Ok(pem), &file.known_peers));
        let bytes = file.to_bytes().expect("the content of a file");
        assert_eq!(KeyFile::from_bytes(&bytes).expect("its own content").to_bytes(), Ok(bytes));
        assert_eq!(KeyFile::from_bytes(&[]).err(), Some(FileError::Version));
        assert_eq!(*read.into_dyn().key.identity(), client());
    }
}

/// More peers than the length of their field can say, and values that a reader would refuse, are not written.
#[test]
fn what_could_not_be_read_is_not_written() {
    let mut file = key_file(IdentityAlgorithm::Ristretto255);
    let public_part = file.known_peers[0].1.clone();
    let peers = (0..1_337).map(|number| alloc::format!("device:{number:014}").parse().expect("an identity"));
    file.known_peers = peers.map(|identity| (identity, public_part.clone())).collect();
    assert_eq!(65_535 / (16 + 33), file.known_peers.len(), "as many as there is room for");
    let pem = file.to_pem().expect("a file");
    assert!(pem.len() < MAX_FILE);
    assert_eq!(KeyFile::from_pem(&pem).expect("its own file").known_peers, file.known_peers);
    file.known_peers.push((client(), public_part));
    assert_eq!(file.to_pem().err(), Some(FileError::TooManyPeers));
    for bad in [Vec::new(), [1; 32].into(), [0; 32].into(), [2; 300].into()] {
        file.known_peers = Vec::from([(server(), bad)]);
        assert_eq!(file.to_pem().err(), Some(FileError::KnownPeer));
    }
    let of_bls = KeyFile { known_peers: file.known_peers, ..key_file(IdentityAlgorithm::Bls12381) };
    assert_eq!(of_bls.to_pem().err(), Some(FileError::KnownPeer));
}

#[test]
fn invalid_points_are_refused() {
    let generator = generator(IdentityAlgorithm::Ristretto255);
    let key = generator.extract(&client()).expect("a key");
    let pem = KeyFile { key, known_peers: Vec::new() }.to_pem().expect("a file");
    let mut content = decode(KEY, &pem).expect("a file");
    let without_peers = content.len() - 2;
    content.truncate(without_peers);
    let mut peers = Vec::new();
    push(&mut peers, server().encoded());
    push(&mut peers, &[1; 32]);
    content.extend_from_slice(&[0, peers.len() as u8]);
    content.extend_from_slice(&peers);
    assert_eq!(KeyFile::from_pem(&encode(KEY, &content)).err(), Some(FileError::KnownPeer));

    for algorithm in IdentityAlgorithm::ALL {
        for byte in [0, 1, 0xff] {
            let key = [byte; 48];
            let key = &key[..algorithm.authority_key_len()];
            let parameters = IdentityParameters::new(algorithm, key, 1, 1).expect("the right length");
            let read = parameters_from_pem(&parameters_to_pem(&parameters));
            assert_eq!(read.err(), Some(FileError::Malformed), "{algorithm}, {byte}");
        }
    }
}

#[test]
fn generators_and_parameters_are_read_back() {
    for algorithm in IdentityAlgorithm::ALL {
        let generator = generator(algorithm);
        let read = Generator::from_pem(&generator.to_pem()).expect("its own file");
        assert_eq!(read.to_bytes(), generator.to_bytes());
        let parameters = parameters_from_pem(&parameters_to_pem(generator.parameters()));
        assert_eq!(parameters.as_ref(), Ok(generator.parameters()));
    }
}

/// RFC 7468, 2: what editors do to a file changes nothing.
#[test]
fn files_are_read_as_editors_leave_them() {
    let generator = generator(IdentityAlgorithm::Ristretto255);
    let files = [
        key_file(IdentityAlgorithm::Ristretto255).to_pem().expect("a file"),
        generator.to_pem(),
        Zeroizing::new(parameters_to_pem(generator.parameters())),
    ];
    let edits: [fn(&str) -> String; 5] = [
        |pem| pem.replace('\n', " \n"),
        |pem| pem.replace('\n', "\r\n"),
        |pem| alloc::format!("\u{feff}{pem}"),
        |pem| alloc::format!("{pem}\n\n"),
        |pem| alloc::format!("the device in the cellar\n{pem}until spring\n"),
    ];
    for edit in edits {
        let [key, secret, parameters] = files.each_ref().map(|pem| edit(pem));
        assert_eq!(KeyFile::from_pem(&key).expect("a key").to_pem().expect("a file"), files[0]);
        assert_eq!(Generator::from_pem(&secret).expect("a secret").to_pem(), files[1]);
        assert_eq!(parameters_to_pem(&parameters_from_pem(&parameters).expect("parameters")), *files[2]);
        assert_eq!(KeyFile::from_pem(&secret).err(), Some(FileError::Label(KEY)));
    }
}

/// Every byte of a file counts: a key that is not that of the identity and the parameters is of no use.
#[test]
fn a_changed_byte_is_found() {
    let pem = key_file(IdentityAlgorithm::Ristretto255).to_pem().expect("a file");
    let (_, content) = pem_rfc7468::decode_vec(pem.as_bytes()).expect("PEM");
    let of_key = content.len() - 2 - 1 - 15 - 33; // the rest is a peer's identity and public part, which nothing proves
    for place in (0..of_key).chain([content.len() - 2 - 33 - 16]) {
        let mut changed = content.clone();
        changed[place] ^= 1;
        // The end of the epoch is part of no key: what is changed there is another authority, which no peer has.
        let is_date = (39..47).contains(&place);
        let read = KeyFile::from_pem(&encode(KEY, &changed));
        assert!(read.is_err() || is_date, "{place}");
    }
    for len in 0..content.len() {
        assert!(KeyFile::from_pem(&encode(KEY, &content[..len])).is_err(), "{len}");
    }
    let longer = encode(KEY, &[&content[..], &[0]].concat());
    assert_eq!(KeyFile::from_pem(&longer).err(), Some(FileError::Malformed));
}

#[test]
fn files_of_another_kind_are_named() {
    let generator = generator(IdentityAlgorithm::Ristretto255);
    let key = key_file(IdentityAlgorithm::Ristretto255).to_pem().expect("a file");
    let secret = generator.to_pem();
    assert_eq!(KeyFile::from_pem(&secret).err(), Some(FileError::Label(KEY)));
    assert_eq!(Generator::from_pem(&key).err(), Some(FileError::Label(SECRET)));
    assert_eq!(parameters_from_pem(&key).err(), Some(FileError::Label(PARAMETERS)));
    assert_eq!(KeyFile::from_pem("hello").err(), Some(FileError::Pem));
    let long = "x".repeat(MAX_FILE + 1);
    assert_eq!(KeyFile::from_pem(&long).err(), Some(FileError::Pem));
    assert_eq!(KeyFile::from_pem(&encode(KEY, &[2, 1, 1])).err(), Some(FileError::Version));
}

#[test]
fn a_secret_that_does_not_fit_its_parameters_is_refused() {
    for algorithm in IdentityAlgorithm::ALL {
        let content = generator(algorithm).to_bytes();
        for place in 0..content.len() {
            let mut changed = content.clone();
            changed[place] ^= 1;
            // Epoch and date can be anything, and so can the key of the PRF.
            let has_prf = algorithm == IdentityAlgorithm::Ristretto255;
            let is_date = (content.len() - 64 - 12..content.len() - 64).contains(&place);
            let may_change = is_date || (has_prf && place >= content.len() - 32);
            assert_eq!(Generator::from_bytes(&changed).is_ok(), may_change, "{algorithm}, {place}");
        }
    }
}

/// The authority's key of a zero secret is the identity element: the two belong together, and no key can be made with them.
#[test]
fn a_generator_with_a_zero_secret_is_refused() {
    for algorithm in IdentityAlgorithm::ALL {
        let mut content = generator(algorithm).to_bytes();
        let secret = content.len() - 64;
        content[secret..secret + 32].fill(0);
        let authority_key = &mut content[2..2 + algorithm.authority_key_len()];
        authority_key.fill(0);
        if algorithm == IdentityAlgorithm::Bls12381 {
            authority_key[0] = 0xc0;
        }
        assert_eq!(Generator::from_bytes(&content).err(), Some(FileError::Malformed), "{algorithm}");
    }
}

#[test]
fn secrets_are_not_printed() {
    let generator = generator(IdentityAlgorithm::Ristretto255);
    let key = generator.extract(&client()).expect("a key");
    for text in [alloc::format!("{generator:?}"), alloc::format!("{key:?}")] {
        assert!(!text.contains("0b0b") && !text.contains("11, 11"), "{text}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_file_or_an_error(content: Vec<u8>) {
        for label in [KEY, PARAMETERS, SECRET] {
            let pem = encode(label, &[&[VERSION][..], &content].concat());
            let _ = (KeyFile::from_pem(&pem), parameters_from_pem(&pem), Generator::from_pem(&pem));
        }
        let _ = KeyFile::from_pem(&String::from_utf8_lossy(&content));
    }
}
