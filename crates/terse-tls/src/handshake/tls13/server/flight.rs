//! Sends the server's flight from ServerHello to Finished, without the objects that caching replaces.
//!
//! What must always hold: whoever has the state that follows Finished completes the flight (`State::complete_flight`).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::certificate::{self, Signer};
use super::State;
use super::agreement::ServerShares;
use super::authenticate::{ExpectCertificate, ExpectEndOfEarlyData, ExpectFinished, Handshaking};
use super::early_data::{AcceptedEarlyData, ExpectedEarlyData};
use super::negotiate::{Negotiated, Offer, Proof};
use super::tickets::Issuer;
use crate::cache::{FallbackReason, Fingerprint, OwnObjects, OwnRequest, Selected, Selection, ServerSession};
use crate::cert::Credential;
use crate::config::ServerConfig;
use crate::crypto::{Signing, StaticTerms};
use crate::error::{Error, PeerIncompatible};
use crate::handshake::identity::server::{ClaimedIdentity, IdentityAgreement};
use crate::handshake::{Handshake, Output, SignatureRequest, negotiated, stapling};
use crate::schedule::EpochKeys;
use crate::schedule::Transcript;
use crate::schedule::tls13::{EarlySecret, HandshakeSecret, TrafficSecret};
use crate::summary::CachedObject as Cached;
use crate::wire::{
    CachedCertificateRequest, Certificate, CertificateAuthorities, CertificateEntry, CertificateRequest,
    CertificateType, CertificateVerify, DistinguishedName, EarlyData, EncryptedExtensions, ExtensionsBuilder, Finished,
    HandshakeType, List, PreSharedKeyServerHello, ProtocolVersion, Random, SelectedVersion, ServerHello,
    SignatureAlgorithms, SignatureAlgorithmsCert, SignatureScheme, Transport,
};

/// Answers a ClientHello with the whole flight. The caller completes it.
#[inline(never)]
pub(super) fn send(
    config: Arc<ServerConfig>,
    offer: &Offer<'_>,
    mut negotiated: Negotiated<'_>,
    early_data: Option<AcceptedEarlyData>,
    mut transcript: Transcript,
    output: &mut Output<'_>,
) -> Result<State, Error> {
    let suite = negotiated.suite;
    let rows = core::mem::take(&mut negotiated.rows);
    let (credential, scheme, certificates) = match negotiated.proof {
        Proof::Certificate(ref credential, scheme, types) => (credential.clone(), scheme, types),
        Proof::Psk(_) => return send_psk(config, offer, negotiated, early_data, transcript, output),
        Proof::Identity => return send_identity(config, offer, &negotiated, early_data, transcript, output),
    };
    let request = certificates.client.map(|_| request_extensions(&config)).transpose()?;
    let request = request
        .as_ref()
        .map(|extensions| CertificateRequest { certificate_request_context: &[], extensions: extensions.extensions() });
    let fingerprint = request.as_ref().map(|request| || Fingerprint::of_request(request));
    let version = ProtocolVersion::TLS_1_3;
    let staple = stapling::current(&credential, offer.asks_status, output);
    let own = OwnObjects {
        certificate: credential.fingerprint(version),
        request: fingerprint.as_ref().zip(request.as_ref()).map(|(fingerprint, request)| OwnRequest {
            fingerprint,
            pays: request.extensions.as_bytes().len() + 2 >= CACHED_REQUEST_LEN,
        }),
        has_extensions: staple.is_some(),
    };
    output.summary.fallback = negotiated.fallback;
    let client = (certificates.client, version);
    let selected = offer.caching.select(&config, rows, offer.server_name, client, own, output);

    if offer.pre_shared_key.is_some() {
        output.summary.fallback.get_or_insert(FallbackReason::SessionNotFound);
    }

    let early_secret = EarlySecret::new(suite.hash, output.link.transport().label_prefix(), None);
    let hello = HelloParameters { config: &config, offer, negotiated: &negotiated, selected_psk: None };
    let secrets = hello.send(early_secret, None, &mut transcript, output)?;
    hello.encrypted_extensions(&selected, false, &mut transcript, output)?;
    if let Some(request) = &request {
        certificate_request(&config, request, &selected, &mut transcript, output)?;
    }
    certificate(&config, &credential, staple.as_deref(), &selected, &mut transcript, output)?;
    let content = Signer::Server.content(&transcript.current());
    let tickets = negotiated.binding.filter(|_| offer.takes_psks).map(|binding| Issuer { binding, lineage: None });
    let flight = PartialFlight {
        client_random: offer.hello.random,
        asked: certificates.client,
        transcript,
        secrets,
        early_data: None,
        cache: selected.session,
        tickets,
        identity: None,
        config,
    };
    let request = SignatureRequest::new(credential, scheme, content);
    match request.sign(output.rng)? {
        Signing::Done(signature) => flight.certificate_verify(request.scheme(), &signature, output),
        Signing::Pending => Ok(State::Signature(Box::new(ExpectSignature { flight, request }))),
    }
}

