//! The memory of early data at first contact, which depends on no secret that the server could forget: only the memory
//! keeps it from being delivered twice (docs/identity-format.md, 8).

use core::fmt;

use spin::Mutex;

use crate::resume::ClientHellos;

/// The memory of accepted ClientHellos with early data at first contact. Servers that share an identity key must share the
/// memory, or only one of them may accept such early data.
pub struct FirstContactMemory {
    /// When the memory began, in seconds since 1970.
    started: u64,
    hellos: Mutex<ClientHellos>,
}

/// A ClientHello, and until when it counts as fresh.
#[derive(Clone, Debug)]
pub(crate) struct FirstContact {
    pub(crate) hash: [u8; 16],
    pub(crate) fresh_until: u64,
}

impl FirstContactMemory {
    /// Creates an empty memory for `capacity` ClientHellos of 24 bytes; if there is no room, early data is refused.
    /// `started` is the time now, in seconds since 1970. What was accepted before is not known, so for as long as it could
    /// come again, nothing is accepted.
    pub const fn new(capacity: usize, started: u64) -> Self {
        Self { started, hellos: Mutex::new(ClientHellos::new(capacity)) }
    }

    /// Returns how long a ClientHello with `hash`, which was sent at `sent`, counts as fresh, if it may be accepted at
    /// `now`. The clocks of both sides may differ by `window` seconds. Changes nothing.
    pub(crate) fn may_accept(&self, hash: &[u8], sent: u32, window: u32, now: u64) -> Option<FirstContact> {
        let (sent, window) = (u64::from(sent), u64::from(window));
        // An earlier memory may have accepted a ClientHello that was sent at most one window after its end.
        let is_known = sent > self.started.saturating_add(window);
        let contact = FirstContact { hash: *hash.first_chunk()?, fresh_until: sent.saturating_add(window) };
        let is_fresh = now.abs_diff(sent) <= window;
        let accepts = is_known && is_fresh && self.hellos.lock().may_be_first(&contact.hash, contact.fresh_until, now);
        accepts.then_some(contact)
    }

    /// Records a ClientHello, after a record under its keys was authenticated. Returns false if it was recorded before, or
    /// there is no room any more.
    pub(crate) fn take(&self, contact: &FirstContact, now: u64) -> bool {
        self.hellos.lock().is_first(&contact.hash, contact.fresh_until, now)
    }
}

impl fmt::Debug for FirstContactMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstContactMemory").field("started", &self.started).finish_non_exhaustive()
    }
}
