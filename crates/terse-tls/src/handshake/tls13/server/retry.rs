//! HelloRetryRequest (RFC 9846, 4.2.4), also for a server that keeps nothing of the client until it comes again with
//! the cookie (RFC 9147, 5.1): suite, group, and the hash of the first ClientHello are in the cookie then.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::negotiate::{Negotiated, Offer};
use super::{ExpectSecondClientHello, State};
use crate::config::ServerConfig;
use crate::error::{ApiMisuse, Error};
use crate::handshake::Message;
use crate::schedule::Transcript;
use crate::time::Now;
use crate::wire::{
    CipherSuite, ClientHello, Cookie, Encode, EncodeError, ExtensionsBuilder, HandshakeType, KeyShareHelloRetryRequest,
    NamedGroup, ProtocolVersion, SelectedVersion, ServerHello, Transport,
};

/// What a HelloRetryRequest says.
pub(super) struct RetryRequest<'a> {
    pub(super) suite: CipherSuite,
    /// Of which a key share is asked for.
    pub(super) group: Option<NamedGroup>,
    pub(super) cookie: &'a [u8],
    pub(super) legacy_session_id_echo: &'a [u8],
    pub(super) transport: Transport,
}

impl RetryRequest<'_> {
    /// The body of the message.
    pub(super) fn to_vec(&self) -> Result<Vec<u8>, EncodeError> {
        let mut extensions = ExtensionsBuilder::default();
        extensions.push(&SelectedVersion(self.transport.version(ProtocolVersion::TLS_1_3)))?;
        if !self.cookie.is_empty() {
            extensions.push(&Cookie(self.cookie))?;
        }
        if let Some(group) = self.group {
            extensions.push(&KeyShareHelloRetryRequest(group))?;
        }
        let request = ServerHello {
            legacy_version: self.transport.version(ProtocolVersion::TLS_1_2),
            random: ServerHello::HELLO_RETRY_REQUEST,
            legacy_session_id_echo: self.legacy_session_id_echo,
            cipher_suite: self.suite,
            legacy_compression_method: 0,
            extensions: extensions.extensions(),
        };
        request.to_vec()
    }
}

/// What a server must know of the first ClientHello when the second one comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retried {
    pub(crate) suite: CipherSuite,
    /// Of which a key share was asked for.
    pub(crate) group: Option<NamedGroup>,
    /// Of the first ClientHello, with the hash of `suite`.
    pub(crate) hash: Vec<u8>,
}

impl Retried {
    /// The body of the HelloRetryRequest, with this cookie.
    pub(crate) fn request(&self, cookie: &[u8]) -> Result<Vec<u8>, EncodeError> {
        let Self { suite, group, .. } = *self;
        RetryRequest { suite, group, cookie, legacy_session_id_echo: &[], transport: Transport::Datagram }.to_vec()
    }

    /// Goes on where the HelloRetryRequest was sent, with this cookie.
    pub(crate) fn expect_second(self, config: Arc<ServerConfig>, cookie: &[u8]) -> Result<State, Error> {
        let suite = config.common.provider.tls13_suite(self.suite).ok_or(ApiMisuse::Unsupported("cipher suite"))?;
        let mut transcript = Transcript::after_hash(suite.hash, Transport::Stream, &self.hash);
        let request = self.request(cookie)?;
        let [_, len @ ..] = u32::try_from(request.len()).map_err(|_| EncodeError)?.to_be_bytes();
        transcript.add(&[&[HandshakeType::SERVER_HELLO.0], &len[..], &request].concat());
        let transcript = transcript.over(Transport::Datagram);
        let (suite, group, cookie) = (self.suite, self.group, cookie.into());
        let second = ExpectSecondClientHello { config, transcript, suite, group, cookie, first: None };
        Ok(State::SecondClientHello(Box::new(second)))
    }
}

/// What a server over datagrams would choose, and has to know when the client comes again. `message` is the first
/// ClientHello, `hello` what it says.
pub(crate) fn retry(
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    message: Message<'_>,
    transport: Transport,
    now: Now,
) -> Result<Retried, Error> {
    let offer = Offer::parse(config, hello, message.transport)?;
    let negotiated = Negotiated::new(config, &offer, None, now, transport)?;
    let group = negotiated.agreement.retry_group();
    let hash = Transcript::new13(negotiated.suite.hash, message.transport).current_with(message.bytes);
    Ok(Retried { suite: negotiated.suite.id, group, hash: hash.as_ref().into() })
}
