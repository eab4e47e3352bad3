//! What earlier handshakes have shown about peers with identities: the public parts of their keys, so that these are not
//! sent again, and which servers use certificates instead.
//!
//! What must always hold: a public part is kept only after the Finished of a peer that has it was verified, or if the
//! application provides it; a kept public part that may be wrong is used in one handshake, and the next one asks for it
//! again; there are at most as many peers as the application allows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use spin::Mutex;

use super::{Authority, Identity};
use crate::lru::Lru;
use crate::proof::FinishedProof;

/// Public parts of the identity keys of peers, in memory, for any number of connections and configurations. If there is no
/// room, the peer that was not used for the longest time is forgotten, which costs its next handshake 32 bytes or, on a
/// server, a round trip.
pub struct KnownPeers {
    inner: Mutex<Inner>,
}

struct Inner {
    peers: Lru<(Authority, Identity), KnownPeer>,
    /// How many changes there were.
    changes: u64,
}

/// What is known about one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KnownPeer {
    /// The public part of the peer's key; empty if it is not known.
    public_part: Box<[u8]>,
    /// The public part of this side's key that the peer holds; empty if it holds none.
    held_by_peer: Box<[u8]>,
    /// Whether a handshake that relies on either has begun, and was not confirmed.
    is_doubtful: bool,
    /// Until when the peer is asked for certificates, in seconds since 1970.
    certificates_until: u64,
    ticket: Option<Box<SecretTicket>>,
}

/// An ephemeral secret ticket of a server. None of it is secret: only with the client's identity key it is of use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretTicket {
    pub(crate) ticket: Vec<u8>,
    /// `R`, the server's ephemeral key.
    pub(crate) key_exchange: Vec<u8>,
    /// Whether it is for DTLS.
    pub(crate) is_datagram: bool,
    pub(crate) application_protocol: Option<Box<[u8]>>,
    /// How many bytes of early data the server takes.
    pub(crate) max_size: u32,
    /// The longest content of a record with its type that the server takes.
    pub(crate) record_limit: u16,
    /// When the ticket expires, in seconds since 1970.
    pub(crate) expires: u64,
}

/// How a client begins a handshake.
#[derive(Debug)]
pub(crate) struct Beginning {
    /// The public part of the server's key, if it is held and not in doubt.
    pub(crate) public_part: Option<Vec<u8>>,
    /// Whether the client sends the public part of its own key.
    pub(crate) sends_own: bool,
}

/// For how many seconds a client asks a server for certificates that has answered with them.
const CERTIFICATES_SECONDS: u64 = 24 * 60 * 60;

impl KnownPeers {
    /// Creates an empty store for at most `capacity` peers, of at most about 400 bytes each, and up to 1,300 with a ticket.
    pub const fn new(capacity: usize) -> Self {
        Self { inner: Mutex::new(Inner { peers: Lru::new(capacity), changes: 0 }) }
    }

    /// Provides the public part of a peer's key, for example from the file of this side's key.
    pub fn provide(&self, authority: Authority, peer: &Identity, public_part: &[u8]) {
        self.change(authority, peer, |known| {
            known.public_part = public_part.into();
            known.is_doubtful = false;
        });
    }

    /// Returns how many peers are known.
    pub fn len(&self) -> usize {
        self.inner.lock().peers.len()
    }

    /// Returns a number that grows with each change, so that a program knows when there is something to save.
    pub fn changes(&self) -> u64 {
        self.inner.lock().changes
    }

    /// Returns whether no peer is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins a client's handshake with `server`. Whatever it relies on is in doubt until [`Self::confirm`].
    pub(crate) fn begin(&self, authority: Authority, server: &Identity, own: &[u8]) -> Beginning {
        let mut inner = self.inner.lock();
        let known = inner.peers.touch(&(authority, server.clone()));
        let Some(known) = known else { return Beginning { public_part: None, sends_own: true } };
        if core::mem::replace(&mut known.is_doubtful, true) {
            return Beginning { public_part: None, sends_own: true };
        }
        let public_part = (!known.public_part.is_empty()).then(|| known.public_part.to_vec());
        let sends_own = *known.held_by_peer != *own;
        inner.changes += 1;
        Beginning { public_part, sends_own }
    }

