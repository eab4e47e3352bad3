//! What every step of a pledge works with: configuration, time, randomness, the proxies; and the commands it gives.

use alloc::vec::Vec;

use pki_types::UnixTime;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::{Instant, Now, SignatureScheme};

use super::command::{Command, ConnectionId, Identity, Presented, Request, SignatureId, Target};
use super::config::PledgeConfig;
use super::form::Form;
use super::join::Outstanding;
use super::proxies::{ProxyTable, after};

/// One call of [`Pledge::handle`](super::Pledge::handle).
pub(super) struct Context<'a, F: Form> {
    pub(super) config: &'a PledgeConfig<F>,
    pub(super) time: Now,
    pub(super) rng: &'a mut dyn Rng,
    pub(super) proxies: &'a mut ProxyTable<Outstanding>,
    /// How many numbers of connections and signatures were given.
    pub(super) numbers: &'a mut u32,
    pub(super) commands: Vec<Command>,
}

/// The signature of a key: at once, or later under this number.
pub(super) enum Signature {
    Done(Vec<u8>),
    Pending(SignatureId),
}

impl<F: Form> Context<'_, F> {
    pub(super) fn now(&self) -> Instant {
        self.time.monotonic
    }

    /// Returns the wall-clock time, if it is known.
    pub(super) const fn date(&self) -> Option<UnixTime> {
        self.time.unix
    }

    /// Returns the time in `ms` milliseconds.
    pub(super) fn in_ms(&self, ms: u64) -> Instant {
        after(self.now(), ms)
    }

    pub(super) fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    pub(super) fn connect(&mut self, to: Target, identity: Identity) -> ConnectionId {
        let connection = ConnectionId(self.number());
        self.command(Command::Connect { connection, to, identity });
        connection
    }

    pub(super) fn send(&mut self, connection: ConnectionId, request: Request) {
        self.command(Command::Send(connection, request));
    }

    pub(super) fn sign(
        &mut self,
        key: &dyn SigningKey,
        identity: Identity,
        scheme: SignatureScheme,
        message: &[u8],
    ) -> Result<Signature, CryptoError> {
        match key.sign(scheme, message, self.rng)? {
            Signing::Done(signature) => Ok(Signature::Done(signature)),
            Signing::Pending => {
                let signature = SignatureId(self.number());
                self.command(Command::Sign { signature, identity, scheme, message: message.into() });
                Ok(Signature::Pending(signature))
            }
        }
    }

    /// Returns the hash of all that a registrar has presented, by which it is known again.
    pub(super) fn digest_of(&self, presented: Presented<'_>) -> [u8; 32] {
        let mut hash = self.config.provider.sha256.start();
        let mut update = |part: &[u8]| {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        };
        match presented {
            Presented::Chain(chain) => chain.iter().for_each(|certificate| update(certificate)),
            Presented::RawPublicKey(key) => [&[], key].into_iter().for_each(update), // no certificate is empty
        }
        let mut digest = [0; 32];
        digest.iter_mut().zip(hash.finish().as_ref()).for_each(|(to, from)| *to = *from);
        digest
    }

    fn number(&mut self) -> u32 {
        *self.numbers = self.numbers.wrapping_add(1);
        *self.numbers
    }
}

/// How long a pledge repeats a request that was answered with 202, in milliseconds: four days (RFC 8995, 5.6).
pub(super) const MAX_WAIT_MS: u64 = 4 * 24 * 3_600_000;

/// How many redirections within one origin are followed.
pub(super) const MAX_REDIRECTIONS: u8 = 4;
