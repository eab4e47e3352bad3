//! Length fields that lie: each in every message, by one, as zero and as much as it can hold, while all around it stays as
//! it is. The side that lies hashes what it sends.
//!
//! The shapes here say where lengths are in the messages that our own sides make; a shape that does not cover its
//! message to the last byte fails the test.

use terse_tls::crypto::CryptoError;
use terse_tls::{
    AlertDescription as Alert, Error, ExtensionType as Ext, HandshakeType as H, InvalidMessage, NamedGroup,
    PeerMisbehaved,
};

use super::modes::{SCENARIOS, Scenario, Sent, TLS12};

/// A part of a message (RFC 9846, 3).
#[derive(Clone, Copy)]
enum Shape {
    /// So many bytes without lengths.
    Bytes(usize),
    /// What is left.
    Rest,
    /// A length of so many bytes, and elements of these parts.
    Vector(usize, &'static [Self]),
    /// An extension block.
    Extensions,
}

use Shape::{Bytes, Extensions, Rest, Vector};

/// Without inner structure.
const fn opaque(width: usize) -> Shape {
    Vector(width, &[Rest])
}

const OPAQUE8: Shape = opaque(1);
const OPAQUE16: Shape = opaque(2);
const OPAQUE24: Shape = opaque(3);

/// Returns the parts of a message's body.
fn shape_of(scenario: &Scenario, sent: &Sent) -> &'static [Shape] {
    let is_tls12 = scenario.version == TLS12;
    match sent.kind {
        H::CLIENT_HELLO => &[Bytes(34), OPAQUE8, OPAQUE16, OPAQUE8, Extensions],
        H::SERVER_HELLO => &[Bytes(34), OPAQUE8, Bytes(3), Extensions],
        H::ENCRYPTED_EXTENSIONS => &[Extensions],
        H::CERTIFICATE_REQUEST if scenario.is_cached() && is_tls12 => &[OPAQUE8],
        H::CERTIFICATE_REQUEST if scenario.is_cached() => &[OPAQUE8, OPAQUE8],
        H::CERTIFICATE_REQUEST if is_tls12 => &[OPAQUE8, OPAQUE16, OPAQUE16],
        H::CERTIFICATE_REQUEST => &[OPAQUE8, Extensions],
        H::CERTIFICATE if sent.bytes.len() == 4 => &[],
        H::CERTIFICATE if is_tls12 && scenario.has_raw_public_keys() => &[OPAQUE24],
        H::CERTIFICATE if is_tls12 && sent.bytes.len() == 4 + 1 + 32 => &[OPAQUE8], // a fingerprint
        H::CERTIFICATE if is_tls12 => &[Vector(3, &[OPAQUE24])],
        H::CERTIFICATE => &[OPAQUE8, Vector(3, &[OPAQUE24, Extensions])],
        H::SERVER_KEY_EXCHANGE if scenario.is_tls12_psk() => &[OPAQUE16, Bytes(3), OPAQUE8],
        H::SERVER_KEY_EXCHANGE => &[Bytes(3), OPAQUE8, Bytes(2), OPAQUE16],
        H::CLIENT_KEY_EXCHANGE if scenario.name == "pre-shared key" => &[OPAQUE16],
        H::CLIENT_KEY_EXCHANGE if scenario.is_tls12_psk() => &[OPAQUE16, OPAQUE8],
        H::CLIENT_KEY_EXCHANGE => &[OPAQUE8],
        H::CERTIFICATE_VERIFY => &[Bytes(2), OPAQUE16],
        H::NEW_SESSION_TICKET => &[Bytes(4), OPAQUE16],
        H::SERVER_HELLO_DONE | H::END_OF_EARLY_DATA => &[],
        H::FINISHED => &[Rest],
        kind => panic!("the shape of {kind}"),
    }
}

/// Returns the parts of an extension's body.
fn shape_of_extension(kind: Ext, message: H, len: usize) -> &'static [Shape] {
    let is_hello = message == H::CLIENT_HELLO;
    match kind {
        _ if len == 0 => &[],
        Ext::SERVER_NAME => &[Vector(2, &[Bytes(1), OPAQUE16])],
        Ext::SUPPORTED_GROUPS | Ext::SIGNATURE_ALGORITHMS | Ext::SIGNATURE_ALGORITHMS_CERT | Ext::COOKIE => &[OPAQUE16],
        Ext::SUPPORTED_VERSIONS | Ext::CLIENT_CERTIFICATE_TYPE | Ext::SERVER_CERTIFICATE_TYPE if is_hello => &[OPAQUE8],
        Ext::EC_POINT_FORMATS | Ext::PSK_KEY_EXCHANGE_MODES | Ext::RENEGOTIATION_INFO => &[OPAQUE8],
        Ext::KEY_SHARE if is_hello => &[Vector(2, &[Bytes(2), OPAQUE16])],
        Ext::KEY_SHARE if len > 2 => &[Bytes(2), OPAQUE16],
        Ext::PRE_SHARED_KEY if is_hello => &[Vector(2, &[OPAQUE16, Bytes(4)]), Vector(2, &[OPAQUE8])],
        Ext::CERTIFICATE_AUTHORITIES => &[Vector(2, &[OPAQUE16])],
        Ext::CACHED_INFO | Ext::CLIENT_CACHED_INFO if is_hello => &[Vector(2, &[Bytes(1), OPAQUE8])],
        Ext::CACHED_INFO | Ext::CLIENT_CACHED_INFO => &[OPAQUE16],
        _ => &[Rest],
    }
}

