//! HelloRetryRequest (RFC 9846, 4.2.4). A server can keep no state until the client returns the cookie (RFC 9147, 5.1);
//! then the cookie contains the suite, the group, and the hash of the first ClientHello.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::negotiate::Negotiated;
use super::{ExpectSecondClientHello, FirstClientHello, State};
use crate::config::ServerConfig;
use crate::error::{ApiMisuse, Error, Setting};
use crate::schedule::Transcript;
use crate::wire::{
    CipherSuite, Cookie, Encode, EncodeError, ExtensionsBuilder, HandshakeType, IdentityShareHelloRetryRequest,
    KeyShareHelloRetryRequest, NamedGroup, ProtocolVersion, SelectedVersion, ServerHello, Transport,
};

/// The content of a HelloRetryRequest.
pub(super) struct RetryRequest<'a> {
    pub(super) suite: CipherSuite,
    pub(super) requested: Option<Requested>,
    pub(super) cookie: &'a [u8],
    pub(super) legacy_session_id_echo: &'a [u8],
    pub(super) transport: Transport,
}

impl RetryRequest<'_> {
    /// Returns the body of the message.
    pub(super) fn to_vec(&self) -> Result<Vec<u8>, EncodeError> {
        let mut extensions = ExtensionsBuilder::default();
        extensions.push(&SelectedVersion(self.transport.version(ProtocolVersion::TLS_1_3)))?;
        if !self.cookie.is_empty() {
            extensions.push(&Cookie(self.cookie))?;
        }
        match self.requested {
            Some(Requested::KeyShare(group)) => extensions.push(&KeyShareHelloRetryRequest(group))?,
            Some(Requested::PublicPart) => extensions.push(&IdentityShareHelloRetryRequest)?,
            None => {}
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

/// What a HelloRetryRequest requests of the second ClientHello, beside the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requested {
    /// A key share of this group.
    KeyShare(NamedGroup),
    /// The public part of the client's identity key.
    PublicPart,
}

impl Requested {
    /// The two bytes in a cookie that stand for the public part of an identity key. No group has this code point.
    const PUBLIC_PART: u16 = 0xffff;

    /// Returns the two bytes for a cookie, which are 0 for nothing.
    pub(crate) const fn to_cookie(requested: Option<Self>) -> [u8; 2] {
        match requested {
            None => [0; 2],
            Some(Self::KeyShare(group)) => group.0.to_be_bytes(),
            Some(Self::PublicPart) => Self::PUBLIC_PART.to_be_bytes(),
        }
    }

    /// Returns what the two bytes of a cookie stand for.
    pub(crate) const fn from_cookie(bytes: [u8; 2]) -> Option<Self> {
        match u16::from_be_bytes(bytes) {
            0 => None,
            Self::PUBLIC_PART => Some(Self::PublicPart),
            group => Some(Self::KeyShare(NamedGroup(group))),
        }
    }
}

/// The data about the first ClientHello that a server needs when the second one comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retried {
    pub(crate) suite: CipherSuite,
    pub(crate) requested: Option<Requested>,
    /// The hash of the first ClientHello, with the hash function of `suite`.
    pub(crate) hash: Vec<u8>,
}

impl Retried {
    /// Returns the body of the HelloRetryRequest with this cookie.
    pub(crate) fn request(&self, cookie: &[u8]) -> Result<Vec<u8>, EncodeError> {
        let Self { suite, requested, .. } = *self;
        RetryRequest { suite, requested, cookie, legacy_session_id_echo: &[], transport: Transport::Datagram }.to_vec()
    }

    /// Returns the state of a server that has sent the HelloRetryRequest with this cookie.
    pub(crate) fn expect_second(self, config: Arc<ServerConfig>, cookie: &[u8]) -> Result<State, Error> {
        let suite =
            config.common.provider.tls13_suite(self.suite).ok_or(ApiMisuse::Unsupported(Setting::CipherSuite))?;
        let mut transcript = Transcript::after_hash(suite.hash, Transport::Stream, &self.hash);
        let request = self.request(cookie)?;
        let [_, len @ ..] = u32::try_from(request.len()).map_err(|_| EncodeError)?.to_be_bytes();
        transcript.add(&[&[HandshakeType::SERVER_HELLO.0], &len[..], &request].concat());
        let transcript = transcript.over(Transport::Datagram);
        let (suite, requested, cookie) = (self.suite, self.requested, cookie.into());
        let second = ExpectSecondClientHello { config, transcript, suite, requested, cookie, first: None };
        Ok(State::SecondClientHello(Box::new(second)))
    }
}

impl FirstClientHello<'_> {
    /// Returns whether the client must send a second ClientHello, with a key share of another group or the public part of
    /// its identity key.
    pub(crate) fn must_retry(&self) -> bool {
        self.negotiated.agreement.retry().is_some()
    }

    /// Returns the data that a server without state needs when the second ClientHello comes.
    pub(crate) fn retried(&self) -> Retried {
        let Self { message, negotiated: Negotiated { suite, agreement, .. }, .. } = self;
        let hash = Transcript::new13(suite.hash, message.transport).current_with(message.bytes);
        Retried { suite: suite.id, requested: agreement.retry(), hash: hash.as_ref().into() }
    }
}
