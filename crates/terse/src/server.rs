//! `terse server`: serves any number of connections, a thread each, and says what happened on each.
//!
//! What must always hold: no peer stops the server or holds a thread for ever; standard output carries `listening`
//! first, and then one report per connection.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use clap::Args;
use terse_net::{CacheFile, Clock, NetError, Stream, Timed, explain};
use terse_tls::resume::{MemoryPskStore, PskStore, ServerEarlyData};
use terse_tls::{ClientAuthentication, Connection, Credential, ServerConfig, Summary};

use crate::credentials::warn_unsaved;
use crate::export;
use crate::failure::Failure;
use crate::options::{HostPort, Shared};
use crate::output::{self, Ended};
use crate::sessions;
use crate::trace::TraceLog;

const EXAMPLE: &str = "Example:
  terse server --listen 127.0.0.1:4433 --cert broker.pem --key broker.key \\
      --client-ca ca.pem --require-client-cert --echo
With
  --cert broker-rsa.pem --key broker-rsa.key                 a second certificate, for clients that need RSA
  --stateful-tickets --early-data-size 0                     short tickets, and no early data
  --psk-identity sensor-17 --psk-file sensor-17.psk          also or only for a client with a pre-shared key
  --key broker.key --peer-key device.pub                     without --cert: raw public keys";

/// A server for any TLS client.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ServerArgs {
    /// Where to listen; port 0 picks one
    #[arg(long, value_name = "HOST:PORT")]
    listen: HostPort,
    /// Own certificate, and the intermediate certificates above it (repeatable, preferred first)
    #[arg(long = "cert", value_name = "FILE")]
    certs: Vec<PathBuf>,
    /// Private key of the certificate (one for each --cert, in the same order); without any, its public half is the
    /// identity: a raw public key
    #[arg(long = "key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// Ask clients for a certificate from one of these CAs (PEM or DER)
    #[arg(long, value_name = "FILE")]
    client_ca: Option<PathBuf>,
    /// Refuse clients without one, or without one of the keys of --peer-key
    #[arg(long)]
    require_client_cert: bool,
    /// Name the CAs in the CertificateRequest
    #[arg(long, requires = "client_ca")]
    ca_names: bool,
    /// Send no session tickets: nothing can be resumed
    #[arg(long, help_heading = "Resumption")]
    no_tickets: bool,
    /// Keep sessions in memory; a ticket is then a handle of 16 bytes
    #[arg(long, conflicts_with = "no_tickets", help_heading = "Resumption")]
    stateful_tickets: bool,
    /// Take N bytes of early data (0-RTT) from clients that resume; 0 takes none
    #[arg(long, value_name = "N", default_value = "16384", help_heading = "Resumption")]
    early_data_size: u32,
    /// Send a cookie in HelloRetryRequest
    #[arg(long)]
    hello_retry_cookie: bool,
    /// Send back what clients send
    #[arg(long, conflicts_with = "reply")]
    echo: bool,
    /// Send this text to each client
    #[arg(long, value_name = "TEXT")]
    reply: Option<String>,
    /// Exit after N connections
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: Option<u32>,
    #[command(flatten)]
    shared: Shared,
}

impl ServerArgs {
    /// What the server proves its identity with, preferred first.
    fn credentials(&self) -> Result<Vec<Credential>, Failure> {
        let Self { certs, keys, shared, .. } = self;
        if certs.is_empty() {
            return keys.iter().map(|key| shared.credential(None, key)).collect();
        }
        if certs.len() != keys.len() {
            let (certs, keys) = (certs.len(), keys.len());
            let problem = format!("--cert is there {certs} times and --key {keys} times");
            return Err(Failure::Usage(format!("{problem}; give each --cert its --key, in the same order")));
        }
        certs.iter().zip(keys).map(|(chain, key)| shared.credential(Some(chain), key)).collect()
    }
}

/// Connections that are served at a time; more wait to be accepted.
const MAX_CONCURRENT: usize = 256;

/// How long a connection may be idle after its handshake.
const MAX_IDLE: Duration = Duration::from_secs(300);

/// How long a connection may take to end.
const CLOSING_TIME: Duration = Duration::from_secs(2);

