//! The connections of a pledge, one at a time, whatever carries them.

use pki_types::CertificateDer;
use terse_brski::pledge::{Request, Response};
use terse_tls::{Credential, Instant};

use super::step::Step;
use crate::Time;
use crate::host::{SocketEvent, Sockets};

/// What carries a pledge's connections.
pub(super) trait Link {
    /// Begins a connection with this credential. The answer is a report.
    fn connect(&mut self, now: Time, sockets: &mut Sockets<'_>, credential: &Credential, handshake: Step);

    /// Sends a request. The answer is a report.
    fn send(&mut self, now: Time, sockets: &mut Sockets<'_>, request: &Request);

    /// Closes the connection. There is no answer.
    fn close(&mut self, now: Time, sockets: &mut Sockets<'_>);

    /// Handles an event at a socket.
    fn handle_event(&mut self, now: Time, sockets: &mut Sockets<'_>, event: SocketEvent);

    /// Returns when [`Self::handle_timeout`] is to be called.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Handles that time has passed.
    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>);

    /// Returns the next report.
    fn poll_report(&mut self) -> Option<Report>;
}

/// What became of a connection, or of a request.
pub(super) enum Report {
    /// The handshake is complete, and the registrar has presented these certificates.
    Connected(Vec<CertificateDer<'static>>),
    /// The response to the last request.
    Response(Reply),
    /// The connection could not be made, or is gone.
    Lost(String),
}

/// A response that owns its parts, in the terms of HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: Option<Vec<u8>>,
    pub(super) retry_after: Option<Vec<u8>>,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// Returns a copy of a response.
    pub(super) fn of(response: &Response<'_>) -> Self {
        Self {
            status: response.status,
            content_type: response.content_type.map(<[u8]>::to_vec),
            retry_after: response.retry_after.map(<[u8]>::to_vec),
            body: response.body.to_vec(),
        }
    }

    /// Returns the response, as a pledge takes it.
    pub(super) fn response(&self) -> Response<'_> {
        let mut response = Response::new(self.status, &self.body);
        response.content_type = self.content_type.as_deref();
        response.retry_after = self.retry_after.as_deref();
        response
    }
}
