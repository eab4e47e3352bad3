//! EDHOC (RFC 9528) over CoAP and UDP, as programs of the simulator's hosts: the handshake for object security, beside TLS and
//! DTLS on the same network.
//!
//! The messages are those of lakers, with cipher suite 2 (AES-CCM-16-64-128, SHA-256, P-256) and method 3, the only one that
//! it has: both sides prove themselves with static Diffie-Hellman keys. Their credentials are CWT Claims Sets, sent
//! [by reference or by value](Transfer).
//!
//! ```text
//!   client (Initiator)                                                   server (Responder)
//!   CON POST /.well-known/edhoc   true, message_1      --->
//!                                                      <---   ACK 2.04   message_2
//!   CON POST /.well-known/edhoc   C_R, message_3       --->
//!                                                      <---   ACK 2.04
//! ```
//!
//! (RFC 9528, A.2.1, without message_4.) A request is retransmitted as RFC 7252, 4.2 and 4.8, say. The client is connected when
//! it has the last response, and both sides then have the secret of OSCORE (RFC 9528, A.1).
//!
//! What must always hold: randomness comes from a seed, and computing takes the time of the host's device.

mod client;
mod coap;
mod identity;
mod peer;
mod processor;
mod request;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use identity::{Identity, OscoreSecret, TooLong, Transfer};
pub use peer::Peer;
pub use server::Server;

/// The bytes of a message of EDHOC, and of the CoAP message that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The message's name in RFC 9528; "ok" is the response to message_3.
    pub name: &'static str,
    /// Bytes of EDHOC, without what CoAP adds (`true`, C_R).
    pub edhoc: usize,
    /// Bytes of the datagram.
    pub coap: usize,
}

/// The port of CoAP (RFC 7252, 6.1).
pub const PORT: u16 = 5683;

fn describe(error: lakers::EDHOCError) -> String {
    format!("EDHOC: {error:?}")
}
