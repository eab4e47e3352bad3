//! A client's first flight, and the ServerHello that decides the version (RFC 9846, 4.2).
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

use pki_types::ServerName;

use super::{Handshake, Message, Output, tls13};
use crate::config::{ClientConfig, ServerAddress};
use crate::crypto::{KeyExchange, Tls13Suite};
use crate::error::{ApiMisuse, Error, PeerIncompatible, PeerMisbehaved};
use crate::schedule::{Pending, Transcript};
use crate::wire::{
    CachedClientObject, CachedInformation, CachedInformationType, CachedObject, CipherSuites, ClientCachedInfo,
    ClientHello, Cookie, EncodeError, ExtensionType, ExtensionsBuilder, HandshakeType, KeyShareClientHello,
    KeyShareEntry, KeyShareHelloRetryRequest, KeyShareServerHello, List, NamedGroup, Place, ProtocolName,
    ProtocolNameList, ProtocolVersion, Random, RecordSizeLimit, SelectedVersion, ServerHello, ServerNameList,
    SignatureAlgorithms, SupportedGroups, SupportedVersions,
};

/// The ClientHello is sent.
pub(crate) struct ExpectServerHello {
    pub(super) config: Arc<ClientConfig>,
    pub(super) server: ServerAddress,
    pub(super) random: Random,
    /// What the ClientHello that is being answered offers.
    pub(super) offered: Vec<ExtensionType>,
    legacy_session_id: Vec<u8>,
    group: NamedGroup,
    key_exchange: Box<dyn KeyExchange>,
    progress: Progress,
}

/// What the answered ClientHello came after.
enum Progress {
    /// The first ClientHello, not hashed yet.
    First(Pending),
    /// HelloRetryRequest, which fixed the suite.
    Retried(&'static Tls13Suite, Transcript),
}

impl ExpectServerHello {
    /// Sends the ClientHello.
    pub(crate) fn start(
        config: Arc<ClientConfig>,
        server: ServerAddress,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        let mut random = Random::default();
        output.rng.fill(&mut random)?;
        let mut legacy_session_id = vec![0; if config.compatibility_mode { 32 } else { 0 }];
        output.rng.fill(&mut legacy_session_id)?;
        let common = &config.common;
        let group = (common.groups.iter().find_map(|name| common.provider.group(*name)))
            .ok_or(ApiMisuse::EmptyConfiguration("group"))?;
        let key_exchange = group.start(output.rng)?;
        let mut hello = Self {
            config: config.clone(),
            server,
            random,
            offered: Vec::new(),
            legacy_session_id,
            group: group.name(),
            key_exchange,
            progress: Progress::First(Pending::new(&[])),
        };
        let client_hello = hello.send_client_hello(None, output)?;
        hello.progress = Progress::First(Pending::new(&client_hello));
        Ok(Box::new(hello))
    }

    /// Expects ServerHello or HelloRetryRequest.
    pub(crate) fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let hello: ServerHello<'_> = message.expect(HandshakeType::SERVER_HELLO)?;
        let suite = self.check(&hello)?;
        if hello.is_hello_retry_request() {
            return self.hello_retry_request(&hello, message, suite, output);
        }
        (*self).server_hello(&hello, message, suite, output)
    }

    /// What ServerHello and HelloRetryRequest must have in common with the offer.
    fn check(&self, hello: &ServerHello<'_>) -> Result<&'static Tls13Suite, Error> {
        match hello.extensions.get::<SelectedVersion>()? {
            Some(SelectedVersion(ProtocolVersion::TLS_1_3)) => {}
            Some(_) => return Err(PeerMisbehaved::SelectedUnoffered(ExtensionType::SUPPORTED_VERSIONS).into()),
            None => return Err(PeerIncompatible::NoCommonVersion.into()),
        }
        if hello.legacy_version != ProtocolVersion::TLS_1_2 {
            return Err(PeerIncompatible::NoCommonVersion.into());
        }
        if hello.legacy_session_id_echo != self.legacy_session_id || hello.legacy_compression_method != 0 {
            return Err(PeerMisbehaved::IllegalLegacyField.into());
        }
        let common = &self.config.common;
        let suite =
            common.suites.contains(&hello.cipher_suite).then(|| common.provider.tls13_suite(hello.cipher_suite));
        let suite = suite.flatten().ok_or(PeerMisbehaved::SelectedUnofferedSuite)?;
        match &self.progress {
            Progress::Retried(fixed, _) if fixed.id != suite.id => Err(PeerMisbehaved::SelectedUnofferedSuite.into()),
            _ => Ok(suite),
        }
    }

    /// RFC 9846, 4.2.4
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
        hello.extensions.check_response(Place::HelloRetryRequest, &may_answer)?;
        let selected_group = hello.extensions.get::<KeyShareHelloRetryRequest>()?;
        let cookie = hello.extensions.get::<Cookie<'_>>()?;
        if let Some(KeyShareHelloRetryRequest(selected)) = selected_group {
            let common = &self.config.common;
            let group = common.groups.contains(&selected).then(|| common.provider.group(selected)).flatten();
            let group = group.filter(|_| selected != self.group).ok_or(PeerMisbehaved::IllegalHelloRetryRequest)?;
            self.group = selected;
            self.key_exchange = group.start(output.rng)?;
        } else if cookie.is_none() {
            return Err(PeerMisbehaved::IllegalHelloRetryRequest.into());
        }
        let mut transcript = pending.start(suite.hash).replace_by_hash();
        transcript.add(message.bytes);
        self.progress = Progress::First(Pending::new(&[]));
        output.note("the server wants another key share or a cookie: HelloRetryRequest");
        output.link.compatibility_point()?;
        let client_hello = self.send_client_hello(cookie, output).map_err(|error| match error {
            // The first ClientHello had room for everything else.
            Error::ApiMisuse(ApiMisuse::NameTooLong) => PeerMisbehaved::IllegalHelloRetryRequest.into(),
            error => error,
        })?;
        transcript.add(&client_hello);
        self.progress = Progress::Retried(suite, transcript);
        Ok(Handshake::Client(self))
    }

