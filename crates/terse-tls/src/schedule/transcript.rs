//! The transcript (RFC 9846, 4.1; RFC 5246, 7.4.9): the running hash over all handshake messages, with what caching
//! leaves out put back in (docs/caching.md, 4.1: the transcript always binds the full content). Where the
//! CertificateVerify of TLS 1.2 is to come, whose hash is not that of the suite, the messages themselves are kept as
//! well.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::cache::Fingerprint;
use crate::crypto::{Digest, Hash, HashContext};
use crate::wire::{HandshakeType, Transport};

#[cfg(test)]
mod tests;

/// The messages before the hash is known: at most the ClientHello.
pub(crate) struct Pending(Vec<u8>);

impl Pending {
    pub(crate) fn new(client_hello: &[u8]) -> Self {
        Self(client_hello.into())
    }

    /// Begins hashing with the hash of the negotiated suite.
    pub(crate) fn start(self, hash: &'static dyn Hash) -> Transcript {
        let mut context = hash.start();
        context.update(&self.0);
        Transcript { hash, context, kept: None, transport: Transport::Stream }
    }

    /// Begins hashing in TLS 1.3 and DTLS 1.3 with the hash of the negotiated suite.
    pub(crate) fn start13(self, hash: &'static dyn Hash, transport: Transport) -> Transcript {
        let mut transcript = Transcript::new13(hash, transport);
        transcript.add(&self.0);
        transcript
    }

    /// Begins hashing with the hash of the negotiated suite, and keeps the messages for the CertificateVerify of TLS
    /// 1.2 (RFC 5246, 7.4.8), until [`Transcript::stop_keeping`].
    pub(crate) fn start_keeping(self, hash: &'static dyn Hash) -> Transcript {
        let mut context = hash.start();
        context.update(&self.0);
        Transcript { hash, context, kept: Some(self.0), transport: Transport::Stream }
    }
}

/// The running hash over all handshake messages.
pub(crate) struct Transcript {
    hash: &'static dyn Hash,
    context: Box<dyn HashContext>,
    /// All messages that were hashed, if they are kept.
    kept: Option<Vec<u8>>,
    /// The transport of the messages: of the header of DTLS, only the fields of TLS are hashed.
    transport: Transport,
}

impl Transcript {
    /// Creates an empty transcript in TLS 1.3 and DTLS 1.3. Messages are hashed with the header of TLS (RFC 9147, 5.2).
    pub(crate) fn new13(hash: &'static dyn Hash, transport: Transport) -> Self {
        Self { hash, context: hash.start(), kept: None, transport }
    }

    /// Adds a message, header included.
    pub(crate) fn add(&mut self, message: &[u8]) {
        for part in self.transport.without_sequence(message) {
            self.context.update(part);
        }
        if let Some(kept) = &mut self.kept {
            kept.reserve_exact(message.len()); // a few messages, so no spare capacity
            kept.extend_from_slice(message);
        }
    }

    /// Adds the synthetic message for a message that is omitted, or reduced to less than its fingerprint:
    /// `message_hash(254) || uint24(32) || fingerprint`.
    pub(crate) fn add_synthetic(&mut self, fingerprint: Fingerprint) {
        self.add_message_hash(&fingerprint.0);
    }

    /// Replaces the first ClientHello by its hash after a HelloRetryRequest (RFC 9846, 4.1). TLS 1.2 has no
    /// HelloRetryRequest, so the messages are not kept.
    pub(crate) fn replace_by_hash(self) -> Self {
        let client_hello = self.context.finish();
        Self::after_hash(self.hash, self.transport, client_hello.as_ref())
    }

    /// Begins with the hash of the first ClientHello, as after [`Self::replace_by_hash`].
    pub(crate) fn after_hash(hash: &'static dyn Hash, transport: Transport, client_hello: &[u8]) -> Self {
        let mut transcript = Self::new13(hash, transport);
        transcript.add_message_hash(client_hello);
        transcript
    }

    /// Sets the transport of the messages that are added from now on.
    pub(crate) fn over(self, transport: Transport) -> Self {
        Self { transport, ..self }
    }

    /// Returns the hash of all messages so far.
    pub(crate) fn current(&self) -> Digest {
        self.context.fork().finish()
    }

    /// Returns the hash of all messages so far and of a truncated `message`: a ClientHello without its binders (RFC
    /// 9846, 4.3.11.2).
    pub(crate) fn current_with(&self, message: &[u8]) -> Digest {
        let mut context = self.context.fork();
        for part in self.transport.without_sequence(message) {
            context.update(part);
        }
        context.finish()
    }

    /// Returns all messages so far, if they are kept.
    pub(crate) fn messages(&self) -> Option<&[u8]> {
        self.kept.as_deref()
    }

    /// Returns all messages so far, if they are kept, and stops keeping them.
    pub(crate) fn take_messages(&mut self) -> Vec<u8> {
        self.kept.take().unwrap_or_default()
    }

    /// Stops keeping the messages: no CertificateVerify comes any more.
    pub(crate) fn stop_keeping(&mut self) {
        self.kept = None;
    }

    fn add_message_hash(&mut self, hash: &[u8]) {
        for part in [&[HandshakeType::MESSAGE_HASH.0, 0, 0, hash.len() as u8], hash] {
            self.context.update(part);
            if let Some(kept) = &mut self.kept {
                kept.extend_from_slice(part);
            }
        }
    }
}
