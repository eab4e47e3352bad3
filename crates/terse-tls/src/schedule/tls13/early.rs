//! The first stage of the key schedule: the Early Secret, with or without a pre-shared key (RFC 9846, 7.1 and
//! 4.3.11.2).
//!
//! What must always hold: a binder is computed with the label of its key's kind, so that a key of one kind is never
//! accepted as one of another kind.

use super::{HandshakeSecret, Schedule, TrafficSecret, epoch, finished, hkdf_expand_label};
use crate::crypto::{CryptoError, Digest, Hash, MAX_HASH_LEN, Secret, SharedSecret, Tls13Suite};
use crate::error::{Error, PeerMisbehaved};

/// The kind of a pre-shared key, which determines the label of its binder (RFC 9846, 7.1; RFC 9258, 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PskKind {
    Resumption,
    External,
    Imported,
}

/// The Early Secret. It has only the hash of a cipher suite, since the server selects the suite later.
#[derive(Clone)]
pub(crate) struct EarlySecret {
    hash: &'static dyn Hash,
    label_prefix: &'static [u8],
    pub(super) secret: Secret,
}

impl EarlySecret {
    /// Derives the Early Secret from `psk`, or from zeros.
    pub(crate) fn new(hash: &'static dyn Hash, label_prefix: &'static [u8], psk: Option<&[u8]>) -> Self {
        let zeros = [0; MAX_HASH_LEN];
        let zeros = &zeros[..hash.output_len()];
        Self { hash, label_prefix, secret: hash.hkdf_extract(zeros, psk.unwrap_or(zeros)) }
    }

    /// Returns the hash of the pre-shared key.
    pub(crate) const fn hash(&self) -> &'static dyn Hash {
        self.hash
    }

    /// Returns a `PskBinderEntry`. The messages end with the ClientHello without its binders.
    pub(crate) fn binder(&self, kind: PskKind, messages: &Digest) -> Result<Digest, CryptoError> {
        let label: &[u8] = match kind {
            PskKind::Resumption => b"res binder",
            PskKind::External => b"ext binder",
            PskKind::Imported => b"imp binder", // RFC 9258, 5.2
        };
        let mut binder_key = Secret::zero(self.hash.output_len());
        let nothing = self.hash.hash(&[]);
        hkdf_expand_label(self.hash, self.label_prefix, &self.secret, label, nothing.as_ref(), binder_key.as_mut())?;
        finished(self.hash, self.label_prefix, &binder_key, messages)
    }

    /// Checks a client's binder, in constant time.
    pub(crate) fn verify_binder(&self, kind: PskKind, binder: &[u8], messages: &Digest) -> Result<(), Error> {
        let expected = self.binder(kind, messages)?;
        // `Digest` would truncate a binder that is too long.
        if binder.len() != expected.as_ref().len() || Digest::new(binder) != expected {
            return Err(PeerMisbehaved::BadBinder.into());
        }
        Ok(())
    }

    /// `client_early_traffic_secret`; the message is the ClientHello.
    pub(crate) fn client_traffic(
        &self,
        suite: &'static Tls13Suite,
        messages: &Digest,
    ) -> Result<TrafficSecret, CryptoError> {
        let schedule = self.schedule(suite);
        Ok(TrafficSecret {
            schedule,
            secret: schedule.derive_secret(&self.secret, b"c e traffic", messages)?,
            epoch: epoch::EARLY_DATA,
        })
    }

    /// Derives the Handshake Secret, the next stage, for a `suite` with the same hash.
    pub(crate) fn handshake_secret(
        self,
        suite: &'static Tls13Suite,
        shared: &SharedSecret,
    ) -> Result<HandshakeSecret, CryptoError> {
        let schedule = self.schedule(suite);
        let salt = schedule.derive_secret(&self.secret, b"derived", &self.hash.hash(&[]))?;
        Ok(HandshakeSecret { schedule, secret: self.hash.hkdf_extract(salt.as_ref(), shared.as_ref()) })
    }

    const fn schedule(&self, suite: &'static Tls13Suite) -> Schedule {
        Schedule { suite, label_prefix: self.label_prefix }
    }
}
