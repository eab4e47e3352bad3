//! Counting hashes, with HMAC (RFC 2104) and HKDF (RFC 5869) counted as the hashes that they are made of.

use terse_tls::crypto::{CryptoError, Digest, Hash, HashContext, Secret};

use super::leaked;
use crate::computing::Operation;
use crate::computing::counter::note;

/// Wraps a hash.
pub(super) fn counting(inner: &'static dyn Hash) -> &'static dyn Hash {
    let blocks = match inner.output_len() {
        32 => Blocks::SHA256,
        48 => Blocks { operation: Operation::Sha384, block_len: 128, padding_len: 17 },
        _ => Blocks { operation: Operation::Unknown("hash"), block_len: 1, padding_len: 0 },
    };
    leaked(CountingHash { inner, blocks })
}

/// A hash function that works on blocks (FIPS 180-4).
#[derive(Clone, Copy)]
pub(in crate::computing) struct Blocks {
    operation: Operation,
    block_len: usize,
    /// The least length of the padding: a byte, and the length of the message.
    padding_len: usize,
}

impl Blocks {
    /// The blocks of SHA-256.
    pub(in crate::computing) const SHA256: Self = Self { operation: Operation::Sha256, block_len: 64, padding_len: 9 };

    /// Notes a hash over `len` bytes.
    pub(in crate::computing) fn note_hash(self, len: usize) {
        self.note(self.padded(len));
    }

    /// Notes an HKDF-Expand (RFC 5869, 2.3) to `len` bytes: an HMAC for each hash of output, over the one before, the
    /// information and a counter.
    pub(in crate::computing) fn note_hkdf_expand(self, key_len: usize, info_len: usize, len: usize, output_len: usize) {
        for step in 0..len.div_ceil(output_len) {
            let previous = if step == 0 { 0 } else { output_len };
            self.note_hmac(key_len, previous + info_len + 1, output_len);
        }
    }

    /// Returns how many bytes the blocks of a message of `len` bytes have, its padding included.
    const fn padded(self, len: usize) -> usize {
        (len + self.padding_len).next_multiple_of(self.block_len)
    }

    fn note(self, bytes: usize) {
        note(self.operation, bytes as u64);
    }

    /// Notes an HMAC over `len` bytes: the inner hash begins with a block of the key, and the outer one is over such a block
    /// and the inner result. A key that is longer than a block is hashed first.
    pub(in crate::computing) fn note_hmac(self, key_len: usize, len: usize, output_len: usize) {
        let of_key = if key_len > self.block_len { self.padded(key_len) } else { 0 };
        self.note(of_key + self.padded(self.block_len + len) + self.padded(self.block_len + output_len));
    }
}

struct CountingHash {
    inner: &'static dyn Hash,
    blocks: Blocks,
}

impl Hash for CountingHash {
    fn output_len(&self) -> usize {
        self.inner.output_len()
    }

    fn start(&self) -> Box<dyn HashContext> {
        Box::new(CountingContext { inner: self.inner.start(), blocks: self.blocks, waiting: 0 })
    }

    fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Digest {
        self.blocks.note_hmac(key.len(), total(parts), self.output_len());
        self.inner.hmac(key, parts)
    }

    fn hkdf_extract(&self, salt: &[u8], input_key_material: &[u8]) -> Secret {
        self.blocks.note_hmac(salt.len(), input_key_material.len(), self.output_len());
        self.inner.hkdf_extract(salt, input_key_material)
    }

    fn hkdf_expand(&self, pseudorandom_key: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), CryptoError> {
        self.blocks.note_hkdf_expand(pseudorandom_key.len(), total(info), out.len(), self.output_len());
        self.inner.hkdf_expand(pseudorandom_key, info, out)
    }

    fn hash(&self, parts: &[&[u8]]) -> Digest {
        self.blocks.note_hash(total(parts));
        self.inner.hash(parts)
    }
}

fn total(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

struct CountingContext {
    inner: Box<dyn HashContext>,
    blocks: Blocks,
    /// The bytes of the last block, which is not full.
    waiting: usize,
}

impl HashContext for CountingContext {
    fn update(&mut self, data: &[u8]) {
        let Blocks { block_len, .. } = self.blocks;
        let len = self.waiting + data.len();
        self.waiting = len % block_len;
        self.blocks.note(len - self.waiting);
        self.inner.update(data);
    }

    fn fork(&self) -> Box<dyn HashContext> {
        Box::new(Self { inner: self.inner.fork(), ..*self })
    }

    fn finish(self: Box<Self>) -> Digest {
        self.blocks.note(self.blocks.padded(self.waiting));
        self.inner.finish()
    }
}
