//! Stapled OCSP (RFC 6066, 8; RFC 6960), in every version, in full and under every scheme of caching. What of it caching
//! alone has stands in `tests/caching/staples.rs`.

extern crate alloc;

mod clients;
mod losses;
mod servers;
mod sessions;
mod staples;
