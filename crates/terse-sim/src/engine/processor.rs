//! The processor of a host: it runs the engine's calls, and takes a device's time for what they compute.
//!
//! What must always hold: a call of the engine is computed as a whole. The operations of a flight are over before its
//! first byte leaves, whatever their order in it.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::time::Duration;

use crate::computing::{Counts, Device, NoTime, observe};
use crate::host::Sockets;
use crate::probe::{Party, Probe};

/// The probe that measures the calls of the engine.
pub(crate) type Watcher<'a> = RefCell<&'a mut dyn Probe>;

/// The processor of one side.
pub(crate) struct Processor<'w, 'a> {
    party: Party,
    watcher: &'w Watcher<'a>,
    device: Option<Arc<Device>>,
    /// What was computed, if there is a device.
    pub(crate) computed: Counts,
    /// How long that took.
    pub(crate) time: Duration,
    /// The first operation for which the device has no time.
    pub(crate) no_time: Option<NoTime>,
}

impl<'w, 'a> Processor<'w, 'a> {
    /// Creates a processor of `device`, or one that computes in no time.
    pub(crate) fn new(party: Party, watcher: &'w Watcher<'a>, device: Option<Arc<Device>>) -> Self {
        Self { party, watcher, device, computed: Counts::default(), time: Duration::ZERO, no_time: None }
    }

    /// Calls `run`, which is work of the engine, and keeps the program busy for as long as it takes.
    pub(super) fn run(&mut self, sockets: &mut Sockets<'_>, run: &mut dyn FnMut()) {
        let (party, watcher) = (self.party, self.watcher);
        let Some(device) = &self.device else { return watcher.borrow_mut().call(party, run) };
        let ((), counts) = observe(|| watcher.borrow_mut().call(party, run));
        match device.time(&counts) {
            Ok(time) => {
                sockets.busy(time);
                self.time += time;
            }
            Err(no_time) => drop(self.no_time.get_or_insert(no_time)),
        }
        self.computed.add(&counts);
    }
}
