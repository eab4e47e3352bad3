//! The first stage: the Early Secret, of a pre-shared key or of none (RFC 9846, 7.1 and 4.3.11.2).
//!
//! What must always hold: a binder is made and checked under the label of its key's origin, so that a key from one is
//! no key of another.

use super::{HandshakeSecret, Schedule, TrafficSecret, epoch, finished, hkdf_expand_label};
use crate::crypto::{CryptoError, Digest, Hash, MAX_HASH_LEN, Secret, SharedSecret, Tls13Suite};
use crate::error::{Error, PeerMisbehaved};

/// Where a pre-shared key is from, which decides the label of its binder (RFC 9846, 7.1; RFC 9258, 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PskKind {
    Resumption,
    External,
    Imported,
}

/// The Early Secret. It knows the hash and not the suite, which a client learns from the server.
#[derive(Clone)]
pub(crate) struct EarlySecret {
    hash: &'static dyn Hash,
    label_prefix: &'static [u8],
    pub(super) secret: Secret,
}

impl EarlySecret {
    /// Of `psk`, or of zeros.
    pub(crate) fn new(hash: &'static dyn Hash, label_prefix: &'static [u8], psk: Option<&[u8]>) -> Self {
        let zeros = [0; MAX_HASH_LEN];
        let zeros = &zeros[..hash.output_len()];
        Self { hash, label_prefix, secret: hash.hkdf_extract(zeros, psk.unwrap_or(zeros)) }
    }

    /// The hash of its pre-shared key.
    pub(crate) const fn hash(&self) -> &'static dyn Hash {
        self.hash
    }

    /// A `PskBinderEntry`; the messages end with the ClientHello without its binders.
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
        // `Digest` would cut off what is too long.
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

    /// On to the next stage, with a `suite` of the same hash.
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