/// Answers a ClientHello with a pre-shared key, so without certificates. Such a handshake caches nothing
/// (docs/caching.md, 4.6).
fn send_psk(
    config: Arc<ServerConfig>,
    offer: &Offer<'_>,
    negotiated: Negotiated<'_>,
    early_data: Option<AcceptedEarlyData>,
    mut transcript: Transcript,
    output: &mut Output<'_>,
) -> Result<State, Error> {
    let Proof::Psk(psk) = &negotiated.proof else {
        return Err(PeerIncompatible::NoCommonPsk.into()); // `send` has checked this
    };
    psk.report(output);
    let lineage = psk.lineage();
    let selected_psk = Some(PreSharedKeyServerHello(psk.index));
    let hello = HelloParameters { config: &config, offer, negotiated: &negotiated, selected_psk };
    let secrets = hello.send(psk.early_secret.clone(), None, &mut transcript, output)?;
    let early_data = early_data.map(|early_data| early_data.install(&config, offer, output));
    hello.encrypted_extensions(&Selected::default(), early_data.is_some(), &mut transcript, output)?;
    let tickets = negotiated.binding.zip(lineage).filter(|_| offer.takes_psks);
    let flight = PartialFlight {
        client_random: offer.hello.random,
        asked: None,
        transcript,
        secrets,
        early_data,
        cache: None,
        tickets: tickets.map(|(binding, lineage)| Issuer { binding, lineage: Some(lineage) }),
        identity: None,
        config,
    };
    flight.finish(output)
}

/// Answers a ClientHello with an identity, so without certificates. Such a handshake caches nothing, and makes no session.
#[inline(never)]
fn send_identity(
    config: Arc<ServerConfig>,
    offer: &Offer<'_>,
    negotiated: &Negotiated<'_>,
    mut early_data: Option<AcceptedEarlyData>,
    mut transcript: Transcript,
    output: &mut Output<'_>,
) -> Result<State, Error> {
    let claimed = negotiated.agreement.identity().map(IdentityAgreement::claimed);
    let early_secret = EarlySecret::new(negotiated.suite.hash, output.link.transport().label_prefix(), None);
    let hello = HelloParameters { config: &config, offer, negotiated, selected_psk: None };
    let known = early_data.as_mut().and_then(|early_data| early_data.known.take());
    let secrets = hello.send(early_secret, known, &mut transcript, output)?;
    let early_data = early_data.map(|early_data| early_data.install(&config, offer, output));
    hello.encrypted_extensions(&Selected::default(), early_data.is_some(), &mut transcript, output)?;
    let flight = PartialFlight {
        client_random: offer.hello.random,
        asked: None,
        transcript,
        secrets,
        early_data,
        cache: None,
        tickets: None,
        identity: claimed.map(Box::new),
        config,
    };
    flight.finish(output)
}

/// The secrets that are used until the client's Finished.
struct Secrets {
    handshake: HandshakeSecret,
    client: TrafficSecret,
    server: TrafficSecret,
}

/// The ClientHello, and the parameters that were chosen from it.
struct HelloParameters<'a> {
    config: &'a ServerConfig,
    offer: &'a Offer<'a>,
    negotiated: &'a Negotiated<'a>,
    selected_psk: Option<PreSharedKeyServerHello>,
}

