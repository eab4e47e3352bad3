//! All integration tests of this crate in one program, which is compiled and linked once. The allocator counts what each
//! thread has in use. Tests that need another allocator are programs of their own.

extern crate alloc;

use terse_testkit::allocator::CountingAllocator;

mod caching;
mod datagrams;
mod early_data;
mod half_open;
mod handshake;
mod hostile;
mod identity;
mod limbo;
mod limits;
mod pkits;
mod resumption;
mod stapling;
mod zoo;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
