//! The connection IDs of an endpoint, each of which belongs to one connection (RFC 9146; RFC 9147, 9).

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::{ConnectionHandle, Endpoint, touch};
use crate::crypto::Rng;
use crate::error::{ApiMisuse, Error};
use crate::wire::ConnectionIdUsage;

/// How often a random connection ID is drawn until a free one is found.
const MAX_DRAWS: usize = 32;

impl Endpoint {
    /// Provides the peer of a connection with up to `count` new connection IDs, as many as are free and as there is
    /// room for: eight in total. This is for DTLS 1.3 only. Requests of the peer are answered automatically.
    pub fn issue_connection_ids(
        &mut self,
        handle: ConnectionHandle,
        count: u8,
        usage: ConnectionIdUsage,
        rng: &mut dyn Rng,
    ) -> Result<(), Error> {
        self.connections.get(&handle).ok_or(ApiMisuse::Closed)?.connection.check_issuing()?;
        self.provide(handle, count, usage, rng)
    }

    /// Answers the peer's request for connection IDs, if there is one.
    pub(super) fn answer_request(&mut self, handle: ConnectionHandle, rng: &mut dyn Rng) {
        let wanted = self.connections.get(&handle).and_then(|entry| entry.connection.wanted_ids());
        if let Some(count) = wanted {
            let _ = self.provide(handle, count, ConnectionIdUsage::CidSpare, rng); // fails only if nothing more is sent
        }
    }

    fn provide(
        &mut self,
        handle: ConnectionHandle,
        count: u8,
        usage: ConnectionIdUsage,
        rng: &mut dyn Rng,
    ) -> Result<(), Error> {
        let room = self.connections.get(&handle).map_or(0, |entry| entry.connection.room_for_ids(count));
        let mut ids = Vec::new();
        for _ in 0..room {
            let Some(Some(id)) = self.new_cid(rng) else { break };
            self.by_cid.insert(id.clone(), handle);
            ids.push(id);
        }
        let Some(entry) = self.connections.get_mut(&handle) else { return Ok(()) };
        let result = entry.connection.provide_ids(ids.clone(), usage);
        for id in result.as_ref().unwrap_or(&ids) {
            self.by_cid.remove(id);
        }
        touch(&mut self.touched, handle);
        result.map(|_| ())
    }

    /// Returns a free connection ID, or `Some(None)` if they are not used. Returns `None` if there is no free one, or
    /// randomness failed.
    pub(super) fn new_cid(&self, rng: &mut dyn Rng) -> Option<Option<Box<[u8]>>> {
        let Some(len) = self.connection_id() else { return Some(None) };
        let mut cid = vec![0; len.into()].into_boxed_slice();
        for _ in 0..MAX_DRAWS {
            rng.fill(&mut cid).ok()?;
            if cid.is_empty() || !self.by_cid.contains_key(&cid) {
                return Some(Some(cid));
            }
        }
        None // so short that all are in use
    }
}
