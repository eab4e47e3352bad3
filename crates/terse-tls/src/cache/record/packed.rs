//! A [`ScopeRecord`] with its [`Scope`], as bytes.
//!
//! ```text
//! shared: trust ID of the server's Certificate, fingerprint of the own Certificate (of the scope)
//! kinds:  three bytes of flags, see the constants
//! scope:  port (2), server (short vector)
//! times:  made (4), used (4), reason (1)
//! health, and whether fingerprints are sent, if there is more to them than their numbers
//! slots:  ticket (8), and the fingerprint of another own Certificate (32) than that of the scope
//! entry:  fingerprint (32) and what is kept of the peer; the server is that of the scope
//! requests, and how many connections hold a ticket (4), if any
//! ```

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Entries, History, ScopeRecord, Slot};
use crate::cache::health::{Fingerprints, Health};
use crate::cache::shared::{Record, Value, View};
use crate::cache::table::Kind;
use crate::cache::{
    FallbackReason, Fingerprint, NotSaved, PeerEntry, RequestEntry, Scheme, Scope, ServerId, Ticket, TrustId,
};
use crate::error::InvalidMessage;
use crate::wire::Transport;
use crate::wire::{Encode, EncodeError, Parse, ProtocolVersion, Reader, Writer};

/// The first byte.
const DATAGRAM: u8 = 1;
const SCHEME: Bits = Bits { first: 1, mask: 3 };
const CERTIFICATE: u8 = 1 << 3;
const USES: Bits = Bits { first: 4, mask: 3 };
const HELD: u8 = 1 << 6;
/// The second one: both slots.
const CONFIRMED: Bits = Bits { first: 0, mask: 0xf };
const NEWER: Bits = Bits { first: 4, mask: 0xf };
/// The third one.
const HEALTH: Bits = Bits { first: 0, mask: 7 };
const REQUESTS: Bits = Bits { first: 3, mask: 7 };
const FINGERPRINTS: Bits = Bits { first: 6, mask: 3 };

/// A number within a byte.
struct Bits {
    first: u8,
    mask: u8,
}

impl Bits {
    const fn get(&self, byte: u8) -> u8 {
        byte >> self.first & self.mask
    }

    const fn put(&self, value: u8) -> u8 {
        (value & self.mask) << self.first
    }
}

/// How many shared values a record has.
pub(in crate::cache) const SHARED: usize = 2;

/// The kind of table that a client has.
#[derive(Debug)]
pub(in crate::cache) struct Scopes;

/// A scope, in the index.
#[derive(PartialEq, Eq, Hash)]
pub(in crate::cache) struct ScopeKey<'a> {
    server: &'a [u8],
    port: u16,
    is_datagram: bool,
    credential: Option<&'a Value>,
}

impl<'a> From<&'a Scope> for ScopeKey<'a> {
    fn from(scope: &'a Scope) -> Self {
        let Scope { server, port, transport, credential } = scope;
        let credential = credential.as_ref().map(|Fingerprint(value)| value);
        Self { server: server.as_bytes(), port: *port, is_datagram: *transport == Transport::Datagram, credential }
    }
}

impl Kind<SHARED> for Scopes {
    type Key<'a> = ScopeKey<'a>;
    const KEYS: usize = 1;

    fn key<'a>(view: &View<'a, SHARED>, _: usize) -> Option<ScopeKey<'a>> {
        let mut reader = Reader::new(view.body);
        let [kinds, _, _] = reader.array().ok()?;
        let port = reader.u16().ok()?;
        let server = reader.short_vec().ok()?;
        Some(ScopeKey { server, port, is_datagram: kinds & DATAGRAM != 0, credential: view.shared[1] })
    }

    fn equals(one: &ScopeKey<'_>, other: &ScopeKey<'_>) -> bool {
        one == other
    }
}

/// For stores in databases. As with a whole [`crate::cache::snapshot`], whoever can write the bytes can name peers as
/// verified.
impl ScopeRecord {
    /// The record of `scope` as bytes, without the holds of running connections. Fails only if it is longer than a
    /// cache keeps any.
    pub fn to_bytes(&self, scope: &Scope) -> Result<Vec<u8>, NotSaved> {
        let bytes = self.without_holds().to_packed(scope).map_err(|_| NotSaved)?.to_bytes();
        if bytes.is_empty() { Err(NotSaved) } else { Ok(bytes) }
    }

    /// Reads the record that [`Self::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Scope, Self), InvalidMessage> {
        Self::from_packed(View::of_one(bytes)?)
    }
}

impl ScopeRecord {
    /// Returns the record as a table keeps it. An entry for another server than that of the scope is left out.
    pub(in crate::cache) fn to_packed(&self, scope: &Scope) -> Result<Record<SHARED>, EncodeError> {
        let entry = self.server_certificate.as_deref().filter(|entry| *entry.server() == scope.server);
        let own = scope.credential.map(|Fingerprint(value)| value);
        let body = Body { scope, record: self, entry }.to_vec()?;
        Ok(Record { shared: [entry.map(PeerEntry::shared_trust_id), own], body })
    }

