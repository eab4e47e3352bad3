//! The parts of the key schedules of TLS 1.3 (RFC 9846, 7.1) and TLS 1.2 (RFC 5246, 5 and 8.1) that the tests need, for
//! suites with SHA-256, written a second time on other crates than the engine's.

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use terse_tls::ProtocolVersion;

use super::world::TLS12;

/// Returns the hash of the concatenation of `parts`.
pub(crate) fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// Computes HKDF-Extract.
pub(crate) fn extract(salt: &[u8], input: &[u8]) -> [u8; 32] {
    Hkdf::<Sha256>::extract(Some(salt), input).0.into()
}

/// Computes HKDF-Expand-Label.
pub(crate) fn expand_label<const N: usize>(secret: &[u8], label: &str, context: &[u8]) -> [u8; N] {
    let label = format!("tls13 {label}");
    let length = (N as u16).to_be_bytes();
    let info = [&length, &[label.len() as u8][..], label.as_bytes(), &[context.len() as u8], context].concat();
    let mut out = [0; N];
    Hkdf::<Sha256>::from_prk(secret).expect("32 bytes").expand(&info, &mut out).expect("short");
    out
}

/// Computes the `verify_data` of a Finished under the handshake traffic secret of its sender.
pub(crate) fn verify_data(traffic_secret: &[u8], messages: &[&[u8]]) -> [u8; 32] {
    let finished_key: [u8; 32] = expand_label(traffic_secret, "finished", &[]);
    let mut mac = Hmac::<Sha256>::new_from_slice(&finished_key).expect("any length will do");
    mac.update(&hash(messages));
    mac.finalize().into_bytes().into()
}

/// Computes the PRF of TLS 1.2.
pub(crate) fn prf<const N: usize>(secret: &[u8], label: &str, seed: &[u8]) -> [u8; N] {
    let hmac = |parts: &[&[u8]]| -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("any length will do");
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    };
    let seed = [label.as_bytes(), seed].concat();
    let (mut a, mut out) = (hmac(&[&seed]), Vec::new());
    while out.len() < N {
        out.extend(hmac(&[&a, &seed]));
        a = hmac(&[&a]);
    }
    out.truncate(N);
    out.try_into().expect("so many bytes")
}

/// Computes `resumption_secret` from the result of the key exchange.
pub(crate) fn resumption_secret(shared_secret: &[u8], messages: &[&[u8]]) -> [u8; 32] {
    let early = extract(&[0; 32], &[0; 32]);
    let handshake = extract(&expand_label::<32>(&early, "derived", &hash(&[])), shared_secret);
    let main = extract(&expand_label::<32>(&handshake, "derived", &hash(&[])), &[0; 32]);
    expand_label(&main, "res master", &hash(messages))
}

/// Returns the synthetic message that binds what is left out (docs/caching.md, 4.1).
pub(crate) fn synthetic(fingerprint: &[u8; 32]) -> Vec<u8> {
    [&[254, 0, 0, 32], &fingerprint[..]].concat()
}

/// Returns the fingerprint of a Certificate message in TLS 1.2 form (RFC 7924, 5).
pub(crate) fn certificate_fingerprint(chain: &[pki_types::CertificateDer<'_>]) -> [u8; 32] {
    let list: Vec<u8> = chain.iter().flat_map(|der| [&uint24(der.len()), &der[..]].concat()).collect();
    hash(&[&[11], &uint24(list.len() + 3), &uint24(list.len()), &list])
}

/// The fingerprint of a CertificateRequest, given with its header: in TLS 1.3 the empty context goes, with its length.
pub(crate) fn request_fingerprint(version: ProtocolVersion, message: &[u8]) -> [u8; 32] {
    if version == TLS12 {
        return hash(&[message]);
    }
    let (header_and_context, extensions) = message.split_at(5);
    assert_eq!((header_and_context[0], header_and_context[4]), (13, 0));
    hash(&[&[13], &uint24(extensions.len()), extensions])
}

fn uint24(value: usize) -> [u8; 3] {
    let [_, rest @ ..] = (value as u32).to_be_bytes();
    rest
}
