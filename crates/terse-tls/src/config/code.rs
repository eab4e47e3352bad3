//! The code that a configuration brings along. The settings of a client, and nothing else, point to it, so that the linker of a
//! firmware drops what none of its settings brings.
//!
//! | setting | code |
//! |---|---|
//! | [`ClientParts`](super::ClientParts) | the versions and links that it names |
//! | [`ConfigBuilder::trust`](super::ConfigBuilder::trust) | [`CertificateCode`]: certificates in TLS 1.3 |
//! | [`ClientIdentity`](super::ClientIdentity) | [`IdentityCode`]: identity keys |
//! | [`ClientIdentity::early_data`](super::ClientIdentity::early_data), [`ClientIdentity::first_contact`](super::ClientIdentity::first_contact) | [`IdentityEarlyCode`]: early data with identities |
//! | [`ConfigBuilder::cache`](super::ConfigBuilder::cache), [`ConfigBuilder::resumption`](super::ConfigBuilder::resumption) | [`begin_kept`]: what is kept from one connection to the next |
//! | [`ConfigBuilder::cache`](super::ConfigBuilder::cache) | [`CachedCode`]: cached certificates in TLS 1.3 |
//! | [`ConfigBuilder::psks`](super::ConfigBuilder::psks), [`ConfigBuilder::resumption`](super::ConfigBuilder::resumption) | [`offer_psks`]: pre-shared keys in TLS 1.3 |
//! | [`ConfigBuilder::resumption`](super::ConfigBuilder::resumption) | [`OfferSession`], [`session_tickets`]: sessions of TLS 1.3 |
//!
//! What must always hold: no other file of the configuration names a module above it.

pub(super) use crate::connection::{BeginKept, DatagramCode, begin_kept};
pub(super) use crate::handshake::client::{OfferPsks, OfferSession, Tls12Code, offer_psks, offer_session};
pub(super) use crate::handshake::identity::client::{EarlyCode as IdentityEarlyCode, begin as begin_identity};
pub(super) use crate::handshake::identity::offer::Begin as IdentityCode;
pub(super) use crate::handshake::tls13::client::{
    CachedCode, CertificateCode, ServerHelloHandler as Tls13Code, TakeTickets, server_hello as server_hello13,
    session_tickets,
};
pub(super) use crate::link::make::{ClientDatagrams, ClientStream, client_datagrams, client_stream};
