//! The server's flight, ServerHello to Finished, and what caching leaves out of it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::certificate::Signer;
use super::State;
use super::authenticate::{ExpectCertificate, ExpectFinished, Handshaking};
use super::negotiate::{Negotiated, Offer};
use crate::cache::{Fingerprint, ServerSession};
use crate::cert::Credential;
use crate::config::ServerConfig;
use crate::crypto::Signing;
use crate::error::Error;
use crate::handshake::caching::Selected;
use crate::handshake::{Handshake, Output, SignatureRequest, agreement};
use crate::schedule::EpochKeys;
use crate::schedule::Transcript;
use crate::schedule::tls13::{HandshakeSecret, Schedule, TrafficSecret};
use crate::summary::CachedObject as Cached;
use crate::wire::{
    CachedCertificateRequest, Certificate, CertificateAuthorities, CertificateEntry, CertificateRequest,
    CertificateType, CertificateVerify, DistinguishedName, EncryptedExtensions, ExtensionsBuilder, Finished,
    HandshakeType, KeyShareEntry, KeyShareServerHello, List, ProtocolVersion, Random, SelectedVersion, ServerHello,
    SignatureAlgorithms, SignatureScheme,
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
    let sha256 = config.common.provider.sha256;
    let pays = request.as_ref().filter(|request| request.extensions.as_bytes().len() + 2 >= CACHED_REQUEST_LEN);
    let fingerprint = pays.map(|request| || Fingerprint::of_request(sha256, request));
    let fingerprint = fingerprint.as_ref().map(|fingerprint| fingerprint as &dyn Fn() -> Fingerprint);
    let version = ProtocolVersion::TLS_1_3;
    let own = credential.fingerprint(version);
    let client = (negotiated.certificates.types.client, version);
    let selected = Selected::new(&config, &offer.caching, offer.server_name, client, own, fingerprint, output);

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
    output.link.new_keys(&EpochKeys::Tls13(server.clone()))?;
    output.receive.keys = Some(EpochKeys::Tls13(client.clone()));

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
        client_type: negotiated.certificates.types.client,
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
    client_type: CertificateType,
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
        let Self { config, client_type, client_random, asks, mut transcript, handshake, client, server, cache } = self;
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
        output.link.new_keys(&EpochKeys::Tls13(send.clone()))?;
        output.link.end_of_flight()?;
        let handshaking = Handshaking { config, transcript, client, main, send, receive, exporter, cache };
        Ok(if asks {
            State::Certificate(Box::new(ExpectCertificate { handshaking, client_type }))
        } else {
            State::Finished(Box::new(ExpectFinished { handshaking, client: None }))
        })
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
    agreement::answer_application_protocol(negotiated.application_protocol.as_deref(), &mut extensions)?;
    agreement::answer_record_sizes(config, offer.hello.extensions, ProtocolVersion::TLS_1_3, &mut extensions, output)?;
    negotiated.certificates.answer(&mut extensions)?;
    selected.reply(config.common.client_cached_info, &mut extensions)?;
    output.send(HandshakeType::ENCRYPTED_EXTENSIONS, &EncryptedExtensions(extensions.extensions()), transcript)
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
    let Fingerprint(fingerprint) = credential.fingerprint(ProtocolVersion::TLS_1_3);
    let entries: Vec<_> = if selected.server_certificate {
        output.left_out(Cached::ServerCertificate);
        Vec::from([CertificateEntry::new(&fingerprint)])
    } else {
        credential.cert_data().map(CertificateEntry::new).collect()
    };
    let certificate = Certificate { certificate_request_context: &[], certificate_list: List::Items(&entries) };
    output.send(HandshakeType::CERTIFICATE, &certificate, transcript)
}
