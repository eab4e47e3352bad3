//! The TLS 1.2 key schedule: the PRF (RFC 5246, 5) and all values that are derived with it.
//!
//! What must always hold: every value is derived with a label of its own, and secrets are wiped when they are dropped.

use alloc::vec;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::cache::{Fingerprint, Ticket, TicketSubject};
use crate::crypto::{CryptoError, Digest, Hash, NONCE_LEN, Secret, SharedSecret, Tls12Nonce, Tls12Suite};
use crate::error::{ApiMisuse, Error, InvalidMessage, PeerMisbehaved};
use crate::proof::FinishedProof;
use crate::wire::{CachedInformationType, Random, Writer};

#[cfg(test)]
mod tests;

/// The length of the `master_secret` in bytes (RFC 5246, 8.1).
pub(crate) const MASTER_SECRET_LEN: usize = 48;

/// The length of `verify_data` in bytes, for all suites of this engine (RFC 5246, 7.4.9).
pub(crate) const VERIFY_DATA_LEN: usize = 12;

/// The randoms of both hellos.
#[derive(Clone, Copy)]
pub(crate) struct Randoms {
    pub(crate) client: Random,
    pub(crate) server: Random,
}

/// Returns the `pre_master_secret` of a handshake with a pre-shared key, alone (RFC 4279, 2) or with ECDHE (RFC 5489,
/// 2). Fails if a secret is too long for its field.
pub(crate) fn psk_premaster(psk: &[u8], shared: Option<&SharedSecret>) -> Result<SharedSecret, CryptoError> {
    let zeros = vec![0; psk.len()];
    let other_secret = shared.map_or(&zeros[..], AsRef::as_ref);
    let mut premaster = vec![0; 2 + other_secret.len() + 2 + psk.len()];
    let mut writer = Writer::new(&mut premaster);
    writer.vec16(other_secret);
    writer.vec16(psk);
    let written = writer.finish();
    let premaster = SharedSecret::new(premaster); // wipes it even after an error
    written.map_err(|_| CryptoError::InvalidLength)?;
    Ok(premaster)
}

/// The `master_secret`, and the suite whose hash the PRF uses.
#[derive(Clone)]
pub(crate) struct MasterSecret {
    suite: &'static Tls12Suite,
    secret: Zeroizing<[u8; MASTER_SECRET_LEN]>,
}

impl MasterSecret {
    /// Derives the extended master secret (RFC 7627, 4). The messages are ClientHello...ClientKeyExchange.
    pub(crate) fn extended(suite: &'static Tls12Suite, premaster: &[u8], session_hash: &Digest) -> Self {
        Self::derive(suite, premaster, b"extended master secret", &[session_hash.as_ref()])
    }

    /// Derives the master secret without the extension `extended_master_secret` (RFC 5246, 8.1).
    pub(crate) fn new(suite: &'static Tls12Suite, premaster: &[u8], randoms: &Randoms) -> Self {
        Self::derive(suite, premaster, b"master secret", &[&randoms.client, &randoms.server])
    }

    /// Returns the master secret of a session that is resumed.
    pub(crate) fn resumed(suite: &'static Tls12Suite, secret: &[u8; MASTER_SECRET_LEN]) -> Self {
        Self { suite, secret: Zeroizing::new(*secret) }
    }

    fn derive(suite: &'static Tls12Suite, premaster: &[u8], label: &[u8], seed: &[&[u8]]) -> Self {
        let mut secret = Zeroizing::new([0; MASTER_SECRET_LEN]);
        prf(suite.hash, premaster, label, seed, &mut *secret);
        Self { suite, secret }
    }

    /// Returns the secret itself, for a stored session and the key log.
    pub(crate) fn expose(&self) -> &[u8; MASTER_SECRET_LEN] {
        &self.secret
    }

    /// Derives the `key_block` (RFC 5246, 6.3), which has no MAC keys for an AEAD.
    pub(crate) fn key_block(&self, randoms: &Randoms) -> KeyBlock {
        let (key_len, iv_len) = (self.suite.aead.key_len(), fixed_iv_len(self.suite.nonce));
        let mut block = Zeroizing::new(vec![0; 2 * (key_len + iv_len)]);
        self.prf(b"key expansion", &[&randoms.server, &randoms.client], &mut block);
        let (keys, ivs) = block.split_at(2 * key_len);
        let record_keys = |key, iv: &[u8]| {
            let mut write_iv = Zeroizing::new([0; NONCE_LEN]);
            write_iv[..iv_len].copy_from_slice(iv); // each half of `ivs` has this length
            RecordKeys { suite: self.suite, write_key: Secret::new(key), write_iv }
        };
        KeyBlock {
            client: record_keys(&keys[..key_len], &ivs[..iv_len]),
            server: record_keys(&keys[key_len..], &ivs[iv_len..]),
        }
    }

    /// Returns `verify_data` of the client's Finished (RFC 5246, 7.4.9). The messages are all before it.
    pub(crate) fn client_verify_data(&self, messages: &Digest) -> [u8; VERIFY_DATA_LEN] {
        self.verify_data(b"client finished", messages)
    }

    /// Returns `verify_data` of the server's Finished (RFC 5246, 7.4.9). The messages are all before it.
    pub(crate) fn server_verify_data(&self, messages: &Digest) -> [u8; VERIFY_DATA_LEN] {
        self.verify_data(b"server finished", messages)
    }

