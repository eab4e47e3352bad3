//! The runner's flags are turned into a configuration of Terse.

use std::sync::{Arc, Mutex, PoisonError};

use pki_types::ServerName;
use terse_aws_lc::PROVIDER;
use terse_tls::resume::{
    ClientResumption, MemoryPskStore, MemorySessionStore, ServerEarlyData, ServerResumption, TicketKeys,
};
use terse_tls::{
    ClientAuthentication, ClientConfig, Common, Credential, Datagrams, HandshakeType, NamedGroup, ProtocolVersion,
    ServerAddress, ServerConfig, SignatureScheme, Trace, TraceEvent,
};

use crate::Failure;
use crate::identity::{self, Selected};
use crate::options::{Options, Refusal};
use crate::sessions::Sessions;

/// The state that the connections of one run share.
pub(crate) struct Shared {
    pub(crate) sessions: Arc<Sessions>,
    tickets: Arc<TicketKeys>,
    session_ids: Arc<MemorySessionStore>,
    /// Whether there is more than one connection.
    resumes: bool,
}

impl Shared {
    pub(crate) fn new(resumes: bool) -> Result<Self, Failure> {
        let aead = PROVIDER.tls13_suites[0].aead; // the first one has a tag of 16 bytes
        Ok(Self {
            sessions: Arc::default(),
            tickets: Arc::new(TicketKeys::new(aead, SESSION_LIFETIME, 64)?),
            session_ids: Arc::new(MemorySessionStore::new(64)),
            resumes,
        })
    }
}

impl Shared {
    /// Whether the server keeps sessions in its store, rather than in tickets.
    pub(crate) fn keeps_sessions(&self) -> bool {
        !self.session_ids.is_empty()
    }
}

/// A configuration of either side.
pub(crate) enum Config {
    Client(Arc<ClientConfig>, ServerAddress),
    Server(Arc<ServerConfig>),
}

/// Observations of a connection beyond its summary.
#[derive(Clone, Default)]
pub(crate) struct Observations {
    pub(crate) selected: Selected,
    pub(crate) messages: Arc<Messages>,
}

impl Config {
    pub(crate) fn new(options: &Options, shared: &Shared, observations: &Observations) -> Result<Self, Failure> {
        if options.server { server(options, shared, observations) } else { client(options, shared, observations) }
    }
}

fn client(options: &Options, shared: &Shared, observations: &Observations) -> Result<Config, Failure> {
    let mut credentials = identity::credentials(options, &observations.selected)?;
    let types = || credentials.iter().map(Credential::certificate_type);
    let available = &options.available_client_cert_types;
    let is_ours = types().all(|ours| available.contains(&ours.0))
        && available.iter().all(|kind| types().any(|ours| ours.0 == *kind));
    if !available.is_empty() && !is_ours {
        return Err(Refusal::Unimplemented("-available-client-cert-types other than the credentials'".into()).into());
    }
    // Terse offers the types in the order of its credentials, and then uses one of the type that the server chooses.
    credentials.sort_by_key(|own| available.iter().position(|kind| *kind == own.certificate_type().0));
    let mut config = ClientConfig::builder(&PROVIDER);
    config.trust(identity::trust(options)?);
    let psks = identity::pre_shared_keys(options)?;
    if !psks.is_empty() && !options.verify_peer {
        config.trust(terse_tls::Trust::nobody());
    }
    config.psks(psks);
    common(config.common_mut(), options, observations)?;
    config.credentials(credentials);
    config.send_server_name(options.host_name.is_some());
    config.compatibility_mode(true); // the runner insists on it (RFC 9846, E.4)
    if let Some(mut list) = options.advertise_alpn.as_deref() {
        let mut protocols = Vec::new();
        while let Some((len, rest)) = list.split_first() {
            let (name, rest) = rest.split_at_checked((*len).into()).ok_or(Failure::File("a list of protocols"))?;
            protocols.push(name);
            list = rest;
        }
        config.alpn_protocols(protocols);
    }
    let resumption = ClientResumption::new(shared.sessions.clone());
    config.resumption(resumption.early_data(options.enable_early_data));
    if options.no_ticket {
        return Err(Refusal::Unimplemented("-no-ticket of a client".into()).into());
    }
    let name = options.host_name.clone().unwrap_or_else(|| "test".into());
    let name = ServerName::try_from(name).map_err(|_| Refusal::Unimplemented("-host-name of no DNS name".into()))?;
    Ok(Config::Client(Arc::new(config.build()?), ServerAddress::new(name, 443)))
}

