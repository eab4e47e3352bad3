//! A client's first flight, and the ServerHello that selects the version (RFC 9846, 4.2).
//!
//! ```text
//! ClientHello            -->
//!                        <--  HelloRetryRequest     at most once
//! ClientHello            -->
//!                        <--  ServerHello           tells the version, whose module goes on
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::identity::offer::{AgreedIdentity, OfferedIdentity};
use super::{Handshake, Message, Output, StateMachine, negotiated, tls13, unboxed};
use crate::cache::FallbackReason;
use crate::config::{ClientConfig, ServerAddress};
use crate::crypto::Tls13Suite;
use crate::error::{ApiMisuse, Error, IdentityRefused, PeerIncompatible, PeerMisbehaved};
use crate::resume::{SessionOffer, SessionSaver, StoredSession};
use crate::schedule::{Pending, Transcript};
use crate::wire::{
    Cookie, EncodeError, ExtensionMessage, ExtensionType, HandshakeType, IdentityShareHelloRetryRequest,
    KeyShareHelloRetryRequest, PreSharedKeyServerHello, ProtocolVersion, Random, SelectedVersion, ServerHello,
    Transport,
};

mod agreement;
mod early_data;
mod hello;
mod psk;
mod tls12;

use agreement::{Agreed, OfferedAgreement};
pub(crate) use early_data::OfferedEarlyData;
use psk::PskOffer;
pub(crate) use psk::{OfferPsks, OfferSession, PskSource, SelectedPsk, offer_psks, offer_session};
pub(crate) use tls12::Tls12Code;

/// The state of a client that has sent its ClientHello.
pub(crate) struct ExpectServerHello {
    pub(super) config: Arc<ClientConfig>,
    pub(super) server: ServerAddress,
    pub(super) random: Random,
    /// The extensions that the last ClientHello offers.
    pub(super) offered: Vec<ExtensionType>,
    legacy_session_id: Vec<u8>,
    /// The cookie of a HelloVerifyRequest.
    legacy_cookie: Vec<u8>,
    /// How many HelloVerifyRequests came.
    verify_requests: u8,
    /// The key share of TLS 1.3.
    agreement: Option<OfferedAgreement>,
    /// The identity, which can stand in the place of key share and certificates.
    identity: Option<Box<dyn OfferedIdentity>>,
    /// The pre-shared keys that are offered, if the configuration has any.
    psks: Option<Box<dyn PskOffer>>,
    /// The session of TLS 1.2 that is offered; `legacy_session_id` is its session ID, or was chosen for its ticket.
    pub(super) tls12_session: Option<Box<StoredSession>>,
    /// Where the sessions of this connection are kept.
    saver: Option<SessionSaver>,
    progress: Progress,
}

/// The proof of a server that sends no Certificate.
#[allow(clippy::large_enum_variant)] // it lives for one call
pub(crate) enum SelectedProof {
    Psk(SelectedPsk),
    Identity(Box<dyn AgreedIdentity>),
}

/// Which ClientHello the server answers.
enum Progress {
    /// The first ClientHello, which is not hashed yet.
    First(Pending),
    /// The second ClientHello, after a HelloRetryRequest that has selected the cipher suite.
    Retried(&'static Tls13Suite, Transcript),
}

impl ExpectServerHello {
    /// Sends the first ClientHello.
    pub(crate) fn start(
        config: Arc<ClientConfig>,
        server: ServerAddress,
        resumption: Option<Box<SessionOffer>>,
        identity: Option<Box<dyn OfferedIdentity>>,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        let mut random = Random::default();
        output.rng.fill(&mut random)?;
        // RFC 9846, E.4: a session ID is only sent for TLS 1.3, and not over datagrams (RFC 9147, 5).
        let is_stream = output.link.transport() == Transport::Stream;
        let has_session_id = config.compatibility_mode && is_stream && config.common.enables(ProtocolVersion::TLS_1_3);
        let mut session_id = vec![0; if has_session_id { 32 } else { 0 }];
        output.rng.fill(&mut session_id)?;
        // The key share is computed while the stack holds little.
        let agreement =
            OfferedAgreement::start(&config.common, identity.as_deref(), config.trusts_certificates(), output.rng)?;
        let mut hello = Self::new(config, server, resumption, identity, output)?;
        (hello.random, hello.agreement) = (random, agreement);
        if hello.tls12_session.is_none() {
            hello.legacy_session_id = session_id;
        }
        hello.send_first(output)?;
        Ok(hello)
    }

