//! Client against server over datagrams, which may be lost, doubled, late and damaged (RFC 6347).
//!
//! - [`modes`]: the handshakes that are disturbed, one of each mode, in datagrams of every size
//! - [`outcome`]: what must hold of a connection whatever was done to it
//! - [`single`], [`pairs`], [`random`]: what a network does, systematically and at random
//! - [`flipped`]: datagrams that arrive damaged
//! - [`timers`]: when a flight is sent again, and when no more
//! - [`narrow`]: what is sent again where little is carried at a time
//! - [`caching`]: what losses and crashes cost the next connection
//! - [`stale`]: when what is kept must not be used
//! - [`bytes`]: how many bytes a cached handshake takes
//! - [`budgets`]: how much an address that is not proven is sent
//! - [`acks`]: what is acknowledged, and what is sent again for it
//! - [`progress`]: what is not sent again once a part of the answer has come
//! - [`key_updates`]: what follows the handshake in DTLS 1.3
//! - [`epochs`]: records that are early, late, or far from the last one
//! - [`attacks`]: by those who have no keys
//! - [`forged`]: the same, in DTLS 1.3 alone
//! - [`connection_ids`]: more of them, for clients that change their network
//! - [`hostile`]: by peers that have them
//! - [`endpoint`]: many clients at one server
//! - [`once`]: what a ClientHello costs it
//! - [`cookies`]: how they know in DTLS 1.3 that a client is where it says
//! - [`tickets`]: how they know it of a client that comes back
//! - [`late`]: servers whose store answers later
//! - [`headers`]: clients behind a relay that all have its address
//! - [`paths`]: clients whose address changes, or seems to
//! - [`trace`]: what those hear who watch
//! - [`versions`]: which version a server takes
//! - [`wire`]: what went over the wire, opened
//! - [`wandering`]: clients that move all the time, on networks that lose much
//! - [`world`]: a server and clients at addresses

mod acks;
mod attacks;
mod budgets;
mod bytes;
mod caching;
mod connection_ids;
mod cookies;
mod endpoint;
mod epochs;
mod flipped;
mod forged;
mod headers;
mod hostile;
mod key_updates;
mod late;
mod modes;
mod narrow;
mod once;
mod outcome;
mod pairs;
mod paths;
mod progress;
mod random;
mod single;
mod stale;
mod tickets;
mod timers;
mod trace;
mod versions;
mod wandering;
mod wire;
mod world;
