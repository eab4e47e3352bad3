//! This module has what a server keeps of one client: its Certificate, the ticket of the latest handshake, and the
//! ticket that this handshake used. A client that lost the last flight comes back with the older ticket
//! (docs/caching.md, 4.2), so there are at most two.
//!
//! ```text
//! shared: trust ID of the client's Certificate; what each ticket's client has seen: Certificate, CertificateRequest
//! kinds:  one byte of flags, see the constants
//! times:  made (4), used (4)
//! tickets (8 each), and for each the address that it proves (4), if there is one
//! entry:  server (short vector), fingerprint (32), and what is kept of the peer
//! ```

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::shared::{Record, Value, View};
use super::table::Kind;
use super::{AddressId, Fingerprint, NotSaved, PeerEntry, Row, ServerId, ServerObjects, Ticket, TrustId};
use crate::error::InvalidMessage;
use crate::wire::{Encode, EncodeError, Parse, Reader, Writer};

/// The data that a server keeps of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The client's Certificate, if it proved one that may be kept.
    pub(super) entry: Option<Arc<PeerEntry>>,
    pub(super) latest: TicketRow,
    /// The ticket that the latest handshake used, while it is kept.
    pub(super) parent: Option<TicketRow>,
    /// When the first ticket was made, in seconds since 1970; 0 if that is not known.
    pub(super) made: u32,
    /// When a ticket was last used, in seconds since 1970; 0 if that is not known.
    pub(super) used: u32,
}

/// The data that belongs to one ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TicketRow {
    pub(super) ticket: Ticket,
    pub(super) seen: Option<ServerObjects>,
    pub(super) address: Option<AddressId>,
}

impl Lineage {
    /// Returns the client's Certificate, if it proved one.
    pub fn entry(&self) -> Option<&PeerEntry> {
        self.entry.as_deref()
    }

    /// Returns the one or two tickets, latest first.
    pub fn tickets(&self) -> impl Iterator<Item = Ticket> {
        self.rows().map(|row| row.ticket)
    }

    /// Returns what the client has seen of this server, for a ticket of `compact`.
    pub const fn seen(&self) -> Option<ServerObjects> {
        self.latest.seen
    }

    /// Returns when the first ticket was made, in seconds since 1970, where there was a clock.
    pub fn made(&self) -> Option<u64> {
        Some(self.made.into()).filter(|time| *time != 0)
    }

    /// Returns when a ticket was last used, in seconds since 1970, where there was a clock.
    pub fn last_used(&self) -> Option<u64> {
        Some(self.used.into()).filter(|time| *time != 0)
    }

    fn rows(&self) -> impl Iterator<Item = &TicketRow> {
        core::iter::once(&self.latest).chain(&self.parent)
    }

    /// Returns what is kept under the ticket of this number.
    pub(super) fn row(&self, number: usize) -> Option<Row> {
        let TicketRow { seen, address, .. } = *self.rows().nth(number)?;
        Some(Row { entry: self.entry.clone(), seen, address })
    }

    /// Returns the lineage without the ticket of this number, if there is another one.
    pub(super) fn without(self, number: usize) -> Option<Self> {
        let latest = if number == 0 { self.parent? } else { self.latest };
        Some(Self { latest, parent: None, ..self })
    }
}

/// These methods are for stores in databases. As with a whole [`super::snapshot`], whoever can write the bytes can name
/// peers as verified.
impl Row {
    /// Returns the row as bytes. Fails only if its names are longer than those that a cache keeps.
    pub fn to_bytes(&self) -> Result<Vec<u8>, NotSaved> {
        let Self { entry, seen, address } = self.clone();
        let latest = TicketRow { ticket: Ticket([0; 8]), seen, address };
        let lineage = Lineage { entry, latest, parent: None, made: 0, used: 0 };
        let bytes = lineage.to_packed().map_err(|_| NotSaved)?.to_bytes();
        if bytes.is_empty() { Err(NotSaved) } else { Ok(bytes) }
    }

    /// Reads the row that [`Self::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidMessage> {
        Lineage::from_packed(View::of_one(bytes)?)?.row(0).ok_or(InvalidMessage::Truncated)
    }
}

/// The kind of table that a server has.
#[derive(Debug)]
pub(super) struct Lineages;

pub(super) const SHARED: usize = 5;

