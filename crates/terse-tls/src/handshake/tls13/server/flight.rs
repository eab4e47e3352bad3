//! The server's flight, ServerHello to Finished, and what caching leaves out of it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::certificate::Signer;
use super::authenticate::{ExpectCertificate, ExpectFinished, Handshaking};
use super::negotiate::{Negotiated, Offer};
use super::{State, trust_id};
use crate::cache::{Fingerprint, ServerCache, ServerSession, Ticket};
use crate::cert::Credential;
use crate::config::ServerConfig;
use crate::crypto::Signing;
use crate::error::Error;
use crate::handshake::{Handshake, Output, SignatureRequest};
use crate::schedule::Transcript;
use crate::schedule::tls13::{HandshakeSecret, Schedule, TrafficSecret};
use crate::summary::{CachedObject as Cached, Mode};
use crate::wire::{
    CachedCertificateRequest, CachedInformation, CachedInformationType, Certificate, CertificateAuthorities,
    CertificateEntry, CertificateRequest, CertificateVerify, ClientCachedInfo, DistinguishedName, EncryptedExtensions,
    ExtensionType, ExtensionsBuilder, Finished, HandshakeType, KeyShareEntry, KeyShareServerHello, List, ProtocolName,
    ProtocolNameList, ProtocolVersion, Random, RecordSizeLimit, SelectedClientInfo, SelectedClientObject,
    SelectedInformation, SelectedVersion, ServerHello, SignatureAlgorithms, SignatureScheme,
};

/// Answers a ClientHello with the whole flight.
pub(super) fn send(
    config: Arc<ServerConfig>,
    offer: &Offer<'_>,
    negotiated: Negotiated<'_>,
    key_share: &[u8],
    mut transcript: Transcript,
    output: &mut Output<'_>,
) -> Result<State, Error> {
    let credential = negotiated.credential.clone();
    let request = (config.client_authentication.trust().is_some()).then(|| request_extensions(&config)).transpose()?;
    let request = request
        .as_ref()
        .map(|extensions| CertificateRequest { certificate_request_context: &[], extensions: extensions.extensions() });
    let selected = Selected::new(&config, &credential, offer, request.as_ref(), output);

    let (share, shared_secret) = negotiated.group.respond(output.rng, key_share)?;
    server_hello(offer, &negotiated, &share, &mut transcript, output)?;
    let schedule = Schedule { suite: negotiated.suite, label_prefix: output.link.label_prefix() };
    let handshake = schedule.handshake_secret(&shared_secret)?;
    let messages = transcript.current();
    let (client, server) = (handshake.client_traffic(&messages)?, handshake.server_traffic(&messages)?);
    let client_random = offer.hello.random;
    if let Some(log) = &config.common.key_log {
        log.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", &client_random, client.expose());
        log.log("SERVER_HANDSHAKE_TRAFFIC_SECRET", &client_random, server.expose());
    }
    output.link.compatibility_point()?;
    output.link.new_keys(&server)?;
    output.receive.keys = Some(client.clone());

    encrypted_extensions(&config, offer, &negotiated, &selected, &mut transcript, output)?;
    if let Some(request) = &request {
        certificate_request(request, &selected, &mut transcript, output)?;
    }
    certificate(&credential, &selected, &mut transcript, output)?;
    output.summary.version = Some(ProtocolVersion::TLS_1_3);
    output.summary.cipher_suite = Some(negotiated.suite.id);
    output.summary.group = Some(negotiated.group.name());
    output.agreed.application_protocol = negotiated.application_protocol;
    output.agreed.server_name = offer.server_name.map(Into::into);
    let content = Signer::Server.content(&transcript.current());
    let flight = Flight {
        config,
        client_random,
        asks: request.is_some(),
        transcript,
        handshake,
        client,
        server,
        cache: selected.session,
    };
    let request = SignatureRequest::new(credential, negotiated.scheme, content);
    match request.sign(output.rng)? {
        Signing::Done(signature) => flight.finish(request.scheme(), &signature, output),
        Signing::Pending => Ok(State::Signature(Box::new(ExpectSignature { flight, request }))),
    }
}

