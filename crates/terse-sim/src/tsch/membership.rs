//! How nodes come into a network that forms itself, and leave it.
//!
//! What must always hold: a node that leaves has forgotten everything, and every frame that it had is accounted for.

use super::Mesh;
use super::stack::{Stack, State};
use crate::Time;
use crate::asn::Asn;
use crate::cause::Cause;
use crate::synchronization::{Clock, EnhancedBeacon, Joining, KeepAlive};

impl Mesh {
    /// Handles a beacon that a node heard that is not synchronised.
    pub(super) fn hear_beacon(&mut self, now: Time, asn: Asn, number: u16, from: u16) {
        // Who joins does not look at the number of the beacon.
        let Some(beacon) = self.beacon(asn, from, 0) else { return };
        let Some(stack) = self.motes[usize::from(number)].stack.as_deref_mut() else { return };
        let State::Scanning { joining, .. } = &mut stack.state else { return };
        if let Some(beacon) = joining.handle_beacon(now, beacon) {
            self.join(now, asn, number, &beacon);
        }
    }

    /// Returns the beacon that a node sends in this slot.
    fn beacon(&self, asn: Asn, from: u16, sequence: u8) -> Option<EnhancedBeacon> {
        let join_metric = self.joined(from)?.rpl.join_metric()?;
        let length = self.config.slotframes.first().copied().unwrap_or(1);
        let eui64 = self.motes[usize::from(from)].eui64;
        let beacon = EnhancedBeacon::minimal(self.config.mac.pan, eui64, asn.0, join_metric, length);
        Some(EnhancedBeacon { sequence, ..beacon })
    }

    /// Returns the beacon as bytes, for captures.
    pub(super) fn beacon_bytes(&self, asn: Asn, from: u16, sequence: u8) -> Vec<u8> {
        self.beacon(asn, from, sequence).and_then(|beacon| beacon.encode()).unwrap_or_default()
    }

    /// Synchronises a node with the sender of a beacon. It is taken to have followed that one's beacons while it waited for others.
    pub(super) fn join(&mut self, now: Time, asn: Asn, number: u16, beacon: &EnhancedBeacon) {
        let Self { forming: Some(forming), motes, config, chance, .. } = self else { return };
        let mut identifier = beacon.source;
        identifier[0] ^= 0x02;
        let Some(source) = forming.numbers.get(&identifier).copied() else { return };
        let theirs = motes[usize::from(source)].stack.as_ref().and_then(|stack| Some(stack.joined()?.clock));
        let mote = &mut motes[usize::from(number)];
        let Some(stack) = &mut mote.stack else { return };
        let Some(theirs) = theirs else {
            // It has lost the network since it sent the beacon: the search begins anew.
            if let State::Scanning { joining, .. } = &mut stack.state {
                *joining = Joining::new(forming.options.join, *chance, number.into());
            }
            return;
        };
        if let State::Scanning { since, .. } = stack.state {
            mote.power.scan(asn.0 + 1 - since.0);
        }
        let mut clock = Clock::new(stack.drift, now);
        clock.synchronise(now, &theirs, config.timeslot.resolution());
        let mut joined = forming.identity(number, config, *chance).joined(clock, false, now);
        joined.source = Some(source);
        joined.keep_alive = Some(KeepAlive::new(forming.options.keep_alive, asn.0));
        stack.state = State::Joined(Box::new(joined));
        mote.power.settle(&mote.schedule, asn + 1);
        forming.first_cells(number).into_iter().for_each(|cell| mote.schedule.add(cell));
        mote.statistics.joined_at = Some(now);
    }

    /// Lets a node lose the network: it forgets everything, and listens for beacons again, or is switched off.
    pub(super) fn leave(&mut self, asn: Asn, number: u16, is_switched_off: bool) {
        let mote = &mut self.motes[usize::from(number)];
        mote.power.settle(&mote.schedule, asn + 1);
        mote.forget(&self.config.mac);
        let partial = core::mem::take(&mut mote.partial);
        let queue = core::mem::take(&mut mote.queue);
        let frames = queue.len() + partial.iter().map(|partial| partial.pieces.count_ones() as usize).sum::<usize>();
        mote.pool.free(frames as u8); // a pool has 255 frames at most
        mote.statistics.joined_at = None;
        for partial in partial {
            self.datagrams.gone(partial.datagram, partial.pieces.count_ones(), Some(Cause::NodeLost));
        }
        for frame in queue {
            self.drop_content(&frame, Cause::NodeLost);
        }
        let Self { forming: Some(forming), motes, config, chance, .. } = self else { return };
        let identity = forming.identity(number, config, *chance);
        let mut stack = Stack::scanning(&identity, asn + 1);
        if is_switched_off {
            stack.state = State::Off;
        }
        motes[usize::from(number)].stack = Some(Box::new(stack));
    }

    /// Switches a node off: what it has is lost, and nobody is told. The root stays on.
    pub(crate) fn switch_off(&mut self, now: Time, number: u16) {
        if self.forming.is_some() && number != 0 && usize::from(number) < self.motes.len() {
            let ready = self.config.timeslot.after(now);
            self.leave(Asn(ready.0.saturating_sub(1)), number, true);
            self.reschedule(number, ready);
        }
    }

    /// Switches a node on again, which then listens for beacons.
    pub(crate) fn switch_on(&mut self, now: Time, number: u16) {
        let ready = self.config.timeslot.after(now);
        let Self { forming: Some(forming), motes, config, chance, .. } = self else { return };
        let Some(mote) = motes.get_mut(usize::from(number)) else { return };
        if mote.stack.as_ref().is_some_and(|stack| matches!(stack.state, State::Off)) {
            mote.stack = Some(Box::new(Stack::scanning(&forming.identity(number, config, *chance), ready)));
        }
    }
}
