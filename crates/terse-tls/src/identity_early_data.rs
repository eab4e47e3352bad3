//! The early data of clients with identities (docs/identity-format.md, 8): under ephemeral secret tickets, and at first
//! contact ([`FirstContactMemory`]).
//!
//! An ephemeral secret ticket is a server's promise of an ephemeral key for the early data of a client's next connection. The server keeps the private half until the ticket is used, and then forgets it, which
//! makes that early data forward secret.
//!
//! What must always hold: nothing is taken before a record under the ticket's keys was authenticated; of all attempts to
//! take a ticket one succeeds at most; a ticket counts only in the context that it was made for, and before it expires.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use crate::cache::{AddressId, NotSaved};
use crate::crypto::{CryptoError, Hash, HashContext, Rng};
use crate::error::{ApiMisuse, InvalidMessage};
use crate::identity::{Identity, IdentityParameters};
use crate::resume::MAX_LIFETIME;
use crate::wire::{Encode, Parse, Reader, Transport, Writer};

mod first_contact;
mod memory;
mod stateless;

pub(crate) use first_contact::FirstContact;
pub use first_contact::{FirstContactHorizon, FirstContactMemory};
pub use memory::MemorySecretTickets;
pub use stateless::SecretTicketKeys;

/// Where a server keeps the private halves of its ephemeral secret tickets.
#[derive(Clone)]
pub enum SecretTickets {
    /// In a store: tickets are handles of 16 bytes.
    Stateful {
        /// The store.
        store: Arc<dyn SecretTicketStore>,
        /// How long a ticket may be used, in seconds, up to seven days.
        lifetime_seconds: u32,
    },
    /// In the ticket itself, sealed: tickets are about 115 bytes long. Early data is forward secret only once the key
    /// that seals tickets is gone, at most two hours later.
    Stateless(Arc<SecretTicketKeys>),
}

/// A store of ephemeral secret tickets. Several processes may share one if all of its calls are atomic among them.
pub trait SecretTicketStore: Send + Sync {
    /// Keeps `record` under `id`, at most until [`SecretTicketRecord::expires`]. `now` is the time in seconds since 1970:
    /// what has expired by then should be wiped. Returns an error if the record is not kept.
    fn put(&self, id: SecretTicketId, record: SecretTicketRecord, now: u64) -> Result<(), NotSaved>;

    /// Returns the record under `id`. Changes nothing, not even the order of eviction, since the client has proven
    /// nothing yet.
    fn find(&self, id: &SecretTicketId) -> Option<SecretTicketRecord>;

    /// Removes and wipes the record under `id`. Returns whether there was one: of several calls, one returns true. A store
    /// that outlives the process must not bring the record back after a restart.
    fn take(&self, id: &SecretTicketId) -> bool;

    /// Returns whether the record under `id` was made for a client at `address`, and nobody has asked before. The record
    /// stays. This may be forgotten after a restart.
    fn spend(&self, id: &SecretTicketId, address: AddressId) -> bool;
}

/// A random handle of a ticket in a store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretTicketId(pub [u8; 16]);

/// Does not print the handle, since it would link connections.
impl fmt::Debug for SecretTicketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretTicketId")
    }
}

/// The server's half of a ticket. It holds a private key, which is wiped on drop and not printed.
#[derive(Clone)]
pub struct SecretTicketRecord {
    pub(crate) binding: TicketBinding,
    pub(crate) expires: u64,
    pub(crate) client: Identity,
    /// The public part of the client's key, `r_C`.
    pub(crate) public_part: Vec<u8>,
    /// The private half of `R`.
    pub(crate) secret: Zeroizing<Vec<u8>>,
    /// The IP address of the handshake that made the ticket, if it is known.
    pub(crate) address: Option<AddressId>,
}

/// SHA-256 over everything that must be as it was when the ticket was made (docs/identity-format.md, 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TicketBinding(pub(crate) [u8; 32]);

/// The context of a ticket.
pub(crate) struct TicketContext<'a> {
    pub(crate) parameters: &'a IdentityParameters,
    pub(crate) server: &'a Identity,
    pub(crate) transport: Transport,
    pub(crate) application_protocol: Option<&'a [u8]>,
    /// How many bytes of early data the ticket promises.
    pub(crate) max_size: u32,
}

/// A ticket for a client, and how many seconds it may be used.
pub(crate) struct NewSecretTicket {
    pub(crate) ticket: Vec<u8>,
    pub(crate) lifetime: u32,
}

impl SecretTickets {
    pub(crate) fn check(&self) -> Result<(), ApiMisuse> {
        match self {
            Self::Stateful { lifetime_seconds, .. } if !(1..=MAX_LIFETIME).contains(lifetime_seconds) => {
                Err(ApiMisuse::TicketLifetime)
            }
            _ => Ok(()),
        }
    }

    fn lifetime(&self) -> u32 {
        match self {
            Self::Stateful { lifetime_seconds, .. } => *lifetime_seconds,
            Self::Stateless(keys) => keys.lifetime(),
        }
    }

