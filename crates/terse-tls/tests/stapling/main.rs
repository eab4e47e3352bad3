//! Stapled OCSP (RFC 6066, 8; RFC 6960), in every version, in full and under every scheme of caching.

extern crate alloc;

mod clients;
mod servers;
mod staples;