    /// Keeps the public part of the server's key after its Finished. `own` is the one that the server holds now.
    pub(crate) fn confirm(
        &self,
        _: &FinishedProof,
        authority: Authority,
        server: &Identity,
        public_part: &[u8],
        own: &[u8],
    ) {
        if public_part.is_empty() {
            return; // the algorithm has none
        }
        self.change(authority, server, |known| {
            known.public_part = public_part.into();
            known.held_by_peer = own.into();
            known.is_doubtful = false;
        });
    }

    /// Notes after the Finished of a server that it has authenticated with a certificate at `now`, in seconds since 1970.
    pub(crate) fn used_certificates(&self, _: &FinishedProof, authority: Authority, server: &Identity, now: u64) {
        self.change(authority, server, |known| {
            known.certificates_until = now.saturating_add(CERTIFICATES_SECONDS);
        });
    }

    /// Keeps a ticket of `server` in the place of an earlier one.
    pub(crate) fn keep_ticket(&self, authority: Authority, server: &Identity, ticket: SecretTicket) {
        self.change(authority, server, |known| known.ticket = Some(Box::new(ticket)));
    }

    /// Takes the ticket of `server` for a connection over a stream or over datagrams, if there is one that has not expired at `now`.
    pub(crate) fn take_ticket(
        &self,
        authority: Authority,
        server: &Identity,
        is_datagram: bool,
        now: u64,
    ) -> Option<SecretTicket> {
        let mut inner = self.inner.lock();
        let known = inner.peers.touch(&(authority, server.clone()))?;
        let ticket = known.ticket.take_if(|ticket| ticket.is_datagram == is_datagram)?;
        inner.changes += 1;
        (now < ticket.expires).then_some(*ticket)
    }

    /// Returns whether a client asks `server` for certificates at `now`, since it has used them before.
    pub(crate) fn uses_certificates(&self, authority: Authority, server: &Identity, now: u64) -> bool {
        let mut inner = self.inner.lock();
        let until = inner.peers.peek(&(authority, server.clone())).map_or(0, |known| known.certificates_until);
        // A clock that was set back must not make the time longer.
        (now..now.saturating_add(CERTIFICATES_SECONDS + 1)).contains(&until)
    }

    /// Returns the public part of a client's key.
    pub(crate) fn find(&self, authority: Authority, client: &Identity) -> Option<Vec<u8>> {
        let mut inner = self.inner.lock();
        let known = inner.peers.touch(&(authority, client.clone()))?;
        (!known.public_part.is_empty()).then(|| known.public_part.to_vec())
    }

    /// Keeps the public part of a client's key after its Finished.
    pub(crate) fn keep(&self, _: &FinishedProof, authority: Authority, client: &Identity, public_part: &[u8]) {
        self.change(authority, client, |known| known.public_part = public_part.into());
    }

    fn change(&self, authority: Authority, peer: &Identity, change: impl FnOnce(&mut KnownPeer)) {
        let mut inner = self.inner.lock();
        let key = (authority, peer.clone());
        let before = inner.peers.touch(&key).map(|known| known.clone());
        let mut known = before.clone().unwrap_or_default();
        change(&mut known);
        if before.as_ref() != Some(&known) {
            inner.changes += 1;
            inner.peers.insert(key, known);
        }
    }

    /// Returns all that is known, to be kept in a file (docs/identity-format.md, 6). None of it is secret.
    pub fn snapshot(&self) -> Vec<u8> {
        let inner = self.inner.lock();
        let mut out = Vec::from([SNAPSHOT_VERSION]);
        for ((authority, identity), known) in inner.peers.oldest_first() {
            out.extend_from_slice(&authority.0);
            for field in [identity.encoded(), &known.public_part, &known.held_by_peer] {
                out.push(field.len() as u8); // all are shorter than 256
                out.extend_from_slice(field);
            }
            out.push(known.is_doubtful.into());
            out.extend_from_slice(&known.certificates_until.to_be_bytes());
            let ticket = known.ticket.as_deref().map(SecretTicket::encode).unwrap_or_default();
            out.extend_from_slice(&(ticket.len() as u16).to_be_bytes()); // about 1,100 bytes at most
            out.extend_from_slice(&ticket);
        }
        out
    }

