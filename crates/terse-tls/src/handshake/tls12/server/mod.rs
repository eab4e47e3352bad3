//! A server in TLS 1.2 (RFC 5246, 7.3 and 7.4).
//!
//! ```text
//! ClientHello            -->
//!                        <--  ServerHello            what is selected as cached stands here
//!                             Certificate            maybe as its fingerprint, or left out; not with a pre-shared key
//!                             CertificateStatus*     if the client asks for it
//!                             ServerKeyExchange
//!                             CertificateRequest*    maybe as its fingerprint, or left out
//!                             ServerHelloDone
//! Certificate*           -->                         maybe empty or left out, under a ticket
//! ClientKeyExchange
//! CertificateVerify*
//! [ChangeCipherSpec]
//! Finished
//!                        <--  NewSessionTicket*
//!                             [ChangeCipherSpec]
//!                             Finished
//! ```
//! If a session is resumed (`resume.rs`), the server sends ServerHello, [ChangeCipherSpec] and Finished, and then the
//! client sends [ChangeCipherSpec] and Finished.
//!
//! What must always hold: an object is left out only if the one that would be sent, or accepted, in this handshake has
//! the fingerprint that was offered; a client is believed because its chain was verified, now or before it entered the
//! cache, and because it signed this handshake; what is learned is kept before Finished is sent, which tells the client
//! that it was (docs/caching.md, 4.2).

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::cache::TicketRows;
use crate::config::ServerConfig;
use crate::error::{ApiMisuse, Error, IdentityRefused};
use crate::handshake::server::{ExpectClientHello, ReceivedClientHello};
use crate::handshake::{Handshake, Message, Output, SignatureRequest, StateMachine};
use crate::wire::ProtocolVersion;

mod authenticate;
mod finish;
mod flight;
mod negotiate;
mod resume;

use authenticate::{ExpectCertificate, ExpectCertificateVerify, ExpectClientKeyExchange};
use finish::ExpectFinished;
use flight::ExpectSignature;
use negotiate::{Negotiated, Offer};
use resume::{ExpectResumedFinished, Resumed};

/// The state of a server, named after the message that it expects next.
pub(crate) enum State {
    /// The signature of the server's own parameters.
    Signature(Box<ExpectSignature>),
    Certificate(Box<ExpectCertificate>),
    ClientKeyExchange(Box<ExpectClientKeyExchange>),
    CertificateVerify(Box<ExpectCertificateVerify>),
    Finished(Box<ExpectFinished>),
    /// The client's Finished of a session that is resumed.
    ResumedFinished(Box<ExpectResumedFinished>),
}

impl StateMachine for State {
    #[inline(never)]
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        Ok(Box::new(match *self {
            Self::Certificate(state) if state.is_left_out(message.kind) => {
                state.left_out_certificate(output)?.client_key_exchange(message, output)?
            }
            Self::Certificate(state) => Self::ClientKeyExchange(state.certificate(message, output)?),
            Self::ClientKeyExchange(state) => state.client_key_exchange(message, output)?,
            Self::CertificateVerify(state) => Self::Finished(state.certificate_verify(message, output)?),
            Self::Finished(state) => return state.finished(message, output),
            Self::ResumedFinished(state) => return state.finished(message),
            Self::Signature(_) => return Err(message.unexpected()),
        }))
    }

    fn signature_request(&self) -> Option<&SignatureRequest> {
        match self {
            Self::Signature(state) => Some(&state.request),
            _ => None,
        }
    }

    fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
        match *self {
            Self::Signature(state) => Ok(Box::new(state.signed(signature, output)?)),
            _ => Err(ApiMisuse::NoSignatureDue.into()),
        }
    }

    fn awaits_last_finished(&self) -> bool {
        matches!(self, Self::ResumedFinished(_))
    }
}

/// Answers a ClientHello of TLS 1.2.
#[inline(never)]
pub(crate) fn client_hello(
    config: Arc<ServerConfig>,
    received: &ReceivedClientHello<'_>,
    output: &mut Output<'_>,
) -> Result<Handshake, Error> {
    let message = received.message;
    let offer = Offer::parse(&config, &received.hello)?;
    if let Some(resumed) = Resumed::find(&config, &offer, output)? {
        check_without_identity(&config, output)?;
        return Ok(Box::new(resumed.send(config, &offer, message, output)?));
    }
    let negotiated = Negotiated::new(&config, &offer)?;
    if negotiated.credential.is_some() {
        check_without_identity(&config, output)?; // a pre-shared key is an identity of its own
    }
    let rows = match negotiated.credential.as_ref().filter(|_| offer.may_cache(&config)) {
        Some(_) => offer.caching.look_up(&config, output),
        None => Some(TicketRows::default()),
    };
    let Some(rows) = rows else { return Ok(Box::new(ExpectClientHello::new(config))) };
    Ok(Box::new(flight::send(config, &offer, negotiated, rows, message, output)?))
}

/// Checks that a client of TLS 1.2, which has no identities, may connect.
fn check_without_identity(config: &ServerConfig, output: &mut Output<'_>) -> Result<(), Error> {
    config.check_without_identity(IdentityRefused::Missing).map_err(|refused| {
        output.summary.version = Some(ProtocolVersion::TLS_1_2); // the alert depends on it
        refused.into()
    })
}
