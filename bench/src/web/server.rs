//! The same axum server over streams of `terse-net` and of tokio-rustls, each on a thread of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::routing::get;
use axum::serve::Listener;
use rustls::crypto::aws_lc_rs;
use terse_net::Clock;
use terse_net::tokio::{Acceptor, TlsStream};
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_tls::resume::{ServerResumption, TicketKeys};
use terse_tls::{Credential, ProtocolVersion, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsAcceptor;

use super::{Kind, text};
use crate::measure::cpu_seconds;

/// The name in the server's certificate.
pub(crate) const NAME: &str = "web.example";

/// What the server answers.
pub(crate) const BODY: &str = "hello";

/// The certificates of both servers.
pub(crate) struct World {
    pub(crate) authority: Authority,
    issued: terse_pki::Credential,
}

impl World {
    pub(crate) fn new() -> Result<Self, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(text)?.as_secs();
        let validity = Validity::days(now.saturating_sub(3600), 2);
        let chain = "p256x3".parse().map_err(text)?;
        let authority = Authority::new(&AuthorityOptions::new(chain, validity)).map_err(text)?;
        let issued = authority.issue(&LeafOptions::new(NAME, validity)).map_err(text)?;
        Ok(Self { authority, issued })
    }
}

/// A running server, which ends when this is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    questions: mpsc::UnboundedSender<oneshot::Sender<f64>>,
}

impl Server {
    /// Starts a server over streams of `terse-net`.
    pub(crate) fn terse(world: &World, kind: Kind) -> Result<Self, String> {
        let provider = &terse_aws_lc::PROVIDER;
        let key = provider.load_key(world.issued.key()).map_err(text)?;
        let mut config = ServerConfig::builder(provider);
        config.credential(Credential::new(world.issued.chain().to_vec(), key).map_err(text)?);
        config.versions(vec![ProtocolVersion::TLS_1_3]);
        if kind == Kind::Resumed {
            let keys = TicketKeys::new(provider.tls13_suites[0].aead, 3600, 64).map_err(text)?;
            config.resumption(Some(ServerResumption::Stateless(Arc::new(keys))));
        }
        let config = Arc::new(config.build().map_err(text)?);
        Self::start(|listener| Terse(Acceptor::builder(config, Clock::new()).start(listener)))
    }

    /// Starts a server over streams of tokio-rustls, whose handshakes run beside each other as well.
    pub(crate) fn tokio_rustls(world: &World, kind: Kind) -> Result<Self, String> {
        let builder = rustls::ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(text)?.with_no_client_auth();
        let (chain, key) = (world.issued.chain().to_vec(), world.issued.key().clone_key());
        let mut config = builder.with_single_cert(chain, key).map_err(text)?;
        config.send_tls13_tickets = 0;
        if kind == Kind::Resumed {
            config.send_tls13_tickets = 1; // as Terse does
            config.ticketer = aws_lc_rs::Ticketer::new().map_err(text)?;
        }
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self::start(move |listener| {
            let (sender, streams) = mpsc::channel(512);
            tokio::spawn(async move {
                while let Ok((transport, peer)) = listener.accept().await {
                    let (acceptor, sender) = (acceptor.clone(), sender.clone());
                    tokio::spawn(async move {
                        let _ = transport.set_nodelay(true); // a peer that is gone shows below
                        if let Ok(stream) = acceptor.accept(transport).await {
                            let _ = sender.send((stream, peer)).await; // the server may have ended
                        }
                    });
                }
            });
            Rustls { streams }
        })
    }

    fn start<L: Listener<Addr = SocketAddr>>(
        listen: impl FnOnce(TcpListener) -> L + Send + 'static,
    ) -> Result<Self, String> {
        let (questions, mut asked) = mpsc::unbounded_channel::<oneshot::Sender<f64>>();
        let (started, address) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(text)?;
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.map_err(text)?;
                let address = listener.local_addr().map_err(text)?;
                let app = Router::new().route("/", get(|| async { BODY }));
                tokio::spawn(axum::serve(listen(listener), app).into_future());
                started.send(address).map_err(text)?;
                while let Some(answer) = asked.recv().await {
                    let _ = answer.send(cpu_seconds()); // whoever asks waits for it
                }
                Ok::<_, String>(())
            })
        });
        Ok(Self { address: address.recv().map_err(text)?, questions })
    }

    /// Returns the CPU time of the server's thread.
    pub(crate) async fn cpu_seconds(&self) -> Result<f64, String> {
        let (question, answer) = oneshot::channel();
        self.questions.send(question).map_err(text)?;
        answer.await.map_err(text)
    }
}

struct Terse(Acceptor<TcpStream>);

impl Listener for Terse {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        match self.0.accept().await {
            Some(accepted) => accepted,
            None => core::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr().ok_or_else(|| std::io::ErrorKind::AddrNotAvailable.into())
    }
}

struct Rustls {
    streams: mpsc::Receiver<(tokio_rustls::server::TlsStream<TcpStream>, SocketAddr)>,
}

impl Listener for Rustls {
    type Io = tokio_rustls::server::TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        match self.streams.recv().await {
            Some(accepted) => accepted,
            None => core::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Err(std::io::ErrorKind::AddrNotAvailable.into())
    }
}