    /// RFC 9846, 4.2.3
    fn server_hello(
        self,
        hello: &ServerHello<'_>,
        message: Message<'_>,
        suite: &'static Tls13Suite,
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        hello.extensions.check_response(Place::ServerHello, &self.offered)?;
        let KeyShareServerHello(share) = hello.extensions.require()?;
        if share.group != self.group {
            return Err(PeerMisbehaved::IllegalKeyShare.into());
        }
        let shared_secret = self.key_exchange.complete(share.key_exchange)?;
        let (round_trips, mut transcript) = match self.progress {
            Progress::First(pending) => (1, pending.start(suite.hash)),
            Progress::Retried(_, transcript) => (2, transcript),
        };
        transcript.add(message.bytes);
        output.summary.version = Some(ProtocolVersion::TLS_1_3);
        output.summary.cipher_suite = Some(suite.id);
        output.summary.group = Some(self.group);
        output.summary.round_trips = round_trips;
        let hello = tls13::client::Hello {
            config: self.config,
            server: self.server,
            random: self.random,
            offered: self.offered,
            transcript,
        };
        tls13::client::State::start(hello, suite, &shared_secret, output).map(Handshake::Tls13Client)
    }

    /// Builds and sends a ClientHello; a list of steps, each one extension.
    fn send_client_hello(&mut self, cookie: Option<Cookie<'_>>, output: &mut Output<'_>) -> Result<Vec<u8>, Error> {
        let common = &self.config.common;
        let mut extensions = ExtensionsBuilder::default();
        extensions.push(&SupportedVersions(List::Items(&[ProtocolVersion::TLS_1_3])))?;
        self.offer_server_name(&mut extensions)?;
        extensions.push(&SupportedGroups(List::Items(&common.groups)))?;
        extensions.push(&SignatureAlgorithms(List::Items(&common.signature_schemes)))?;
        self.offer_application_protocols(&mut extensions)?;
        self.offer_record_sizes(&mut extensions)?;
        self.offer_caching(&mut extensions, output)?;
        if let Some(cookie) = cookie {
            extensions.push(&cookie)?;
        }
        self.offer_key_share(&mut extensions)?;
        self.offered = extensions.types().into();
        let hello = ClientHello {
            legacy_version: ProtocolVersion::TLS_1_2,
            random: self.random,
            legacy_session_id: &self.legacy_session_id,
            cipher_suites: CipherSuites(List::Items(&common.suites)),
            legacy_compression_methods: &[0],
            extensions: extensions.extensions(),
        };
        let message = output.push(HandshakeType::CLIENT_HELLO, &hello)?.into();
        output.link.end_of_flight()?;
        Ok(message)
    }

    /// RFC 6066, 3: names only, and no IP addresses.
    fn offer_server_name(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        match &self.server.name {
            ServerName::DnsName(name) if self.config.send_server_name => {
                let name = name.as_ref();
                extensions.push(&ServerNameList::HostName(name.strip_suffix('.').unwrap_or(name)))
            }
            _ => Ok(()),
        }
    }

    fn offer_application_protocols(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let protocols: Vec<_> = self.config.common.alpn_protocols.iter().map(|name| ProtocolName(name)).collect();
        if protocols.is_empty() {
            return Ok(());
        }
        extensions.push(&ProtocolNameList(List::Items(&protocols)))
    }

    fn offer_record_sizes(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        if let Some(limit) = self.config.common.record_size_limit {
            extensions.push(&RecordSizeLimit(limit))?;
        }
        if let Some(length) = self.config.max_fragment_length {
            extensions.push(&length)?;
        }
        Ok(())
    }

    fn offer_key_share(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let share = KeyShareEntry { group: self.group, key_exchange: self.key_exchange.key_share() };
        extensions.push(&KeyShareClientHello(List::Items(&[share])))
    }

    /// `cached_info` and `client_cached_info`: the same in both ClientHellos (`caching`, rule 8), since the session does not
    /// change in between.
    fn offer_caching(&self, extensions: &mut ExtensionsBuilder, output: &Output<'_>) -> Result<(), EncodeError> {
        let Some(session) = output.cache.as_deref() else {
            return Ok(());
        };
        let certificate = session.offered_certificate().map(|fingerprint| (CachedInformationType::CERT, fingerprint));
        let request = session.offered_request().map(|fingerprint| (CachedInformationType::CERT_REQ, fingerprint));
        let offered: Vec<_> = certificate.into_iter().chain(request).collect();
        let objects: Vec<_> = offered
            .iter()
            .map(|(kind, fingerprint)| CachedObject { kind: *kind, hash_value: &fingerprint.0 })
            .collect();
        if !objects.is_empty() {
            extensions.push(&CachedInformation(List::Items(&objects)))?;
        }
        if session.scheme_bithac() {
            let ticket = session.offered_ticket();
            let objects: Vec<_> = (ticket.iter())
                .map(|ticket| CachedClientObject { kind: CachedInformationType::CERT, ticket: &ticket.0 })
                .collect();
            let info = ClientCachedInfo(ticket.is_some().then_some(List::Items(&objects)));
            extensions.push_as(self.config.common.client_cached_info, &info)?;
        }
        Ok(())
    }
}
