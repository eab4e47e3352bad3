//! HelloRetryRequest (RFC 9846, 4.2.4), also for a server that keeps nothing of the client until it comes again with
//! the cookie (RFC 9147, 5.1): suite, group, and the hash of the first ClientHello are in the cookie then.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::negotiate::Negotiated;
use super::{ExpectSecondClientHello, FirstClientHello, State};
use crate::config::ServerConfig;
use crate::error::{ApiMisuse, Error};
use crate::schedule::Transcript;
use crate::wire::{
    CipherSuite, Cookie, Encode, EncodeError, ExtensionsBuilder, HandshakeType, KeyShareHelloRetryRequest, NamedGroup,
    ProtocolVersion, SelectedVersion, ServerHello, Transport,
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

impl FirstClientHello<'_> {
    /// Whether the client must come again, with a share of another group.
    pub(crate) fn must_retry(&self) -> bool {
        self.negotiated.agreement.retry_group().is_some()
    }

    /// What a server that keeps nothing has to know when the client comes again.
    pub(crate) fn retried(&self) -> Retried {
        let Self { message, negotiated: Negotiated { suite, agreement, .. }, .. } = self;
        let hash = Transcript::new13(suite.hash, message.transport).current_with(message.bytes);
        Retried { suite: suite.id, group: agreement.retry_group(), hash: hash.as_ref().into() }
    }
}
