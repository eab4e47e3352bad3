//! rustls 0.23 on aws-lc-rs, in this process: what our side writes is handed over at once, and what our side reads is
//! what rustls wants to send. Nothing ever waits: reading when rustls has nothing to say fails.

use core::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::client::Tls12Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection, Stream,
    SupportedProtocolVersion,
};
use terse_tls::{AlertDescription, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::absence::absent;
use super::{Absence, Implementation, Refusal, Remote, Role};
use crate::case::{Asks, Case, EARLY_DATA, EXPORTER_LABEL, EXPORTER_LEN, Sessions};
use crate::datagrams::{PING, PONG};
use crate::features::Carrier;
use crate::pki::Side;
use crate::process::{accept, connect};
use crate::tap::Wire;

/// Both versions of TLS.
pub(super) struct Rustls;

impl Implementation for Rustls {
    fn name(&self) -> &'static str {
        "rustls"
    }

    fn version(&self) -> Result<String, String> {
        Ok("rustls 0.23 (aws-lc-rs), in process".into())
    }

    fn speaks(&self, _: ProtocolVersion, carrier: Carrier) -> bool {
        carrier == Carrier::Tcp
    }

    fn start(&self, role: Role, case: &Case) -> (Box<dyn Remote>, Box<dyn Wire>) {
        let party = match role {
            Role::Client => Party::Server(server_config(case)),
            Role::Server => Party::Client(client_config(case), server_name(case)),
        };
        let shared = party.connect();
        (Box::new(Program { party, shared: shared.clone() }), Box::new(MemoryWire(shared)))
    }

    fn meet_itself(&self, case: &Case, listener: &TcpListener, port: u16) {
        let (server, client) = (server_config(case), client_config(case));
        for _ in 0..case.connections {
            thread::scope(|scope| {
                let server = scope.spawn(|| {
                    let mut connection = ServerConnection::new(server.clone()).expect("a valid configuration");
                    let mut wire = accept(listener, || {});
                    let mut stream = Stream::new(&mut connection, &mut wire);
                    stream.read_exact(&mut [0; PING.len()]).expect("data from the client");
                    stream.write_all(PONG).expect("data for the client");
                    wire // open until the relay has been read
                });
                let mut connection =
                    ClientConnection::new(client.clone(), server_name(case)).expect("a valid configuration");
                let mut wire = connect(port);
                let mut stream = Stream::new(&mut connection, &mut wire);
                stream.write_all(PING).expect("data for the server");
                stream.read_exact(&mut [0; PONG.len()]).expect("data from the server");
                server.join().expect("the server's side")
            });
        }
    }

    fn absences(&self) -> &'static [Absence] {
        ABSENCES
    }

    /// Its client always asks for compatibility mode.
    fn asks_for_compatibility_mode(&self, _: bool) -> bool {
        true
    }

    fn sends_tickets_unasked(&self) -> bool {
        false
    }

    fn remembers_groups(&self) -> bool {
        true
    }

    fn early_data_sessions(&self) -> Sessions {
        Sessions::Kept
    }

    fn refuses_missing_certificate(&self, _: ProtocolVersion) -> Refusal {
        Refusal::Alert(AlertDescription::CERTIFICATE_REQUIRED)
    }
}

const ABSENCES: &[Absence] = &[
    absent("TLS_AES_128_CCM_SHA256", "rustls has no CCM suites"),
    absent("TLS_AES_128_CCM_8_SHA256", "rustls has no CCM suites"),
    absent("TLS_ECDHE_ECDSA_WITH_AES_128_CCM", "rustls has no CCM suites"),
    absent("TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", "rustls has no CCM suites"),
    absent("compatibility_mode_off", "rustls always sends ChangeCipherSpec, and asks for it"),
    absent("record_size_limit_of_ours", "rustls has no record_size_limit"),
    absent("record_size_limit_of_the_peer", "rustls has no record_size_limit"),
    absent("max_fragment_length", "rustls has no max_fragment_length"),
    absent("hello_retry_request_with_cookie", "rustls's server sends no cookies").for_our_client(),
    absent("pre_shared_key_with_ecdhe", "rustls has no external pre-shared keys"),
    absent("pre_shared_key", "rustls has no external pre-shared keys"),
    absent("raw_public_keys", "not tried: rustls takes them only from code of one's own"),
    absent("renegotiation_is_refused", "rustls has no renegotiation"),
    absent("extended_master_secret_missing", "rustls always uses it"),
];

