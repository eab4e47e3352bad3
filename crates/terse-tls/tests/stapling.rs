//! Tests of stapled OCSP (RFC 6066, 8; RFC 6960), in every version, in full and under every scheme of caching.
//! `tests/caching/staples.rs` has what concerns caching alone.

mod clients;
mod losses;
mod servers;
mod sessions;
mod staples;
