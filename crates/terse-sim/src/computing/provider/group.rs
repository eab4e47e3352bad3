//! Counting key exchange groups.

use terse_tls::NamedGroup;
use terse_tls::crypto::{CryptoError, Group, KeyExchange, Rng, SharedSecret};

use super::leaked;
use crate::computing::Operation;
use crate::computing::counter::note;

/// Wraps a group.
pub(super) fn counting(inner: &'static dyn Group) -> &'static dyn Group {
    leaked(CountingGroup(inner))
}

struct CountingGroup(&'static dyn Group);

impl Group for CountingGroup {
    fn name(&self) -> NamedGroup {
        self.0.name()
    }

    fn start(&self, rng: &mut dyn Rng) -> Result<Box<dyn KeyExchange>, CryptoError> {
        let group = self.name();
        match group {
            NamedGroup::X25519MLKEM768 => {
                note(Operation::MlKem768Generate, 1);
                note(Operation::Generate(NamedGroup::X25519), 1);
            }
            _ => note(Operation::Generate(group), 1),
        }
        Ok(Box::new(CountingKeyExchange { inner: self.0.start(rng)?, group }))
    }

    fn respond(&self, rng: &mut dyn Rng, key_share: &[u8]) -> Result<(Vec<u8>, SharedSecret), CryptoError> {
        let curve = match self.name() {
            NamedGroup::X25519MLKEM768 => {
                note(Operation::MlKem768Encapsulate, 1);
                NamedGroup::X25519
            }
            group => group,
        };
        note(Operation::Generate(curve), 1);
        note(Operation::Agree(curve), 1);
        self.0.respond(rng, key_share)
    }
}

struct CountingKeyExchange {
    inner: Box<dyn KeyExchange>,
    group: NamedGroup,
}

impl KeyExchange for CountingKeyExchange {
    fn key_share(&self) -> &[u8] {
        self.inner.key_share()
    }

    fn complete(self: Box<Self>, key_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        match self.group {
            NamedGroup::X25519MLKEM768 => {
                note(Operation::MlKem768Decapsulate, 1);
                note(Operation::Agree(NamedGroup::X25519), 1);
            }
            group => note(Operation::Agree(group), 1),
        }
        self.inner.complete(key_share)
    }
}
