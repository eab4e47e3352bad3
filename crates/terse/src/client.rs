//! `terse client`: connects, shakes hands, exchanges a little data, and says what happened.
//!
//! What must always hold: the connection ends only after the server has had its chance to answer, because its answer is
//! what tells the client that its cache entry may be used next time (docs/caching.md, 4.2).

use alloc::sync::Arc;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use terse_net::pki_types::ServerName;
use terse_net::{CacheFile, Clock, DatagramClient, NetError, OsRng, SessionFile, Stream, Timed, explain};
use terse_tls::identity::Identity;
use terse_tls::resume::ClientResumption;
use terse_tls::summary::{EarlyDataStatus, Transport};
use terse_tls::{ClientConfig, Connection, Error, NamedGroup, ServerAddress, Summary};

use crate::credentials::warn_unsaved;
use crate::crls::CrlFiles;
use crate::export;
use crate::failure::Failure;
use crate::identities::Identities;
use crate::options::{HostPort, Shared};
use crate::output::{self, Ended};
use crate::sessions;
use crate::staples::Staples;
use crate::trace::TraceLog;

mod channel;

use channel::Channel;

const EXAMPLE: &str = "Example:
  terse client --connect 127.0.0.1:4433 --server-name broker.plant.example --ca ca.pem \\
      --cert device.pem --key device.key --send hello --expect 5 --repeat 2
With
  --cert new.pem --key new.key                               a second certificate, for servers that name its CA
  --tls 1.2 --suite TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8       as an older device would
  --dtls --mtu 576 --constrained                             over UDP, in small packets, on a slow network
  --resume-file device.sessions --early-data hello           to resume in later runs, and send at once
  --psk-identity sensor-17 --psk-file sensor-17.psk          in place of --ca, --cert and --key: a pre-shared key
  --identity-key device.id                                   in place of them: an identity key (terse pkg extract)
  --peer-key broker.pub --key device.key                     in place of them: raw public keys; make one with
                                                             openssl pkey -in broker.key -pubout -out broker.pub";

/// A client that connects to any TLS or DTLS server.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ClientArgs {
    /// The server
    #[arg(long, value_name = "HOST:PORT")]
    connect: HostPort,
    /// The CAs to trust (PEM or DER); not needed with --peer-key, --psk-identity or --identity-key
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The name or IP address that the server's certificate must have; the host of --connect unless given
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    server_name: Option<ServerName<'static>>,
    /// Check the name, but do not send it
    #[arg(long)]
    no_sni: bool,
    /// Own certificate, and the intermediate certificates above it (repeatable, preferred first; the server's CAs and
    /// signature schemes choose)
    #[arg(long = "cert", value_name = "FILE", requires = "keys")]
    certs: Vec<PathBuf>,
    /// Private key of the certificate (one for each --cert, in the same order); without any, its public half is the
    /// identity: a raw public key
    #[arg(long = "key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// Keep sessions in this file (mode 0600), and resume them: no certificates, no signatures
    #[arg(long, value_name = "FILE", help_heading = "Resumption")]
    resume_file: Option<PathBuf>,
    /// Send this text in the first flight if a session (--resume-file) or a ticket (--identity-file) allows it, else after
    /// the handshake. It is 0-RTT data, and can be replayed
    #[arg(long, value_name = "TEXT", help_heading = "Resumption")]
    early_data: Option<String>,
    /// With --identity-key and --early-data: send it also to a server that this client has no ticket of, but knows from
    /// its key file (terse pkg extract --with) or from before. It is not forward secret then
    #[arg(long, requires_all = ["identity_keys", "early_data"], help_heading = "Identity")]
    first_contact: bool,
    /// The identity that the server must have, such as device:broker or eui64:0200000000000001 [default: its DNS name]
    #[arg(long, value_name = "ID", requires = "identity_keys", help_heading = "Identity")]
    peer_identity: Option<Identity>,
    /// Send a key share beside the identity: a round trip less with servers that have certificates, 36 bytes more with
    /// others; needs --ca or --peer-key
    #[arg(long, requires = "identity_keys", help_heading = "Identity")]
    hedge: bool,
    /// Text to send
    #[arg(long, value_name = "TEXT")]
    send: Option<String>,
    /// Wait for N bytes from the server and print them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    expect: Option<u32>,
    /// Change the keys after sending, and ask the server to do the same
    #[arg(long)]
    key_update: bool,
    /// Connect N times, one after the other
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    #[command(flatten)]
    shared: Shared,
}

