//! The epochs whose records are accepted: the one in force, and earlier ones while their records may still arrive (RFC
//! 6347, 4.1; RFC 9147, 4.2.1 and 6.1).
//!
//! What must always hold: new content is accepted of at most one earlier epoch; the epoch of a DTLS 1.3 record is
//! unambiguous, as no two epochs that are kept have the same two low bits.

use alloc::vec::Vec;

use super::{APPLICATION, EARLY_DATA, HANDSHAKE};
use crate::crypto::CryptoError;
use crate::record::datagram::ReadEpoch;
use crate::record::{datagram12, datagram13};
use crate::schedule::EpochKeys;
use crate::time::Instant;

pub(super) struct Epochs {
    in_force: ReadEpoch,
    earlier: Vec<Earlier>,
    /// Whether the peer was asked to update the key in force because of forgeries.
    asked: bool,
    now: Instant,
}

struct Earlier {
    epoch: ReadEpoch,
    /// When the epoch is forgotten, if nothing causes that earlier.
    until: Option<Instant>,
}

/// The position of an epoch: `None` for the one in force, or an index among the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct EpochPosition(Option<usize>);

impl EpochPosition {
    pub(super) const fn is_in_force(self) -> bool {
        self.0.is_none()
    }
}

/// The maximum segment lifetime (RFC 9293, 3.4.1) in milliseconds: how long a record may be on its way (RFC 9147,
/// 4.2.1).
const MSL: u64 = 120_000;

impl Epochs {
    pub(super) fn new() -> Self {
        Self { in_force: ReadEpoch::unprotected(), earlier: Vec::new(), asked: false, now: Instant(0) }
    }

    pub(super) const fn in_force(&self) -> &ReadEpoch {
        &self.in_force
    }

    /// The epoch in force, if it is not one of DTLS 1.3.
    pub(super) const fn dtls12(&mut self) -> Option<&mut datagram12::ReadEpoch> {
        match &mut self.in_force {
            ReadEpoch::Dtls12(epoch) => Some(epoch),
            ReadEpoch::Dtls13(_) => None,
        }
    }

    /// Returns epoch 0, if it is kept and not in force.
    pub(super) fn unprotected(&mut self) -> Option<&mut datagram12::ReadEpoch> {
        self.earlier.iter_mut().find_map(|earlier| match &mut earlier.epoch {
            ReadEpoch::Dtls12(epoch) if !epoch.is_protected() => Some(epoch),
            _ => None,
        })
    }

    /// Returns the epoch of a record.
    pub(super) fn of(&mut self, header: &datagram13::Header) -> Option<(EpochPosition, &mut datagram13::ReadEpoch)> {
        let earlier = self.earlier.iter_mut().enumerate().map(|(place, earlier)| (Some(place), &mut earlier.epoch));
        let all = core::iter::once((None, &mut self.in_force)).chain(earlier);
        all.into_iter().find_map(|(place, epoch)| match epoch {
            ReadEpoch::Dtls13(epoch) if epoch.matches(header) => Some((EpochPosition(place), &mut **epoch)),
            _ => None,
        })
    }

    /// Whether a record with these epoch bits may belong to an epoch of the handshake whose keys are not known yet.
    pub(super) fn may_come(&self, bits: u8) -> bool {
        match &self.in_force {
            ReadEpoch::Dtls12(epoch) => !epoch.is_protected(),
            ReadEpoch::Dtls13(epoch) => epoch.epoch() == HANDSHAKE && u64::from(bits) == APPLICATION,
        }
    }

    /// Notes that a record of this epoch was authentic. After the first record under new keys, earlier keys are kept
    /// only for reordered records (RFC 9147, 8 and 4.2.1).
    pub(super) fn used(&mut self, place: EpochPosition) {
        if place.is_in_force() && self.in_force.epoch() > APPLICATION {
            let until = Instant(self.now.0.saturating_add(MSL));
            for earlier in self.earlier.iter_mut().filter(|earlier| earlier.epoch.epoch() >= APPLICATION) {
                earlier.until.get_or_insert(until);
            }
        }
    }

    /// Returns epoch and number of the newest record that was protected with keys of this handshake. Early data does
    /// not count. If no record came yet in the epoch in force, that of an earlier epoch is returned.
    pub(super) fn newest(&self) -> Option<(u64, u64)> {
        let newest_of = |epoch: &ReadEpoch| {
            let counts = epoch.is_protected() && !(epoch.is_dtls13() && epoch.epoch() == EARLY_DATA);
            epoch.newest().filter(|_| counts).map(|number| (epoch.epoch(), number))
        };
        // No epoch is newer than the one in force.
        let of_earlier = || self.earlier.iter().filter_map(|earlier| newest_of(&earlier.epoch)).max();
        newest_of(&self.in_force).or_else(of_earlier)
    }

    /// Returns when [`Self::expire`] forgets an epoch.
    pub(super) fn forgets_at(&self) -> Option<Instant> {
        self.earlier.iter().filter_map(|earlier| earlier.until).min()
    }

    /// Forgets the epochs whose time has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        self.now = now;
        self.retain(|earlier| earlier.until.is_none_or(|until| now < until));
    }

    /// Puts the next epoch in force.
    pub(super) fn push(&mut self, keys: &EpochKeys) -> Result<(), CryptoError> {
        let next = ReadEpoch::new(keys, 1)?; // DTLS 1.2 changes keys once
        let number = next.epoch();
        let before = core::mem::replace(&mut self.in_force, next);
        self.asked = false;
        // Early data that comes after Finished is dropped (RFC 9147, 5.6). The peer may retransmit its last flight for
        // twice the maximum segment lifetime (5.8.1).
        let until = (before.epoch() == HANDSHAKE && before.is_dtls13()).then(|| Instant(self.now.0 + 2 * MSL));
        if number >= APPLICATION {
            self.retain(|earlier| earlier.epoch.epoch() == HANDSHAKE);
        }
        self.earlier.reserve_exact(1);
        self.earlier.push(Earlier { epoch: before, until });
        // Two epochs must not have the same low bits. The client's last flight was acknowledged long ago.
        self.retain(|earlier| earlier.epoch.epoch() + 4 > number);
        Ok(())
    }

    /// Adds the epoch of early data, which is received beside the records of the handshake.
    pub(super) fn push_early_data(&mut self, keys: &EpochKeys) -> Result<(), CryptoError> {
        self.earlier.push(Earlier { epoch: ReadEpoch::new(keys, 1)?, until: None });
        Ok(())
    }

    pub(super) fn forget_unprotected(&mut self) {
        self.retain(|earlier| earlier.epoch.is_protected());
    }

    pub(super) fn forget_handshake(&mut self) {
        self.retain(|earlier| earlier.epoch.epoch() != HANDSHAKE);
    }

    /// Whether the peer should be asked to update its key because of forgeries. Returns true once for each key.
    pub(super) fn in_force_has_many_forgeries(&mut self) -> bool {
        let is_new = self.in_force.has_many_forgeries() && !self.asked;
        self.asked |= is_new;
        is_new
    }

    fn retain(&mut self, keep: impl Fn(&Earlier) -> bool) {
        if self.earlier.iter().any(|earlier| !keep(earlier)) {
            self.earlier.retain(keep);
            if self.earlier.is_empty() {
                self.earlier = Vec::new();
            }
        }
    }
}
