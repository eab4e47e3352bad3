//! How many requests an address may send: a token bucket for each (RFC 6585, 4, is the answer when it is empty).
//!
//! What must always hold: the table has at most [`MAX_ADDRESSES`] places; when all are taken, those who have none share one
//! bucket, so that a flood of addresses has no more requests than one address, and no memory.

use alloc::collections::BTreeMap;
use core::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::network::network;

/// The buckets of all addresses.
pub(super) struct Rate {
    per_second: u64,
    at_once: u64,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    buckets: BTreeMap<IpAddr, Bucket>,
    overflow: Option<Bucket>,
    /// The millisecond at which full buckets were last removed.
    swept: Option<u64>,
}

/// A bucket: thousandths of requests, and the millisecond at which they were counted.
#[derive(Clone, Copy)]
struct Bucket {
    tokens: u64,
    at: u64,
}

impl Rate {
    pub(super) fn new(per_second: u32, at_once: u32) -> Self {
        Self { per_second: per_second.into(), at_once: at_once.into(), table: Mutex::default() }
    }

    /// Takes one request of `address` at this millisecond. Returns whether it is within the limit.
    pub(super) fn take(&self, address: IpAddr, now: u64) -> bool {
        let address = network(address);
        let full = Bucket { tokens: self.at_once.saturating_mul(1000), at: now };
        // Nothing in here panics, and a half-made change is a bucket all the same.
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = table.swept.is_none_or(|swept| now.saturating_sub(swept) >= SWEEP_EVERY);
        if is_due && table.buckets.len() >= MAX_ADDRESSES {
            table.swept = Some(now);
            table.buckets.retain(|_, bucket| self.refilled(*bucket, now).tokens < full.tokens);
        }
        let Table { buckets, overflow, .. } = &mut *table;
        let bucket = match buckets.len() < MAX_ADDRESSES || buckets.contains_key(&address) {
            true => buckets.entry(address).or_insert(full),
            false => overflow.get_or_insert(full),
        };
        *bucket = self.refilled(*bucket, now);
        match bucket.tokens.checked_sub(1000) {
            Some(rest) => {
                bucket.tokens = rest;
                true
            }
            None => false,
        }
    }

    /// One request a second is one thousandth in a millisecond.
    fn refilled(&self, bucket: Bucket, now: u64) -> Bucket {
        let new = now.saturating_sub(bucket.at).saturating_mul(self.per_second);
        Bucket { tokens: bucket.tokens.saturating_add(new).min(self.at_once.saturating_mul(1000)), at: now }
    }
}

/// How often the whole table is looked through, at most, in milliseconds.
const SWEEP_EVERY: u64 = 1_000;

/// The most addresses in the table.
const MAX_ADDRESSES: usize = 4_096;

#[cfg(test)]
mod tests;
