//! What a session is bound to. It costs no bytes in a ticket: it is additional data of the seal, and a ticket of
//! another context just does not open.
//!
//! What must always hold: whatever a full handshake would decide anew on the server is in here.

use crate::cache::{Fingerprint, ServerId, TrustId};
use crate::crypto::{Digest, Hash, HashContext};
use crate::error::InvalidMessage;
use crate::wire::{Encode, Parse, ProtocolVersion, Reader, Writer};

use super::ServerEarlyData;

/// SHA-256 over a [`Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding(Digest);

/// What a session is bound to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// As the protocol writes it.
    pub(crate) version: ProtocolVersion,
    /// The name that the client asked for (RFC 6066, 3).
    pub(crate) server: &'a ServerId,
    /// The certificates that the server has: a renewed one ends the sessions under the old one.
    pub(crate) credentials: &'a [Fingerprint],
    pub(crate) client_policy: ClientPolicy,
    /// RFC 9846, 4.3.10 requires this for early data; without it a client would get another one just as well.
    pub(crate) application_protocol: Option<&'a [u8]>,
    /// TLS 1.3. What the client was promised with its ticket, and how long a ClientHello counts as fresh.
    pub(crate) early_data: Option<ServerEarlyData>,
}

/// Whether clients are asked for a certificate, and which are believed.
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

/// With its length, so that no two lists of parts run together.
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
