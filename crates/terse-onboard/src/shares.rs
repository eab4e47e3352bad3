//! The places for connections: a number in all, and a number for each address.
//!
//! What must always hold: the table has no more entries than there are connections.

use alloc::sync::Arc;
use core::net::IpAddr;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The connections of each address.
pub(crate) struct Shares {
    connections: usize,
    per_address: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    connections: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// The place of one connection, which is free again when this is dropped.
pub(crate) struct Share {
    shares: Arc<Shares>,
    address: IpAddr,
}

impl Shares {
    pub(crate) fn new(connections: usize, per_address: usize) -> Self {
        Self { connections, per_address, taken: Mutex::default() }
    }

    /// Takes a place for a connection of this address, if there is one.
    pub(crate) fn take(this: &Arc<Self>, address: IpAddr) -> Option<Share> {
        let address = address.to_canonical();
        let mut taken = this.lock();
        let own = taken.by_address.get(&address).copied().unwrap_or_default();
        if taken.connections >= this.connections || own >= this.per_address {
            return None;
        }
        taken.connections += 1;
        taken.by_address.insert(address, own + 1);
        drop(taken);
        Some(Share { shares: this.clone(), address })
    }

    /// Nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.lock();
        taken.connections = taken.connections.saturating_sub(1);
        if let Some(own) = taken.by_address.get_mut(&self.address) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.by_address.remove(&self.address);
            }
        }
    }
}
