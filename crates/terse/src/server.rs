//! `terse server`: serves any number of connections, and says what happened on each.
//!
//! What must always hold: no peer stops the server; standard output carries `listening` first, and then one report per
//! connection.

use alloc::sync::Arc;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::io;
use std::path::PathBuf;
use std::thread;

use clap::Args;
use terse_net::{CacheFile, Clock, NetError, explain};
use terse_tls::resume::{MemoryPskStore, PskStore, ServerEarlyData};
use terse_tls::{ClientAuthentication, Connection, ServerConfig, Stapling, Summary};

use crate::crls::CrlFiles;
use crate::failure::Failure;
use crate::identities::Identities;
use crate::options::{HostPort, Shared};
use crate::output::{self, Ended};
use crate::sessions::{self, SecretTicketsAt};
use crate::staples::Staples;

mod datagrams;
mod streams;

const EXAMPLE: &str = "Example:
  terse server --listen 127.0.0.1:4433 --cert broker.pem --key broker.key \\
      --client-ca ca.pem --require-client-cert --echo
With
  --staple broker.ocsp                                       an OCSP response, for clients that ask for one
  --cert broker-rsa.pem --key broker-rsa.key                 a second certificate, for clients that need RSA
  --dtls --mtu 576 --connection-id 8                         over UDP, in small packets, to clients that may move
  --stateful-tickets                                         short tickets: sessions are kept in memory
  --early-data-size 1024                                     with early data, which the network may deliver twice
  --psk-identity sensor-17 --psk-file sensor-17.psk          also or only for a client with a pre-shared key
  --identity-key broker.id --deny denied.txt                 also or only for clients with identity keys (terse pkg)
  --identity-key broker.id --early-data-size 1024 \\
      --secret-tickets broker.tickets                        ... whose early data is taken also after a restart
  --key broker.key --peer-key device.pub                     without --cert: raw public keys";

/// A server for any TLS or DTLS client.
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
    /// With --identity-key: also serve clients that prove no identity at all
    #[arg(long, requires = "identity_keys", help_heading = "Identity")]
    allow_anonymous: bool,
    /// Where to keep the ephemeral secret tickets of clients with identity keys, for early data: memory, sealed (in the
    /// tickets themselves), or a file (mode 0600; what was used may stay on the disk in blocks that are free)
    #[arg(
        long,
        value_name = "memory|sealed|FILE",
        default_value = "memory",
        requires = "identity_keys",
        help_heading = "Identity"
    )]
    secret_tickets: SecretTicketsAt,
    /// With --early-data-size: take early data also from clients with identity keys that have no ticket. It is not forward secret, and whoever learns this
    /// server's key can forge it. The file (mode 0600) keeps, from one start to the next, until when some may have been taken, so that
    /// none is taken twice, whatever the clock says: give each key one file, and no older copy of it
    #[arg(long, value_name = "FILE", requires = "identity_keys", help_heading = "Identity")]
    first_contact: Option<PathBuf>,
    /// Send no session tickets: nothing can be resumed
    #[arg(long, help_heading = "Resumption")]
    no_tickets: bool,
    /// Keep sessions in memory; a ticket is then a handle of 16 bytes
    #[arg(long, conflicts_with = "no_tickets", help_heading = "Resumption")]
    stateful_tickets: bool,
    /// Take up to N bytes of early data (0-RTT) from clients that come back; 0 takes none. It is for requests that may come
    /// twice
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Resumption")]
    early_data_size: u32,
    /// Send a cookie in HelloRetryRequest
    #[arg(long)]
    hello_retry_cookie: bool,
    /// Do not make clients over datagrams show first that they are where they say: a round trip less, and early data; but
    /// anybody can have up to three times what it sends be sent to others, and handshakes begun
    #[arg(long, requires = "dtls", help_heading = "Datagrams")]
    no_cookie: bool,
    /// With --first-contact: let so many clients in every second without a cookie, which would cost them their early data.
    /// Each costs a key agreement, whoever it is
    #[arg(long, value_name = "N", requires_all = ["dtls", "first_contact"], conflicts_with_all = ["no_cookie", "always_cookie"], help_heading = "Datagrams")]
    first_contacts_per_second: Option<u32>,
    /// Make all clients over datagrams show with a cookie that they are where they say, also those that come back from the
    /// same IP address with a ticket of the cache
    #[arg(long, requires = "dtls", conflicts_with = "no_cookie", help_heading = "Datagrams")]
    always_cookie: bool,
    /// Send back what clients send
    #[arg(long, conflicts_with = "reply")]
    echo: bool,
    /// Send this text to each client
    #[arg(long, value_name = "TEXT")]
    reply: Option<String>,
    /// Forget a connection that nothing came on for so long
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = clap::value_parser!(u32).range(1..))]
    idle_timeout: u32,
    /// Exit after N connections
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: Option<u32>,
    #[command(flatten)]
    shared: Shared,
}

impl ServerArgs {
    fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.idle_timeout.into())
    }
}

/// Runs the command.
pub(crate) fn run(args: ServerArgs, json: bool) -> Result<(), Failure> {
    let server = Server::new(args, json)?;
    match server.args.shared.datagrams.is_given() {
        true => server.serve_datagrams(),
        false => server.serve_streams(),
    }
}

struct Server {
    args: ServerArgs,
    json: bool,
    config: ServerConfig,
    clock: Clock,
    cache_file: Option<Arc<CacheFile>>,
    staples: Staples,
    crl_files: Option<Arc<CrlFiles>>,
    identities: Option<Arc<Identities>>,
}

