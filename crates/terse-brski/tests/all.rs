//! All integration tests of this crate in one program, which is compiled and linked once. The allocator counts what each
//! thread has in use.

extern crate alloc;

use terse_testkit::allocator::CountingAllocator;

mod aiocoap;
mod heap;
mod openssl;
mod openssl_est;
mod pycose;
mod services;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
