//! What a pledge needs of its device.

use pki_types::CertificateDer;
use terse_brski::pledge::{Event, Target};
use terse_tls::crypto::Rng;
use terse_tls::{Instant, Now};

/// A device with one socket, which carries datagrams or a stream, as the form of its pledge needs. As an [`Rng`] it gives the
/// randomness of its hardware.
pub trait Board: Rng {
    /// Returns the time.
    fn now(&mut self) -> Now;

    /// Opens the socket to `to`: a join proxy that was found, or a host by its name. What is open is closed.
    fn open(&mut self, to: &Target);

    /// Closes the socket.
    fn close(&mut self);

    /// Takes what has come: a datagram, or a stretch of the stream, of at most the length of `buffer`.
    fn receive(&mut self, buffer: &mut [u8]) -> Received;

    /// Sends a datagram, or a stretch of the stream.
    fn transmit(&mut self, bytes: &[u8]);

    /// Sleeps until something has come, or until this time.
    fn wait(&mut self, until: Option<Instant>);

    /// Stores the LDevID with its key and the anchors of the domain for good. Returns whether they are stored.
    fn store(&mut self, chain: &[CertificateDer<'_>], key: &[u8], anchors: &[CertificateDer<'_>]) -> bool;

    /// Shows that something has happened, by a lamp, say.
    fn inform(&mut self, event: Event);
}

/// What a socket has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Nothing yet.
    Nothing,
    /// So many bytes.
    Bytes(usize),
    /// The peer has ended the stream, or the network cannot reach it.
    End,
}
