//! A client in TLS 1.3, after the ServerHello (RFC 9846, 2 and 4).
//!
//! ```text
//!                        <--  EncryptedExtensions    what the server selects as cached stands here
//!                             CertificateRequest*    maybe as its fingerprint, or left out
//!                             Certificate            maybe as its fingerprint, or left out
//!                             CertificateVerify
//!                             Finished
//! EndOfEarlyData*        -->                         if the server takes early data
//! Certificate*                                       maybe reduced or left out, under a ticket
//! CertificateVerify*
//! Finished
//!                        <--  NewSessionTicket*
//! ```
//! With a pre-shared key or an identity the server's Finished follows EncryptedExtensions.
//!
//! What must always hold: a Certificate is believed because its chain was verified, now or before it entered the cache;
//! CertificateVerify is checked in every handshake; nothing reaches the cache before the server's Finished was
//! verified.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::cache::Selection;
use crate::config::{ClientConfig, ServerAddress};
use crate::crypto::{SharedSecret, Tls13Suite};
use crate::error::{CertificateError, Error};
use crate::handshake::caching::Request;
use crate::handshake::certificate_types::CertificateTypes;
use crate::handshake::client::{SelectedProof, SelectedPsk};
use crate::handshake::{Handshake, Message, Output, StateMachine, negotiated, unboxed};
use crate::resume::SessionSaver;
use crate::schedule::EpochKeys;
use crate::schedule::Transcript;
use crate::schedule::tls13::{EarlySecret, HandshakeSecret, TrafficSecret};
use crate::wire::{EncryptedExtensions, ExtensionMessage, ExtensionType, HandshakeType, ProtocolVersion, Random};

pub(crate) mod certificates;
mod finish;
mod proof;
mod psk;
mod tickets;

pub(crate) use certificates::{CachedCode, CertificateCode};
pub(crate) use proof::Proof;
use psk::Selected;
pub(crate) use tickets::{TakeTickets, session_tickets};

/// The data of a client when the ServerHello has selected TLS 1.3.
pub(crate) struct SentClientHello {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) server: ServerAddress,
    pub(crate) random: Random,
    pub(crate) offered: Vec<ExtensionType>,
    pub(crate) transcript: Transcript,
    pub(crate) saver: Option<SessionSaver>,
}

/// The state of a client, named after what it waits for. Those between these two are in `certificates`.
enum State {
    EncryptedExtensions(Box<ExpectEncryptedExtensions>),
    Finished(Box<ExpectFinished>),
}

/// The state of a client that has received the ServerHello.
pub(crate) struct ExpectEncryptedExtensions {
    hello: SentClientHello,
    secrets: Box<Secrets>,
    /// The proof of a server that sends no Certificate.
    selected: Option<Box<Selected>>,
    /// Whether early data may be in flight, so that the handshake keys are not used yet.
    early_data: bool,
}

/// The secrets that are used until the client's Finished.
pub(crate) struct Secrets {
    handshake: HandshakeSecret,
    client: TrafficSecret,
    server: TrafficSecret,
}

/// What a client goes on with after EncryptedExtensions.
pub(crate) struct Negotiated {
    hello: SentClientHello,
    types: CertificateTypes,
    selection: Selection,
    /// The server's CertificateRequest, in full or cached.
    request: Option<Request>,
}

/// The state of a client that waits for Finished: the server has signed, or has selected a pre-shared key.
pub(crate) struct ExpectFinished {
    state: Box<Negotiated>,
    secrets: Box<Secrets>,
    proof: Proof,
    /// Whether the server accepts early data.
    early_data: bool,
    /// What answers with the client's Certificate, and learns the server's, in a handshake with certificates.
    certificates: Option<&'static CertificateCode>,
}

/// A ServerHello that was read, with what is needed to go on.
pub(crate) struct ReceivedServerHello {
    pub(crate) hello: SentClientHello,
    pub(crate) suite: &'static Tls13Suite,
    pub(crate) shared_secret: SharedSecret,
    /// The proof of a server that sends no Certificate.
    pub(crate) proof: Option<SelectedProof>,
    /// Whether early data may be in flight.
    pub(crate) early_data: bool,
}

