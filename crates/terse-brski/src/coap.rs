//! CoAP (RFC 7252) as constrained BRSKI and EST-coaps (RFC 9148) use it, without sockets, clock or randomness of its own: a
//! client for pledges, and with the feature `services` a server for registrars.
//!
//! | part | content |
//! |---|---|
//! | [`Client`] | one request at a time, confirmable, with long requests and responses in blocks (RFC 7959) |
//! | `Server` | the requests of one peer, and the answers to them (feature `services`) |
//! | [`Resource`] | the resources, their paths, and their Uri-Path-Abbrev |
//! | [`content_format`], [`Code`] | numbers of content formats, and codes of requests and responses |
//! | [`discovery`] | questions to a link, and the answers to them, one datagram each |
//! | [`link_format`] | discovery (RFC 6690): the links of answers, and readers for them |
//! | [`multipart`] | several representations in one (RFC 8710), for CA certificates |
//!
//! Over DTLS each datagram is the application data of one record; the same bytes are the datagrams of plain UDP.
//!
//! What must always hold: no input makes a call panic, and each input costs bounded work and memory. What a peer leaves
//! undone, a timer ends. Payloads are erased from memory, because a response can contain a private key, and are not printed.

mod block;
mod client;
mod code;
pub mod content_format;
pub mod discovery;
pub mod link_format;
mod message;
pub mod multipart;
mod option;
mod payload;
mod request;
mod resource;
#[cfg(feature = "services")]
mod server;
mod transmission;

pub use block::BlockSize;
pub use client::{Client, ClientConfig, Failure};
pub use code::Code;
pub use message::MAX_DATAGRAM;
pub use payload::Payload;
pub use request::{ETag, Method, Request, Response};
pub use resource::{PathForm, Resource};
#[cfg(feature = "services")]
pub use server::{IncomingRequest, RequestId, Server, ServerConfig};
pub use transmission::Transmission;

#[cfg(test)]
mod tests;