    /// Reads the record that [`Self::to_packed`] wrote.
    pub(in crate::cache) fn from_packed(view: View<'_, SHARED>) -> Result<(Scope, Self), InvalidMessage> {
        let [trust_id, own] = view.shared.map(|value| value.copied());
        let own = own.map(Fingerprint);
        let mut reader = Reader::new(view.body);
        let [first, slots, last] = reader.array()?;
        let transport = if first & DATAGRAM == 0 { Transport::Stream } else { Transport::Datagram };
        let port = reader.u16()?;
        let server = ServerId::from_bytes(reader.short_vec()?)?;
        let scope = Scope { server: server.clone(), port, transport, credential: own };
        let history =
            History { made: reader.u32()?, used: reader.u32()?, reason: FallbackReason::from_number(reader.u8()?) };
        let health = Health::parse(HEALTH.get(last), &mut reader)?;
        let fingerprints = Fingerprints::parse(FINGERPRINTS.get(last), &mut reader)?;
        let confirmed = parse_slot(CONFIRMED.get(slots), own, &mut reader)?;
        let newer = parse_slot(NEWER.get(slots), own, &mut reader)?;
        let server_certificate = match (first & CERTIFICATE != 0, trust_id) {
            (true, Some(trust_id)) => {
                let entry = PeerEntry::parse_with(TrustId::from_shared(trust_id), server, &mut reader)?;
                Some(Arc::new(entry))
            }
            (false, None) => None,
            _ => return Err(InvalidMessage::IllegalValue),
        };
        let count = REQUESTS.get(last);
        if usize::from(count) > Self::MAX_REQUESTS {
            return Err(InvalidMessage::IllegalLength);
        }
        let requests =
            (0..count).map(|_| RequestEntry::parse(&mut reader).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let holders = if first & HELD == 0 { 0 } else { reader.u32()? };
        reader.finish()?;
        let (scheme, confirmed_uses) = (Scheme::from_number(SCHEME.get(first)), USES.get(first));
        let slots = Self { confirmed, newer, confirmed_uses, ..Self::default() };
        let record = Self { server_certificate, requests, scheme, health, fingerprints, history, holders, ..slots };
        Ok((scope, record))
    }
}

struct Body<'a> {
    scope: &'a Scope,
    record: &'a ScopeRecord,
    entry: Option<&'a PeerEntry>,
}

impl Encode for Body<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        let Self { scope, record, entry } = self;
        let flag = |set, flag| if set { flag } else { 0 };
        let own = scope.credential;
        writer.u8(flag(scope.transport == Transport::Datagram, DATAGRAM)
            | SCHEME.put(record.scheme.map_or(0, Scheme::number))
            | flag(entry.is_some(), CERTIFICATE)
            | USES.put(record.confirmed_uses.min(ScopeRecord::CONFIRMED_USES))
            | flag(record.holders != 0, HELD));
        let kind = |slot: &Option<Slot>| slot.as_ref().map_or(0, |slot| slot.kind(own));
        writer.u8(CONFIRMED.put(kind(&record.confirmed)) | NEWER.put(kind(&record.newer)));
        writer.u8(HEALTH.put(record.health.number())
            | REQUESTS.put(record.requests.len() as u8) // at most MAX_REQUESTS
            | FINGERPRINTS.put(record.fingerprints.number()));
        writer.u16(scope.port);
        writer.short_vec(scope.server.as_bytes());
        writer.u32(record.history.made);
        writer.u32(record.history.used);
        writer.u8(FallbackReason::number(record.history.reason));
        record.health.encode_rest(writer);
        record.fingerprints.encode_rest(writer);
        for slot in [&record.confirmed, &record.newer].into_iter().flatten() {
            slot.ticket.encode(writer);
            slot.own_certificate.filter(|_| slot.own_certificate != own).into_iter().for_each(|own| own.encode(writer));
        }
        entry.iter().for_each(|entry| entry.encode_without_context(writer));
        record.requests.iter().for_each(|request| request.encode(writer));
        if record.holders != 0 {
            writer.u32(record.holders);
        }
    }
}

/// What a slot's ticket was made with: two bits for the own Certificate, of which 0 says that there is no slot, and two
/// for the entries.
impl Slot {
    const ANONYMOUS: u8 = 1;
    const OWN_OF_SCOPE: u8 = 2;
    const OTHER_OWN: u8 = 3;

    fn kind(&self, own: Option<Fingerprint>) -> u8 {
        let certificate = match self.own_certificate {
            None => Self::ANONYMOUS,
            certificate if certificate == own => Self::OWN_OF_SCOPE,
            Some(_) => Self::OTHER_OWN,
        };
        let entries = match self.entries {
            None => 0,
            Some(Entries { request: None }) => 1,
            Some(Entries { request: Some(ProtocolVersion::TLS_1_2) }) => 2,
            Some(Entries { request: Some(_) }) => 3,
        };
        certificate | entries << 2
    }
}

fn parse_slot(kind: u8, own: Option<Fingerprint>, reader: &mut Reader<'_>) -> Result<Option<Slot>, InvalidMessage> {
    if kind == 0 {
        return Ok(None);
    }
    let ticket = Ticket::parse(reader)?;
    let own_certificate = match kind & 3 {
        Slot::ANONYMOUS => None,
        Slot::OWN_OF_SCOPE => Some(own.ok_or(InvalidMessage::IllegalValue)?),
        Slot::OTHER_OWN => Some(Fingerprint::parse(reader)?),
        _ => return Err(InvalidMessage::IllegalValue),
    };
    let entries = match kind >> 2 {
        0 => None,
        1 => Some(Entries { request: None }),
        2 => Some(Entries { request: Some(ProtocolVersion::TLS_1_2) }),
        _ => Some(Entries { request: Some(ProtocolVersion::TLS_1_3) }),
    };
    Ok(Some(Slot { ticket, own_certificate, entries }))
}