    #[inline(never)]
    fn new(
        config: Arc<ClientConfig>,
        server: ServerAddress,
        resumption: Option<Box<SessionOffer>>,
        identity: Option<Box<dyn OfferedIdentity>>,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        let mut legacy_session_id = Vec::new();
        let (session, saver) = match resumption.map(|resumption| *resumption) {
            None => (None, None),
            Some(SessionOffer { session: Ok(session), saver }) => (Some(session), Some(saver)),
            Some(SessionOffer { session: Err(reason), saver }) => {
                output.summary.fallback = Some(reason);
                (None, Some(saver))
            }
        };
        let (tls12_session, session) = match session {
            Some(session) if session.version() == ProtocolVersion::TLS_1_2 => (Some(Box::new(session)), None),
            session => (None, session),
        };
        if let Some(session) = &tls12_session {
            legacy_session_id = session.offered_id(output.rng)?;
        }
        let psks = match config.offer_psks {
            None => None,
            Some(offer) => offer(&config, session, output.link.transport())?,
        };
        Ok(Box::new(Self {
            config,
            server,
            random: Random::default(),
            offered: Vec::new(),
            legacy_session_id,
            legacy_cookie: Vec::new(),
            verify_requests: 0,
            agreement: None,
            identity,
            tls12_session,
            psks,
            saver,
            progress: Progress::First(Pending::new(&[])),
        }))
    }

    #[inline(never)]
    fn send_first(&mut self, output: &mut Output<'_>) -> Result<(), Error> {
        // Only data that the caller has configured can be too long.
        let client_hello = self.client_hello(None, output).map_err(|EncodeError| ApiMisuse::NameTooLong)?;
        let client_hello = self.send_client_hello(client_hello, None, output)?;
        let client = (&self.config.common, &self.random);
        if let Some(psks) = &self.psks {
            psks.begin_early_data(client, &client_hello, output)?;
        }
        if let Some(identity) = &mut self.identity {
            identity.begin_early_data(client, &client_hello, output)?;
        }
        self.progress = Progress::First(Pending::new(&client_hello));
        Ok(())
    }

    /// Returns whether the ClientHello offers `version`. An identity alone is only for TLS 1.3.
    pub(super) fn offers(&self, version: ProtocolVersion) -> bool {
        let has_use =
            version == ProtocolVersion::TLS_1_3 || self.identity.is_none() || self.config.trusts_certificates();
        has_use && self.config.common.enables(version)
    }

    /// Returns whether the ClientHello offers groups: for certificates or pre-shared keys, or beside an identity.
    fn offers_groups(&self) -> bool {
        self.identity.as_ref().is_none_or(|identity| identity.is_hybrid() || self.config.trusts_certificates())
    }

    /// Returns whether early data is offered.
    fn has_early_data(&self) -> bool {
        self.psks.as_ref().is_some_and(|psks| psks.has_early_data())
            || self.identity.as_ref().is_some_and(|identity| identity.early_data().is_some())
    }

    /// Handles ServerHello, HelloRetryRequest or HelloVerifyRequest.
    #[inline(never)]
    fn handle_message(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        if message.kind == HandshakeType::HELLO_VERIFY_REQUEST && message.transport == Transport::Datagram {
            // RFC 9147, 5.3: DTLS 1.3 has no `legacy_cookie`
            let tls12 = self.config.parts.tls12.ok_or(PeerIncompatible::NoCommonVersion)?;
            return (tls12.hello_verify_request)(self, message, output);
        }
        let hello = message.server_hello()?;
        if self.select_version(&hello, message.transport)? == ProtocolVersion::TLS_1_2 {
            let tls12 = self.config.parts.tls12.ok_or(PeerIncompatible::NoCommonVersion)?; // it is there: TLS 1.2 is offered
            return (tls12.server_hello)(self, &hello, message, output);
        }
        let suite = self.check(&hello, message.transport)?;
        if hello.is_hello_retry_request() {
            return self.hello_retry_request(&hello, message, suite, output);
        }
        let tls13 = self.config.parts.tls13.ok_or(PeerIncompatible::NoCommonVersion)?; // it is there: TLS 1.3 is offered
        tls13(self.server_hello(&hello, message, suite, output)?, output)
    }