/// The server's flight up to Certificate; CertificateVerify and Finished are missing.
struct Flight {
    config: Arc<ServerConfig>,
    client_random: Random,
    /// The client is asked for a certificate.
    asks: bool,
    transcript: Transcript,
    handshake: HandshakeSecret,
    client: TrafficSecret,
    server: TrafficSecret,
    cache: Option<ServerSession>,
}

/// The server's key takes its time.
pub(crate) struct ExpectSignature {
    flight: Flight,
    pub(super) request: SignatureRequest,
}

impl ExpectSignature {
    pub(super) fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { flight, request } = *self;
        flight.finish(request.scheme(), signature, output).map(Handshake::Tls13Server)
    }
}

impl Flight {
    fn finish(self, algorithm: SignatureScheme, signature: &[u8], output: &mut Output<'_>) -> Result<State, Error> {
        let Self { config, client_random, asks, mut transcript, handshake, client, server, cache } = self;
        let verify = CertificateVerify { algorithm, signature };
        output.send(HandshakeType::CERTIFICATE_VERIFY, &verify, &mut transcript)?;
        let verify_data = server.verify_data(&transcript.current())?;
        output.send(HandshakeType::FINISHED, &Finished(verify_data.as_ref()), &mut transcript)?;

        let main = handshake.main_secret()?;
        let messages = transcript.current();
        let (send, receive) = (main.server_traffic(&messages)?, main.client_traffic(&messages)?);
        let exporter = main.exporter(&messages)?;
        if let Some(log) = &config.common.key_log {
            log.log("CLIENT_TRAFFIC_SECRET_0", &client_random, receive.expose());
            log.log("SERVER_TRAFFIC_SECRET_0", &client_random, send.expose());
            log.log("EXPORTER_SECRET", &client_random, exporter.expose());
        }
        output.link.new_keys(&send)?;
        output.link.end_of_flight()?;
        let handshaking = Handshaking { config, transcript, client, main, send, receive, exporter, cache };
        Ok(if asks {
            State::Certificate(Box::new(ExpectCertificate { handshaking }))
        } else {
            State::Finished(Box::new(ExpectFinished { handshaking, client: None }))
        })
    }
}

/// What this handshake leaves out.
struct Selected {
    server_certificate: bool,
    certificate_request: Option<Fingerprint>,
    /// `client_cached_info` is answered.
    bithac: Option<SelectedTicket>,
    session: Option<ServerSession>,
}

/// The reply to `client_cached_info`.
enum SelectedTicket {
    /// To an empty offer: this side takes part.
    Support,
    /// To tickets: the index of the one that is used.
    Index(Option<u16>),
}

impl Selected {
    fn new(
        config: &ServerConfig,
        credential: &Credential,
        offer: &Offer<'_>,
        request: Option<&CertificateRequest<'_>>,
        output: &mut Output<'_>,
    ) -> Self {
        let mut selected = Self { server_certificate: false, certificate_request: None, bithac: None, session: None };
        let Some(cache) = &config.cache else { return selected };
        selected.select_server_objects(config, credential, offer, request);
        selected.select_ticket(config, cache, offer, output);
        let ticket_used = matches!(selected.bithac, Some(SelectedTicket::Index(Some(_))));
        let any = selected.server_certificate || selected.certificate_request.is_some() || ticket_used;
        output.summary.mode = Mode::of(any, selected.bithac.is_some());
        output.summary.fallback = match (&offer.cached_info, &offer.client_cached_info) {
            (None, None) => Some("the client offers no caching"),
            (None, Some(ClientCachedInfo(None))) => Some("first contact"),
            _ if ticket_used || selected.bithac.is_none() => None,
            _ => selected.session.as_ref().and_then(ServerSession::reason),
        };
        selected
    }

