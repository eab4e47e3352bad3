//! The server's flight from ServerHello to ServerHelloDone, and what caching omits from it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::authenticate::{ExpectCertificate, ExpectClientKeyExchange};
use super::resume::Resumable;
use super::{Negotiated, Offer, State};
use crate::cache::{Fingerprint, OwnObjects, OwnRequest, Selected, ServerSession, TicketRows};
use crate::cert::Credential;
use crate::config::ServerConfig;
use crate::crypto::{Group, KeyExchange, SharedSecret, Signing, Tls12KeyExchange, Tls12Suite};
use crate::error::Error;
use crate::handshake::certificate_types::Choice;
use crate::handshake::tls12::{certificate, key_exchange};
use crate::handshake::{Message, Output, SignatureRequest, negotiated, stapling};
use crate::schedule::tls12::Randoms;
use crate::schedule::{Pending, Transcript};
use crate::summary::CachedObject;
use crate::wire::{
    CachedMessage12, CertificateRequest12, CertificateStatus, CertificateType, ClientCertificateType,
    DistinguishedName, EcPointFormats, EcdheParams, Encode, Encoded, ExtendedMasterSecret, ExtensionsBuilder,
    HandshakeType, List, NamedGroup, ProtocolVersion, Random, RenegotiationInfo, ServerHello, ServerHelloDone,
    ServerKeyExchangeEcdhe, ServerKeyExchangeEcdhePsk, SessionTicket, SignatureAlgorithms, StatusRequested,
};

/// The data that all states after the server's flight have in common.
pub(super) struct Handshaking {
    pub(super) config: Arc<ServerConfig>,
    pub(super) suite: &'static Tls12Suite,
    pub(super) randoms: Randoms,
    pub(super) transcript: Transcript,
    pub(super) extended_master_secret: bool,
    pub(super) cache: Option<ServerSession>,
    pub(super) resumable: Option<Resumable>,
}

/// The server's flight before ServerKeyExchange.
struct PartialFlight {
    handshaking: Handshaking,
    ecdhe: Option<Ecdhe>,
    request: Option<Request>,
    leaves_out: bool,
}

/// The CertificateRequest of the flight.
struct Request {
    /// The full body.
    body: Vec<u8>,
    /// The fingerprint, if the fingerprint, or nothing, is sent instead.
    fingerprint: Option<Fingerprint>,
    /// The type of the client's certificate.
    client_type: CertificateType,
}

/// The server's half of an ECDHE key exchange.
pub(super) struct Ecdhe {
    group: NamedGroup,
    key_exchange: Box<dyn KeyExchange>,
}

impl Ecdhe {
    fn params(&self) -> EcdheParams<'_> {
        EcdheParams { group: self.group, public: self.key_exchange.key_share() }
    }

    pub(super) fn complete(self, public: &[u8]) -> Result<SharedSecret, Error> {
        Ok(self.key_exchange.complete(public)?)
    }
}

/// The state that waits for the signature of the server's key.
pub(crate) struct ExpectSignature {
    flight: PartialFlight,
    pub(super) request: SignatureRequest,
}

/// Answers a ClientHello, up to ServerHelloDone or until a signature is needed.
#[inline(never)]
pub(super) fn send(
    config: Arc<ServerConfig>,
    offer: &Offer<'_>,
    negotiated: Negotiated,
    rows: TicketRows,
    message: Message<'_>,
    output: &mut Output<'_>,
) -> Result<State, Error> {
    let Negotiated { suite, group, credential, certificates, application_protocol } = negotiated;
    // Only a server with a certificate requests one (RFC 5246, 7.4.4; RFC 4279, 2).
    let asked = certificates.and_then(|choice| choice.client);
    let request = if asked.is_some() { certificate_request(&config)? } else { None };
    let selected = match &credential {
        Some((own, _)) if offer.may_cache(&config) => {
            select_cached(&config, offer, rows, asked, own, request.as_deref(), output)
        }
        _ => Selected::default(), // docs/caching.md, 4.6
    };
    let staple = credential.as_ref().and_then(|(own, _)| stapling::current(own, offer.asks_status, output));
    let resumable = match &credential {
        Some(_) => Resumable::new(&config, offer, application_protocol.as_deref(), output)?,
        None => None,
    };

    let transcript = Pending::new(message.bytes);
    let mut transcript = match request {
        Some(_) => transcript.start_keeping(suite.hash), // CertificateVerify signs all messages
        None => transcript.start(suite.hash),
    };
    output.agreed.application_protocol = application_protocol;
    output.agreed.server_name = offer.server_name.map(Into::into);
    let session_id = resumable.as_ref().and_then(Resumable::session_id);
    let selection = Selection {
        suite,
        session_id: session_id.as_ref().map_or(&[], |id| id),
        ticket_follows: resumable.is_some() && session_id.is_none(),
        certificates,
        status_follows: staple.is_some(),
        cached: &selected,
    };
    let server = server_hello(&config, offer, &selection, &mut transcript, output)?;
    if let Some((credential, _)) = &credential {
        send_certificate(&config, credential, &selected, &mut transcript, output)?;
    }
    if let Some(staple) = staple {
        output.send(HandshakeType::CERTIFICATE_STATUS, &CertificateStatus(&staple), &mut transcript)?;
    }
    let ecdhe = match group {
        Some(group) => Some(Ecdhe { group: group.name(), key_exchange: group.start(output.rng)? }),
        None => None,
    };
    output.summary.group = group.map(Group::name);
    output.summary.round_trips = 2 + offer.verified();

    let leaves_out = selected.selection.leaves_out();
    let randoms = Randoms { client: offer.hello.random, server };
    let handshaking = Handshaking {
        config,
        suite,
        randoms,
        transcript,
        extended_master_secret: offer.extended_master_secret,
        cache: selected.session,
        resumable,
    };
    let fingerprint = selected.certificate_request;
    let request = request.zip(asked).map(|(body, client_type)| Request { body, fingerprint, client_type });
    let flight = PartialFlight { handshaking, ecdhe, request, leaves_out };
    let (Some((credential, scheme)), Some(ecdhe)) = (credential, &flight.ecdhe) else { return flight.unsigned(output) };
    let signed_params = key_exchange::signed_params(&flight.handshaking.randoms, &ecdhe.params())?;
    let request = SignatureRequest::new(credential, scheme, signed_params);
    match request.sign(output.rng)? {
        Signing::Done(signature) => flight.finish(&request, &signature, output),
        Signing::Pending => Ok(State::Signature(Box::new(ExpectSignature { flight, request }))),
    }
}

