//! Terse runs with both providers: over streams with a connection on each side, over datagrams with an endpoint for the
//! server.

use core::hint::black_box;
use std::sync::Arc;

use terse_ibc::Generator;
use terse_interop::case::{Asks, Case, Means, Sessions};
use terse_net::OsRng;
use terse_tls::cache::Scheme;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache, ServerStore};
use terse_tls::crypto::CryptoProvider;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::summary::Transport;
use terse_tls::{
    CertificateType, CipherSuite, ClientAuthentication, ClientConfig, ClientIdentity, Connection, Datagrams, Event,
    Instant, NamedGroup, ProtocolVersion, ServerAddress, ServerConfig, ServerIdentity, SignatureScheme, Trust, summary,
};

use crate::clock;
use crate::pipe::Wire;
use crate::stack::{Chains, End, Mode, Profile, Setting, Side, Stack, Version, World};

mod endpoint;
mod stream;

use endpoint::Server;
use stream::StreamEnd;

/// Terse with one provider.
pub(crate) struct Terse {
    name: &'static str,
    provider: &'static CryptoProvider,
    acknowledges: bool,
}

/// Terse with AWS-LC, for servers.
pub(crate) const AWS_LC: Terse = Terse { name: "terse-aws-lc", provider: &terse_aws_lc::PROVIDER, acknowledges: true };

/// Terse with RustCrypto, for devices.
pub(super) const RUSTCRYPTO: Terse =
    Terse { name: "terse-rustcrypto", provider: &terse_rustcrypto::RSA_SIGNING, acknowledges: true };

/// Terse without the ACKs of a part of a flight.
#[cfg(terse_testing)]
pub(super) const WITHOUT_ACKS: Terse = Terse { name: "terse-no-acks", acknowledges: false, ..AWS_LC };

impl Stack for Terse {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> Result<String, String> {
        Ok(format!("Terse {}", env!("CARGO_PKG_VERSION")))
    }

    fn has(&self, setting: Setting) -> bool {
        let is_13 = matches!(setting.mode, Mode::Kept | Mode::Psk | Mode::Identity | Mode::IdentityBls12381);
        let is_there = !is_13 || setting.version.is_13();
        is_there && (self.acknowledges || (setting.version, setting.mode) == (Version::Dtls13, Mode::Full))
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn world(&self, setting: Setting) -> Result<Box<dyn World>, String> {
        self.world_of(&case(self.provider, setting), setting)
    }
}

impl Terse {
    /// Creates a world whose server keeps its clients in `store`.
    pub(crate) fn world_with(&self, store: Arc<dyn ServerStore>, setting: Setting) -> Result<Box<dyn World>, String> {
        let mut case = case(self.provider, setting);
        if let Some(cache) = &mut case.server_cache {
            cache.store = store;
        }
        self.world_of(&case, setting)
    }

    fn world_of(&self, case: &Case, setting: Setting) -> Result<Box<dyn World>, String> {
        let (mut client, mut server) = configs(case, setting.chains);
        if setting.mode == Mode::Unverified {
            let trust = Trust::unverified(&[CertificateType::X509]).map_err(text)?;
            client = Arc::new(client.to_builder().trust(trust).build().map_err(text)?);
        }
        if setting.version.is_datagram() {
            let datagrams = Some(self.datagrams(setting.mtu));
            client = Arc::new(client.to_builder().datagrams(datagrams).build().map_err(text)?);
            server = Arc::new(server.to_builder().datagrams(datagrams).build().map_err(text)?);
        }
        let server = match setting.version.is_datagram() && setting.cookie {
            true => Servers::Endpoint(Server::new(server)?),
            false => Servers::Connections(server),
        };
        Ok(Box::new(TerseWorld { client, server, address: case.address() }))
    }

