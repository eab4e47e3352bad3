//! This hash mixes its input (FNV-1a, spread over the output by SplitMix64).
//!
//! What must always hold: [`Mix`] depends on all of its input, because transcripts, fingerprints and names of contexts must
//! differ. HMAC is a constant unless it is `BINDING`; HKDF then ignores its key. [`Accepted`] tells public keys from each
//! other, by which domains are known, and nothing else.

use terse_testkit::rng::SeededRng;
use terse_tls::crypto::{CryptoError, Digest, Hash, HashContext, Rng as _, Secret};

/// A hash with `LEN` bytes of output.
pub(super) struct Mix<const BINDING: bool, const LEN: usize>;

impl<const BINDING: bool, const LEN: usize> Hash for Mix<BINDING, LEN> {
    fn output_len(&self) -> usize {
        LEN
    }

    fn start(&self) -> Box<dyn HashContext> {
        Box::new(Running::<LEN>(OFFSET))
    }

    fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Digest {
        Digest::new(&if BINDING { output::<LEN>(mix(mix(OFFSET, &[key]), parts)) } else { [CONSTANT; LEN] })
    }

    fn hkdf_extract(&self, salt: &[u8], input_key_material: &[u8]) -> Secret {
        Secret::new(self.hmac(salt, &[input_key_material]).as_ref())
    }

    fn hkdf_expand(&self, pseudorandom_key: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), CryptoError> {
        if out.len() > 255 * LEN || pseudorandom_key.len() != LEN {
            return Err(CryptoError::InvalidLength);
        }
        let key: &[u8] = if BINDING { pseudorandom_key } else { &[] };
        SeededRng::new(mix(mix(OFFSET, &[key]), info)).fill(out)
    }
}

/// SHA-256 as a [`Mix`] of what may be a public key, and as a constant of everything else, such as content that was signed.
pub(super) struct Accepted;

/// The length of a SubjectPublicKeyInfo with a key on P-256.
const PUBLIC_KEY_LEN: usize = 91;

/// The first byte of that.
const SEQUENCE: u8 = 0x30;

impl Hash for Accepted {
    fn output_len(&self) -> usize {
        32
    }

    fn start(&self) -> Box<dyn HashContext> {
        Box::new(RunningAccepted { running: Running(OFFSET), first: None, len: 0 })
    }

    fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Digest {
        Mix::<false, 32>.hmac(key, parts)
    }

    fn hkdf_extract(&self, salt: &[u8], input_key_material: &[u8]) -> Secret {
        Mix::<false, 32>.hkdf_extract(salt, input_key_material)
    }

    fn hkdf_expand(&self, pseudorandom_key: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), CryptoError> {
        Mix::<false, 32>.hkdf_expand(pseudorandom_key, info, out)
    }
}

struct RunningAccepted {
    running: Running<32>,
    first: Option<u8>,
    len: usize,
}

impl HashContext for RunningAccepted {
    fn update(&mut self, data: &[u8]) {
        self.first = self.first.or(data.first().copied());
        self.len += data.len();
        self.running.update(data);
    }

    fn fork(&self) -> Box<dyn HashContext> {
        Box::new(Self { running: Running(self.running.0), ..*self })
    }

    fn finish(self: Box<Self>) -> Digest {
        let is_public_key = self.first == Some(SEQUENCE) && self.len <= PUBLIC_KEY_LEN;
        if is_public_key { Box::new(self.running).finish() } else { Digest::new(&[CONSTANT; 32]) }
    }
}

struct Running<const LEN: usize>(u64);

impl<const LEN: usize> HashContext for Running<LEN> {
    fn update(&mut self, data: &[u8]) {
        self.0 = mix(self.0, &[data]);
    }

    fn fork(&self) -> Box<dyn HashContext> {
        Box::new(Self(self.0))
    }

    fn finish(self: Box<Self>) -> Digest {
        Digest::new(&output::<LEN>(self.0))
    }
}

/// Each byte of an HMAC that is not binding, and so of every Finished, and of a digest that accepts all content.
const CONSTANT: u8 = 0x5c;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// Mixes the parts into the state; how the input is cut does not matter.
pub(super) fn mix(state: u64, parts: &[&[u8]]) -> u64 {
    parts.iter().copied().flatten().fold(state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(PRIME))
}

fn output<const LEN: usize>(state: u64) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    SeededRng::new(state).fill(&mut bytes).expect("it never fails");
    bytes
}
