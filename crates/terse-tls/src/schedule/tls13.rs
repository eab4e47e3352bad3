//! The TLS 1.3 key schedule (RFC 9846, 7.1). Each stage is a type, so that no secret is derived from the wrong stage.
//!
//! What must always hold: the secret of a stage is wiped once the next stage exists.

use crate::cache::{Fingerprint, Ticket, TicketSubject};
use crate::crypto::{CryptoError, Digest, Hash, NONCE_LEN, Secret, Tls13Suite};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::proof::FinishedProof;
use crate::wire::CachedInformationType;

mod early;
#[cfg(test)]
mod tests;

pub(crate) use early::{EarlySecret, PskKind};

/// The epochs of traffic secrets over datagrams (RFC 9147, 6.1). Each KeyUpdate increments the epoch.
pub(crate) mod epoch {
    pub(crate) const EARLY_DATA: u64 = 1;
    pub(crate) const HANDSHAKE: u64 = 2;
    pub(crate) const APPLICATION: u64 = 3;
}

/// The parameters of a key schedule: the cipher suite, and the label prefix of TLS or DTLS.
#[derive(Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) suite: &'static Tls13Suite,
    pub(crate) label_prefix: &'static [u8],
}

impl Schedule {
    fn hash(&self) -> &'static dyn Hash {
        self.suite.hash
    }

    /// `Derive-Secret(Secret, Label, Messages)`, given the hash of the messages.
    fn derive_secret(&self, secret: &Secret, label: &[u8], messages: &Digest) -> Result<Secret, CryptoError> {
        let mut derived = Secret::zero(self.hash().output_len());
        self.expand_label(secret, label, messages.as_ref(), derived.as_mut())?;
        Ok(derived)
    }

    fn expand_label(&self, secret: &Secret, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), CryptoError> {
        hkdf_expand_label(self.hash(), self.label_prefix, secret, label, context, out)
    }
}

/// `HKDF-Expand-Label(Secret, Label, Context, Length)`
pub(crate) fn hkdf_expand_label(
    hash: &dyn Hash,
    label_prefix: &[u8],
    secret: &Secret,
    label: &[u8],
    context: &[u8],
    out: &mut [u8],
) -> Result<(), CryptoError> {
    // The fields of HkdfLabel, each where it is: a buffer for all would be on the stack at the deepest place of a handshake.
    let too_long = CryptoError::InvalidLength;
    let length = u16::try_from(out.len()).map_err(|_| too_long)?.to_be_bytes();
    let label_len = [u8::try_from(label_prefix.len() + label.len()).map_err(|_| too_long)?];
    let context_len = [u8::try_from(context.len()).map_err(|_| too_long)?];
    hash.hkdf_expand(secret.as_ref(), &[&length, &label_len, label_prefix, label, &context_len, context], out)
}

/// Returns the MAC of a Finished or a binder under a base key (RFC 9846, 4.5.3).
fn finished(hash: &dyn Hash, label_prefix: &[u8], base_key: &Secret, messages: &Digest) -> Result<Digest, CryptoError> {
    let mut finished_key = Secret::zero(hash.output_len());
    hkdf_expand_label(hash, label_prefix, base_key, b"finished", &[], finished_key.as_mut())?;
    Ok(hash.hmac(finished_key.as_ref(), &[messages.as_ref()]))
}

/// The Handshake Secret.
pub(crate) struct HandshakeSecret {
    schedule: Schedule,
    secret: Secret,
}

impl HandshakeSecret {
    /// `client_handshake_traffic_secret`; the messages are ClientHello...ServerHello.
    pub(crate) fn client_traffic(&self, messages: &Digest) -> Result<TrafficSecret, CryptoError> {
        self.traffic(b"c hs traffic", messages)
    }

    /// `server_handshake_traffic_secret`; the messages are ClientHello...ServerHello.
    pub(crate) fn server_traffic(&self, messages: &Digest) -> Result<TrafficSecret, CryptoError> {
        self.traffic(b"s hs traffic", messages)
    }