/// What continues after the ServerHello of TLS 1.3, to which a [`ClientParts`](crate::ClientParts) points.
pub(crate) type ServerHelloHandler = fn(Box<ReceivedServerHello>, &mut Output<'_>) -> Result<Handshake, Error>;

/// Continues after the ServerHello, from which on everything is encrypted.
pub(crate) fn server_hello(
    mut received: Box<ReceivedServerHello>,
    output: &mut Output<'_>,
) -> Result<Handshake, Error> {
    let (secrets, selected) = received.secrets(output)?;
    received.new_keys(&secrets, output)?;
    let ReceivedServerHello { hello, early_data, .. } = unboxed(received);
    let state = Box::new(ExpectEncryptedExtensions { hello, secrets, selected, early_data });
    Ok(Box::new(State::EncryptedExtensions(state)))
}

impl ReceivedServerHello {
    /// Derives the secrets of the handshake. Also returns the proof of a server that sends no Certificate.
    #[inline(never)]
    fn secrets(&mut self, output: &Output<'_>) -> Result<(Box<Secrets>, Option<Box<Selected>>), Error> {
        let without_psk = || EarlySecret::new(self.suite.hash, output.link.transport().label_prefix(), None);
        let (early_secret, selected) = match self.proof.take() {
            None => (without_psk(), None),
            Some(SelectedProof::Psk(SelectedPsk { early_secret, early_data, source })) => {
                (early_secret, Some(Box::new(Selected { early_data, proof: Proof::Psk(source) })))
            }
            Some(SelectedProof::Identity(mut identity)) => {
                let early_data = identity.take_early_data();
                (without_psk(), Some(Box::new(Selected { early_data, proof: Proof::Identity(identity) })))
            }
        };
        let handshake = early_secret.handshake_secret(self.suite, &self.shared_secret)?;
        let messages = self.hello.transcript.current();
        let client = handshake.client_traffic(&messages)?;
        let server = handshake.server_traffic(&messages)?;
        Ok((Box::new(Secrets { handshake, client, server }), selected))
    }

    /// Changes to the keys of the handshake.
    #[inline(never)]
    fn new_keys(&self, secrets: &Secrets, output: &mut Output<'_>) -> Result<(), Error> {
        let (SentClientHello { config, random, .. }, Secrets { client, server, .. }) = (&self.hello, secrets);
        config.common.log_secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", random, client.expose());
        config.common.log_secret("SERVER_HANDSHAKE_TRAFFIC_SECRET", random, server.expose());
        output.receive.keys = Some(Box::new(EpochKeys::Tls13(server.clone())));
        output.link.compatibility_point()?;
        let keys = EpochKeys::Tls13(client.clone());
        match self.early_data {
            true => output.link.new_keys_beside_early_data(&keys),
            false => output.link.new_keys(&keys),
        }
    }
}

impl StateMachine for State {
    #[inline(never)]
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        match *self {
            Self::EncryptedExtensions(state) => state.encrypted_extensions(message, output),
            Self::Finished(state) => state.finished(message, output),
        }
    }

    fn ignores_change_cipher_spec(&self) -> bool {
        true
    }
}

impl ExpectEncryptedExtensions {
    /// Handles EncryptedExtensions (RFC 9846, 4.4.1).
    #[inline(never)]
    fn encrypted_extensions(mut self, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let EncryptedExtensions(extensions) = message.expect(HandshakeType::ENCRYPTED_EXTENSIONS)?;
        let takes_early_data = psk::takes_early_data(extensions)?;
        if self.early_data {
            output.link.limits().limit_protected(usize::MAX); // this handshake negotiates its own limit
        }
        self.early_data_refused(takes_early_data, output)?;
        extensions.check_response(ExtensionMessage::EncryptedExtensions, &self.hello.offered)?;
        negotiated::read(&self.hello.config, extensions, ProtocolVersion::TLS_1_3, output)?;
        if takes_early_data {
            self.early_data_accepted(output)?;
        }
        if let Some(Selected { proof, .. }) = self.selected.take().map(|selected| *selected) {
            return Ok(Box::new(self.finished_follows(proof, extensions, message, output)?));
        }
        let Self { hello, secrets, .. } = self;
        // A client for which no trust was configured has no code for certificates.
        let certificates = hello.config.certificates.ok_or(CertificateError::UnknownIssuer)?;
        (certificates.begin)(hello, secrets, extensions, message, output)
    }
}
