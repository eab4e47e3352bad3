//! Connections in arenas: each call allocates there alone, and what an arena has no room for is counted. So these tests hold
//! [`Arena::size_for`] against what all the others here do to connections.

use alloc::sync::Arc;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::mem::MaybeUninit;

use terse_arena::Arena;
use terse_testkit::allocator::CountingAllocator;
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Scheme, Schemes, Scope, ServerCache};
use terse_tls::resume::{ClientResumption, ClientSessionStore, MemoryClientSessions, StoredSession};
use terse_tls::summary::Mode;
use terse_tls::{Datagrams, Memory, ProtocolVersion};

use crate::{Victim, datagrams};

/// What serves the tests themselves and the peers, with a count of what the entered arena had no room for.
pub(crate) struct Beyond;

thread_local! {
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to `CountingAllocator` unchanged; counting touches nothing but a `Cell`.
// An allocator cannot be written without `unsafe`.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Beyond {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Arena::entered().is_some() {
            REFUSED.set(REFUSED.get() + 1);
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { CountingAllocator.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { CountingAllocator.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { CountingAllocator.realloc(block, layout, new_size) }
    }
}

/// Returns an arena of the size that is stated for so many bytes in use.
pub(crate) fn arena(heap: usize) -> &'static Arena {
    let arena: &'static Arena = Box::leak(Box::new(Arena::new()));
    assert!(arena.give(vec![MaybeUninit::uninit(); Arena::size_for(heap)].leak()));
    arena
}

/// Returns the most bytes that were in use in an arena, which had room for everything.
pub(crate) fn peak(arena: &Arena) -> i64 {
    assert_eq!(REFUSED.get(), 0, "{arena:?} had no room for so many allocations");
    arena.peak() as i64
}

/// Runs `attack` on connections whose arenas are for `heap` bytes, and once more in arenas for twice what the worst of them had in use,
/// which is less: so the stated size leaves room for the gaps between blocks. Returns what the worst had in use.
pub(crate) fn worst(heap: usize, attack: impl Fn(usize) -> i64) -> i64 {
    let worst = attack(heap);
    let twice = 2 * worst as usize;
    assert!(twice <= Arena::size_for(heap), "{worst} of {heap}");
    attack(twice - twice / 8 - 64);
    worst
}

/// Returns a setup for the pair that a victim is put into. The end which it replaces takes nothing from the stores of clients.
pub(crate) fn without_stores(setup: &Setup, side: Side) -> Setup {
    let mut setup = setup.clone();
    if side == Side::Client {
        setup.client.cache(None).resumption(None);
    }
    setup
}

/// The sessions of a client, in an arena of their own: what a store keeps lives longer than the connection.
struct Sessions {
    arena: &'static Arena,
    inner: MemoryClientSessions,
}

impl ClientSessionStore for Sessions {
    fn put(&self, scope: &Scope, session: StoredSession) {
        self.arena.run(|| {
            let copy = StoredSession::from_bytes(&session.to_bytes()).expect("it was written just now");
            self.inner.put(scope, copy);
        });
    }

    fn take(&self, scope: &Scope) -> Option<StoredSession> {
        self.inner.take(scope)
    }
}

/// How a client connects again and again, and in which mode from the second time on.
#[derive(Clone, Copy, Debug)]
enum Way {
    Full,
    Compact,
    Resumed,
    Psk,
}

impl Way {
    const ALL: [(Self, Mode); 4] = [
        (Self::Full, Mode::Full),
        (Self::Compact, Mode::Cached(Scheme::Compact)),
        (Self::Resumed, Mode::Resumed),
        (Self::Psk, Mode::Psk),
    ];

    fn change(self, setup: Setup) -> Setup {
        match self {
            Self::Full => setup,
            Self::Compact => {
                let mut setup = setup;
                setup.client.cache(ClientCache::new(Arc::new(MemoryClientStore::fixed(1, 2_048)), Schemes::COMPACT));
                setup.server.cache(ServerCache::new(Arc::new(MemoryServerStore::new(4)), Schemes::COMPACT));
                setup
            }
            Self::Resumed => {
                let mut setup = setup.with_resumption();
                let sessions = Sessions { arena: arena(2_048), inner: MemoryClientSessions::new(1) };
                setup.client.resumption(ClientResumption::new(Arc::new(sessions)));
                setup
            }
            Self::Psk => setup.with_psk(),
        }
    }
}

/// Returns the setup of a small device, and the heap that it announces.
fn device(datagrams: bool) -> (Setup, Memory) {
    let provider = &terse_rustcrypto::PROVIDER;
    let mut setup = Setup::mutual(provider, provider, "p256x3").only(ProtocolVersion::TLS_1_3);
    let memory = Memory::DEVICE.datagrams(datagrams);
    for side in Side::BOTH {
        let common = setup.common(side);
        common.set_max_handshake_message(memory.max_handshake_message);
        common.set_max_record(memory.max_record);
        common.set_max_send_buffer(memory.max_send_buffer);
        common.set_record_size_limit(Some(memory.max_record as u16));
        common.set_datagrams(datagrams.then(Datagrams::constrained));
    }
    (setup, memory)
}

/// A client connects again and again in one arena, which is empty each time when the connection is dropped.
#[test]
fn a_client_lives_in_an_arena_of_the_stated_size() {
    for over_datagrams in [false, true] {
        for (way, mode) in Way::ALL {
            let (setup, memory) = device(over_datagrams);
            let setup = way.change(setup);
            let connection = arena(memory.heap());
            for number in 0..4 {
                let summary = match over_datagrams {
                    false => {
                        let mut client = Victim::in_arena(&setup, Side::Client, connection, number);
                        client.handshake(usize::MAX);
                        client.hears_data();
                        client.pair.client.summary().mode
                    }
                    true => {
                        let mut client = datagrams::Victim::in_arena(&setup, Side::Client, connection, number);
                        client.handshake();
                        client.hears_data();
                        client.pair.client.summary().mode
                    }
                };
                let expected = if number == 0 && !matches!(way, Way::Psk) { Mode::Full } else { mode };
                assert_eq!(summary, expected, "{way:?}, datagrams {over_datagrams}, {number}");
                println!("{way:?}, datagrams {over_datagrams}: {} of {}", peak(connection), connection.size());
                assert_eq!(connection.in_use(), 0, "{way:?}, datagrams {over_datagrams}, {number}");
            }
        }
    }
}

/// An arena for less than a handshake takes is noticed, and the blocks that it did give go back to it.
#[test]
fn an_arena_that_is_too_small_is_noticed() {
    let (setup, memory) = device(false);
    let enough = {
        let mut client = Victim::new(&setup, Side::Client, memory.heap());
        client.handshake(usize::MAX);
        client.peak() as usize
    };
    assert_eq!(REFUSED.get(), 0);
    let mut client = Victim::new(&setup, Side::Client, enough / 2);
    client.handshake(usize::MAX);
    assert!(REFUSED.take() > 0);
    let (small, rest) = (client.arena, client.pair);
    assert!(small.in_use() > 0 && small.peak() <= small.size());
    drop(rest);
    assert_eq!(small.in_use(), 0);
}
