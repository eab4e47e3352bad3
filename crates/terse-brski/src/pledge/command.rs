//! What a pledge is told, and what it wants done: its inputs and its commands.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::CertificateDer;
use terse_tls::crypto::{CryptoError, SigningKey};
use terse_tls::{Credential, SignatureScheme};
use zeroize::Zeroizing;

use super::failure::{AttemptFailed, EnrollmentFailed};
use super::http::{Origin, Response};
use super::proxies::Proxy;
use crate::voucher::Assertion;

/// Something that has happened. What belongs to a connection that was closed, or to a signature that is no longer wanted, is
/// ignored.
#[non_exhaustive]
pub enum Input<'a> {
    /// Discovery has found these proxies; those that are known already change nothing. At most
    /// [`MAX_PROXIES`](super::MAX_PROXIES) are kept.
    Found(&'a [Proxy]),
    /// A proxy is gone, for example because its announcement has expired.
    Gone(Proxy),
    /// The state of a link has changed, so that back-offs end (RFC 8995, 4.1).
    LinkChanged,
    /// The TLS handshake of a connection is complete.
    Connected {
        /// The connection.
        connection: ConnectionId,
        /// What the registrar has presented: `Connection::presented()`.
        presented: Presented<'a>,
    },
    /// The response to the last request on a connection. A driver that stops reading behind [`Request::max_response`]
    /// gives what it has read.
    Response {
        /// The connection.
        connection: ConnectionId,
        /// The response.
        response: Response<'a>,
    },
    /// A connection could not be made, or the registrar or the network has closed it.
    Lost(ConnectionId),
    /// The answer to [`Command::Sign`].
    Signed(SignatureId, Result<Vec<u8>, CryptoError>),
    /// The answer to [`Command::MakeKey`]: the key for the LDevID, or that none can be made.
    Key(Result<Arc<dyn SigningKey>, CryptoError>),
    /// The answer to [`Command::Store`] or [`Command::StoreIdentityKey`]: whether it is stored for good.
    Stored(bool),
    /// The time of [`Pledge::poll_timeout`](super::Pledge::poll_timeout) has come.
    Timer,
}

/// What a registrar has presented in a handshake. It has signed with this key, and nothing else is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presented<'a> {
    /// A certificate chain, leaf first.
    Chain(&'a [CertificateDer<'a>]),
    /// A raw public key (RFC 7250): a DER SubjectPublicKeyInfo.
    RawPublicKey(&'a [u8]),
}

/// Something that the pledge wants done. Commands are to be executed in the order in which they are returned.
#[non_exhaustive]
pub enum Command {
    /// Begin a connection: TCP, then TLS 1.2 or later with `Trust::unverified` for what
    /// [`PledgeConfig::certificate_type`](super::PledgeConfig::certificate_type) says, without a server name, and with this
    /// identity; for [`Coaps`](super::Coaps), UDP and then DTLS in the same way. The answer is [`Input::Connected`] or
    /// [`Input::Lost`].
    Connect {
        /// The number of the new connection.
        connection: ConnectionId,
        /// Where it goes.
        to: Target,
        /// Which credential authenticates the pledge.
        identity: Identity,
    },
    /// Send a request of HTTP, or of CoAP as [`coaps::request`](super::coaps::request) maps it. The answer is [`Input::Response`] or [`Input::Lost`].
    Send(ConnectionId, Request),
    /// Close a connection, or stop making it. There is no answer.
    Close(ConnectionId),
    /// Get a signature from a key that has answered [`Signing::Pending`](terse_tls::crypto::Signing::Pending). The answer is
    /// [`Input::Signed`].
    Sign {
        /// The number of the signature.
        signature: SignatureId,
        /// Whose key signs.
        identity: Identity,
        /// The signature scheme.
        scheme: SignatureScheme,
        /// The bytes to sign, not their hash.
        message: Vec<u8>,
    },
    /// Make a new key pair for the LDevID. The answer is [`Input::Key`].
    MakeKey,
    /// Store the LDevID and the trust anchors of the domain for good. The answer is [`Input::Stored`].
    Store(Box<Enrollment>),
    /// Store the file with the identity key for good, in the place of an earlier one, if it can be read and its key fits. The
    /// answer is [`Input::Stored`].
    StoreIdentityKey(Zeroizing<Vec<u8>>),
    /// Nothing is to be done: something has happened that a log, or a lamp, may show.
    Inform(Event),
}

/// What a pledge gets of its domain.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Enrollment {
    /// The LDevID with its key, as [`Identity::Ldevid`] in later commands.
    pub credential: Credential,
    /// The trust anchors of the domain: the root certificates of its CA, which replace the pinned certificate. A registrar of
    /// constrained BRSKI may name the highest CA that is there instead.
    pub anchors: Vec<CertificateDer<'static>>,
}

/// Something that has happened on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The registrar has answered 202 or asks to come back later: somebody may have to decide (RFC 8995, 5.6).
    Waiting,
    /// A voucher was verified, and the registrar is the one of the domain that it pins: the connection is not provisional
    /// any more.
    Imprinted(Assertion),
    /// An attempt has failed. Another one follows, if need be through another proxy.
    Failed(Proxy, AttemptFailed),
    /// There is no identity key, for this reason. The device has its LDevID, and is enrolled all the same.
    NoIdentityKey(EnrollmentFailed),
    /// The pledge has its credential. Nothing else will happen.
    Enrolled {
        /// Whether the registrar was told so (RFC 8995, 5.9.4).
        is_reported: bool,
    },
}

/// A connection, by a number that the pledge chooses. No number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u32);

/// A signature that is waited for, by a number that the pledge chooses. No number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureId(pub(super) u32);

/// Where a connection goes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// To a discovered proxy.
    Proxy(Proxy),
    /// To an origin that a registrar has named in a redirection. It was not authenticated when it did so.
    Origin(Origin),
}

/// A credential of the pledge, with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The credential from the manufacturer.
    Idevid,
    /// The credential from the domain: the one of [`Command::Store`]; for [`Command::Sign`], the key of [`Input::Key`].
    Ldevid,
}

/// An HTTP/1.1 request on a connection that stays open, or one of CoAP in the same terms. For HTTP the driver adds Host, which is the host and port of the target, and
/// Content-Length.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, and the query if there is one: printable ASCII characters without spaces.
    pub path: Cow<'static, str>,
    /// The value of Content-Type.
    pub content_type: Option<&'static str>,
    /// The value of Accept.
    pub accept: Option<&'static str>,
    /// The content.
    pub body: Arc<[u8]>,
    /// How many bytes of the response's content are to be read at most, and of its header fields as well.
    pub max_response: usize,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("content_type", &self.content_type)
            .field("accept", &self.accept)
            .field("body", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { connection, to, identity } => {
                write!(f, "Connect({}, {to:?}, {identity:?})", connection.0)
            }
            Self::Send(connection, request) => write!(f, "Send({}, {request:?})", connection.0),
            Self::Close(connection) => write!(f, "Close({})", connection.0),
            Self::Sign { signature, identity, scheme, message } => {
                write!(f, "Sign({}, {identity:?}, {scheme:?}, {} bytes)", signature.0, message.len())
            }
            Self::MakeKey => f.write_str("MakeKey"),
            Self::Store(enrollment) => write!(f, "Store({enrollment:?})"),
            Self::StoreIdentityKey(_) => f.write_str("StoreIdentityKey"),
            Self::Inform(event) => write!(f, "Inform({event:?})"),
        }
    }
}