    /// Checks the client's Finished, in constant time.
    pub(crate) fn verify_client_finished(&self, verify_data: &[u8], messages: &Digest) -> Result<FinishedProof, Error> {
        verify(verify_data, &self.client_verify_data(messages))
    }

    /// Checks the server's Finished, in constant time.
    pub(crate) fn verify_server_finished(&self, verify_data: &[u8], messages: &Digest) -> Result<FinishedProof, Error> {
        verify(verify_data, &self.server_verify_data(messages))
    }

    /// Exports keying material for the application (RFC 5705, 4). The labels of TLS itself are refused.
    pub(crate) fn export(
        &self,
        randoms: &Randoms,
        label: &[u8],
        context: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        const RESERVED: [&[u8]; 5] =
            [b"client finished", b"server finished", b"master secret", b"extended master secret", b"key expansion"];
        if RESERVED.contains(&label) {
            return Err(ApiMisuse::ReservedLabel.into());
        }
        let Some(context) = context else {
            self.prf(label, &[&randoms.client, &randoms.server], out);
            return Ok(());
        };
        let len = u16::try_from(context.len()).map_err(|_| CryptoError::InvalidLength)?;
        self.prf(label, &[&randoms.client, &randoms.server, &len.to_be_bytes(), context], out);
        Ok(())
    }

    /// Returns the ticket that stands for `subject` in the next handshake.
    pub(crate) fn ticket(&self, sha256: &dyn Hash, subject: &TicketSubject) -> Ticket {
        match subject {
            TicketSubject::Client(object_hash) => self.ssc_ticket(CachedInformationType::CERT, *object_hash),
            TicketSubject::Static(parts) => self.compact_ticket(&parts.hash(sha256)),
        }
    }

    /// `PRF(master_secret, "compact_cache_ticket", h)`, first 8 bytes, with `h` of [`crate::cache::Parts::hash`].
    fn compact_ticket(&self, h: &Digest) -> Ticket {
        let mut ticket = [0; 8];
        self.prf(b"compact_cache_ticket", &[h.as_ref()], &mut ticket);
        Ticket(ticket)
    }

    /// The ticket that names a cached client object in the next handshake (BiTHaC, IV-B):
    /// `PRF(master_secret, "ssc_ticket_label", object_type || object_hash)`, first 8 bytes.
    fn ssc_ticket(&self, object_type: CachedInformationType, object_hash: Fingerprint) -> Ticket {
        let mut ticket = [0; 8];
        self.prf(b"ssc_ticket_label", &[&[object_type.0], &object_hash.0], &mut ticket);
        Ticket(ticket)
    }

    fn verify_data(&self, label: &[u8], messages: &Digest) -> [u8; VERIFY_DATA_LEN] {
        let mut verify_data = [0; VERIFY_DATA_LEN];
        self.prf(label, &[messages.as_ref()], &mut verify_data);
        verify_data
    }

    fn prf(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        prf(self.suite.hash, &*self.secret, label, seed, out);
    }
}

/// The keys of both directions.
pub(crate) struct KeyBlock {
    pub(crate) client: RecordKeys,
    pub(crate) server: RecordKeys,
}

/// The keys of records in one direction.
#[derive(Clone)]
pub(crate) struct RecordKeys {
    suite: &'static Tls12Suite,
    write_key: Secret,
    write_iv: Zeroizing<[u8; NONCE_LEN]>,
}

impl RecordKeys {
    pub(crate) const fn suite(&self) -> &'static Tls12Suite {
        self.suite
    }

    pub(crate) fn write_key(&self) -> &[u8] {
        self.write_key.as_ref()
    }

    /// Returns the fixed part of the nonce, with zeros for the explicit part, if there is one.
    pub(crate) fn write_iv(&self) -> &[u8; NONCE_LEN] {
        &self.write_iv
    }
}

/// `PRF(secret, label, seed)` with P_hash (RFC 5246, 5), filling `out`.
fn prf(hash: &dyn Hash, secret: &[u8], label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
    let seed = [&[label], seed].concat().concat();
    let mut a = None; // A(0) is the seed
    for chunk in out.chunks_mut(hash.output_len()) {
        let next = hash.hmac(secret, &[a.as_ref().map_or(&seed, Digest::as_ref)]);
        let mut block = hash.hmac(secret, &[next.as_ref(), &seed]);
        chunk.copy_from_slice(&block.as_ref()[..chunk.len()]); // a chunk is no longer than the hash's output
        block.zeroize();
        a = Some(next);
    }
}

fn verify(verify_data: &[u8], expected: &[u8; VERIFY_DATA_LEN]) -> Result<FinishedProof, Error> {
    if verify_data.len() != expected.len() {
        return Err(InvalidMessage::IllegalLength.into());
    }
    if !bool::from(verify_data.ct_eq(expected)) {
        return Err(PeerMisbehaved::BadFinished.into());
    }
    Ok(FinishedProof::after_finished())
}

/// `SecurityParameters.fixed_iv_length` (RFC 5246, 6.3; RFC 5288, 3; RFC 7905, 2).
const fn fixed_iv_len(nonce: Tls12Nonce) -> usize {
    match nonce {
        Tls12Nonce::Explicit => 4,
        Tls12Nonce::Implicit => NONCE_LEN,
    }
}
