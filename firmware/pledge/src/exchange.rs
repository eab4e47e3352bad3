//! Requests and responses on a connection.

use terse_brski::pledge::{Form, Request, Response};
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng};
use terse_tls::{ApiMisuse, ClientConfig, Credential, Instant, Now};

/// The client of one connection: CoAP over DTLS, or HTTP over TLS. There is at most one request at a time.
pub trait Exchange: Sized {
    /// The form of BRSKI that speaks so.
    type Form: Form + Default;

    /// What a response consists of.
    type Answer;

    /// Returns the configuration of connections with this credential, to registrars that nobody has verified yet.
    fn config(provider: &CryptoProvider, credential: Credential) -> Result<ClientConfig, ApiMisuse>;

    /// Returns a client on a new connection.
    fn new(rng: &mut dyn Rng) -> Result<Self, CryptoError>;

    /// Begins a request to the host that `authority` names.
    fn request(&mut self, now: Now, rng: &mut dyn Rng, authority: &str, request: &Request) -> Result<(), Lost>;

    /// Takes data of the connection.
    fn receive(&mut self, now: Now, rng: &mut dyn Rng, data: &[u8]);

    /// Learns that the peer sends nothing more.
    fn end(&mut self);

    /// Writes what is to be sent next, and returns its length: one datagram, or a stretch of the stream.
    fn transmit(&mut self, now: Now, out: &mut [u8]) -> Option<usize>;

    /// Returns when [`Self::handle_timeout`] is to be called.
    fn timeout(&self) -> Option<Instant>;

    /// Handles that time has passed.
    fn handle_timeout(&mut self, now: Now);

    /// Returns the response to the request, or that there will be none, once.
    fn poll(&mut self) -> Option<Result<Self::Answer, Lost>>;

    /// Returns a response as a pledge reads it.
    fn response(answer: &Self::Answer) -> Response<'_>;
}

/// A connection is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;
