//! How a server behaves.

use crate::coap::{BlockSize, Transmission};

/// How a server behaves.
///
/// # Defaults
///
/// Transmission parameters as in the RFC, blocks of at most 512 bytes, requests of at most 16 kB, responses of at most
/// 64 kB, and acknowledgements after 1 s, which is before any client sends again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The transmission parameters.
    pub transmission: Transmission,
    /// The largest blocks, both of requests and of responses. Clients can make them smaller. Where records or datagrams are
    /// limited, it is [`BlockSize::for_datagram`] of the limit: a block of 512 bytes does not fit into a record of 512.
    pub block_size: BlockSize,
    /// The longest payload of a request, in bytes; one that is longer is answered by 4.13.
    pub max_request: usize,
    /// The longest payload of a response, in bytes. One that is longer becomes 5.00.
    pub max_response: usize,
    /// After how many milliseconds a request that is not answered is acknowledged.
    pub acknowledge_after_ms: u64,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            transmission: Transmission::default(),
            block_size: BlockSize::at_most(512),
            max_request: 16_384,
            max_response: 65_536,
            acknowledge_after_ms: 1_000,
        }
    }
}
