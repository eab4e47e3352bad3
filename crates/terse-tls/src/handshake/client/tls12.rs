//! What of a client's first flight is of TLS 1.2 alone: HelloVerifyRequest (RFC 6347, 4.2.1), and the ServerHello that selects it.

use alloc::boxed::Box;

use super::{ExpectServerHello, Progress};
use crate::error::{Error, PeerIncompatible};
use crate::handshake::{Handshake, Message, Output, tls12};
use crate::schedule::Pending;
use crate::wire::{HandshakeType, HelloVerifyRequest, ProtocolVersion, ServerHello};

/// What answers a server of TLS 1.2, to which a [`ClientParts`](crate::ClientParts) points.
pub(crate) struct Tls12Code {
    pub(super) server_hello:
        fn(Box<ExpectServerHello>, &ServerHello<'_>, Message<'_>, &mut Output<'_>) -> Result<Handshake, Error>,
    pub(super) hello_verify_request:
        fn(Box<ExpectServerHello>, Message<'_>, &mut Output<'_>) -> Result<Handshake, Error>,
}

impl Tls12Code {
    pub(crate) const CODE: &'static Self = &Self {
        server_hello: ExpectServerHello::tls12_server_hello,
        hello_verify_request: ExpectServerHello::hello_verify_request,
    };
}

/// How many HelloVerifyRequests a client answers.
const MAX_VERIFY_REQUESTS: u8 = 3;

impl ExpectServerHello {
    /// Hands the ServerHello to TLS 1.2, with what it needs of the ClientHello.
    fn tls12_server_hello(
        self: Box<Self>,
        hello: &ServerHello<'_>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        if self.has_early_data() {
            return Err(PeerIncompatible::NoEarlyData.into()); // RFC 9846, E.3
        }
        let Progress::First(client_hello) = self.progress else { return Err(message.unexpected()) };
        output.agreed.declined_identity = self.identity.map(|identity| identity.declined());
        let ours = tls12::client::SentClientHello {
            config: self.config,
            server: self.server,
            random: self.random,
            offered: self.offered,
            session_id: self.legacy_session_id,
            session: self.tls12_session.map(|session| *session),
            saver: self.saver,
            client_hello,
            verify_requests: self.verify_requests,
        };
        tls12::client::server_hello(ours, hello, message, output)
    }

    /// Sends the same ClientHello again, with the cookie (RFC 6347, 4.2.1). The transcript begins with it. Several
    /// requests may come, if the server changes its secret in between.
    fn hello_verify_request(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        let HelloVerifyRequest { cookie, .. } = message.expect(HandshakeType::HELLO_VERIFY_REQUEST)?;
        self.verify_requests += 1;
        if self.verify_requests > MAX_VERIFY_REQUESTS || !matches!(self.progress, Progress::First(_)) {
            return Err(message.unexpected());
        }
        if !self.offers(ProtocolVersion::TLS_1_2) {
            return Err(PeerIncompatible::NoCommonVersion.into()); // RFC 9147, 5.3: DTLS 1.3 has no `legacy_cookie`
        }
        self.legacy_cookie = cookie.into();
        self.progress = Progress::First(Pending::new(&[]));
        output.note("the server wants to see that this address is the client's: HelloVerifyRequest");
        let client_hello = self.client_hello(None, output)?;
        let client_hello = self.send_client_hello(client_hello, None, output)?;
        self.progress = Progress::First(Pending::new(&client_hello));
        Ok(self)
    }
}