fn server_name(name: &str) -> Result<ServerName<'static>, String> {
    ServerName::try_from(name.to_owned()).map_err(|_| "not a DNS name or an IP address".into())
}

/// How long to wait for the server's close_notify after sending one.
const CLOSING_TIME: Duration = Duration::from_secs(2);

/// Runs the command.
/// The most bytes of early data that a client sends at first contact, where no server has said how many it takes.
const FIRST_CONTACT_SIZE: u32 = 0x4000;

pub(crate) fn run(args: ClientArgs, json: bool) -> Result<(), Failure> {
    let client = Client::new(args, json)?;
    for number in 1..=client.args.repeat {
        client.connect_once(number)?;
    }
    Ok(())
}

struct Client {
    args: ClientArgs,
    json: bool,
    config: Arc<ClientConfig>,
    server: ServerAddress,
    clock: Clock,
    cache_file: Option<Arc<CacheFile>>,
    session_file: Option<Arc<SessionFile>>,
    staples: Staples,
    crl_files: Option<CrlFiles>,
    identities: Option<Identities>,
}

impl Client {
    fn new(args: ClientArgs, json: bool) -> Result<Self, Failure> {
        let shared = &args.shared;
        shared.check_datagrams(&[])?;
        let name = match &args.server_name {
            Some(name) => name.clone(),
            None => server_name(&args.connect.host).map_err(|_| {
                let host = output::printable(&args.connect.host);
                Failure::Failed(format!("{host} is not a DNS name or an IP address; give the server's --server-name"))
            })?,
        };
        let has_trust = args.ca.is_some() || !shared.peer_keys.is_empty();
        if !has_trust && !shared.psk.is_given() && !shared.identity.is_given() {
            let advice = "give --ca, or --peer-key, or --psk-identity with --psk-file, or --identity-key";
            return Err(Failure::Usage(format!("there is nothing to know the server by; {advice}")));
        }
        if args.early_data.is_some() && args.resume_file.is_none() && !shared.identity.is_given() {
            let advice = "give --resume-file, or --identity-key with --identity-file";
            return Err(Failure::Usage(format!("--early-data needs what an earlier connection has left; {advice}")));
        }
        if args.hedge && !has_trust {
            return Err(Failure::Usage("--hedge is for servers with certificates; give --ca, or leave it out".into()));
        }
        let identities = Identities::load(&shared.identity)?;
        let (trust, crl_files) = shared.trust(args.ca.as_deref())?;
        let mut config = ClientConfig::builder(shared.crypto.provider());
        config.trust(trust);
        config.credentials(shared.credentials(&args.certs, &args.keys)?);
        let staples = Staples::load(shared.crypto.provider(), &shared.staples, config.config().credentials())?;
        config.psks(shared.psk.load()?.into_iter().collect::<Vec<_>>());
        if let Some(identities) = &identities {
            let is_hybrid = shared.groups.contains(&NamedGroup::X25519MLKEM768);
            let identity = identities.client()?.server(args.peer_identity.clone()).hedge(args.hedge).hybrid(is_hybrid);
            let first_contact = if args.first_contact { FIRST_CONTACT_SIZE } else { 0 };
            config.identity(identity.early_data(args.early_data.is_some()).first_contact(first_contact));
        }
        let session_file = args.resume_file.as_deref().map(sessions::open_file).transpose()?;
        let has_early_data = args.early_data.is_some();
        config.resumption(session_file.clone().map(|store| ClientResumption::new(store).early_data(has_early_data)));
        config.send_server_name(!args.no_sni);
        config.max_fragment_length(shared.max_fragment_length);
        config.compatibility_mode(shared.compat);
        let cache_file = shared.open_cache()?;
        config.cache(shared.client_cache(cache_file.clone()));
        if let Some(file) = &cache_file {
            let trust = config.config().trust().clone();
            config.trust(trust.with_issuers(file.issuers()));
        }
        shared.configure(config.common_mut())?;
        config.datagrams(shared.datagrams(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
        if shared.verbose {
            config.trace(Arc::new(TraceLog::new("")));
        }
        let config = Arc::new(config.build().map_err(|error| Failure::Failed(error.to_string()))?);
        let clock = shared.clock();
        let server = ServerAddress::new(name, args.connect.port);
        Ok(Self { config, server, clock, cache_file, session_file, crl_files, identities, staples, json, args })
    }

    /// Makes one connection, from the socket to close_notify, and prints its report.
    fn connect_once(&self, number: u32) -> Result<(), Failure> {
        self.crl_files.iter().for_each(CrlFiles::refresh);
        self.identities.iter().for_each(Identities::refresh);
        let mut channel = match self.open() {
            Ok(channel) => channel,
            Err(error) => {
                let transport = self.config.common().datagrams().map_or(Transport::Stream, |_| Transport::Datagram);
                let mut summary = Summary::default();
                summary.transport = transport;
                return self.failed(&summary, &error, &self.server.name.to_str());
            }
        };
        let result = self.converse(&mut channel);
        self.identities.iter().for_each(Identities::save);
        warn_unsaved(self.cache_file.as_deref().and_then(CacheFile::take_error));
        warn_unsaved(self.session_file.as_deref().and_then(SessionFile::take_error));
        match result {
            Ok((data, exported)) => self.report(number, channel.connection(), &data, exported.as_deref()),
            Err(error) => {
                let summary = channel.connection().summary().clone();
                if channel.connection().is_connected() {
                    let _ = channel.close(); // the error to report is the first one
                }
                channel.linger(CLOSING_TIME);
                let name = self.server.name.to_str();
                let peer = match (&error, channel.address()) {
                    // A name may have several addresses, and only one was tried.
                    (ConversationError::Net(NetError::NoAnswer(_)), Some(address)) => format!("{name} at {address}"),
                    _ => name.into_owned(),
                };
                self.failed(&summary, &error, &peer)
            }
        }
    }

    fn open(&self) -> Result<Channel, NetError> {
        self.staples.refresh();
        let HostPort { host, port } = &self.args.connect;
        let addresses = (host.as_str(), *port).to_socket_addrs().map_err(NetError::Io)?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        let shared = &self.args.shared;
        let connection = |config| Connection::client(config, self.server.clone(), self.clock.now(), &mut OsRng);
        if self.config.common().datagrams().is_none() {
            let socket = channel::connect_tcp(&addresses, shared.timeout()).map_err(NetError::Io)?;
            let mut transport = Timed::new(socket).map_err(NetError::Io)?;
            transport.set_limit(shared.timeout());
            let stream = Stream::new(connection(self.config.clone())?, transport, self.clock);
            return Ok(Channel::Stream(Box::new(stream)));
        }
        let (socket, address) = channel::connect_udp(&addresses).map_err(NetError::Io)?;
        let config = self.config.to_builder().datagrams(shared.datagrams(address.ip())).build().map_err(Error::from)?;
        let mut client = DatagramClient::new(connection(Arc::new(config))?, socket, self.clock);
        client.set_limit(shared.timeout());
        Ok(Channel::Datagrams(Box::new(client)))
    }

    /// Does everything between connecting and closing. Returns the data that was received, and the exported bytes.
    fn converse(&self, channel: &mut Channel) -> Result<(Vec<u8>, Option<String>), ConversationError> {
        let ClientArgs { early_data, send, expect, key_update, shared, .. } = &self.args;
        let early_data = early_data.as_deref().unwrap_or_default().as_bytes();
        let sent = if early_data.is_empty() { 0 } else { channel.send_early_data(early_data)? };
        // Text for early data comes first, and only after the handshake it is known whether the server accepted it.
        let (first, text) = match send.as_deref().unwrap_or_default().as_bytes() {
            text if early_data.is_empty() => (text, &[][..]),
            text => (&[][..], text),
        };
        channel.handshake_sending(first)?;
        let exported = export::hex(channel.connection(), shared.export.as_deref())?;
        channel.set_limit(shared.timeout());
        let accepted = channel.connection().summary().early_data == EarlyDataStatus::Accepted;
        channel.send(&early_data[if accepted { sent } else { 0 }..])?; // at most all of it was sent
        channel.send(text)?;
        if *key_update {
            channel.update_keys()?;
        }
        let mut data = Vec::new();
        if let Some(expected) = expect {
            receive(channel, *expected as usize, &mut data)?;
        }
        channel.close()?;
        await_close(channel, expect.is_none().then_some(&mut data))?;
        Ok((data, exported))
    }

    fn report(&self, number: u32, connection: &Connection, data: &[u8], exported: Option<&str>) -> Result<(), Failure> {
        let ended = Ended::new(connection, exported);
        if self.json {
            return ended.print_json();
        }
        if !data.is_empty() {
            output::data(data)?;
        }
        let HostPort { host, port } = &self.args.connect;
        let of = if self.args.repeat > 1 { format!(", connection {number}") } else { String::new() };
        ended.print_table(&format!("{host}:{port}{of}"))
    }

    fn failed(&self, summary: &Summary, error: &impl Explain, peer: &str) -> Result<(), Failure> {
        let problem = output::printable(&error.explain(peer));
        if self.json {
            Ended { summary, error: Some(&problem), alpn: None, exported: None }.print_json()?;
        }
        Err(Failure::Failed(problem))
    }
}

/// Waits for `expected` bytes.
fn receive(channel: &mut Channel, expected: usize, data: &mut Vec<u8>) -> Result<(), ConversationError> {
    let mut chunk = [0; 0x4000];
    while data.len() < expected {
        let room = chunk.len().min(expected - data.len());
        match channel.receive(&mut chunk[..room]) {
            Ok(0) => return Err(ConversationError::TooLittle { received: data.len(), expected }),
            Ok(len) => data.extend_from_slice(&chunk[..len]),
            Err(error) => {
                if error.is_timeout() {
                    channel.give_up();
                }
                return Err(error.into());
            }
        }
    }
    Ok(())
}

/// Waits a little for the server's close_notify. A server that refuses the client's certificate says so only now,
/// because a client's handshake is complete before the server has seen the certificate. A server that closes without a
/// close_notify is no error.
fn await_close(channel: &mut Channel, mut data: Option<&mut Vec<u8>>) -> Result<(), NetError> {
    const MAX_KEPT: usize = 0x10_0000;
    let end = Instant::now() + CLOSING_TIME;
    let mut chunk = [0; 0x4000];
    channel.set_limit(CLOSING_TIME);
    while Instant::now() < end {
        match channel.receive(&mut chunk) {
            Ok(0) | Err(NetError::Io(_) | NetError::Tls(Error::Truncated)) => break,
            Err(error) if error.is_timeout() => break,
            Ok(len) => {
                if let Some(data) = data.as_mut().filter(|data| data.len() < MAX_KEPT) {
                    data.extend_from_slice(&chunk[..len]);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Errors of a conversation.
enum ConversationError {
    Net(NetError),
    TooLittle { received: usize, expected: usize },
}

impl From<NetError> for ConversationError {
    fn from(error: NetError) -> Self {
        Self::Net(error)
    }
}

/// Explains an error in a line for people, for a connection with `peer`.
trait Explain {
    fn explain(&self, peer: &str) -> String;
}

impl Explain for NetError {
    fn explain(&self, peer: &str) -> String {
        explain(self, &peer).to_string()
    }
}

impl Explain for ConversationError {
    fn explain(&self, peer: &str) -> String {
        match self {
            Self::Net(error) => error.explain(peer),
            Self::TooLittle { received, expected } => {
                format!("{peer} closed the connection after {received} of {expected} expected bytes; check --expect")
            }
        }
    }
}