fn server(options: &Options, shared: &Shared, observations: &Observations) -> Result<Config, Failure> {
    if !options.available_client_cert_types.is_empty() {
        return Err(Refusal::Malformed("-available-client-cert-types of a server".into()).into());
    }
    let psks = identity::pre_shared_keys(options)?;
    let mut config = ServerConfig::builder(&PROVIDER);
    if !psks.is_empty() {
        config.psks(Arc::new(MemoryPskStore::new(psks)));
    }
    config.credentials(identity::credentials(options, &observations.selected)?);
    common(config.common_mut(), options, observations)?;
    config.alpn_protocols(options.select_alpn.clone().filter(|name| !name.is_empty() && !options.decline_alpn));
    if options.require_client_certificate {
        config.client_authentication(ClientAuthentication::Required(identity::trust(options)?));
    } else if options.verify_peer {
        config.client_authentication(ClientAuthentication::Optional(identity::trust(options)?));
    }
    config.resumption(match (options.no_ticket, config.config().common().versions()) {
        (false, _) => Some(ServerResumption::Stateless(shared.tickets.clone())),
        (true, [ProtocolVersion::TLS_1_3]) => None,
        (true, [ProtocolVersion::TLS_1_2]) => {
            // These tests resume by session ID, not by ticket.
            Some(ServerResumption::Stateful { store: shared.session_ids.clone(), lifetime_seconds: SESSION_LIFETIME })
        }
        (true, _) if !shared.resumes => None,
        (true, _) => return Err(Refusal::Unimplemented("-no-ticket of a server of both versions".into()).into()),
    });
    if options.enable_early_data {
        config.early_data(Some(ServerEarlyData::new(MAX_EARLY_DATA)));
    }
    Ok(Config::Server(Arc::new(config.build()?)))
}

fn common(common: &mut Common, options: &Options, observations: &Observations) -> Result<(), Failure> {
    common.set_versions(options.versions()?);
    if options.private_key_delay > 0 && !(options.dtls && options.slow) {
        return Err(Refusal::Unimplemented("-private-key-delay-ms but for -async over datagrams".into()).into());
    }
    if options.dtls {
        common.set_datagrams(Some(datagrams(options)));
    }
    common.set_trace(observations.messages.clone());
    // This is as in BoringSSL; `-expect-extended-master-secret` then has something to expect.
    common.set_require_extended_master_secret(options.expect.extended_master_secret);
    if !options.curves.is_empty() {
        common.set_groups(options.curves.iter().copied().map(NamedGroup).collect::<Vec<_>>());
        if common.groups().iter().any(|group| PROVIDER.group(*group).is_none()) {
            return Err(Refusal::Unimplemented(format!("-curves {:?}", common.groups())).into());
        }
    }
    if !options.verify_prefs.is_empty() {
        common.set_signature_schemes(options.verify_prefs.iter().copied().map(SignatureScheme).collect::<Vec<_>>());
        let known = |scheme| PROVIDER.signatures.by_scheme.iter().any(|(known, _)| *known == scheme);
        if !common.signature_schemes().iter().copied().all(known) {
            return Err(Refusal::Unimplemented(format!("-verify-prefs {:?}", common.signature_schemes())).into());
        }
        // The runner signs its chains with one algorithm, whatever the test is about.
        common.set_signature_schemes_of_chains(
            PROVIDER.signatures.by_scheme.iter().map(|(known, _)| *known).collect::<Vec<_>>(),
        );
    }
    if let Some(max) = options.max_cert_list {
        common.set_max_handshake_message(max);
    }
    Ok(())
}

/// Returns settings with BoringSSL's times, which the runner knows. An unprotected alert ends a handshake at once, as
/// the runner expects.
fn datagrams(options: &Options) -> Datagrams {
    let timeout = options.initial_timeout.unwrap_or(400);
    Datagrams::default()
        .max_datagram(options.mtu.unwrap_or(MAX_DATAGRAM))
        .initial_timeout(timeout)
        .min_timeout(timeout)
        .max_timeout(MAX_TIMEOUT)
        .max_retransmissions(12)
        .believe_unprotected_alerts(true)
}

/// The length of a datagram with the longest record: BoringSSL keeps application data to no other limit.
const MAX_DATAGRAM: usize = 13 + 8 + 0x4000 + 16;

/// The longest retransmission timeout, in milliseconds.
pub(crate) const MAX_TIMEOUT: u64 = 60_000;

/// The lifetime of BoringSSL's sessions, in seconds.
const SESSION_LIFETIME: u32 = 7200;

/// BoringSSL's limit on early data.
const MAX_EARLY_DATA: u32 = 14336;

/// The messages of a handshake.
#[derive(Default)]
pub(crate) struct Messages(Mutex<Vec<HandshakeType>>);

impl Messages {
    /// Returns how many messages of `kind` were sent or received.
    pub(crate) fn count(&self, kind: HandshakeType) -> usize {
        let messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        messages.iter().filter(|message| **message == kind).count()
    }
}

impl Trace for Messages {
    fn event(&self, event: TraceEvent<'_>) {
        if let TraceEvent::Sent(kind, _) | TraceEvent::Received(kind, _) = event {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(kind);
        }
    }
}