/// The configuration that makes connections; sessions live in it.
enum Party {
    Client(Arc<ClientConfig>, ServerName<'static>),
    Server(Arc<ServerConfig>),
}

impl Party {
    fn connect(&self) -> Rc<RefCell<Shared>> {
        let mut connection: Connection = match self {
            Self::Client(config, name) => {
                ClientConnection::new(config.clone(), name.clone()).expect("a valid configuration").into()
            }
            Self::Server(config) => ServerConnection::new(config.clone()).expect("a valid configuration").into(),
        };
        connection.set_buffer_limit(None);
        if let Connection::Client(client) = &mut connection
            && let Some(mut early) = client.early_data()
        {
            early.write_all(EARLY_DATA.as_bytes()).expect("less than a session allows");
        }
        Rc::new(RefCell::new(Shared {
            connection,
            outgoing: Vec::new(),
            received: Vec::new(),
            error: None,
            peer_closed: false,
            gone: false,
        }))
    }
}

/// Returns the configuration of a server for `case`.
fn server_config(case: &Case) -> Arc<ServerConfig> {
    let provider = Arc::new(provider(case, &case.server_groups));
    let (chain, key) = credential(case, Side::Server).expect("a server has a certificate");
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_protocol_versions(&versions(case)).expect("suites for these versions");
    let clients = WebPkiClientVerifier::builder_with_provider(roots(case), provider);
    let builder = match case.asks {
        Asks::No => builder.with_no_client_auth(),
        Asks::Optional => {
            builder.with_client_cert_verifier(clients.allow_unauthenticated().build().expect("a valid root"))
        }
        Asks::Required => builder.with_client_cert_verifier(clients.build().expect("a valid root")),
    };
    let mut config = builder.with_single_cert(chain, key).expect("key and chain of one credential");
    config.alpn_protocols = case.server_protocols.iter().map(|name| name.as_bytes().into()).collect();
    if case.sessions == Some(Sessions::Sealed) {
        config.ticketer = aws_lc_rs::Ticketer::new().expect("random bytes");
    }
    if case.early_data {
        config.max_early_data_size = 1024;
    }
    if case.no_tickets {
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
    }
    Arc::new(config)
}

/// Returns the configuration of a client for `case`.
fn client_config(case: &Case) -> Arc<ClientConfig> {
    let provider = Arc::new(provider(case, &case.client_groups));
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&versions(case)).expect("suites for these versions");
    let builder = builder.with_root_certificates(roots(case));
    let mut config = match credential(case, Side::Client) {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).expect("key and chain of one credential"),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = case.client_protocols.iter().map(|name| name.as_bytes().into()).collect();
    config.enable_sni = case.sends_name;
    config.enable_early_data = case.early_data;
    if case.sessions == Some(Sessions::Kept) {
        config.resumption = config.resumption.tls12_resumption(Tls12Resumption::SessionIdOnly);
    }
    Arc::new(config)
}

fn server_name(case: &Case) -> ServerName<'static> {
    ServerName::try_from(case.name()).expect("a valid name")
}

fn versions(case: &Case) -> Vec<&'static SupportedProtocolVersion> {
    let version = |version: &ProtocolVersion| if *version == ProtocolVersion::TLS_1_2 { &TLS12 } else { &TLS13 };
    case.peer_versions.iter().map(version).collect()
}

fn roots(case: &Case) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(case.pki().root()).expect("a valid root");
    Arc::new(roots)
}

type Chain = Vec<CertificateDer<'static>>;

fn credential(case: &Case, side: Side) -> Option<(Chain, PrivateKeyDer<'static>)> {
    let holder = match side {
        Side::Client => case.client?,
        Side::Server => case.server,
    };
    let issued = case.pki().issued(side, holder);
    Some((issued.chain().to_vec(), issued.key().clone_key()))
}

/// Returns the aws-lc-rs provider, cut down to the algorithms that the case names.
fn provider(case: &Case, groups: &[NamedGroup]) -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    if !case.suites.is_empty() {
        let wanted = |suite: u16| case.suites.contains(&CipherSuite(suite));
        provider.cipher_suites.retain(|suite| wanted(suite.suite().into()));
    }
    if !groups.is_empty() {
        let group = |wanted: &NamedGroup| {
            let all = aws_lc_rs::ALL_KX_GROUPS.iter().copied();
            all.into_iter().find(|group| u16::from(group.name()) == wanted.0).expect("a group of rustls")
        };
        provider.kx_groups = groups.iter().map(group).collect();
    }
    if !case.schemes.is_empty() {
        let wanted = |scheme: &rustls::SignatureScheme| case.schemes.contains(&SignatureScheme(u16::from(*scheme)));
        let all = provider.signature_verification_algorithms.mapping;
        let kept: Vec<_> = all.iter().filter(|(scheme, _)| wanted(scheme)).copied().collect();
        provider.signature_verification_algorithms.mapping = kept.leak(); // a test's few bytes
    }
    provider
}

