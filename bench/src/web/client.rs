//! The client of both servers: rustls through tokio-rustls, and requests of HTTP/1.1 without a library.

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use pki_types::ServerName;
use rustls::client::{ClientSessionMemoryCache, Resumption};
use rustls::crypto::aws_lc_rs;
use rustls::{CipherSuite, ClientConfig, HandshakeKind, NamedGroup, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::server::{BODY, NAME, World};
use super::{Kind, text};

/// Some workers, each of which makes one request after the other.
pub(crate) struct Client {
    workers: Vec<Worker>,
    kind: Kind,
}

/// Enough that the server always has something to do.
const WORKERS: usize = 4;

impl Client {
    pub(crate) fn new(world: &World, address: SocketAddr, kind: Kind) -> Result<Self, String> {
        let workers = (0..WORKERS).map(|_| Worker::new(world, address, kind)).collect::<Result<_, String>>()?;
        Ok(Self { workers, kind })
    }

    /// Makes requests for so long. Returns how many.
    pub(crate) async fn run(&self, slice: Duration) -> Result<u32, String> {
        let end = Instant::now() + slice;
        let mut workers = JoinSet::new();
        for worker in self.workers.clone() {
            workers.spawn(worker.run(self.kind, end));
        }
        workers.join_all().await.into_iter().sum()
    }
}

/// A worker, with sessions of its own.
#[derive(Clone)]
struct Worker {
    connector: TlsConnector,
    address: SocketAddr,
}

impl Worker {
    fn new(world: &World, address: SocketAddr, kind: Kind) -> Result<Self, String> {
        let mut provider = aws_lc_rs::default_provider();
        provider.cipher_suites.retain(|known| known.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
        provider.kx_groups.retain(|group| group.name() == NamedGroup::X25519);
        let mut roots = RootCertStore::empty();
        roots.add(world.authority.root().clone()).map_err(text)?;
        let builder = ClientConfig::builder_with_provider(Arc::new(provider));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(text)?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.resumption = match kind {
            Kind::Resumed => Resumption::store(Arc::new(ClientSessionMemoryCache::new(8))),
            Kind::Full | Kind::Kept => Resumption::disabled(),
        };
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), address })
    }

    async fn run(self, kind: Kind, end: Instant) -> Result<u32, String> {
        let mut requests = 0;
        if kind == Kind::Kept {
            let mut stream = self.connect().await?;
            while Instant::now() < end {
                request(&mut stream, true).await?;
                requests += 1;
            }
            return Ok(requests);
        }
        if kind == Kind::Resumed {
            request(&mut self.connect().await?, false).await?; // the first of all has no session
        }
        while Instant::now() < end {
            let mut stream = self.connect().await?;
            let expected = if kind == Kind::Resumed { HandshakeKind::Resumed } else { HandshakeKind::Full };
            let made = stream.get_ref().1.handshake_kind();
            if made != Some(expected) {
                return Err(format!("the handshake was {made:?}"));
            }
            request(&mut stream, false).await?;
            requests += 1;
        }
        Ok(requests)
    }

    async fn connect(&self) -> Result<TlsStream<TcpStream>, String> {
        let transport = TcpStream::connect(self.address).await.map_err(text)?;
        transport.set_nodelay(true).map_err(text)?;
        let name = ServerName::try_from(NAME).map_err(text)?;
        self.connector.connect(name, transport).await.map_err(text)
    }
}

/// Makes a request, on a connection that is kept or that the server closes properly. Fails unless the answer is right.
async fn request(stream: &mut TlsStream<TcpStream>, keep: bool) -> Result<(), String> {
    let connection = if keep { "keep-alive" } else { "close" };
    let request = format!("GET / HTTP/1.1\r\nhost: {NAME}\r\nconnection: {connection}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(text)?;
    let mut answer = Vec::with_capacity(1_024);
    loop {
        let len = stream.read_buf(&mut answer).await.map_err(text)?;
        let is_whole = answer.ends_with(format!("\r\n\r\n{BODY}").as_bytes());
        match len {
            0 if !is_whole || keep => return Err("the server ended too early".into()),
            0 => break,
            _ if keep && is_whole => break,
            _ => {}
        }
    }
    match answer.starts_with(b"HTTP/1.1 200 OK\r\n") {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&answer).into_owned()),
    }
}
