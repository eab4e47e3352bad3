//! How often early data at first contact is let in without a cookie (docs/identity.md): each such ClientHello costs a key
//! agreement, whoever has sent it.

use super::cookies::HelloOrigin;
use crate::time::Instant;
use crate::wire::{ClientHello, EarlyData, IdentityShareClientHello};

/// The ClientHellos that were let in during one second.
pub(super) struct FirstContacts {
    per_second: u32,
    second: u64,
    admitted: u32,
}

impl FirstContacts {
    pub(super) const fn new(per_second: u32) -> Self {
        Self { per_second, second: 0, admitted: 0 }
    }

    /// Returns whether the ClientHello has early data at first contact, and is let in without a cookie.
    pub(super) fn admits(&mut self, now: Instant, hello: &ClientHello<'_>, origin: &HelloOrigin) -> bool {
        let is_first_contact = || {
            let share = hello.extensions.get::<IdentityShareClientHello<'_>>();
            let has_early_data = matches!(hello.extensions.get::<EarlyData>(), Ok(Some(_)));
            has_early_data && share.is_ok_and(|share| share.is_some_and(|share| share.first_contact().is_some()))
        };
        if self.per_second == 0 || !origin.may_spend || !is_first_contact() {
            return false;
        }
        let Instant(milliseconds) = now;
        if self.second != milliseconds / 1000 {
            (self.second, self.admitted) = (milliseconds / 1000, 0);
        }
        let admits = self.admitted < self.per_second;
        self.admitted += u32::from(admits);
        admits
    }
}
