//! What a client keeps of one scope: the server's objects, the two slots for tickets, and how offers fared.
//!
//! What must always hold (`caching`, rule 2): a ticket is offered only for the certificate that it was made with, and
//! `confirmed` is given up only for a ticket that the server is known to have.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::health::Health;
use super::{Fingerprint, PeerEntry, RequestEntry, Ticket};
use crate::error::InvalidMessage;
use crate::wire::{Encode, Parse, ProtocolVersion, Reader, Writer};

/// What a client keeps of one scope. A store holds it without looking inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeRecord {
    pub(super) server_certificate: Option<Arc<PeerEntry>>,
    /// At most one for each version.
    requests: Vec<Arc<RequestEntry>>,
    confirmed: Option<Slot>,
    newer: Option<Slot>,
    /// How many handshakes used `confirmed` since `newer` was first set.
    confirmed_uses: u8,
    pub(super) health: Health,
    /// How many running connections hold a ticket. Never saved: it ends with the process.
    pub(super) holders: u32,
}

/// A ticket, and the certificate that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) ticket: Ticket,
    pub(super) own_certificate: Fingerprint,
}

impl ScopeRecord {
    /// Uses of `confirmed` after which `newer` is tried.
    const CONFIRMED_USES: u8 = 3;
    /// TLS 1.2 and 1.3, and as many again for versions to come.
    const MAX_REQUESTS: usize = 4;

    /// Whether there is anything to keep.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What of it outlives the process.
    pub(super) fn without_holds(&self) -> Self {
        Self { holders: 0, ..self.clone() }
    }

    /// The latest request in one of `versions`: that of the version that the server spoke last.
    pub(super) fn request(&self, versions: &[ProtocolVersion]) -> Option<&Arc<RequestEntry>> {
        self.requests.iter().rev().find(|request| versions.contains(&request.version))
    }

    pub(super) fn learn_request(&mut self, request: RequestEntry) {
        self.requests.retain(|known| known.version != request.version);
        self.requests.truncate(Self::MAX_REQUESTS - 1);
        self.requests.push(Arc::new(request));
    }

    pub(super) fn forget_request(&mut self, fingerprint: Fingerprint) {
        self.requests.retain(|known| known.fingerprint != fingerprint);
    }

    /// The ticket to offer for `own_certificate`: `newer` only if no `confirmed` can be offered, or `confirmed` was
    /// used three times since `newer` was first set.
    pub(super) fn ticket(&self, own_certificate: Fingerprint) -> Option<Ticket> {
        let offerable = |slot: Option<Slot>| slot.filter(|slot| slot.own_certificate == own_certificate);
        let (confirmed, newer) = (offerable(self.confirmed), offerable(self.newer));
        let slot = if self.confirmed_uses >= Self::CONFIRMED_USES { newer.or(confirmed) } else { confirmed.or(newer) };
        slot.map(|slot| slot.ticket)
    }

    /// The server knows `ticket`, which an authenticated handshake showed: `newer` becomes `confirmed`.
    pub(super) fn known(&mut self, ticket: Ticket) {
        if let Some(slot) = self.newer.filter(|slot| slot.ticket == ticket) {
            self.confirm(slot);
        }
    }

    /// The server does not know `ticket`.
    pub(super) fn unknown(&mut self, ticket: Ticket) {
        for slot in [&mut self.confirmed, &mut self.newer] {
            if slot.is_some_and(|slot| slot.ticket == ticket) {
                *slot = None;
            }
        }
    }

    /// A handshake that used the ticket `used`, or none, made the ticket of `slot`; whether the server has it is open.
    pub(super) fn learn_ticket(&mut self, slot: Slot, used: Option<Ticket>) {
        if self.newer.is_none() {
            self.confirmed_uses = 0;
        } else if used.is_some() && used == self.confirmed.map(|confirmed| confirmed.ticket) {
            self.confirmed_uses = self.confirmed_uses.saturating_add(1);
        }
        self.newer = Some(slot);
    }

    /// The server is known to have the ticket of `slot`: it is the one to use.
    pub(super) fn confirm(&mut self, slot: Slot) {
        self.confirmed = Some(slot);
        self.newer = None;
        self.confirmed_uses = 0;
    }

    pub(super) fn drop_tickets(&mut self) {
        self.confirmed = None;
        self.newer = None;
        self.confirmed_uses = 0;
    }
}

impl Parse<'_> for Slot {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self { ticket: Ticket::parse(reader)?, own_certificate: Fingerprint::parse(reader)? })
    }
}

impl Encode for Slot {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.ticket.encode(writer);
        self.own_certificate.encode(writer);
    }
}

impl Parse<'_> for ScopeRecord {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let server_certificate = Option::parse(reader)?.map(Arc::new);
        let count = reader.u8()?;
        if usize::from(count) > Self::MAX_REQUESTS {
            return Err(InvalidMessage::IllegalLength);
        }
        let requests = (0..count).map(|_| RequestEntry::parse(reader).map(Arc::new)).collect::<Result<_, _>>()?;
        Ok(Self {
            server_certificate,
            requests,
            confirmed: Option::parse(reader)?,
            newer: Option::parse(reader)?,
            confirmed_uses: reader.u8()?,
            health: Health::parse(reader)?,
            holders: 0,
        })
    }
}

impl Encode for ScopeRecord {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.server_certificate.encode(writer);
        writer.u8(self.requests.len() as u8); // at most MAX_REQUESTS
        self.requests.iter().for_each(|request| request.encode(writer));
        self.confirmed.encode(writer);
        self.newer.encode(writer);
        writer.u8(self.confirmed_uses);
        self.health.encode(writer);
    }
}
