//! The TLS 1.2 key schedule: the PRF (RFC 5246, 5), the master secret (RFC 5246, 8.1; RFC 7627, 4) and what is derived
//! from it.
//!
//! What must always hold: the premaster secret is gone (wiped) once the master secret exists.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::cache::{Fingerprint, FinishedProof, Ticket};
use crate::crypto::{CryptoError, Digest, Hash, NONCE_LEN, Secret, SharedSecret, Tls12Nonce, Tls12Suite};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::wire::{CachedInformationType, Random};

#[cfg(test)]
mod tests;

/// Length of the master secret in bytes (RFC 5246, 8.1).
pub(crate) const MASTER_SECRET_LEN: usize = 48;

/// Length of `verify_data` in bytes (RFC 5246, 7.4.9).
pub(crate) const VERIFY_DATA_LEN: usize = 12;

/// Both sides' `random`.
#[derive(Clone, Copy)]
pub(crate) struct Randoms {
    pub(crate) client: Random,
    pub(crate) server: Random,
}

/// The master secret.
#[derive(Clone)]
pub(crate) struct MasterSecret {
    suite: &'static Tls12Suite,
    secret: Zeroizing<[u8; MASTER_SECRET_LEN]>,
}

/// What protects records in both directions (RFC 5246, 6.3).
pub(crate) struct KeyBlock {
    pub(crate) client: RecordKeys,
    pub(crate) server: RecordKeys,
}

/// What protects records in one direction.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct RecordKeys {
    #[zeroize(skip)]
    pub(crate) suite: &'static Tls12Suite,
    pub(crate) key: Vec<u8>,
    /// The implicit part of the nonce in its first bytes, zeros in the rest.
    pub(crate) iv: [u8; NONCE_LEN],
}

impl MasterSecret {
    /// With the session hash, which ends with ClientKeyExchange (RFC 7627, 4).
    pub(crate) fn extended(suite: &'static Tls12Suite, premaster_secret: &[u8], session_hash: &Digest) -> Self {
        Self::derive(suite, premaster_secret, b"extended master secret", &[session_hash.as_ref()])
    }

    /// RFC 5246, 8.1
    pub(crate) fn new(suite: &'static Tls12Suite, premaster_secret: &[u8], randoms: &Randoms) -> Self {
        Self::derive(suite, premaster_secret, b"master secret", &[&randoms.client, &randoms.server])
    }

    /// Of an earlier session.
    pub(crate) fn resumed(suite: &'static Tls12Suite, secret: &[u8; MASTER_SECRET_LEN]) -> Self {
        Self { suite, secret: Zeroizing::new(*secret) }
    }

    fn derive(suite: &'static Tls12Suite, premaster_secret: &[u8], label: &[u8], seed: &[&[u8]]) -> Self {
        let mut secret = Zeroizing::new([0; MASTER_SECRET_LEN]);
        prf(suite.hash, premaster_secret, label, seed, &mut *secret);
        Self { suite, secret }
    }

    /// The secret itself, for the key log and for sessions.
    pub(crate) fn expose(&self) -> &[u8; MASTER_SECRET_LEN] {
        &self.secret
    }

    /// RFC 5246, 6.3. Suites with AEAD have no MAC keys.
    pub(crate) fn key_block(&self, randoms: &Randoms) -> KeyBlock {
        let key_len = self.suite.aead.key_len();
        let iv_len = match self.suite.nonce {
            Tls12Nonce::Explicit => 4,
            Tls12Nonce::Implicit => NONCE_LEN,
        };
        let mut block = Zeroizing::new(vec![0; 2 * (key_len + iv_len)]);
        self.prf(b"key expansion", &[&randoms.server, &randoms.client], &mut block);
        let (keys, ivs) = block.split_at(2 * key_len);
        let (client_key, server_key) = keys.split_at(key_len);
        let (client_iv, server_iv) = ivs.split_at(iv_len);
        let half = |key: &[u8], fixed_iv: &[u8]| {
            let mut iv = [0; NONCE_LEN];
            iv[..iv_len].copy_from_slice(fixed_iv);
            RecordKeys { suite: self.suite, key: key.into(), iv }
        };
        KeyBlock { client: half(client_key, client_iv), server: half(server_key, server_iv) }
    }

    /// `verify_data` of the client's Finished; the messages are all before it (RFC 5246, 7.4.9).
    pub(crate) fn client_verify_data(&self, messages: &Digest) -> [u8; VERIFY_DATA_LEN] {
        self.verify_data(b"client finished", messages)
    }