    fn datagrams(&self, max_datagram: usize) -> Datagrams {
        let datagrams = Datagrams::default().max_datagram(max_datagram);
        #[cfg(terse_testing)]
        let datagrams = datagrams.without((!self.acknowledges).then_some(terse_tls::Defence::PartialAcks));
        datagrams
    }
}

/// Returns the case of both sides.
fn case(provider: &'static CryptoProvider, setting: Setting) -> Case {
    let (version, suite) = match (setting.version, setting.profile) {
        (Version::Tls13 | Version::Dtls13, _) => (ProtocolVersion::TLS_1_3, CipherSuite::TLS_AES_128_GCM_SHA256),
        (Version::Tls12 | Version::Dtls12, Profile::Ec3) => {
            (ProtocolVersion::TLS_1_2, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)
        }
        (Version::Tls12 | Version::Dtls12, Profile::Rsa3) => {
            (ProtocolVersion::TLS_1_2, CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256)
        }
    };
    let schemes = match setting.profile {
        Profile::Ec3 => vec![SignatureScheme::ECDSA_SECP256R1_SHA256],
        Profile::Rsa3 => vec![SignatureScheme::RSA_PSS_RSAE_SHA256, SignatureScheme::RSA_PKCS1_SHA256],
    };
    let case = Case {
        chain: setting.chains.client,
        suites: vec![suite],
        client_groups: vec![NamedGroup::SECP256R1],
        server_groups: vec![NamedGroup::SECP256R1],
        schemes,
        our_versions: vec![version],
        ..Case::mutual(provider)
    };
    let cached = |schemes| Case {
        client_cache: Some(ClientCache::new(Arc::new(MemoryClientStore::new(CAPACITY)), schemes)),
        server_cache: Some(ServerCache::new(Arc::new(MemoryServerStore::new(CAPACITY)), schemes)),
        ..case.clone()
    };
    match setting.mode {
        Mode::Full => case,
        Mode::Resumed if setting.version.is_13() => case.with_sessions(Sessions::Sealed, 2),
        Mode::Resumed | Mode::Kept => case.with_sessions(Sessions::Kept, 2),
        Mode::Rfc7924 => cached(Schemes::RFC7924),
        Mode::Bithac => cached(Schemes::BITHAC),
        Mode::Compact => cached(Schemes::COMPACT),
        Mode::Psk => Case { means: Means::PreSharedKey, asks: Asks::No, ..case },
        Mode::Identity => identified(case, IdentityAlgorithm::Ristretto255),
        Mode::Unverified => case,
        Mode::IdentityBls12381 => identified(case, IdentityAlgorithm::Bls12381),
    }
}

/// Returns the case with identity keys, from a generator of its own.
fn identified(case: Case, algorithm: IdentityAlgorithm) -> Case {
    let generator = Generator::new(algorithm, 1, u64::MAX, &mut OsRng).expect("a generator");
    let issue = |identity: &str| generator.issue(&identity.parse().expect("an identity")).expect("a key");
    let server = issue("device:broker01");
    let client = ClientIdentity::new(issue("eui64:0200000000000011")).server(server.identity().clone());
    Case { client_identity: Some(client), server_identity: Some(ServerIdentity::new([server])), ..case }
}

/// Returns the configurations of both sides, where the server's certificates may be another CA's.
fn configs(case: &Case, chains: Chains) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let (mut client, mut server) = (case.client_config(), case.server_config());
    if chains.server != chains.client {
        let other = Case { chain: chains.server, ..case.clone() };
        let (mut of_client, mut of_server) = (client.to_builder(), server.to_builder());
        of_client.trust(other.client_config().trust().clone());
        of_server.credentials(other.server_config().credentials());
        client = Arc::new(of_client.build().expect("a valid configuration"));
        server = Arc::new(of_server.build().expect("a valid configuration"));
    }
    if case.client_identity.is_some() {
        // Nobody has certificates, and there is nothing to fall back on.
        let (mut of_client, mut of_server) = (client.to_builder(), server.to_builder());
        of_client.trust(Trust::nobody()).credentials(Vec::new());
        of_server.credentials(Vec::new()).client_authentication(ClientAuthentication::None);
        client = Arc::new(of_client.build().expect("a valid configuration"));
        server = Arc::new(of_server.build().expect("a valid configuration"));
    }
    (client, server)
}

/// The capacity of the caches, which connections one after the other never fill.
const CAPACITY: usize = 8;

struct TerseWorld {
    client: Arc<ClientConfig>,
    server: Servers,
    address: ServerAddress,
}