impl Server {
    fn new(args: ServerArgs, json: bool) -> Result<Self, Failure> {
        let shared = &args.shared;
        shared.check_datagrams(&[
            (
                args.early_data_size > 0 && !args.no_cookie && !shared.identity.is_given(),
                "--early-data-size",
                "would never be used, as a cookie costs a client its early data; add --no-cookie, or leave it out",
            ),
            (
                args.first_contact.is_some() && !args.no_cookie && args.first_contacts_per_second.is_none(),
                "--first-contact",
                "would never be used, as a cookie costs a client its early data; add --first-contacts-per-second",
            ),
            (
                args.hello_retry_cookie,
                "--hello-retry-cookie",
                "is for streams; every client over datagrams gets a cookie; leave it out",
            ),
        ])?;
        if args.first_contact.is_some() && args.early_data_size == 0 {
            return Err(Failure::Usage("--first-contact takes early data; say how much with --early-data-size".into()));
        }
        let provider = shared.crypto.provider();
        let credentials = shared.credentials(&args.certs, &args.keys)?;
        let psks = shared.psk.load()?.map(|psk| -> Arc<dyn PskStore> { Arc::new(MemoryPskStore::new([psk])) });
        let identities = Identities::load(&shared.identity)?;
        if credentials.is_empty() && psks.is_none() && identities.is_none() {
            let problem = "there is nothing to know this server by";
            let advice = "give --cert and --key, --key alone for a raw public key, --psk-identity with --psk-file, or \
                          --identity-key";
            return Err(Failure::Usage(format!("{problem}; {advice}")));
        }
        let staples = Staples::load(provider, &shared.staples, &credentials)?;
        let mut config = ServerConfig::builder(provider);
        config.credentials(credentials);
        if let Some(identities) = &identities {
            let mut identity = identities.server().anonymous_clients(args.allow_anonymous);
            if !args.no_tickets {
                identity = identity.tickets(args.secret_tickets.open(provider)?);
            }
            if let Some(file) = &args.first_contact {
                identity = identity.first_contact(Arc::new(sessions::first_contact_memory(file, &shared.clock())?));
            }
            config.identity(identity);
        }
        if let Some(psks) = psks {
            config.psks(psks);
        }
        if !args.no_tickets {
            config.resumption(Some(sessions::server_resumption(provider, args.stateful_tickets)?));
        }
        let has_tickets = !args.no_tickets || args.first_contact.is_some();
        // Whether a request may come twice only the operator knows, so early data is off unless it is asked for (RFC 9846,
        // appendix F.5).
        config
            .early_data((has_tickets && args.early_data_size > 0).then(|| ServerEarlyData::new(args.early_data_size)));
        let knows_clients = args.client_ca.is_some() || !shared.peer_keys.is_empty();
        if shared.stapling() != Stapling::Off && !knows_clients {
            let problem = "--ask-staple and --require-staple are for certificates of clients";
            return Err(Failure::Usage(format!("{problem}; give --client-ca, or leave them out")));
        }
        if args.require_client_cert && !knows_clients {
            return Err(Failure::Usage("--require-client-cert: of whom? give --client-ca or --peer-key".into()));
        }
        let cache_file = shared.open_cache()?;
        config.cache(shared.server_cache(cache_file.clone()));
        let mut crl_files = None;
        if knows_clients {
            let mut trust;
            (trust, crl_files) = shared.trust(args.client_ca.as_deref())?;
            if let Some(file) = &cache_file {
                trust = trust.with_issuers(file.issuers());
            }
            config.client_authentication(match args.require_client_cert {
                true => ClientAuthentication::Required(trust),
                false => ClientAuthentication::Optional(trust),
            });
        }
        config.certificate_authorities(args.ca_names);
        config.hello_retry_cookie(args.hello_retry_cookie);
        shared.configure(config.common_mut())?;
        config.datagrams(shared.datagrams(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
        let config = config.build().map_err(|error| Failure::Failed(error.to_string()))?;
        let crl_files = crl_files.map(Arc::new);
        let identities = identities.map(Arc::new);
        Ok(Self { clock: shared.clock(), config, cache_file, crl_files, identities, staples, json, args })
    }

    /// Opens a socket with `bind` at the address to listen on.
    fn listen<T>(&self, bind: impl FnOnce((&str, u16)) -> io::Result<T>) -> Result<T, Failure> {
        let HostPort { host, port } = &self.args.listen;
        bind((host, *port)).map_err(|error| {
            let problem = output::printable(&format!("cannot listen on {host}:{port}: {error}"));
            Failure::Failed(match explain(&NetError::Io(error), &host).advice {
                Some(advice) => format!("{problem}; {advice}"),
                None => problem,
            })
        })
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

    /// Warns that a report could not be printed. Its reader may be gone, but the clients are not.
    fn warn_unprinted(&self, printed: Result<(), Failure>) {
        if let Err(failure) = printed {
            output::warn(&failure);
        }
    }
}

/// Waits after an error that concerns all clients and may pass, for example a lack of file descriptors.
fn wait_out(doing: &str, error: &io::Error) {
    if error.kind() != io::ErrorKind::Interrupted {
        output::warn(&format!("cannot {doing}: {error}; trying again"));
        thread::sleep(Duration::from_millis(200));
    }
}