impl HelloParameters<'_> {
    /// Sends ServerHello (RFC 9846, 4.2.3), and installs the handshake keys.
    #[inline(never)]
    fn send(
        &self,
        early_secret: EarlySecret,
        known: Option<StaticTerms>,
        transcript: &mut Transcript,
        output: &mut Output<'_>,
    ) -> Result<Secrets, Error> {
        let Self { config, offer, negotiated, .. } = self;
        let (shares, shared_secret) = negotiated.agreement.respond(output.rng, known)?;
        self.server_hello(&shares, transcript, output)?;
        let handshake = early_secret.handshake_secret(negotiated.suite, &shared_secret)?;
        let messages = transcript.current();
        let (client, server) = (handshake.client_traffic(&messages)?, handshake.server_traffic(&messages)?);
        config.common.log_secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", &offer.hello.random, client.expose());
        config.common.log_secret("SERVER_HANDSHAKE_TRAFFIC_SECRET", &offer.hello.random, server.expose());
        output.link.compatibility_point()?;
        output.link.new_keys(&EpochKeys::Tls13(server.clone()))?;
        output.receive.keys = Some(Box::new(EpochKeys::Tls13(client.clone())));
        output.summary.version = Some(ProtocolVersion::TLS_1_3);
        output.summary.cipher_suite = Some(negotiated.suite.id);
        output.summary.group = negotiated.agreement.group();
        output.agreed.application_protocol = negotiated.application_protocol.clone();
        output.agreed.server_name = offer.server_name.map(Into::into);
        Ok(Secrets { handshake, client, server })
    }

    fn server_hello(
        &self,
        shares: &ServerShares,
        transcript: &mut Transcript,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let Self { offer, negotiated, .. } = self;
        let mut random = Random::default();
        output.rng.fill(&mut random)?;
        let mut extensions = ExtensionsBuilder::default();
        let transport = output.link.transport();
        extensions.push(&SelectedVersion(transport.version(ProtocolVersion::TLS_1_3)))?;
        shares.push(&mut extensions)?;
        if let Some(selected) = &self.selected_psk {
            extensions.push(selected)?;
        }
        negotiated::answer_connection_id(offer.hello.extensions, &mut extensions, output)?;
        let hello = ServerHello {
            legacy_version: transport.version(ProtocolVersion::TLS_1_2),
            random,
            legacy_session_id_echo: transport.legacy_session_id_echo(offer.hello.legacy_session_id),
            cipher_suite: negotiated.suite.id,
            legacy_compression_method: 0,
            extensions: extensions.extensions(),
        };
        output.send(HandshakeType::SERVER_HELLO, &hello, transcript)
    }

    /// Sends EncryptedExtensions (RFC 9846, 4.4.1).
    #[inline(never)]
    fn encrypted_extensions(
        &self,
        selected: &Selected,
        early_data: bool,
        transcript: &mut Transcript,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let Self { config, offer, negotiated, .. } = self;
        let mut extensions = ExtensionsBuilder::default();
        negotiated::answer(config, &offer.record_sizes, ProtocolVersion::TLS_1_3, &mut extensions, output)?;
        if let Proof::Certificate(_, _, types) = &negotiated.proof {
            types.answer(&mut extensions)?;
        }
        selected.reply(config.common.caching_code_points(), &mut extensions)?;
        if early_data {
            extensions.push(&EarlyData)?;
        }
        output.send(HandshakeType::ENCRYPTED_EXTENSIONS, &EncryptedExtensions(extensions.extensions()), transcript)
    }
}

/// The server's flight up to Certificate. CertificateVerify and Finished are not sent yet.
struct PartialFlight {
    config: Arc<ServerConfig>,
    client_random: Random,
    /// The type of the certificate that the client is asked for.
    asked: Option<CertificateType>,
    transcript: Transcript,
    secrets: Secrets,
    early_data: Option<ExpectedEarlyData>,
    cache: Option<ServerSession>,
    tickets: Option<Issuer>,
    /// The identity that the client must prove.
    identity: Option<Box<ClaimedIdentity>>,
}

/// The state of a server whose private key has not signed CertificateVerify yet.
pub(crate) struct ExpectSignature {
    flight: PartialFlight,
    pub(super) request: SignatureRequest,
}

impl ExpectSignature {
    pub(super) fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { flight, request } = *self;
        let state = flight.certificate_verify(request.scheme(), signature, output)?;
        Ok(Box::new(state.complete_flight(output)?))
    }
}

impl PartialFlight {
    #[inline(never)]
    fn certificate_verify(
        mut self,
        algorithm: SignatureScheme,
        signature: &[u8],
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let verify = CertificateVerify { algorithm, signature };
        output.send(HandshakeType::CERTIFICATE_VERIFY, &verify, &mut self.transcript)?;
        self.finish(output)
    }

    #[inline(never)]
    fn finish(self, output: &mut Output<'_>) -> Result<State, Error> {
        let Self { config, client_random, asked, mut transcript, secrets, early_data, cache, tickets, identity } = self;
        let Secrets { handshake, client, server } = secrets;
        let verify_data = server.verify_data(&transcript.current())?;
        output.send(HandshakeType::FINISHED, &Finished(verify_data.as_ref()), &mut transcript)?;

        let main = handshake.main_secret()?;
        let messages = transcript.current();
        let (send, receive) = (main.server_traffic(&messages)?, main.client_traffic(&messages)?);
        let exporter = main.exporter(&messages)?;
        config.common.log_secret("CLIENT_TRAFFIC_SECRET_0", &client_random, receive.expose());
        config.common.log_secret("SERVER_TRAFFIC_SECRET_0", &client_random, send.expose());
        config.common.log_secret("EXPORTER_SECRET", &client_random, exporter.expose());
        let handshaking =
            Handshaking { config, transcript, client, main, send, receive, exporter, cache, tickets, identity };
        if let Some(client_type) = asked {
            return Ok(State::Certificate(Box::new(ExpectCertificate { handshaking, client_type })));
        }
        let has_early_data = early_data.is_some();
        let finished = ExpectFinished { handshaking, client: None, early_data };
        Ok(match (has_early_data, output.link.transport()) {
            (true, Transport::Stream) => State::EndOfEarlyData(Box::new(ExpectEndOfEarlyData { finished })),
            _ => State::Finished(Box::new(finished)), // RFC 9147, 5.6: DTLS has no EndOfEarlyData
        })
    }
}

