//! The private half of an ephemeral secret ticket is gone once the ticket was used: it is looked for in the whole heap, also
//! in what was freed.

#![allow(unsafe_code)] // an allocator cannot be written without

extern crate alloc;

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use terse_testkit::identity::IdentityKeys;
use terse_testkit::pair::{Pair, at};
use terse_tls::crypto::{CryptoProvider, IdentityKey};
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::identity_early_data::{MemorySecretTickets, SecretTickets};
use terse_tls::resume::ServerEarlyData;
use terse_tls::{ClientConfig, ClientIdentity, ProtocolVersion, ServerConfig, ServerIdentity};

const PROVIDER: &CryptoProvider = &terse_rustcrypto::PROVIDER;

const SIZE: usize = 256 << 20;

/// A heap that never uses memory again, so that what was freed stays as it was left.
struct Heap {
    memory: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
}

// Safety: each byte is given out once, and read by `occurrences` while nothing else runs.
unsafe impl Sync for Heap {}

// Safety: blocks are aligned as asked, do not overlap, and live as long as the process.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.memory.get().cast::<u8>();
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let start = (base as usize + used).next_multiple_of(layout.align()) - base as usize;
            let end = start + layout.size();
            if end > SIZE {
                return core::ptr::null_mut();
            }
            match self.used.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed) {
                // Safety: `start` is within the memory.
                Ok(_) => return unsafe { base.add(start) },
                Err(other) => used = other,
            }
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Heap = Heap { memory: UnsafeCell::new([0; SIZE]), used: AtomicUsize::new(0) };

/// How often a secret is in the heap; `complement` has each of its bits inverted, so that it is not found itself.
fn occurrences(complement: &[u8; 32]) -> usize {
    let used = HEAP.used.load(Ordering::Relaxed);
    // Safety: the bytes are initialized, and no other thread runs.
    let heap = unsafe { core::slice::from_raw_parts(HEAP.memory.get().cast::<u8>(), used) };
    let is_secret = |window: &&[u8]| window.iter().zip(complement).all(|(byte, inverted)| *byte == !*inverted);
    heap.windows(32).filter(is_secret).count()
}

/// Returns the last 32 bytes of the private half of the only ticket, inverted.
fn secret_of(tickets: &MemorySecretTickets) -> [u8; 32] {
    let mut complement = [0; 32];
    tickets.for_each(|_, record| {
        let bytes = record.to_bytes();
        let secret = &bytes[bytes.len() - 33..bytes.len() - 1]; // no address follows
        complement.iter_mut().zip(secret).for_each(|(inverted, byte)| *inverted = !byte);
    });
    complement
}

#[test]
fn a_used_ticket_leaves_nothing_in_the_heap() {
    for algorithm in IdentityAlgorithm::ALL {
        let keys = IdentityKeys::shared(algorithm);
        let tickets = Arc::new(MemorySecretTickets::new(4));
        let store = SecretTickets::Stateful { store: tickets.clone(), lifetime_seconds: 3600 };
        let (mut client, mut server) = (ClientConfig::builder(PROVIDER), ServerConfig::builder(PROVIDER));
        client.versions([ProtocolVersion::TLS_1_3]).identity(ClientIdentity::new(keys.client.clone()).early_data(true));
        let key: Arc<dyn IdentityKey> = keys.server.clone();
        server.versions([ProtocolVersion::TLS_1_3]).early_data(ServerEarlyData::new(100));
        server.identity(ServerIdentity::new([key]).tickets(store));
        let (client, server) = (Arc::new(client.build().unwrap()), Arc::new(server.build().unwrap()));
        Pair::at(&client, &server, 1, at(0)).handshake().unwrap();
        let complement = secret_of(&tickets);
        assert_eq!(occurrences(&complement), 1, "{algorithm}: in the store, and nowhere else");

        let mut pair = Pair::at(&client, &server, 2, at(1));
        assert_eq!(pair.client.send_early_data(b"early"), Ok(5));
        pair.handshake().unwrap();
        assert_eq!(pair.early_data, b"early");
        assert_eq!(occurrences(&complement), 0, "{algorithm}: after the use");
        drop(pair);
        assert_eq!(occurrences(&complement), 0, "{algorithm}");
    }
}
