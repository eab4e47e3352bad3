//! The context that a session is bound to. It takes no bytes in a ticket, since it is the additional data of the AEAD:
//! a ticket of another context does not decrypt.
//!
//! What must always hold: everything that the server would decide anew in a full handshake is part of the context.

use crate::cache::{Fingerprint, ServerId, TrustId};
use crate::crypto::{Digest, Hash, HashContext};
use crate::error::InvalidMessage;
use crate::wire::{Encode, Parse, ProtocolVersion, Reader, Writer};

use super::ServerEarlyData;

/// SHA-256 over a [`Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding(Digest);

/// The context that a session is bound to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// The version in the encoding of the protocol.
    pub(crate) version: ProtocolVersion,
    /// The name that the client asked for (RFC 6066, 3).
    pub(crate) server: &'a ServerId,
    /// The certificates of the server. Sessions under an old certificate end when it is renewed.
    pub(crate) credentials: &'a [Fingerprint],
    pub(crate) client_policy: ClientPolicy,
    /// The application protocol, which early data requires to be the same (RFC 9846, 4.3.10).
    pub(crate) application_protocol: Option<&'a [u8]>,
    /// TLS 1.3: the limits of early data that the ticket promised, and how long a ClientHello counts as fresh.
    pub(crate) early_data: Option<ServerEarlyData>,
}

/// Whether clients are asked for a certificate, and which ones are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientPolicy {
    None,
    Optional(TrustId),
    Required(TrustId),
}

impl Binding {
    pub(crate) fn new(sha256: &dyn Hash, context: &Context<'_>) -> Self {
        let mut hash = sha256.start();
        let mut add = |part: &[u8]| add(&mut *hash, part);
        add(b"terse session");
        add(&context.version.0.to_be_bytes());
        add(&context.server.to_vec().unwrap_or_default()); // a name has at most 253 bytes
        context.credentials.iter().for_each(|fingerprint| add(&fingerprint.0));
        match context.client_policy {
            ClientPolicy::None => add(b"none"),
            ClientPolicy::Optional(TrustId(id)) => add(&[b"optional", &id[..]].concat()),
            ClientPolicy::Required(TrustId(id)) => add(&[b"required", &id[..]].concat()),
        }
        match context.application_protocol {
            None => add(b"no ALPN"),
            Some(name) => {
                add(b"ALPN");
                add(name);
            }
        }
        if let Some(ServerEarlyData { max_size, window_seconds }) = context.early_data {
            add(&[max_size.to_be_bytes(), window_seconds.to_be_bytes()].concat());
        }
        Self(hash.finish())
    }
}

/// Adds a part with its length, so that lists of parts are unambiguous.
fn add(hash: &mut dyn HashContext, part: &[u8]) {
    hash.update(&(part.len() as u64).to_be_bytes());
    hash.update(part);
}

impl AsRef<[u8]> for Binding {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl Parse<'_> for Binding {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        reader.array::<32>().map(|bytes| Self(Digest::new(&bytes)))
    }
}

impl Encode for Binding {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bytes(self.as_ref());
    }
}