impl State {
    /// Protects the flight if Finished is in it, and installs the keys of application data. Nothing takes as much stack as
    /// protection, so this happens when the functions that made the flight have returned.
    #[inline(never)]
    pub(super) fn complete_flight(self, output: &mut Output<'_>) -> Result<Self, Error> {
        let handshaking = match &self {
            Self::EndOfEarlyData(state) => &state.finished.handshaking,
            Self::Certificate(state) => &state.handshaking,
            Self::Finished(state) => &state.handshaking,
            Self::SecondClientHello(_) | Self::CertificateVerify(_) | Self::Signature(_) => return Ok(self),
        };
        output.link.new_keys(&EpochKeys::Tls13(handshaking.send.clone()))?;
        output.link.end_of_flight()?;
        Ok(self)
    }
}

/// The length in bytes of the fingerprint form of a CertificateRequest. It saves bytes, or costs none, if the
/// extensions that it replaces are at least as long (docs/caching.md, 5.4).
const CACHED_REQUEST_LEN: usize = 1 + 32;

fn request_extensions(config: &ServerConfig) -> Result<ExtensionsBuilder, Error> {
    let mut extensions = ExtensionsBuilder::default();
    extensions.push(&SignatureAlgorithms(List::Items(&config.common.signature_schemes)))?;
    if let Some(schemes) = &config.common.signature_schemes_of_chains {
        extensions.push(&SignatureAlgorithmsCert(List::Items(schemes)))?;
    }
    stapling::request(config, &mut extensions)?;
    if let Some(trust) = config.client_authentication.trust().filter(|_| config.certificate_authorities) {
        let names: Vec<_> = trust.names().collect();
        let names: Vec<_> = names.iter().map(|name| DistinguishedName(name)).collect();
        if !names.is_empty() {
            extensions.push(&CertificateAuthorities(List::Items(&names)))?; // `authorities<3..2^16-1>`
        }
    }
    Ok(extensions)
}

/// Sends CertificateRequest (RFC 9846, 4.4.2) in full or as its fingerprint, or leaves it out.
fn certificate_request(
    config: &ServerConfig,
    request: &CertificateRequest<'_>,
    selected: &Selected,
    transcript: &mut Transcript,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let kind = HandshakeType::CERTIFICATE_REQUEST;
    match &selected.certificate_request {
        None => output.send(kind, request, transcript),
        Some(fingerprint) if selected.selection.leaves_out() => {
            output.left_out(Cached::CertificateRequest);
            config.common.bind(transcript, *fingerprint);
            Ok(())
        }
        Some(Fingerprint(hash_value)) => {
            output.left_out(Cached::CertificateRequest);
            let certificate_request_context = request.certificate_request_context;
            output.send(kind, &CachedCertificateRequest { certificate_request_context, hash_value }, transcript)
        }
    }
}

/// Sends Certificate (RFC 9846, 4.5.1) in full, as its fingerprint, or reduced to its live extensions, or leaves it
/// out.
fn certificate(
    config: &ServerConfig,
    credential: &Credential,
    staple: Option<&[u8]>,
    selected: &Selected,
    transcript: &mut Transcript,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let fingerprint = credential.fingerprint(ProtocolVersion::TLS_1_3);
    let selection = selected.selection;
    if selection.server_certificate {
        output.left_out(Cached::ServerCertificate);
    }
    if selection.leaves_out_certificate() || selection.reduced {
        config.common.bind(transcript, fingerprint);
    }
    if selection.leaves_out_certificate() {
        return Ok(());
    }
    let extensions = stapling::extensions(staple)?;
    let extensions = extensions.extensions();
    let Fingerprint(fingerprint) = fingerprint;
    let entries = match selection {
        Selection { reduced: true, .. } => Vec::from([CertificateEntry { cert_data: &[], extensions }]),
        Selection { server_certificate: true, .. } => {
            Vec::from([CertificateEntry { cert_data: &fingerprint, extensions }])
        }
        Selection { server_certificate: false, .. } => certificate::entries(credential, extensions),
    };
    let certificate = Certificate { certificate_request_context: &[], certificate_list: List::Items(&entries) };
    output.send(HandshakeType::CERTIFICATE, &certificate, transcript)
}
