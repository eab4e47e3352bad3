//! The tests share configurations, an acceptor on loopback, and a time limit after which a test is taken to hang.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use terse_net::Clock;
use terse_net::NetError;
use terse_net::pki_types::CertificateDer;
use terse_net::tokio::{Acceptor, Connector, TlsStream};
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_tls::crypto::SigningKey;
use terse_tls::{
    ClientAuthentication, ClientConfig, ConfigBuilder, Connection, Credential, ServerAddress, ServerConfig, Trust,
};
use tokio::io::DuplexStream;
use tokio::net::{TcpListener, TcpStream};

pub const NAME: &str = "broker.example";

/// The time after which a test is taken to hang, also on a machine that is slow and busy.
pub const SAFETY_LIMIT: Duration = Duration::from_secs(300);

/// Waits for `future`, which is taken to hang after [`SAFETY_LIMIT`].
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SAFETY_LIMIT, future).await.expect("it does not hang")
}

/// Both sides' configurations, their CA, and the clock of both.
pub struct World {
    pub client: ConfigBuilder<ClientConfig>,
    pub server: ConfigBuilder<ServerConfig>,
    pub authority: Authority,
    pub issued: terse_pki::Credential,
    pub clock: Clock,
}

impl World {
    /// Creates a client, and a server that requires a certificate, which the client has.
    pub fn new() -> Self {
        Self::with_keys(|key| key)
    }

    /// Creates a world whose private keys `wrap` has replaced.
    pub fn with_keys(wrap: impl FnOnce(Arc<dyn SigningKey>) -> Arc<dyn SigningKey>) -> Self {
        let provider = &terse_aws_lc::PROVIDER;
        let authority = authority("Plant CA");
        let issued = authority.issue(&LeafOptions::new(NAME, validity())).unwrap();
        let key = wrap(provider.load_key(issued.key()).unwrap());
        let credential = Credential::new(issued.chain().to_vec(), key).unwrap();
        let trust = Trust::new(&[authority.root().clone()]).unwrap();
        let mut client = ClientConfig::builder(provider);
        client.trust(trust.clone());
        client.credential(credential.clone());
        let mut server = ServerConfig::builder(provider);
        server.credential(credential);
        server.client_authentication(ClientAuthentication::Required(trust));
        Self { client, server, authority, issued, clock: Clock::new() }
    }

    pub fn connector(&self) -> Connector {
        Connector::new(Arc::new(self.client.build().unwrap()), self.clock)
    }

    pub fn server_config(&self) -> Arc<ServerConfig> {
        Arc::new(self.server.build().unwrap())
    }

    pub fn server_connection(&self) -> Connection {
        Connection::server(self.server_config(), self.clock.now()).unwrap()
    }

    /// Starts an acceptor on loopback. Returns it with its address.
    pub async fn acceptor(&self) -> (Acceptor<TcpStream>, SocketAddr) {
        let acceptor = Acceptor::builder(self.server_config(), self.clock).start(listener().await);
        let address = acceptor.local_addr().unwrap();
        (acceptor, address)
    }

    /// Connects over a transport in memory that holds `size` bytes in each direction.
    pub async fn pair(&self, size: usize) -> (TlsStream<DuplexStream>, TlsStream<DuplexStream>) {
        let (a, b) = tokio::io::duplex(size);
        let server = terse_net::tokio::Handshake::new(self.server_connection(), b, self.clock);
        let (client, server) = soon(async { tokio::join!(self.connector().connect(name(), a), server) }).await;
        (client.unwrap(), server.unwrap())
    }
}

/// Returns a CA of this name.
pub fn authority(name: &str) -> Authority {
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), validity());
    Authority::new(&AuthorityOptions { name: name.into(), ..options }).unwrap()
}

pub fn validity() -> Validity {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    Validity::days(now - 3600, 2)
}

pub fn name() -> ServerAddress {
    ServerAddress::new(NAME.try_into().unwrap(), 443)
}

pub async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// Connects to an acceptor, and takes the connection there.
pub async fn connect(
    connector: &Connector,
    acceptor: &mut Acceptor<TcpStream>,
    address: SocketAddr,
) -> (Result<TlsStream<TcpStream>, NetError>, TlsStream<TcpStream>) {
    let client = async { connector.connect(name(), TcpStream::connect(address).await.unwrap()).await };
    let (client, server) = soon(async { tokio::join!(client, acceptor.accept()) }).await;
    (client, server.unwrap().0)
}

/// Returns the certificates of a credential as rustls wants them.
pub fn chain(credential: &terse_pki::Credential) -> Vec<CertificateDer<'static>> {
    credential.chain().to_vec()
}