    /// Creates a store from [`Self::snapshot`], with the most recently used peers if there is no room for all. Returns
    /// `None` if it is malformed or of another version.
    pub fn from_snapshot(capacity: usize, snapshot: &[u8]) -> Option<Self> {
        let [SNAPSHOT_VERSION, rest @ ..] = snapshot else { return None };
        let mut rest = rest;
        let mut peers = Lru::new(capacity);
        while !rest.is_empty() {
            let authority = Authority(*take(&mut rest, 8)?.first_chunk()?);
            let mut field = || {
                let len = *take(&mut rest, 1)?.first()?;
                take(&mut rest, len.into())
            };
            let (identity, public_part, held_by_peer) = (field()?, field()?, field()?);
            let is_doubtful = match take(&mut rest, 1)? {
                [0] => false,
                [1] => true,
                _ => return None,
            };
            let certificates_until = u64::from_be_bytes(*take(&mut rest, 8)?.first_chunk()?);
            let len = u16::from_be_bytes(*take(&mut rest, 2)?.first_chunk()?);
            let ticket = match take(&mut rest, len.into())? {
                [] => None,
                ticket => Some(Box::new(SecretTicket::decode(ticket)?)),
            };
            let (public_part, held_by_peer) = (public_part.into(), held_by_peer.into());
            let known = KnownPeer { public_part, held_by_peer, is_doubtful, certificates_until, ticket };
            peers.insert((authority, Identity::decode(identity).ok()?), known);
        }
        Some(Self { inner: Mutex::new(Inner { peers, changes: 0 }) })
    }
}

impl SecretTicket {
    /// Returns the encoding of docs/identity-format.md, 8.
    fn encode(&self) -> Vec<u8> {
        let protocol = self.application_protocol.as_deref().unwrap_or_default();
        [
            &(self.ticket.len() as u16).to_be_bytes()[..], // longer ones are not kept
            &self.ticket,
            &[self.key_exchange.len() as u8], // one of an algorithm
            &self.key_exchange,
            &[self.is_datagram.into(), protocol.len() as u8], // a protocol was negotiated, so that it is not longer
            protocol,
            &self.max_size.to_be_bytes(),
            &self.record_limit.to_be_bytes(),
            &self.expires.to_be_bytes(),
        ]
        .concat()
    }

    /// Reads a ticket. Returns `None` if it is malformed.
    fn decode(mut rest: &[u8]) -> Option<Self> {
        let len = u16::from_be_bytes(*take(&mut rest, 2)?.first_chunk()?);
        let ticket = take(&mut rest, len.into())?.into();
        let len = *take(&mut rest, 1)?.first()?;
        let key_exchange = take(&mut rest, len.into())?.into();
        let is_datagram = match take(&mut rest, 1)? {
            [0] => false,
            [1] => true,
            _ => return None,
        };
        let len = *take(&mut rest, 1)?.first()?;
        let protocol = take(&mut rest, len.into())?;
        let application_protocol = (!protocol.is_empty()).then(|| protocol.into());
        let max_size = u32::from_be_bytes(*take(&mut rest, 4)?.first_chunk()?);
        let record_limit = u16::from_be_bytes(*take(&mut rest, 2)?.first_chunk()?);
        let expires = u64::from_be_bytes(*take(&mut rest, 8)?.first_chunk()?);
        let ticket = Self { ticket, key_exchange, is_datagram, application_protocol, max_size, record_limit, expires };
        rest.is_empty().then_some(ticket)
    }
}

/// The first byte of a snapshot.
const SNAPSHOT_VERSION: u8 = 2;

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(len)?;
    *rest = left;
    Some(taken)
}

impl fmt::Debug for KnownPeers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownPeers({} peers)", self.len())
    }
}