    /// Returns the version that the server has selected. With the extension `supported_versions` it is TLS 1.3, and
    /// legacy_version is ignored; without it the server supports at most TLS 1.2 (RFC 9846, 4.2.3 and 4.3.1).
    fn select_version(&self, hello: &ServerHello<'_>, transport: Transport) -> Result<ProtocolVersion, Error> {
        match hello.extensions.get::<SelectedVersion>()?.map(|SelectedVersion(version)| transport.version(version)) {
            Some(ProtocolVersion::TLS_1_3) if self.offers(ProtocolVersion::TLS_1_3) => {
                if hello.legacy_version == ProtocolVersion::SSL_3_0 {
                    return Err(PeerIncompatible::NoCommonVersion.into()); // RFC 9846, E.5
                }
                if self.verify_requests > 0 {
                    // RFC 9147, 5.2: a server of DTLS 1.3 uses HelloRetryRequest, and accepts no `legacy_cookie`.
                    return Err(PeerMisbehaved::SelectedUnoffered(ExtensionType::SUPPORTED_VERSIONS).into());
                }
                Ok(ProtocolVersion::TLS_1_3)
            }
            Some(_) => Err(PeerMisbehaved::SelectedUnoffered(ExtensionType::SUPPORTED_VERSIONS).into()),
            None if hello.legacy_version != ProtocolVersion::TLS_1_2 || !self.offers(ProtocolVersion::TLS_1_2) => {
                Err(PeerIncompatible::NoCommonVersion.into())
            }
            None if matches!(self.progress, Progress::Retried(..)) || hello.is_hello_retry_request() => {
                Err(PeerMisbehaved::SelectedUnoffered(ExtensionType::SUPPORTED_VERSIONS).into())
            }
            // The server would have selected TLS 1.3, so an attacker has changed the ClientHello.
            None if self.offers(ProtocolVersion::TLS_1_3) && hello.is_downgrade() => {
                Err(PeerMisbehaved::Downgrade.into())
            }
            None => Ok(ProtocolVersion::TLS_1_2),
        }
    }

