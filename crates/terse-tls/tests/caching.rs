//! Handshake caching from end to end, our client against our server: the rules for all schemes, each test named after
//! its rule; the form on the wire; hostile sides; and random sequences against the same two without a cache.
//!
//! - [`transcript_binding`]: the transcript binds the full content
//! - [`slots`], [`slots_after_failures`]: two slots, and what losses cost
//! - [`fresh_tickets`]: no two connections show the same ticket
//! - [`peer_identity`]: the application sees the same peer
//! - [`stale_on_client`], [`stale_on_server`], [`revocation`]: when the old entry must not be used
//! - [`extended_master_secret`]: not without the extended master secret
//! - [`unaware_peers`]: servers that know nothing of it, and HelloRetryRequest
//! - [`usage`]: servers that are known by a usage instead of a name
//! - [`versions`]: one cache for both versions
//! - [`wire`], [`wire12`]: byte by byte
//! - [`compact`], [`compact_faults`]: the scheme of that name, byte by byte and with hostile sides
//! - [`defences`]: what each defence is for
//! - [`credentials`]: clients with two credentials
//! - [`staples`]: stapled OCSP beside what is cached
//! - [`code_point`]: another one for `client_cached_info`
//! - [`faults_client`], [`faults_server`]: what the other side answers to nonsense
//! - [`model`], [`model_datagrams`]: random sequences

mod code_point;
mod compact;
mod compact_faults;
mod credentials;
mod defences;
mod extended_master_secret;
mod faults_client;
mod faults_server;
mod fresh_tickets;
mod issued;
mod late;
mod messages;
mod model;
mod model_datagrams;
mod peer_identity;
mod revocation;
mod schedule;
mod slots;
mod slots_after_failures;
mod stale_on_client;
mod stale_on_server;
mod staples;
mod transcript_binding;
mod unaware_peers;
mod usage;
mod versions;
mod wire;
mod wire12;
mod world;
