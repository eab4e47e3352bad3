//! The inputs of the machine, as the driver keeps them until it gives them.

use alloc::sync::Arc;

use terse_brski::pledge::{ConnectionId, Input, Presented, Proxy, Response, SignatureId};
use terse_tls::CertificateType;
use terse_tls::crypto::{CryptoError, SigningKey};

use crate::pledge::connection::Report;

/// An input that owns its parts.
pub(super) enum Answer {
    Found(Proxy),
    Gone(Proxy),
    Report(ConnectionId, Report),
    Signed(SignatureId, Result<Vec<u8>, CryptoError>),
    Key(Result<Arc<dyn SigningKey>, CryptoError>),
    Stored(bool),
    Timer,
}

impl Answer {
    /// Gives this as an input.
    pub(super) fn give<T>(self, handle: impl FnOnce(Input<'_>) -> T) -> T {
        match self {
            Self::Found(proxy) => handle(Input::Found(&[proxy])),
            Self::Gone(proxy) => handle(Input::Gone(proxy)),
            Self::Signed(signature, signed) => handle(Input::Signed(signature, signed)),
            Self::Key(key) => handle(Input::Key(key)),
            Self::Stored(is_stored) => handle(Input::Stored(is_stored)),
            Self::Timer => handle(Input::Timer),
            Self::Report(connection, Report::Lost) => handle(Input::Lost(connection)),
            Self::Report(connection, Report::Connected(peer)) => {
                let (chain, key) = (peer.chain().collect::<Vec<_>>(), peer.public_key());
                let presented = match peer.certificate_type() {
                    CertificateType::RAW_PUBLIC_KEY => Presented::RawPublicKey(&key),
                    _ => Presented::Chain(&chain),
                };
                handle(Input::Connected { connection, presented })
            }
            Self::Report(connection, Report::Response(incoming)) => {
                let retry_after = incoming.retry_after.map(|seconds| seconds.to_string());
                let mut response = Response::new(incoming.status, &incoming.body);
                response.content_type = incoming.content_type.as_deref().map(str::as_bytes);
                response.retry_after = retry_after.as_deref().map(str::as_bytes);
                response.location = incoming.location.as_deref().map(str::as_bytes);
                handle(Input::Response { connection, response })
            }
        }
    }
}