    /// RFC 7924, 4: only what would be sent now.
    fn select_server_objects(
        &mut self,
        config: &ServerConfig,
        credential: &Credential,
        offer: &Offer<'_>,
        request: Option<&CertificateRequest<'_>>,
    ) {
        let Some(CachedInformation(objects)) = &offer.cached_info else { return };
        let is_offered = |kind, fingerprint: Fingerprint| {
            objects.iter().any(|object| object.kind == kind && object.hash_value == fingerprint.0)
        };
        self.server_certificate = is_offered(CachedInformationType::CERT, credential.fingerprint());
        if let Some(request) = request
            && request.extensions.as_bytes().len() + 2 >= CACHED_REQUEST_LEN
            && objects.iter().any(|object| object.kind == CachedInformationType::CERT_REQ)
        {
            let fingerprint = Fingerprint::of_request(config.common.provider.sha256, request);
            self.certificate_request = is_offered(CachedInformationType::CERT_REQ, fingerprint).then_some(fingerprint);
        }
    }

    /// Paper 000, IV-B.
    fn select_ticket(&mut self, config: &ServerConfig, cache: &ServerCache, offer: &Offer<'_>, output: &Output<'_>) {
        let Some(ClientCachedInfo(objects)) = &offer.client_cached_info else { return };
        let host_name = offer.server_name.map(str::as_bytes);
        let without_clock = config.client_authentication.trust().is_some_and(|trust| trust.accepts_without_clock());
        let mut session =
            ServerSession::begin(cache, trust_id(config, output.now), host_name, output.now, without_clock);
        self.bithac = Some(match objects {
            None => SelectedTicket::Support,
            Some(objects) => {
                let tickets: Vec<_> = (0..)
                    .zip(objects.iter())
                    .filter(|(_, object)| object.kind == CachedInformationType::CERT)
                    .filter_map(|(index, object)| Some((index, Ticket(object.ticket.try_into().ok()?))))
                    .collect();
                let selected = session.select(tickets.iter().map(|(_, ticket)| *ticket));
                SelectedTicket::Index(selected.and_then(|nth| tickets.get(usize::from(nth))).map(|(index, _)| *index))
            }
        });
        self.session = Some(session);
    }
}

/// From this length on the fingerprint form of a CertificateRequest is no longer than the extensions that it replaces
/// (`caching`: the server leaves `cert_req` alone when the fingerprint form would be longer).
const CACHED_REQUEST_LEN: usize = 1 + 32;

/// RFC 9846, 4.2.3
fn server_hello(
    offer: &Offer<'_>,
    negotiated: &Negotiated<'_>,
    share: &[u8],
    transcript: &mut Transcript,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let mut random = Random::default();
    output.rng.fill(&mut random)?;
    let mut extensions = ExtensionsBuilder::default();
    extensions.push(&SelectedVersion(ProtocolVersion::TLS_1_3))?;
    extensions.push(&KeyShareServerHello(KeyShareEntry { group: negotiated.group.name(), key_exchange: share }))?;
    let hello = ServerHello {
        legacy_version: ProtocolVersion::TLS_1_2,
        random,
        legacy_session_id_echo: offer.hello.legacy_session_id,
        cipher_suite: negotiated.suite.id,
        legacy_compression_method: 0,
        extensions: extensions.extensions(),
    };
    output.send(HandshakeType::SERVER_HELLO, &hello, transcript)
}

/// RFC 9846, 4.4.1
fn encrypted_extensions(
    config: &ServerConfig,
    offer: &Offer<'_>,
    negotiated: &Negotiated<'_>,
    selected: &Selected,
    transcript: &mut Transcript,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let mut extensions = ExtensionsBuilder::default();
    if let Some(name) = &negotiated.application_protocol {
        extensions.push(&ProtocolNameList(List::Items(&[ProtocolName(name)])))?;
    }
    record_sizes(config, offer, &mut extensions, output)?;
    caching_reply(selected, config.common.client_cached_info, &mut extensions)?;
    output.send(HandshakeType::ENCRYPTED_EXTENSIONS, &EncryptedExtensions(extensions.extensions()), transcript)
}