/// A length: where it begins, and how many bytes it has.
type Length = (usize, usize);

/// Finds the lengths in a part of `message`.
struct Walk<'a> {
    message: &'a [u8],
    at: usize,
    lengths: Vec<Length>,
}

impl Walk<'_> {
    fn number(&self, at: usize, width: usize) -> usize {
        self.message[at..at + width].iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    /// A length; returns where what it counts ends.
    fn length(&mut self, width: usize) -> usize {
        self.lengths.push((self.at, width));
        let len = self.number(self.at, width);
        self.at += width;
        self.at + len
    }

    fn parts(&mut self, shapes: &[Shape], end: usize) {
        for shape in shapes {
            match *shape {
                Bytes(len) => self.at += len,
                Rest => self.at = end,
                Vector(width, element) => {
                    let end = self.length(width);
                    while self.at < end {
                        self.parts(element, end);
                    }
                }
                Extensions => {
                    let end = self.length(2);
                    while self.at < end {
                        let kind = Ext(self.number(self.at, 2) as u16);
                        self.at += 2;
                        let end = self.length(2);
                        self.parts(shape_of_extension(kind, H(self.message[0]), end - self.at), end);
                        assert_eq!(self.at, end, "{kind:?}");
                    }
                }
            }
        }
    }
}

fn lengths(scenario: &Scenario, sent: &Sent) -> Vec<Length> {
    let mut walk = Walk { message: &sent.bytes, at: 4, lengths: Vec::new() };
    walk.parts(shape_of(scenario, sent), sent.bytes.len());
    assert_eq!(walk.at, sent.bytes.len(), "{}, {}: {}", scenario.version, scenario.name, sent.kind);
    walk.lengths
}

/// The message does not parse: `decode_error`, unless a value that moved into another field is out of its range.
#[test]
fn lies() {
    let mut count = 0;
    for scenario in SCENARIOS.iter() {
        for sent in &scenario.messages {
            for (at, width) in lengths(scenario, sent) {
                let field = sent.bytes[at..at + width].iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
                let most = u32::MAX >> (32 - 8 * width);
                let mut lies = vec![(field + 1) & most, field.wrapping_sub(1) & most, 0, most];
                lies.retain(|lie| *lie != field);
                lies.dedup();
                lies.truncate(if sent.seen { 1 } else { lies.len() });
                for lie in lies {
                    let verdict = scenario.alter(sent.by, sent.number, move |message| {
                        message[at..at + width].copy_from_slice(&lie.to_be_bytes()[4 - width..]);
                    });
                    let context = format!(
                        "{}, {}: {:?}'s {}, byte {at}: {lie} for {field}: {verdict:?}",
                        scenario.version, scenario.name, sent.by, sent.kind
                    );
                    let error = verdict.refused().unwrap_or_else(|| panic!("{context}"));
                    let is_parsing = matches!(error, Error::InvalidMessage(_));
                    // After an identity that claims to be longer, one key in 256 has the right length for the rest.
                    let is_shorter_key = scenario.is_tls12_psk()
                        && sent.kind == H::CLIENT_KEY_EXCHANGE
                        && *error == CryptoError::InvalidKeyShare.into();
                    assert!(is_parsing || is_shorter_key || KEYS_AS_EXTENSIONS.contains(error), "{context}");
                    let alert = match error {
                        Error::InvalidMessage(InvalidMessage::IllegalValue | InvalidMessage::DuplicateExtension) => {
                            Alert::ILLEGAL_PARAMETER
                        }
                        Error::InvalidMessage(_) => Alert::DECODE_ERROR,
                        error => error.alert().expect("one of the exceptions"),
                    };
                    assert_eq!(verdict.alert, Some(alert), "{context}");
                    count += 1;
                }
            }
        }
    }
    assert!(count > 1000, "{count}");
}

/// A key share of a ServerHello claims to be empty: the bytes after it parse as an extension, whose type is the group.
/// The number of x25519 is no known extension; that of P-256 is extended_master_secret, which is for TLS 1.2.
const KEYS_AS_EXTENSIONS: [Error; 2] = [
    Error::PeerMisbehaved(PeerMisbehaved::UnsolicitedExtension(Ext(NamedGroup::X25519.0))),
    Error::PeerMisbehaved(PeerMisbehaved::MisplacedExtension(Ext(NamedGroup::SECP256R1.0))),
];
