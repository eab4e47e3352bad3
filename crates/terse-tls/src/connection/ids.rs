//! Connection IDs after the handshake (RFC 9147, 9): asked for, provided, and used when the path changes, so that those
//! who watch several networks cannot follow a connection.
//!
//! What must always hold: of each kind of message one at most is under way; those of the peer are few; what the peer
//! may use was made known to the endpoint before it was sent.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::Connection;
use crate::config::TraceEvent;
use crate::crypto::Rng;
use crate::error::{ApiMisuse, Error, PeerMisbehaved};
use crate::handshake::ConnectionIds;
use crate::link::datagram::connection_ids::OwnIds;
use crate::wire::{ConnectionId, ConnectionIdUsage, Encode, HandshakeType, List, NewConnectionId, RequestConnectionId};

/// How often an ID is drawn that there may be already.
const MAX_DRAWS: usize = 32;

/// What a connection knows of IDs, beside those in use.
#[derive(Default)]
pub(super) struct Ids {
    /// Of the peer, in the order in which they are to be used.
    spare: VecDeque<Box<[u8]>>,
    /// The peer was asked for some.
    is_requested: bool,
    /// How many the peer has asked for.
    owed: Option<u8>,
    /// How often it has asked.
    requests: u32,
    /// How often it was provided with some, asked or not.
    answers: u32,
    /// An endpoint draws them, and knows to whom they belong.
    pub(super) of_endpoint: bool,
}

impl Connection {
    /// Asks the peer for connection IDs, to have some for other paths: [`Self::path_changed`]. It may provide fewer,
    /// and more than four are not kept. DTLS 1.3 alone, where the peer has an ID that is not empty (RFC 9147, 9).
    pub fn request_connection_ids(&mut self, count: u8) -> Result<(), Error> {
        self.check_more_ids(self.peer_has_id())?;
        let kind = HandshakeType::REQUEST_CONNECTION_ID;
        if self.ids.is_requested || self.is_under_way(kind) {
            return Err(ApiMisuse::ConnectionIdsUnderWay.into());
        }
        self.send_post_handshake(kind, &RequestConnectionId { num_cids: count })?;
        self.ids.is_requested = true;
        Ok(())
    }

    /// Provides the peer with `count` connection IDs, or as many as there is room for. On a client; an endpoint has
    /// [`crate::Endpoint::issue_connection_ids`]. Answers to requests go by themselves.
    pub fn issue_connection_ids(
        &mut self,
        count: u8,
        usage: ConnectionIdUsage,
        rng: &mut dyn Rng,
    ) -> Result<(), Error> {
        if self.ids.of_endpoint {
            return Err(ApiMisuse::OfEndpoint.into());
        }
        self.check_issuing()?;
        let ids = self.draw_ids(count, rng)?;
        self.provide_ids(ids, usage).map(|_| ())
    }

    /// This side is on another path from here on: an ID of the peer is used that was not used before, if there is one.
    /// Returns whether there was.
    pub fn path_changed(&mut self) -> bool {
        while let Some(id) = self.ids.spare.pop_front() {
            if self.change_peer_id(id).is_ok() {
                return true;
            }
        }
        false
    }

    /// How many IDs of the peer wait to be used when the path changes.
    pub fn spare_connection_ids(&self) -> usize {
        self.ids.spare.len()
    }

    /// Refuses to provide IDs while others are under way, or if there can be none.
    pub(crate) fn check_issuing(&self) -> Result<(), Error> {
        self.check_more_ids(self.id_len() > 0)?;
        if self.is_under_way(HandshakeType::NEW_CONNECTION_ID) {
            return Err(ApiMisuse::ConnectionIdsUnderWay.into());
        }
        Ok(())
    }

    /// How many IDs the peer waits for, if they can be sent now.
    pub(crate) fn wanted_ids(&self) -> Option<u8> {
        self.ids.owed.filter(|_| self.check_issuing().is_ok())
    }

    /// How many of `count` IDs there is room for.
    pub(crate) fn room_for_ids(&self, count: u8) -> usize {
        self.ids_of_this_side().map_or(0, |own| own.room().min(count.into()))
    }

    /// Provides the peer with these, for which there is room. Returns those that it cannot use any more.
    pub(crate) fn provide_ids(
        &mut self,
        ids: Vec<Box<[u8]>>,
        usage: ConnectionIdUsage,
    ) -> Result<Vec<Box<[u8]>>, Error> {
        let cids: Vec<_> = ids.iter().map(|id| ConnectionId(id)).collect();
        let message = NewConnectionId { cids: List::Items(&cids), usage };
        self.send_post_handshake(HandshakeType::NEW_CONNECTION_ID, &message)?;
        self.ids.owed = None;
        self.ids.answers = self.ids.answers.saturating_add(1);
        Ok(self.link.datagrams_mut().map(|driver| driver.own_ids_mut()).map(|own| own.add(ids)).unwrap_or_default())
    }