    /// `verify_data` of the server's Finished.
    pub(crate) fn server_verify_data(&self, messages: &Digest) -> [u8; VERIFY_DATA_LEN] {
        self.verify_data(b"server finished", messages)
    }

    /// Checks the client's Finished, in constant time.
    pub(crate) fn verify_client_finished(&self, data: &[u8], messages: &Digest) -> Result<FinishedProof, Error> {
        verify(data, &self.client_verify_data(messages))?;
        Ok(FinishedProof::after_finished())
    }

    /// Checks the server's Finished, in constant time.
    pub(crate) fn verify_server_finished(&self, data: &[u8], messages: &Digest) -> Result<FinishedProof, Error> {
        verify(data, &self.server_verify_data(messages))?;
        Ok(FinishedProof::after_finished())
    }

    /// Exported keying material (RFC 5705, 4): no context differs from an empty one.
    pub(crate) fn export(
        &self,
        randoms: &Randoms,
        label: &[u8],
        context: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        let len;
        match context {
            None => self.prf(label, &[&randoms.client, &randoms.server], out),
            Some(context) => {
                len = u16::try_from(context.len()).map_err(|_| CryptoError::InvalidLength)?.to_be_bytes();
                self.prf(label, &[&randoms.client, &randoms.server, &len, context], out);
            }
        }
        Ok(())
    }

    /// The ticket that names a cached client object in the next handshake (paper 000, IV-B):
    /// `PRF(master_secret, "ssc_ticket_label", object_type || object_hash)`, its first 8 bytes.
    pub(crate) fn ssc_ticket(&self, object_type: CachedInformationType, object_hash: Fingerprint) -> Ticket {
        let mut ticket = [0; 8];
        self.prf(b"ssc_ticket_label", &[&[object_type.0], &object_hash.0], &mut ticket);
        Ticket(ticket)
    }

    fn verify_data(&self, label: &[u8], messages: &Digest) -> [u8; VERIFY_DATA_LEN] {
        let mut data = [0; VERIFY_DATA_LEN];
        self.prf(label, &[messages.as_ref()], &mut data);
        data
    }

    fn prf(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        prf(self.suite.hash, &self.secret[..], label, seed, out);
    }
}

impl fmt::Debug for RecordKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecordKeys")
    }
}

fn verify(data: &[u8], expected: &[u8; VERIFY_DATA_LEN]) -> Result<(), Error> {
    if data.len() != VERIFY_DATA_LEN {
        return Err(InvalidMessage::IllegalLength.into());
    }
    if !bool::from(data.ct_eq(expected)) {
        return Err(PeerMisbehaved::BadFinished.into());
    }
    Ok(())
}

/// The premaster secret with a pre-shared key: `other_secret` is the ECDH result, or as many zeros as the key is long
/// (RFC 4279, 2; RFC 5489, 2). Fails if one is too long for its field.
pub(crate) fn psk_premaster(psk: &[u8], shared: Option<&SharedSecret>) -> Result<SharedSecret, CryptoError> {
    let zeros = vec![0; psk.len()];
    let other = shared.map_or(&zeros[..], AsRef::as_ref);
    let mut premaster = Vec::with_capacity(4 + other.len() + psk.len()); // or it would move, and leave a copy
    for part in [other, psk] {
        let len = u16::try_from(part.len()).map_err(|_| CryptoError::InvalidLength)?;
        premaster.extend_from_slice(&len.to_be_bytes());
        premaster.extend_from_slice(part);
    }
    Ok(SharedSecret::new(premaster))
}

/// `PRF(secret, label, seed) = P_hash(secret, label + seed)` (RFC 5246, 5), filling `out`.
fn prf(hash: &dyn Hash, secret: &[u8], label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
    let label_and_seed: Vec<&[u8]> = core::iter::once(label).chain(seed.iter().copied()).collect();
    let mut a = hash.hmac(secret, &label_and_seed); // A(1)
    for part in out.chunks_mut(hash.output_len()) {
        let parts: Vec<&[u8]> = core::iter::once(a.as_ref()).chain(label_and_seed.iter().copied()).collect();
        let block = Secret::new(hash.hmac(secret, &parts).as_ref());
        part.copy_from_slice(&block.as_ref()[..part.len()]);
        a = hash.hmac(secret, &[a.as_ref()]);
    }
}