    /// Derives the Main Secret, the next stage.
    pub(crate) fn main_secret(self) -> Result<MainSecret, CryptoError> {
        let Schedule { suite, .. } = self.schedule;
        let salt = self.schedule.derive_secret(&self.secret, b"derived", &suite.hash.hash(&[]))?;
        let zeros = [0; crate::crypto::MAX_HASH_LEN];
        let secret = suite.hash.hkdf_extract(salt.as_ref(), &zeros[..suite.hash.output_len()]);
        Ok(MainSecret { schedule: self.schedule, secret })
    }

    fn traffic(&self, label: &[u8], messages: &Digest) -> Result<TrafficSecret, CryptoError> {
        let secret = self.schedule.derive_secret(&self.secret, label, messages)?;
        Ok(TrafficSecret { schedule: self.schedule, secret, epoch: epoch::HANDSHAKE })
    }
}

/// The Main Secret.
pub(crate) struct MainSecret {
    schedule: Schedule,
    secret: Secret,
}

impl MainSecret {
    /// `client_application_traffic_secret_0`; the messages end with the server's Finished.
    pub(crate) fn client_traffic(&self, messages: &Digest) -> Result<TrafficSecret, CryptoError> {
        let secret = self.schedule.derive_secret(&self.secret, b"c ap traffic", messages)?;
        Ok(TrafficSecret { schedule: self.schedule, secret, epoch: epoch::APPLICATION })
    }

    /// `server_application_traffic_secret_0`; the messages end with the server's Finished.
    pub(crate) fn server_traffic(&self, messages: &Digest) -> Result<TrafficSecret, CryptoError> {
        let secret = self.schedule.derive_secret(&self.secret, b"s ap traffic", messages)?;
        Ok(TrafficSecret { schedule: self.schedule, secret, epoch: epoch::APPLICATION })
    }

    /// `exporter_secret`; the messages end with the server's Finished.
    pub(crate) fn exporter(&self, messages: &Digest) -> Result<ExporterSecret, CryptoError> {
        let secret = self.schedule.derive_secret(&self.secret, b"exp master", messages)?;
        Ok(ExporterSecret { schedule: self.schedule, secret })
    }

    /// `resumption_secret`; the messages end with the client's Finished.
    pub(crate) fn resumption(self, messages: &Digest) -> Result<ResumptionSecret, CryptoError> {
        let secret = self.schedule.derive_secret(&self.secret, b"res master", messages)?;
        Ok(ResumptionSecret { schedule: self.schedule, secret })
    }
}

/// A traffic secret, from which the keys of records in one direction are derived.
#[derive(Clone)]
pub(crate) struct TrafficSecret {
    schedule: Schedule,
    secret: Secret,
    epoch: u64,
}

impl TrafficSecret {
    pub(crate) const fn suite(&self) -> &'static Tls13Suite {
        self.schedule.suite
    }

    /// Returns the epoch of records under this secret over datagrams (RFC 9147, 6.1).
    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the secret itself, for the key log.
    pub(crate) fn expose(&self) -> &[u8] {
        self.secret.as_ref()
    }

    /// Derives `[sender]_write_key` (RFC 9846, 7.3) in the length of `key`.
    pub(crate) fn write_key(&self, key: &mut [u8]) -> Result<(), CryptoError> {
        self.schedule.expand_label(&self.secret, b"key", &[], key)
    }

    /// Derives `[sender]_write_iv` (RFC 9846, 7.3).
    pub(crate) fn write_iv(&self) -> Result<[u8; NONCE_LEN], CryptoError> {
        let mut iv = [0; NONCE_LEN];
        self.schedule.expand_label(&self.secret, b"iv", &[], &mut iv)?;
        Ok(iv)
    }

    /// Derives `[sender]_sn_key` (RFC 9147, 4.2.3) in the length of `key`.
    pub(crate) fn sn_key(&self, key: &mut [u8]) -> Result<(), CryptoError> {
        self.schedule.expand_label(&self.secret, b"sn", &[], key)
    }

    /// Returns `verify_data` of a Finished (RFC 9846, 4.5.3).
    pub(crate) fn verify_data(&self, messages: &Digest) -> Result<Digest, CryptoError> {
        finished(self.schedule.hash(), self.schedule.label_prefix, &self.secret, messages)
    }

    /// Checks a Finished of the peer, in constant time.
    pub(crate) fn verify(&self, verify_data: &[u8], messages: &Digest) -> Result<FinishedProof, Error> {
        let expected = self.verify_data(messages)?;
        if verify_data.len() != expected.as_ref().len() {
            return Err(InvalidMessage::IllegalLength.into());
        }
        if Digest::new(verify_data) != expected {
            return Err(PeerMisbehaved::BadFinished.into());
        }
        Ok(FinishedProof::after_finished())
    }

    /// Derives the next generation of the traffic secret (RFC 9846, 7.2).
    pub(crate) fn update(&self) -> Result<Self, CryptoError> {
        let mut secret = Secret::zero(self.schedule.hash().output_len());
        self.schedule.expand_label(&self.secret, b"traffic upd", &[], secret.as_mut())?;
        Ok(Self { schedule: self.schedule, secret, epoch: self.epoch + 1 }) // cannot overflow in practice
    }
}