    /// Keeps `record`, whose `expires` is set here, and returns its ticket; `None` if it could not be kept.
    pub(crate) fn issue(
        &self,
        mut record: SecretTicketRecord,
        now: u64,
        rng: &mut dyn Rng,
    ) -> Result<Option<NewSecretTicket>, CryptoError> {
        let lifetime = self.lifetime();
        record.expires = now.saturating_add(lifetime.into());
        let ticket = match self {
            Self::Stateful { store, .. } => {
                let mut id = SecretTicketId([0; 16]);
                rng.fill(&mut id.0)?;
                if store.put(id, record, now).is_err() {
                    return Ok(None);
                }
                id.0.into()
            }
            Self::Stateless(keys) => keys.seal(&record, now, rng)?,
        };
        Ok(Some(NewSecretTicket { ticket, lifetime }))
    }

    /// Returns the record of `ticket`, if `client` may use it in this context now. Changes nothing.
    pub(crate) fn find(
        &self,
        ticket: &[u8],
        binding: TicketBinding,
        client: &Identity,
        now: u64,
    ) -> Option<SecretTicketRecord> {
        let record = match self {
            Self::Stateful { store, .. } => store.find(&SecretTicketId(ticket.try_into().ok()?))?,
            Self::Stateless(keys) => keys.open(ticket, binding, now)?,
        };
        (record.binding == binding && record.client == *client && now < record.expires).then_some(record)
    }

    /// Takes `ticket`, whose record was found, after the client has proven that it has the ticket's keys. Returns false if
    /// somebody else has taken it.
    pub(crate) fn take(&self, ticket: &[u8], expires: u64, now: u64) -> bool {
        match self {
            Self::Stateful { store, .. } => ticket.try_into().is_ok_and(|id| store.take(&SecretTicketId(id))),
            Self::Stateless(keys) => keys.take(ticket, expires, now),
        }
    }

    /// Returns whether `ticket` proves that its client is at `address`, which it does once.
    pub(crate) fn spend(&self, ticket: &[u8], address: AddressId) -> bool {
        match self {
            Self::Stateful { store, .. } => ticket.try_into().is_ok_and(|id| store.spend(&SecretTicketId(id), address)),
            Self::Stateless(_) => false, // it is not known before the context is
        }
    }
}

impl fmt::Debug for SecretTickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stateful { lifetime_seconds, .. } => {
                f.debug_struct("Stateful").field("lifetime_seconds", lifetime_seconds).finish_non_exhaustive()
            }
            Self::Stateless(keys) => f.debug_tuple("Stateless").field(keys).finish(),
        }
    }
}

impl SecretTicketRecord {
    /// Returns when the ticket expires, in seconds since 1970.
    pub const fn expires(&self) -> u64 {
        self.expires
    }

    /// Returns the IP address that the ticket was made for, if it is known, for [`SecretTicketStore::spend`].
    pub const fn address(&self) -> Option<AddressId> {
        self.address
    }

    /// Encodes the record for stores outside of this process. The bytes are as secret as a private key.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.to_vec().unwrap_or_default()) // all fields are shorter than their lengths allow
    }

    /// Parses the bytes of [`Self::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidMessage> {
        Self::parse_all(bytes)
    }
}

impl fmt::Debug for SecretTicketRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretTicketRecord").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Parse<'_> for SecretTicketRecord {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let VERSION = reader.u8()? else { return Err(InvalidMessage::IllegalValue) };
        let binding = TicketBinding(reader.array()?);
        let expires = reader.u64()?;
        let client = Identity::decode(reader.vec8()?).map_err(|_| InvalidMessage::IllegalValue)?;
        let public_part = reader.vec8()?.into();
        let secret = Zeroizing::new(reader.vec8()?.into());
        let address = match *reader.vec8()? {
            [] => None,
            [a, b, c, d] => Some(AddressId([a, b, c, d])),
            _ => return Err(InvalidMessage::IllegalLength),
        };
        Ok(Self { binding, expires, client, public_part, secret, address })
    }
}

impl Encode for SecretTicketRecord {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(VERSION);
        writer.bytes(&self.binding.0);
        writer.u64(self.expires);
        writer.vec8(self.client.encoded());
        writer.vec8(&self.public_part);
        writer.vec8(&self.secret);
        writer.vec8(self.address.as_ref().map_or(&[], |AddressId(id)| id));
    }
}

impl TicketBinding {
    pub(crate) fn new(sha256: &dyn Hash, context: &TicketContext<'_>) -> Self {
        let mut hash = sha256.start();
        add(&mut *hash, b"terse identity ticket");
        add(&mut *hash, &context.parameters.hash());
        add(&mut *hash, context.server.encoded());
        add(&mut *hash, &[u8::from(context.transport == Transport::Datagram)]);
        match context.application_protocol {
            None => add(&mut *hash, b"no ALPN"),
            Some(name) => {
                add(&mut *hash, b"ALPN");
                add(&mut *hash, name);
            }
        }
        add(&mut *hash, &context.max_size.to_be_bytes());
        let mut binding = [0; 32];
        binding.iter_mut().zip(hash.finish().as_ref()).for_each(|(byte, hashed)| *byte = *hashed);
        Self(binding)
    }
}

/// Adds a part with its length, so that lists of parts are unambiguous.
fn add(hash: &mut dyn HashContext, part: &[u8]) {
    hash.update(&(part.len() as u64).to_be_bytes());
    hash.update(part);
}

/// The version of the format.
const VERSION: u8 = 1;

#[cfg(test)]
mod tests;