enum Servers {
    Connections(Arc<ServerConfig>),
    Endpoint(Server),
}

impl World for TerseWorld {
    fn connect(&self, side: Side) -> Result<Box<dyn End>, String> {
        let now = clock::now();
        let connection = match side {
            Side::Client => Connection::client(self.client.clone(), self.address.clone(), now, &mut OsRng),
            Side::Server => match &self.server {
                Servers::Connections(config) => Connection::server(config.clone(), now),
                Servers::Endpoint(server) => return Ok(Box::new(server.end())),
            },
        };
        Ok(Box::new(TerseEnd { connection: connection.map_err(text)?, is_connected: false, is_application: false }))
    }
}

struct TerseEnd {
    connection: Connection,
    is_connected: bool,
    /// Whether this end is driven as `terse_net::DatagramClient` drives it, by the time of the last tick, even before a
    /// datagram is awaited.
    is_application: bool,
}

impl TerseEnd {
    /// Handles the input that is there, and sends the output.
    fn turn(&mut self, wire: Wire<'_>) -> Result<(), String> {
        let now = if self.is_application { clock::last_tick() } else { clock::now() };
        loop {
            let waiting = wire.input.waiting();
            if waiting.is_empty() {
                break;
            }
            let len = waiting.len();
            let taken = self.connection.handle_input(now, &mut OsRng, waiting).map_err(text)?;
            wire.input.consume(taken);
            if taken < len {
                break; // application data is ready to be read
            }
        }
        while let Some(len) = self.connection.poll_transmit(now, wire.output.room()) {
            wire.output.produce(len);
        }
        Ok(())
    }
}

impl End for TerseEnd {
    fn handshake(&mut self, wire: Wire<'_>) -> Result<bool, String> {
        self.turn(wire)?;
        while let Some(event) = self.connection.poll_event() {
            self.is_connected |= event == Event::Connected;
        }
        Ok(self.is_connected)
    }

    fn mode(&self) -> Mode {
        mode(&self.connection)
    }

    fn as_application(mut self: Box<Self>) -> Box<dyn End> {
        self.is_application = true;
        if self.connection.summary().transport == Transport::Stream { Box::new(StreamEnd::new(*self)) } else { self }
    }

    fn write(&mut self, wire: Wire<'_>, data: &[u8]) -> Result<(), String> {
        let taken = self.connection.send(data).map_err(text)?;
        if taken < data.len() {
            return Err("the send buffer is full".into());
        }
        self.turn(wire)
    }

    fn read(&mut self, wire: Wire<'_>, out: &mut [u8]) -> Result<usize, String> {
        match self.connection.recv(out) {
            0 => {
                if self.is_application {
                    black_box(clock::last_tick());
                }
                self.turn(wire)?;
                Ok(self.connection.recv(out))
            }
            len => Ok(len),
        }
    }

    fn close(&mut self, wire: Wire<'_>) -> Result<(), String> {
        self.connection.close();
        self.turn(wire)
    }

    fn deadline(&self) -> Option<u64> {
        self.connection.poll_timeout().map(|Instant(milliseconds)| milliseconds)
    }

    fn expire(&mut self, wire: Wire<'_>) -> Result<(), String> {
        self.connection.handle_timeout(clock::now()).map_err(text)?;
        self.turn(wire)
    }
}

/// Returns the mode of the handshake.
fn mode(connection: &Connection) -> Mode {
    match connection.summary().mode {
        summary::Mode::Resumed => Mode::Resumed,
        summary::Mode::Cached(Scheme::Rfc7924) => Mode::Rfc7924,
        summary::Mode::Cached(Scheme::Bithac) => Mode::Bithac,
        summary::Mode::Cached(Scheme::Compact) => Mode::Compact,
        summary::Mode::Psk => Mode::Psk,
        summary::Mode::Identity => match connection.summary().identity_algorithm {
            Some(IdentityAlgorithm::Bls12381) => Mode::IdentityBls12381,
            _ => Mode::Identity,
        },
        _ if connection.presented().is_some() => Mode::Unverified,
        _ => Mode::Full,
    }
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}