/// RFC 8449, 5: `record_size_limit` replaces `max_fragment_length`.
fn record_sizes(
    config: &ServerConfig,
    offer: &Offer<'_>,
    extensions: &mut ExtensionsBuilder,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    if let Some(RecordSizeLimit(theirs)) = offer.record_size_limit {
        let ours = config.common.record_size_limit.unwrap_or(MAX_RECORD_SIZE_LIMIT);
        extensions.push(&RecordSizeLimit(ours))?;
        output.link.limit_records(usize::from(theirs) - 1); // the content type counts
        output.receive.max_inner = Some(ours.into());
    } else if let Some(length) = offer.max_fragment_length {
        extensions.push(&length)?;
        output.link.limit_records(length.bytes());
        output.receive.max_inner = Some(length.bytes() + 1);
    }
    Ok(())
}

/// 2^14 bytes and the content type (RFC 8449, 4).
const MAX_RECORD_SIZE_LIMIT: u16 = 0x4001;

fn caching_reply(
    selected: &Selected,
    client_cached_info: ExtensionType,
    extensions: &mut ExtensionsBuilder,
) -> Result<(), Error> {
    let mut kinds = Vec::new();
    if selected.server_certificate {
        kinds.push(CachedInformationType::CERT);
    }
    if selected.certificate_request.is_some() {
        kinds.push(CachedInformationType::CERT_REQ);
    }
    if !kinds.is_empty() {
        extensions.push(&SelectedInformation(List::Items(&kinds)))?;
    }
    let kind = CachedInformationType::CERT;
    match selected.bithac {
        None => {}
        Some(SelectedTicket::Support) => extensions.push_as(client_cached_info, &SelectedClientInfo(None))?,
        Some(SelectedTicket::Index(None)) => {
            extensions.push_as(client_cached_info, &SelectedClientInfo(Some(List::Items(&[]))))?
        }
        Some(SelectedTicket::Index(Some(index))) => {
            let selected = [SelectedClientObject { kind, index }];
            extensions.push_as(client_cached_info, &SelectedClientInfo(Some(List::Items(&selected))))?;
        }
    }
    Ok(())
}

fn request_extensions(config: &ServerConfig) -> Result<ExtensionsBuilder, Error> {
    let mut extensions = ExtensionsBuilder::default();
    extensions.push(&SignatureAlgorithms(List::Items(&config.common.signature_schemes)))?;
    if let Some(trust) = config.client_authentication.trust().filter(|_| config.certificate_authorities) {
        let names: Vec<_> = trust.names().collect();
        let names: Vec<_> = names.iter().map(|name| DistinguishedName(name)).collect();
        extensions.push(&CertificateAuthorities(List::Items(&names)))?;
    }
    Ok(extensions)
}

/// RFC 9846, 4.4.2, in full or as its fingerprint.
fn certificate_request(
    request: &CertificateRequest<'_>,
    selected: &Selected,
    transcript: &mut Transcript,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let kind = HandshakeType::CERTIFICATE_REQUEST;
    match &selected.certificate_request {
        None => output.send(kind, request, transcript),
        Some(Fingerprint(hash_value)) => {
            output.left_out(Cached::CertificateRequest);
            let certificate_request_context = request.certificate_request_context;
            output.send(kind, &CachedCertificateRequest { certificate_request_context, hash_value }, transcript)
        }
    }
}

/// RFC 9846, 4.5.1, in full or as its fingerprint.
fn certificate(
    credential: &Credential,
    selected: &Selected,
    transcript: &mut Transcript,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let Fingerprint(fingerprint) = credential.fingerprint();
    let entries: Vec<_> = if selected.server_certificate {
        output.left_out(Cached::ServerCertificate);
        Vec::from([CertificateEntry::new(&fingerprint)])
    } else {
        credential.chain().iter().map(|certificate| CertificateEntry::new(certificate)).collect()
    };
    let certificate = Certificate { certificate_request_context: &[], certificate_list: List::Items(&entries) };
    output.send(HandshakeType::CERTIFICATE, &certificate, transcript)
}
