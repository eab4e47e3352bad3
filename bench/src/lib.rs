//! Terse is measured beside other TLS implementations in one process: client and server over memory, mutual
//! authentication, the same certificates. `README.md` explains the numbers.
//!
//! A [`stack::Stack`] makes a [`stack::World`] for a [`stack::Setting`], a [`pair::Pair`] connects a client and a server of
//! that world, and a [`probe::Probe`] watches their calls. Each measurement has its file in [`measure`].

pub mod bootstrap;
pub mod cache_entries;
pub mod clock;
mod compile;
pub mod endpoint_sizes;
pub mod joins;
pub mod layers;
pub mod lossy;
pub mod measure;
pub mod operations;
pub mod pair;
pub mod pipe;
pub mod plant;
pub mod probe;
pub mod slots;
pub mod stack;
pub mod stacks;
pub mod store_sizes;
pub mod table;
pub mod voucher;
pub mod web;