/// Runs the command.
pub(crate) fn run(args: ServerArgs, json: bool) -> Result<(), Failure> {
    let server = Server::new(args, json)?;
    let listener = server.listen()?;
    server.serve(&listener);
    Ok(())
}

struct Server {
    args: ServerArgs,
    json: bool,
    config: ServerConfig,
    clock: Clock,
    cache_file: Option<Arc<CacheFile>>,
    slots: Slots,
}

impl Server {
    fn new(args: ServerArgs, json: bool) -> Result<Self, Failure> {
        let shared = &args.shared;
        let provider = shared.crypto.provider();
        let credentials = args.credentials()?;
        let psks = shared.psk.load()?.map(|psk| -> Arc<dyn PskStore> { Arc::new(MemoryPskStore::new([psk])) });
        let mut config = match (credentials.first(), &psks) {
            (Some(preferred), _) => ServerConfig::new(provider, preferred.clone()),
            (None, Some(psks)) => ServerConfig::with_psks(provider, psks.clone()),
            (None, None) => {
                let problem = "there is nothing to know this server by";
                let advice =
                    "give --cert and --key, --key alone for a raw public key, or --psk-identity with --psk-file";
                return Err(Failure::Usage(format!("{problem}; {advice}")));
            }
        };
        config.credentials = credentials;
        config.psks = psks;
        if !args.no_tickets {
            config.resumption = Some(sessions::server_resumption(provider, args.stateful_tickets)?);
            config.early_data = (args.early_data_size > 0).then(|| ServerEarlyData::new(args.early_data_size));
        }
        let knows_clients = args.client_ca.is_some() || !shared.peer_keys.is_empty();
        if args.require_client_cert && !knows_clients {
            return Err(Failure::Usage("--require-client-cert: of whom? give --client-ca or --peer-key".into()));
        }
        if knows_clients {
            let trust = shared.trust(args.client_ca.as_deref())?;
            config.client_authentication = match args.require_client_cert {
                true => ClientAuthentication::Required(trust),
                false => ClientAuthentication::Optional(trust),
            };
        }
        config.certificate_authorities = args.ca_names;
        config.hello_retry_cookie = args.hello_retry_cookie;
        let cache_file = shared.open_cache()?;
        config.cache = shared.server_cache(cache_file.clone());
        shared.configure(&mut config.common)?;
        config.check().map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Self { clock: shared.clock(), config, cache_file, json, args, slots: Slots::default() })
    }

    fn listen(&self) -> Result<TcpListener, Failure> {
        let HostPort { host, port } = &self.args.listen;
        let listening = TcpListener::bind((host.as_str(), *port)).and_then(|listener| {
            let address = listener.local_addr()?;
            Ok((listener, address))
        });
        let (listener, address) = listening.map_err(|error| {
            let problem = output::printable(&format!("cannot listen on {host}:{port}: {error}"));
            Failure::Failed(match explain(&NetError::Io(error), &host).advice {
                Some(advice) => format!("{problem}; {advice}"),
                None => problem,
            })
        })?;
        output::line(format_args!("listening {address}"))?;
        Ok(listener)
    }

    fn serve(&self, listener: &TcpListener) {
        thread::scope(|scope| {
            let mut left = self.args.max_connections;
            while left != Some(0) {
                let slot = self.slots.take();
                let (socket, peer) = match listener.accept() {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        wait_out(&error);
                        continue;
                    }
                };
                left = left.map(|left| left - 1); // the loop ends at 0
                let serve = move || {
                    self.serve_one(socket, peer);
                    drop(slot);
                };
                if let Err(error) = thread::Builder::new().spawn_scoped(scope, serve) {
                    output::warn(&format!("{peer}: no thread for this connection: {error}"));
                }
            }
        });
    }

    /// One connection, from TCP to close_notify, and its report.
    fn serve_one(&self, socket: TcpStream, peer: SocketAddr) {
        let mut stream = match self.open(socket, peer) {
            Ok(stream) => stream,
            Err(error) => return self.failed(peer, &Summary::default(), &error),
        };
        let result = self.converse(&mut stream);
        warn_unsaved(self.cache_file.as_deref().and_then(CacheFile::take_error));
        // The report comes first: a client that has seen its connection end may look for it.
        match result {
            Ok(exported) => self.report(peer, stream.connection(), exported.as_deref()),
            Err(error) => self.failed(peer, stream.connection().summary(), &error),
        }
        stream.transport_mut().linger(CLOSING_TIME);
    }

    fn open(&self, socket: TcpStream, peer: SocketAddr) -> Result<Stream<Timed>, NetError> {
        let mut transport = Timed::new(socket).map_err(NetError::Io)?;
        transport.set_limit(self.args.shared.timeout());
        let mut config = self.config.clone();
        if self.args.shared.verbose {
            config.common.trace = Some(Arc::new(TraceLog::new(&peer.to_string())));
        }
        let connection = Connection::server(Arc::new(config), self.clock.now())?;
        Ok(Stream::new(connection, transport, self.clock))
    }

    /// Everything until the client closes. Returns the exported bytes.
    fn converse(&self, stream: &mut Stream<Timed>) -> Result<Option<String>, NetError> {
        let mut chunk = [0; 0x4000];
        let mut early_data = Vec::new();
        loop {
            match stream.receive_early_data(&mut chunk)? {
                0 => break,
                len => early_data.extend_from_slice(&chunk[..len]), // at most --early-data-size
            }
        }
        stream.handshake()?;
        let exported = export::hex(stream.connection(), self.args.shared.export.as_deref())?;
        if self.args.echo {
            stream.send(&early_data)?;
        }
        if let Some(text) = &self.args.reply {
            stream.transport_mut().set_limit(self.args.shared.timeout());
            stream.send(text.as_bytes())?;
        }
        loop {
            stream.transport_mut().set_limit(MAX_IDLE);
            match stream.receive(&mut chunk) {
                Ok(0) => break,
                Ok(len) if self.args.echo => {
                    stream.transport_mut().set_limit(self.args.shared.timeout());
                    stream.send(&chunk[..len])?;
                }
                Ok(_) => {}
                Err(error) => {
                    if matches!(error, NetError::TimedOut { .. }) {
                        stream.transport_mut().set_limit(CLOSING_TIME);
                        let _ = stream.close(); // the error to report is that nothing came
                    }
                    return Err(error);
                }
            }
        }
        stream.transport_mut().set_limit(CLOSING_TIME);
        match stream.close() {
            // A client that does not wait for the answer to its close_notify loses nothing.
            Ok(()) | Err(NetError::Io(_) | NetError::TimedOut { .. }) => Ok(exported),
            Err(error) => Err(error),
        }
    }

    fn report(&self, peer: SocketAddr, connection: &Connection, exported: Option<&str>) {
        let ended = Ended::new(connection, exported);
        let printed = match self.json {
            true => ended.print_json(),
            false => ended.print_line(&peer.to_string()),
        };
        self.warn_unprinted(printed);
    }

    fn failed(&self, peer: SocketAddr, summary: &Summary, error: &NetError) {
        let client = format!("the client {peer}");
        let problem = output::printable(&explain(error, &client).to_string());
        output::warn(&problem);
        if self.json {
            let ended = Ended { summary, error: Some(&problem), alpn: None, exported: None };
            self.warn_unprinted(ended.print_json());
        }
    }

    /// Whoever read the reports may have gone; the clients have not.
    fn warn_unprinted(&self, printed: Result<(), Failure>) {
        if let Err(failure) = printed {
            output::warn(&failure);
        }
    }
}

/// A client may be gone before it is accepted, which concerns nobody else; a process may be out of descriptors for a
/// while.
fn wait_out(error: &io::Error) {
    if !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) {
        output::warn(&format!("cannot accept a connection: {error}; trying again"));
        thread::sleep(Duration::from_millis(200));
    }
}

/// Counts the connections that are being served.
#[derive(Default)]
struct Slots {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// The place of one connection, free again when it is dropped.
struct Slot<'a>(&'a Slots);

impl Slots {
    /// Waits for a place.
    fn take(&self) -> Slot<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |taken: &mut usize| *taken >= MAX_CONCURRENT;
        *self.freed.wait_while(taken, full).unwrap_or_else(PoisonError::into_inner) += 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1; // `take` added it
        self.0.freed.notify_one();
    }
}