    /// Checks the fields of a ServerHello or HelloRetryRequest of TLS 1.3 against the offer.
    fn check(&self, hello: &ServerHello<'_>, transport: Transport) -> Result<&'static Tls13Suite, Error> {
        let session_id = transport.legacy_session_id_echo(&self.legacy_session_id);
        if hello.legacy_session_id_echo != session_id || hello.legacy_compression_method != 0 {
            return Err(PeerMisbehaved::IllegalLegacyField.into());
        }
        let common = &self.config.common;
        let mut suites = common.enabled_tls13_suites();
        let suite =
            suites.find(|suite| suite.id == hello.cipher_suite).ok_or(PeerMisbehaved::SelectedUnofferedSuite)?;
        match &self.progress {
            Progress::Retried(fixed, _) if fixed.id != suite.id => Err(PeerMisbehaved::SelectedUnofferedSuite.into()),
            _ => Ok(suite),
        }
    }

    /// Handles a HelloRetryRequest, and sends the second ClientHello (RFC 9846, 4.2.4).
    #[inline(never)]
    fn hello_retry_request(
        mut self: Box<Self>,
        hello: &ServerHello<'_>,
        message: Message<'_>,
        suite: &'static Tls13Suite,
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        let Progress::First(pending) = self.progress else {
            return Err(message.unexpected());
        };
        let mut may_answer = self.offered.clone();
        may_answer.push(ExtensionType::COOKIE);
        hello.extensions.check_response(ExtensionMessage::HelloRetryRequest, &may_answer)?;
        let selected_group = hello.extensions.get::<KeyShareHelloRetryRequest>()?;
        let cookie = hello.extensions.get::<Cookie<'_>>()?;
        let asks_public_part = hello.extensions.get::<IdentityShareHelloRetryRequest>()?.is_some();
        if asks_public_part && !self.identity.as_mut().is_some_and(|identity| identity.retry()) {
            return Err(PeerMisbehaved::IllegalHelloRetryRequest.into()); // it was sent already
        }
        if let Some(KeyShareHelloRetryRequest(selected)) = selected_group {
            let (offered, common) = (self.agreement.as_ref(), &self.config.common);
            self.agreement = Some(OfferedAgreement::retry(offered, selected, common, output.rng)?);
        } else if cookie.is_none() && !asks_public_part {
            return Err(PeerMisbehaved::IllegalHelloRetryRequest.into());
        }
        let mut transcript = pending.start13(suite.hash, message.transport).replace_by_hash();
        transcript.add(message.bytes);
        self.progress = Progress::First(Pending::new(&[]));
        output.note(if asks_public_part {
            "the server wants the public part of the identity key: HelloRetryRequest"
        } else {
            "the server wants another key share or a cookie: HelloRetryRequest"
        });
        if let Some(psks) = &mut self.psks {
            psks.retry(suite, output);
        }
        if self.identity.as_mut().is_some_and(|identity| identity.abandon_early_data()) {
            OfferedEarlyData::abandon(output);
        }
        output.link.compatibility_point()?;
        // The first ClientHello had room for everything but the peer's cookie and the key share that it wants.
        let client_hello = self.client_hello(cookie, output);
        let client_hello = client_hello.map_err(|EncodeError| PeerMisbehaved::IllegalHelloRetryRequest)?;
        let client_hello = self.send_client_hello(client_hello, Some(&transcript), output)?;
        transcript.add(&client_hello);
        self.progress = Progress::Retried(suite, transcript);
        Ok(self)
    }

    /// Reads a ServerHello of TLS 1.3 (RFC 9846, 4.2.3).
    fn server_hello(
        mut self: Box<Self>,
        hello: &ServerHello<'_>,
        message: Message<'_>,
        suite: &'static Tls13Suite,
        output: &mut Output<'_>,
    ) -> Result<Box<tls13::client::ReceivedServerHello>, Error> {
        let early_data = self.has_early_data();
        let agreed = self.agree(hello, suite, output)?;
        let mut received = unboxed(self).received(agreed, hello, message, suite, output)?;
        received.early_data = early_data;
        Ok(received)
    }

    /// Completes the key agreement.
    #[inline(never)]
    fn agree(
        &mut self,
        hello: &ServerHello<'_>,
        suite: &'static Tls13Suite,
        output: &mut Output<'_>,
    ) -> Result<Agreed, Error> {
        hello.extensions.check_response(ExtensionMessage::ServerHello, &self.offered)?;
        let selects_psk = hello.extensions.get::<PreSharedKeyServerHello>()?.is_some();
        let agreed = Agreed::read(self.agreement.take(), &mut self.identity, hello.extensions)?;
        let agreed = match (agreed, selects_psk) {
            (Some(agreed), _) => agreed,
            (None, false) if self.identity.is_some() => return Err(IdentityRefused::NotSelected.into()),
            (None, true) => return Err(PeerMisbehaved::IllegalPskSelection.into()), // that mode was not offered
            (None, false) => return Err(PeerMisbehaved::MissingExtension(ExtensionType::KEY_SHARE).into()),
        };
        negotiated::read_connection_id(hello.extensions, output)?;
        output.summary.version = Some(ProtocolVersion::TLS_1_3);
        output.summary.cipher_suite = Some(suite.id);
        output.summary.group = agreed.group;
        Ok(agreed)
    }

    #[inline(never)]
    fn received(
        self,
        agreed: Agreed,
        hello: &ServerHello<'_>,
        message: Message<'_>,
        suite: &'static Tls13Suite,
        output: &mut Output<'_>,
    ) -> Result<Box<tls13::client::ReceivedServerHello>, Error> {
        let Self { config, server, random, offered, identity, saver, progress, psks, .. } = self;
        let proof = match (agreed.identity, hello.extensions.get()?) {
            (Some(identity), _) => Some(SelectedProof::Identity(identity)), // no pre-shared key was offered
            (None, Some(PreSharedKeyServerHello(index))) => {
                let psks = psks.ok_or(PeerMisbehaved::IllegalPskSelection)?;
                Some(SelectedProof::Psk(psks.select(index, suite)?))
            }
            (None, None) => {
                if psks.is_some_and(|psks| !psks.is_empty()) {
                    output.summary.fallback = Some(FallbackReason::SessionIgnored);
                }
                None
            }
        };
        output.agreed.declined_identity = identity.map(|identity| identity.declined());
        let (round_trips, mut transcript) = match progress {
            Progress::First(pending) => (1, pending.start13(suite.hash, message.transport)),
            Progress::Retried(_, transcript) => (2, transcript),
        };
        transcript.add(message.bytes);
        output.summary.round_trips = round_trips;
        let hello = tls13::client::SentClientHello { config, server, random, offered, transcript, saver };
        let shared_secret = agreed.shared_secret;
        Ok(Box::new(tls13::client::ReceivedServerHello { hello, suite, shared_secret, proof, early_data: false }))
    }
}

impl StateMachine for ExpectServerHello {
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        self.handle_message(message, output)
    }

    fn ignores_change_cipher_spec(&self) -> bool {
        self.offers(ProtocolVersion::TLS_1_3)
    }
}