impl ExpectSignature {
    pub(super) fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<State, Error> {
        let Self { flight, request } = *self;
        flight.finish(&request, signature, output)
    }
}

impl PartialFlight {
    /// Sends ServerKeyExchange with a signature, and ends the flight.
    #[inline(never)]
    fn finish(mut self, signed: &SignatureRequest, signature: &[u8], output: &mut Output<'_>) -> Result<State, Error> {
        if let Some(ecdhe) = &self.ecdhe {
            let exchange = ServerKeyExchangeEcdhe { params: ecdhe.params(), algorithm: signed.scheme(), signature };
            output.send(HandshakeType::SERVER_KEY_EXCHANGE, &exchange, &mut self.handshaking.transcript)?;
        }
        self.done(output)
    }

    /// Sends ServerKeyExchange with a pre-shared key, unless there is no ECDHE, since no identity hint is sent (RFC
    /// 4279, 2), and ends the flight.
    fn unsigned(mut self, output: &mut Output<'_>) -> Result<State, Error> {
        if let Some(ecdhe) = &self.ecdhe {
            let exchange = ServerKeyExchangeEcdhePsk { hint: &[], params: ecdhe.params() };
            output.send(HandshakeType::SERVER_KEY_EXCHANGE, &exchange, &mut self.handshaking.transcript)?;
        }
        self.done(output)
    }

    /// Sends CertificateRequest and ServerHelloDone, and ends the flight.
    fn done(self, output: &mut Output<'_>) -> Result<State, Error> {
        let Self { mut handshaking, ecdhe, request, leaves_out } = self;
        let Handshaking { config, transcript, .. } = &mut handshaking;
        let kind = HandshakeType::CERTIFICATE_REQUEST;
        match &request {
            None => {}
            Some(Request { fingerprint: Some(fingerprint), .. }) if leaves_out => {
                output.left_out(CachedObject::CertificateRequest);
                config.common.bind(transcript, *fingerprint); // docs/caching.md, 4.1
            }
            Some(Request { fingerprint: Some(Fingerprint(hash_value)), .. }) => {
                output.left_out(CachedObject::CertificateRequest);
                output.send(kind, &CachedMessage12(hash_value), transcript)?;
            }
            Some(Request { body, .. }) => output.send(kind, &Encoded(body), transcript)?,
        }
        output.send(HandshakeType::SERVER_HELLO_DONE, &ServerHelloDone, transcript)?;
        output.link.end_of_flight()?;
        Ok(match request {
            Some(Request { client_type, .. }) => {
                State::Certificate(Box::new(ExpectCertificate { handshaking, ecdhe, client_type }))
            }
            None => State::ClientKeyExchange(Box::new(ExpectClientKeyExchange { handshaking, ecdhe, client: None })),
        })
    }
}

fn select_cached(
    config: &ServerConfig,
    offer: &Offer<'_>,
    rows: TicketRows,
    asked: Option<CertificateType>,
    credential: &Credential,
    request: Option<&[u8]>,
    output: &mut Output<'_>,
) -> Selected {
    let fingerprint = request.map(|body| || Fingerprint::of_body(HandshakeType::CERTIFICATE_REQUEST, body));
    let version = ProtocolVersion::TLS_1_2;
    let own = OwnObjects {
        certificate: credential.fingerprint(version),
        request: fingerprint
            .as_ref()
            .zip(request)
            .map(|(fingerprint, body)| OwnRequest { fingerprint, pays: body.len() >= CACHED_REQUEST_LEN }),
        has_extensions: false, // CertificateStatus is used instead
    };
    offer.caching.select(config, rows, offer.server_name, (asked, version), own, output)
}