/// The `exporter_secret` (RFC 9846, 7.5).
pub(crate) struct ExporterSecret {
    schedule: Schedule,
    secret: Secret,
}

impl ExporterSecret {
    /// Returns the secret itself, for the key log.
    pub(crate) fn expose(&self) -> &[u8] {
        self.secret.as_ref()
    }

    /// `TLS-Exporter(label, context_value, key_length)`
    pub(crate) fn export(&self, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), CryptoError> {
        let hash = self.schedule.hash();
        if self.schedule.label_prefix.len() + label.len() > 255 {
            return Err(CryptoError::InvalidLength);
        }
        let secret = self.schedule.derive_secret(&self.secret, label, &hash.hash(&[]))?;
        self.schedule.expand_label(&secret, b"exporter", hash.hash(&[context]).as_ref(), out)
    }
}

/// The `resumption_secret` (RFC 9846, 7.1).
pub(crate) struct ResumptionSecret {
    schedule: Schedule,
    secret: Secret,
}

impl ResumptionSecret {
    pub(crate) fn hash(&self) -> &'static dyn Hash {
        self.schedule.hash()
    }

    /// Derives the pre-shared key of the ticket with `ticket_nonce` (RFC 9846, 4.7.1).
    pub(crate) fn psk(&self, ticket_nonce: &[u8]) -> Result<Secret, CryptoError> {
        let mut psk = Secret::zero(self.schedule.hash().output_len());
        self.schedule.expand_label(&self.secret, b"resumption", ticket_nonce, psk.as_mut())?;
        Ok(psk)
    }

    /// Returns the ticket that stands for `subject` in the next handshake.
    pub(crate) fn ticket(&self, sha256: &dyn Hash, subject: &TicketSubject) -> Result<Ticket, CryptoError> {
        match subject {
            TicketSubject::Client(object_hash) => self.ssc_ticket(CachedInformationType::CERT, *object_hash),
            TicketSubject::Static(parts) => self.compact_ticket(&parts.hash(sha256)),
        }
    }

    /// `HKDF-Expand-Label(resumption_secret, "compact_ticket", h, 8)`, with `h` of [`crate::cache::Parts::hash`].
    fn compact_ticket(&self, h: &Digest) -> Result<Ticket, CryptoError> {
        let mut ticket = [0; 8];
        self.schedule.expand_label(&self.secret, b"compact_ticket", h.as_ref(), &mut ticket)?;
        Ok(Ticket(ticket))
    }

    /// The ticket that names a cached client object in the next handshake (BiTHaC, IV-B, for TLS 1.3):
    /// `HKDF-Expand-Label(resumption_secret, "ssc_ticket", object_type || object_hash, 8)`.
    fn ssc_ticket(&self, object_type: CachedInformationType, object_hash: Fingerprint) -> Result<Ticket, CryptoError> {
        let mut context = [0; 33];
        context[0] = object_type.0;
        context[1..].copy_from_slice(&object_hash.0);
        let mut ticket = [0; 8];
        self.schedule.expand_label(&self.secret, b"ssc_ticket", &context, &mut ticket)?;
        Ok(Ticket(ticket))
    }
}