    /// Answers a request, unless that is for the endpoint.
    pub(super) fn answer_request(&mut self, rng: &mut dyn Rng) -> Result<(), Error> {
        let Some(count) = self.wanted_ids().filter(|_| !self.ids.of_endpoint) else { return Ok(()) };
        let ids = self.draw_ids(count, rng)?;
        self.provide_ids(ids, ConnectionIdUsage::CidSpare).map(|_| ())
    }

    /// The peer asked for IDs, or provides some.
    pub(super) fn handle_ids(&mut self, ids: ConnectionIds) -> Result<(), Error> {
        match ids {
            ConnectionIds::Requested(count) => self.handle_request(count),
            ConnectionIds::New(ids, usage) => self.handle_new_ids(ids, usage),
        }
    }

    fn handle_request(&mut self, count: u8) -> Result<(), Error> {
        // The records that it sends have none, or its last request cannot have been answered: whatever IDs it gets it
        // may take for the answer, also those that were under way before.
        if self.id_len() == 0 || self.ids.requests > self.ids.answers {
            return Err(unexpected(HandshakeType::REQUEST_CONNECTION_ID));
        }
        if self.link.datagrams_mut().map(|driver| driver.own_ids_mut()).is_none_or(|own| !own.requested()) {
            return Err(PeerMisbehaved::TooManyCidsRequested.into());
        }
        self.ids.requests = self.ids.requests.saturating_add(1);
        self.ids.owed = Some(count);
        Ok(())
    }

    fn handle_new_ids(&mut self, ids: Vec<Box<[u8]>>, usage: ConnectionIdUsage) -> Result<(), Error> {
        if !self.peer_has_id() {
            return Err(unexpected(HandshakeType::NEW_CONNECTION_ID)); // it wanted none
        }
        self.ids.is_requested = false;
        let mut ids = ids.into_iter();
        if usage == ConnectionIdUsage::CidImmediate
            && let Some(id) = ids.next()
        {
            self.change_peer_id(id)?;
            self.ids.spare.clear(); // they were provided before
        }
        let room = ConnectionIds::MAX_SPARE - self.ids.spare.len(); // never more
        self.ids.spare.extend(ids.take(room));
        Ok(())
    }

    /// Random IDs of this side, of which each is new.
    fn draw_ids(&self, count: u8, rng: &mut dyn Rng) -> Result<Vec<Box<[u8]>>, Error> {
        let mut ids: Vec<Box<[u8]>> = Vec::new();
        let Some(own) = self.ids_of_this_side() else { return Ok(ids) };
        let wanted = self.room_for_ids(count);
        for _ in 0..MAX_DRAWS {
            if ids.len() == wanted {
                break;
            }
            let mut id = vec![0; own.id_len()].into_boxed_slice();
            rng.fill(&mut id)?;
            if !ids.contains(&id) && own.iter().all(|other| *other != *id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// More IDs need an open connection in DTLS 1.3 with IDs, of which the one that is concerned `is_there`.
    fn check_more_ids(&self, is_there: bool) -> Result<(), Error> {
        if self.closed || self.failure.is_some() {
            return Err(ApiMisuse::Closed.into());
        }
        if !self.is_connected() {
            return Err(ApiMisuse::HandshakeNotFinished.into());
        }
        match self.can_update_keys() && self.agreed.connection_ids && is_there {
            true => Ok(()),
            false => Err(ApiMisuse::NoConnectionIds.into()),
        }
    }

    /// Whether the peer's records carry an ID.
    pub(crate) fn has_own_id(&self) -> bool {
        self.agreed.connection_ids && self.id_len() > 0
    }

    /// All IDs of this side that the peer may use.
    pub(crate) fn own_ids(&self) -> impl Iterator<Item = &[u8]> {
        self.ids_of_this_side().into_iter().flat_map(OwnIds::iter)
    }

    fn ids_of_this_side(&self) -> Option<&OwnIds> {
        self.link.datagrams().map(|driver| driver.own_ids())
    }

    fn peer_has_id(&self) -> bool {
        self.link.datagrams().is_some_and(|driver| !driver.peer_id().is_empty())
    }

    fn change_peer_id(&mut self, id: Box<[u8]>) -> Result<(), Error> {
        self.link.datagrams_mut().map_or(Ok(()), |driver| driver.change_peer_id(id))
    }

    /// Whether a message of this kind was sent, and is not acknowledged.
    fn is_under_way(&self, kind: HandshakeType) -> bool {
        self.link.datagrams().is_some_and(|driver| driver.is_under_way(kind))
    }

    /// How long this side's IDs are.
    fn id_len(&self) -> usize {
        self.ids_of_this_side().map_or(0, OwnIds::id_len)
    }

    fn send_post_handshake(&mut self, kind: HandshakeType, body: &dyn Encode) -> Result<(), Error> {
        let sender = self.link.sender_mut();
        let len = sender.push(kind, body)?.len();
        sender.end_of_flight()?;
        if let Some(trace) = &self.config.common().trace {
            trace.event(TraceEvent::Sent(kind, len));
        }
        Ok(())
    }
}

fn unexpected(kind: HandshakeType) -> Error {
    PeerMisbehaved::UnexpectedHandshakeMessage(kind).into()
}