/// A rustls connection, shared by the wire and by whoever asks it for something.
struct Shared {
    connection: Connection,
    /// Records that rustls has sent and our side has not read yet.
    outgoing: Vec<u8>,
    received: Vec<u8>,
    error: Option<rustls::Error>,
    peer_closed: bool,
    gone: bool,
}

impl Shared {
    /// Feeds bytes of the stream to rustls, which does what they ask for.
    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.error.is_none() {
            self.connection.read_tls(&mut bytes).expect("memory can be read");
            match self.connection.process_new_packets() {
                Ok(state) => self.peer_closed |= state.peer_has_closed(),
                Err(error) => self.error = Some(error),
            }
            if let Connection::Server(server) = &mut self.connection
                && let Some(mut early) = server.early_data()
            {
                let _ = early.read_to_end(&mut self.received);
            }
            // An error says that there is nothing to read now.
            let _ = self.connection.reader().read_to_end(&mut self.received);
        }
    }

    fn collect(&mut self) {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.outgoing).expect("memory can be written");
        }
    }
}

struct MemoryWire(Rc<RefCell<Shared>>);

impl Read for MemoryWire {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut shared = self.0.borrow_mut();
        shared.collect();
        if shared.outgoing.is_empty() {
            return if shared.gone || shared.error.is_some() { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
        }
        let len = out.len().min(shared.outgoing.len());
        out[..len].copy_from_slice(&shared.outgoing[..len]);
        shared.outgoing.drain(..len);
        Ok(len)
    }
}

impl Write for MemoryWire {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut shared = self.0.borrow_mut();
        if shared.gone {
            return Err(ErrorKind::BrokenPipe.into());
        }
        shared.feed(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wire for MemoryWire {
    fn end(&mut self) {}
}

struct Program {
    party: Party,
    shared: Rc<RefCell<Shared>>,
}

impl Remote for Program {
    fn send(&mut self, data: &[u8]) {
        self.shared.borrow_mut().connection.writer().write_all(data).expect("the buffer has no limit");
    }

    fn expect(&mut self, data: &[u8]) {
        let shared = self.shared.borrow();
        assert!(shared.received.ends_with(data), "rustls has not received it: {:?}", shared.error);
    }

    fn update_keys(&mut self) {
        self.shared.borrow_mut().connection.refresh_traffic_keys().expect("a finished handshake");
    }

    fn keying_material(&mut self) -> Vec<u8> {
        let out = vec![0; EXPORTER_LEN];
        let label = EXPORTER_LABEL.as_bytes();
        let shared = self.shared.borrow();
        match &shared.connection {
            Connection::Client(client) => client.export_keying_material(out, label, None),
            Connection::Server(server) => server.export_keying_material(out, label, None),
        }
        .expect("a finished handshake")
    }

    fn expect_server_name(&mut self, name: &str) {
        match &self.shared.borrow().connection {
            Connection::Server(server) => assert_eq!(server.server_name(), Some(name)),
            Connection::Client(_) => panic!("a client is asked for no name"),
        }
    }

    fn expect_protocol(&mut self, name: &str) {
        assert_eq!(self.shared.borrow().connection.alpn_protocol(), Some(name.as_bytes()));
    }

    fn close(&mut self) {
        self.shared.borrow_mut().connection.send_close_notify();
    }

    fn expect_close(&mut self) {
        let shared = self.shared.borrow();
        assert!(shared.peer_closed, "rustls has not seen our close_notify: {:?}", shared.error);
    }

    fn expect_alert(&mut self, alert: AlertDescription) {
        match &self.shared.borrow().error {
            Some(rustls::Error::AlertReceived(received)) => assert_eq!(u8::from(*received), alert.0),
            other => panic!("rustls has not received the alert {alert}: {other:?}"),
        }
    }

    fn vanish(&mut self) {
        let mut shared = self.shared.borrow_mut();
        shared.collect();
        shared.gone = true;
    }

    fn next(&mut self) {
        self.shared = self.party.connect();
    }

    fn wire(&mut self) -> Box<dyn Wire> {
        Box::new(MemoryWire(self.shared.clone()))
    }
}
