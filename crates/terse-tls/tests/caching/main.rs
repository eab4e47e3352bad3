//! Handshake caching from end to end, our client against our server: the rules for all schemes, each test named after
//! its rule; the form on the wire; hostile sides; and random sequences against the same two without a cache.
//!
//! - [`rule1`]: the transcript binds the full content
//! - [`rule2`], [`rule2_failures`]: two slots, and what losses cost
//! - [`rule3`]: no two connections show the same ticket
//! - [`rule4`]: the application sees the same peer
//! - [`rule5_client`], [`rule5_server`], [`revocation`]: when the old entry must not be used
//! - [`rule6`]: not without the extended master secret
//! - [`rule8`]: servers that know nothing of it, and HelloRetryRequest
//! - [`versions`]: one cache for both versions
//! - [`wire`], [`wire12`]: byte by byte
//! - [`compact`], [`compact_faults`]: the scheme of that name, byte by byte and with hostile sides
//! - [`defences`]: what each defence is for
//! - [`credentials`]: clients with two credentials
//! - [`staples`]: stapled OCSP beside what is cached
//! - [`code_point`]: another one for `client_cached_info`
//! - [`faults_client`], [`faults_server`]: what the other side answers to nonsense
//! - [`model`], [`model_datagrams`]: random sequences

extern crate alloc;

mod code_point;
mod compact;
mod compact_faults;
mod credentials;
mod defences;
mod faults_client;
mod faults_server;
mod issued;
mod late;
mod messages;
mod model;
mod model_datagrams;
mod revocation;
mod rule1;
mod rule2;
mod rule2_failures;
mod rule3;
mod rule4;
mod rule5_client;
mod rule5_server;
mod rule6;
mod rule8;
mod schedule;
mod staples;
mod versions;
mod wire;
mod wire12;
mod world;
