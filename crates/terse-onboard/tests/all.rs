//! All integration tests of this crate in one program, which is compiled and linked once. Those of the services are there twice:
//! on SQLite and on PostgreSQL.
#![allow(clippy::duplicate_mod)]

extern crate alloc;

/// Counts the heap, for the tests that bound the memory of services.
#[global_allocator]
static HEAP: terse_heap::CountingAllocator = terse_heap::CountingAllocator;

mod chromium;
#[path = "waits/deadline.rs"]
mod deadline;
mod discovery;
mod foreign;
mod join_proxy;
mod masa;
mod masa_postgres;
mod pledge;
mod pledge_coaps;
mod registrar;
mod registrar_postgres;
mod stranger;
#[path = "waits/vacant.rs"]
mod vacant;
mod whole;