const PARENT: u8 = 1;
const ENTRY: u8 = 2;
/// The flags of an address, for the latest ticket and for its parent.
const ADDRESSES: [u8; 2] = [4, 8];
/// The offset at which the tickets begin.
const TICKETS: usize = 9;

impl Kind<SHARED> for Lineages {
    type Key<'a> = Ticket;
    const KEYS: usize = 2;

    fn key(view: &View<'_, SHARED>, number: usize) -> Option<Ticket> {
        let has_it = number == 0 || view.body.first().is_some_and(|kinds| kinds & PARENT != 0);
        let mut reader = Reader::new(view.body.get(TICKETS..)?);
        reader.take(8 * number).ok()?;
        Ticket::parse(&mut reader).ok().filter(|_| has_it)
    }

    fn equals(one: &Ticket, other: &Ticket) -> bool {
        one == other
    }
}

impl Lineage {
    /// Returns the lineage as a table keeps it.
    pub(super) fn to_packed(&self) -> Result<Record<SHARED>, EncodeError> {
        let value = |fingerprint: Option<Fingerprint>| fingerprint.map(|Fingerprint(value)| value);
        let seen = |row: Option<&TicketRow>| {
            let seen = row.and_then(|row| row.seen);
            [value(seen.map(|seen| seen.certificate)), value(seen.and_then(|seen| seen.request))]
        };
        let trust_id = self.entry.as_ref().map(|entry| entry.shared_trust_id());
        let ([certificate, request], [older, older_request]) = (seen(Some(&self.latest)), seen(self.parent.as_ref()));
        Ok(Record { shared: [trust_id, certificate, request, older, older_request], body: Body(self).to_vec()? })
    }

    /// Reads the lineage that [`Self::to_packed`] wrote.
    pub(super) fn from_packed(view: View<'_, SHARED>) -> Result<Self, InvalidMessage> {
        let [trust_id, certificate, request, older, older_request] = view.shared;
        let mut reader = Reader::new(view.body);
        let kinds = reader.u8()?;
        let (made, used) = (reader.u32()?, reader.u32()?);
        let latest = Ticket::parse(&mut reader)?;
        let parent = if kinds & PARENT == 0 { None } else { Some(Ticket::parse(&mut reader)?) };
        let mut row = |ticket, seen, address| {
            let address = if kinds & address == 0 { None } else { Some(AddressId::parse(&mut reader)?) };
            Ok(TicketRow { ticket, seen: seen_of(seen)?, address })
        };
        let latest = row(latest, (certificate, request), ADDRESSES[0])?;
        let parent = parent.map(|parent| row(parent, (older, older_request), ADDRESSES[1])).transpose()?;
        let entry = match (kinds & ENTRY != 0, trust_id) {
            (true, Some(trust_id)) => {
                let server = ServerId::from_bytes(reader.short_vec()?)?;
                let entry = PeerEntry::parse_with(TrustId::from_shared(*trust_id), server, &mut reader)?;
                Some(Arc::new(entry))
            }
            (false, None) => None,
            _ => return Err(InvalidMessage::IllegalValue),
        };
        reader.finish()?;
        Ok(Self { entry, latest, parent, made, used })
    }
}

fn seen_of((certificate, request): (Option<&Value>, Option<&Value>)) -> Result<Option<ServerObjects>, InvalidMessage> {
    let request = request.copied().map(Fingerprint);
    match certificate.copied().map(Fingerprint) {
        Some(certificate) => Ok(Some(ServerObjects { certificate, request })),
        None if request.is_none() => Ok(None),
        None => Err(InvalidMessage::IllegalValue),
    }
}

struct Body<'a>(&'a Lineage);

impl Encode for Body<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        let Self(lineage) = self;
        let mut kinds = if lineage.parent.is_some() { PARENT } else { 0 };
        kinds |= if lineage.entry.is_some() { ENTRY } else { 0 };
        for (row, flag) in lineage.rows().zip(ADDRESSES) {
            kinds |= if row.address.is_some() { flag } else { 0 };
        }
        writer.u8(kinds);
        writer.u32(lineage.made);
        writer.u32(lineage.used);
        lineage.rows().for_each(|row| row.ticket.encode(writer));
        lineage.rows().filter_map(|row| row.address).for_each(|address| address.encode(writer));
        if let Some(entry) = &lineage.entry {
            writer.short_vec(entry.server().as_bytes());
            entry.encode_without_context(writer);
        }
    }
}
