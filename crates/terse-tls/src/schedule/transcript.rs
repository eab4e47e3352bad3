//! The transcript (RFC 9846, 4.1): the running hash over all handshake messages, with what caching leaves out put back
//! in (`caching`, rule 1: the transcript always binds the full content).

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::cache::Fingerprint;
use crate::crypto::{Digest, Hash, HashContext};
use crate::wire::HandshakeType;

/// Messages before the hash is known: at most the ClientHello.
pub(crate) struct Pending(Vec<u8>);

impl Pending {
    pub(crate) fn new(client_hello: &[u8]) -> Self {
        Self(client_hello.into())
    }

    /// Begins hashing with the hash of the negotiated suite.
    pub(crate) fn start(self, hash: &'static dyn Hash) -> Transcript {
        let mut context = hash.start();
        context.update(&self.0);
        Transcript { hash, context, messages: None }
    }

    /// The same, and keeps the messages, until [`Transcript::stop_keeping`].
    pub(crate) fn start_keeping(self, hash: &'static dyn Hash) -> Transcript {
        let mut context = hash.start();
        context.update(&self.0);
        Transcript { hash, context, messages: Some(self.0) }
    }
}

/// The running hash.
pub(crate) struct Transcript {
    hash: &'static dyn Hash,
    context: Box<dyn HashContext>,
    /// For TLS 1.2, in which CertificateVerify signs the messages and not their hash.
    messages: Option<Vec<u8>>,
}

impl Transcript {
    /// Adds a message, header included.
    pub(crate) fn add(&mut self, message: &[u8]) {
        self.context.update(message);
        if let Some(messages) = &mut self.messages {
            messages.extend_from_slice(message);
        }
    }

    /// All messages so far, as long as they are kept.
    pub(crate) fn messages(&self) -> Option<&[u8]> {
        self.messages.as_deref()
    }

    /// Nobody signs the messages, or somebody has.
    pub(crate) fn stop_keeping(&mut self) {
        self.messages = None;
    }

    /// Adds the synthetic message for one that is left out or reduced to less than its fingerprint:
    /// `message_hash(254) || uint24(32) || fingerprint`.
    pub(crate) fn add_synthetic(&mut self, fingerprint: Fingerprint) {
        self.add_message_hash(&fingerprint.0);
    }

    /// HelloRetryRequest: replaces the first ClientHello by its hash (RFC 9846, 4.1).
    pub(crate) fn replace_by_hash(self) -> Self {
        let client_hello = self.context.finish();
        let mut transcript = Self { hash: self.hash, context: self.hash.start(), messages: None };
        transcript.add_message_hash(client_hello.as_ref());
        transcript
    }

    /// The hash of everything so far.
    pub(crate) fn current(&self) -> Digest {
        self.context.fork().finish()
    }

    fn add_message_hash(&mut self, hash: &[u8]) {
        self.add(&[HandshakeType::MESSAGE_HASH.0, 0, 0, hash.len() as u8]);
        self.add(hash);
    }
}
