//! The memory of early data at first contact, which depends on no secret that the server could forget: only the memory
//! keeps it from being delivered twice (docs/identity-format.md, 8).
//!
//! What must always hold: whatever may have been accepted was sent before the horizon, which was saved before; after a restart
//! nothing that was sent before it is accepted, whatever the clock says then.

use alloc::sync::Arc;
use core::fmt;

use spin::Mutex;

use crate::cache::NotSaved;
use crate::resume::ClientHellos;

/// The memory of accepted ClientHellos with early data at first contact. Servers that share an identity key must share the
/// memory, or only one of them may accept such early data.
pub struct FirstContactMemory {
    /// When the memory began, in seconds since 1970.
    started: u64,
    /// The horizon of earlier memories: what was sent until then may have been accepted.
    earlier: u64,
    hellos: Mutex<ClientHellos>,
    horizon: Option<Horizon>,
}

/// Where a [`FirstContactMemory`] keeps its horizon, from one run of the server to the next: the time, in seconds since 1970,
/// after which no ClientHello was sent that it has accepted.
pub trait FirstContactHorizon: Send + Sync {
    /// Returns the latest horizon that was saved, 0 if there was none, or `u64::MAX` if that is not known any more: then no early
    /// data at first contact is accepted.
    fn saved(&self) -> u64;

    /// Saves `horizon`, unless a later one was saved. When this returns, the horizon must outlive a loss of power. Returns an
    /// error if it is not saved: then the early data that needs it is rejected.
    fn save(&self, horizon: u64) -> Result<(), NotSaved>;
}

/// The horizon of this memory.
struct Horizon {
    store: Arc<dyn FirstContactHorizon>,
    state: Mutex<Saved>,
}

struct Saved {
    until: u64,
    /// When it could not be saved last, in seconds since 1970.
    failed: Option<u64>,
}

/// A ClientHello, and until when it counts as fresh.
#[derive(Clone, Debug)]
pub(crate) struct FirstContact {
    pub(crate) hash: [u8; 16],
    pub(crate) fresh_until: u64,
}

impl FirstContactMemory {
    /// Creates an empty memory for `capacity` ClientHellos of 24 bytes; if there is no room, early data is refused.
    /// `started` is the time now, in seconds since 1970. What was accepted before is not known, so that nothing is accepted that
    /// was sent before `started` or the horizon in `store`. That is written about once a minute, before early data is accepted.
    pub fn new(capacity: usize, started: u64, store: Arc<dyn FirstContactHorizon>) -> Self {
        let earlier = store.saved();
        let horizon = Horizon { store, state: Mutex::new(Saved { until: earlier, failed: None }) };
        Self { earlier, horizon: Some(horizon), ..Self::trusting_clock(capacity, started) }
    }

    /// Creates an empty memory that keeps nothing for the next run. It takes early data again that an earlier memory
    /// has taken **if the clock was set back in between**: this is for servers whose clock never goes back.
    pub const fn trusting_clock(capacity: usize, started: u64) -> Self {
        Self { started, earlier: 0, hellos: Mutex::new(ClientHellos::new(capacity)), horizon: None }
    }

    /// Returns how long a ClientHello with `hash`, which was sent at `sent`, counts as fresh, if it may be accepted at
    /// `now`. The clocks of both sides may differ by `window` seconds. Records nothing of the ClientHello.
    pub(crate) fn may_accept(&self, hash: &[u8], sent: u32, window: u32, now: u64) -> Option<FirstContact> {
        let (sent, window) = (u64::from(sent), u64::from(window));
        // An earlier memory may have accepted a ClientHello that was sent at most one window after its end.
        let is_known = sent > self.started.saturating_add(window).max(self.earlier);
        let contact = FirstContact { hash: *hash.first_chunk()?, fresh_until: sent.saturating_add(window) };
        let is_fresh = now.abs_diff(sent) <= window;
        let accepts = is_known && is_fresh && self.hellos.lock().may_be_first(&contact.hash, contact.fresh_until, now);
        // The server promises now to deliver the early data, and keeps that also if the disk is full a moment later.
        let accepts = accepts && self.horizon.as_ref().is_none_or(|horizon| horizon.covers(contact.fresh_until, now));
        accepts.then_some(contact)
    }

    /// Records a ClientHello, after a record under its keys was authenticated. Returns false if it was recorded before, or
    /// there is no room any more.
    pub(crate) fn take(&self, contact: &FirstContact, now: u64) -> bool {
        self.hellos.lock().is_first(&contact.hash, contact.fresh_until, now)
    }
}

impl Horizon {
    /// Returns whether the horizon that is saved is at `time` or later, after saving one if it was not. Since `time` is at most
    /// two windows from `now`, strangers cause no more writes than clients.
    fn covers(&self, time: u64, now: u64) -> bool {
        {
            let state = self.state.lock(); // others would spin while a disk is written: not locked then
            if time <= state.until {
                return true;
            }
            if state.failed == Some(now) {
                return false;
            }
        }
        let until = time.saturating_add(AHEAD_SECONDS);
        let saved = self.store.save(until);
        let mut state = self.state.lock();
        match saved {
            Ok(()) => *state = Saved { until: until.max(state.until), failed: None },
            Err(NotSaved) => state.failed = Some(now),
        }
        saved.is_ok()
    }
}

impl fmt::Debug for FirstContactMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstContactMemory")
            .field("started", &self.started)
            .field("earlier", &self.earlier)
            .finish_non_exhaustive()
    }
}

/// How far ahead the horizon is saved, so that writes are rare. After a restart early data is rejected so much longer.
const AHEAD_SECONDS: u64 = 60;