/// The length of the body of a CertificateRequest that has only a fingerprint (RFC 7924, 5.2).
const CACHED_REQUEST_LEN: usize = 1 + 32;

/// The values that a ServerHello selects.
pub(super) struct Selection<'a> {
    pub(super) suite: &'static Tls12Suite,
    pub(super) session_id: &'a [u8],
    pub(super) ticket_follows: bool,
    pub(super) certificates: Option<Choice>,
    pub(super) status_follows: bool,
    pub(super) cached: &'a Selected,
}

/// Sends ServerHello (RFC 5246, 7.4.1.3). Returns its `random`.
pub(super) fn server_hello(
    config: &ServerConfig,
    offer: &Offer<'_>,
    selection: &Selection<'_>,
    transcript: &mut Transcript,
    output: &mut Output<'_>,
) -> Result<Random, Error> {
    let mut random = Random::default();
    output.rng.fill(&mut random)?;
    if config.common.enables(ProtocolVersion::TLS_1_3) {
        random[24..].copy_from_slice(&ServerHello::DOWNGRADE); // RFC 9846, 4.2.3
    }
    let mut extensions = ExtensionsBuilder::default();
    if offer.secure_renegotiation {
        extensions.push(&RenegotiationInfo(&[]))?;
    }
    if offer.extended_master_secret {
        extensions.push(&ExtendedMasterSecret)?;
    }
    if offer.ec_point_formats && selection.suite.key_exchange != Tls12KeyExchange::Psk {
        extensions.push(&EcPointFormats::uncompressed())?;
    }
    negotiated::answer(config, &offer.record_sizes, ProtocolVersion::TLS_1_2, &mut extensions, output)?;
    negotiated::answer_connection_id(offer.hello.extensions, &mut extensions, output)?;
    if selection.ticket_follows {
        extensions.push(&SessionTicket(&[]))?;
    }
    if selection.status_follows {
        extensions.push(&StatusRequested)?;
    }
    if let Some(certificates) = selection.certificates {
        certificates.answer(&mut extensions)?;
    }
    selection.cached.reply(config.common.caching_code_points(), &mut extensions)?;
    let hello = ServerHello {
        legacy_version: output.link.transport().version(ProtocolVersion::TLS_1_2),
        random,
        legacy_session_id_echo: selection.session_id,
        cipher_suite: selection.suite.id,
        legacy_compression_method: 0,
        extensions: extensions.extensions(),
    };
    output.send(HandshakeType::SERVER_HELLO, &hello, transcript)?;
    output.summary.version = Some(ProtocolVersion::TLS_1_2);
    output.summary.cipher_suite = Some(selection.suite.id);
    Ok(random)
}

/// Sends the Certificate (RFC 5246, 7.4.2) in full or as its fingerprint, unless it is omitted.
fn send_certificate(
    config: &ServerConfig,
    credential: &Credential,
    selected: &Selected,
    transcript: &mut Transcript,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let kind = HandshakeType::CERTIFICATE;
    if selected.selection.server_certificate {
        let fingerprint = credential.fingerprint(ProtocolVersion::TLS_1_2);
        output.left_out(CachedObject::ServerCertificate);
        if selected.selection.leaves_out() {
            config.common.bind(transcript, fingerprint);
            return Ok(());
        }
        let Fingerprint(hash_value) = fingerprint;
        return output.send(kind, &CachedMessage12(&hash_value), transcript);
    }
    certificate::send(credential, transcript, output)
}

/// Returns the body of the CertificateRequest, if clients are asked for a certificate (RFC 5246, 7.4.4).
fn certificate_request(config: &ServerConfig) -> Result<Option<Vec<u8>>, Error> {
    let Some(trust) = config.client_authentication.trust() else { return Ok(None) };
    let names: Vec<_> = if config.certificate_authorities { trust.names().collect() } else { Vec::new() };
    let names: Vec<_> = names.iter().map(|name| DistinguishedName(name)).collect();
    let schemes = &config.common.signature_schemes;
    let is_rsa = schemes.iter().any(|scheme| scheme.is_rsa()).then_some(ClientCertificateType::RSA_SIGN);
    let is_ecdsa = schemes.iter().any(|scheme| !scheme.is_rsa()).then_some(ClientCertificateType::ECDSA_SIGN);
    let types: Vec<_> = is_ecdsa.into_iter().chain(is_rsa).collect();
    let request = CertificateRequest12 {
        certificate_types: List::Items(&types),
        signature_algorithms: SignatureAlgorithms(List::Items(schemes)),
        certificate_authorities: List::Items(&names),
    };
    Ok(Some(request.to_vec()?))
}
