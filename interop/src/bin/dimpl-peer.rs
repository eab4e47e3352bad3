//! dimpl is wrapped in a program that takes the same options and commands as those in `c/` (see `c/peer.h`), and
//! refuses those that dimpl cannot follow. dimpl shows the peer's leaf certificate alone, and leaves its verification
//! to its user: here rustls verifies it.
//!
//! What must always hold: a line of output is printed after its event; the program ends when its connections have.

use std::collections::HashMap;
use std::io::{self, BufRead, ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use dimpl::crypto::Dtls13CipherSuite;
use dimpl::{Config, Dtls, DtlsCertificate, NamedGroup, Output, ProtocolVersion};
use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let role = words.next().unwrap_or_default();
    if role == "version" {
        println!("dimpl 0.9");
        return ExitCode::SUCCESS;
    }
    let words: Result<Options, String> = words.map(|word| word.split_once('=').map(owned).ok_or(word)).collect();
    let peer = words.and_then(|options| Peer::new(role == "server", options));
    match peer.map(|mut peer| peer.run()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(wrong) => {
            eprintln!("{wrong}: dimpl cannot do that, or it is not known here");
            ExitCode::from(2)
        }
    }
}

type Options = HashMap<String, String>;

fn owned((word, value): (&str, &str)) -> (String, String) {
    (word.into(), value.into())
}

/// The configuration that all connections share.
struct Peer {
    is_server: bool,
    connections: usize,
    socket: UdpSocket,
    config: Arc<Config>,
    certificate: DtlsCertificate,
    roots: Arc<RootCertStore>,
    name: Option<ServerName<'static>>,
    /// The port to which a client sends.
    port: u16,
    version: Version,
    input: Receiver<String>,
}

#[derive(Clone, Copy)]
enum Version {
    Dtls12,
    Dtls13,
    Both,
}

impl Peer {
    fn new(is_server: bool, mut options: Options) -> Result<Self, String> {
        let mut take = |word: &str| options.remove(word);
        let file = |path: Option<String>| path.ok_or("a file that is not named");
        let der = CertificateDer::from_pem_file(file(take("chain"))?).map_err(|error| error.to_string())?; // the leaf
        let key = PrivateKeyDer::from_pem_file(file(take("key"))?).map_err(|error| error.to_string())?;
        let certificate = DtlsCertificate { certificate: der.as_ref().into(), private_key: key.secret_der().into() };
        let mut roots = RootCertStore::empty();
        let root = fs::read(file(take("ca"))?).map_err(|error| error.to_string())?;
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&root).flatten());
        let mut config = Config::builder();
        config = config.use_server_cookie(take("cookie").is_some());
        config = config.require_client_certificate(take("asks").is_some_and(|asks| asks == "required"));
        if let Some(datagram) = take("datagram").and_then(|datagram| datagram.parse().ok()) {
            config = config.mtu(datagram);
        }
        if let Some(suites) = take("suites") {
            config = config.dtls13_cipher_suites(&code_points(&suites, Dtls13CipherSuite::from_u16)?);
        }
        if let Some(groups) = take("groups") {
            config = config.kx_groups(&code_points(&groups, NamedGroup::from_u16)?);
        }
        let version = match take("versions").as_deref() {
            Some("1.2") => Version::Dtls12,
            Some("1.3") => Version::Dtls13,
            _ => Version::Both,
        };
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        let peer = Self {
            is_server,
            connections: take("connections").and_then(|number| number.parse().ok()).unwrap_or(1),
            socket,
            config: Arc::new(config.build().map_err(|error| error.to_string())?),
            certificate,
            roots: Arc::new(roots),
            name: take("name").and_then(|name| ServerName::try_from(name).ok()),
            port: take("port").and_then(|port| port.parse().ok()).unwrap_or(0),
            version,
            input: input(),
        };
        take("datagrams");
        match options.into_keys().next() {
            Some(word) => Err(word),
            None => Ok(peer),
        }
    }

    /// Runs all connections. Returns whether they succeeded.
    fn run(&mut self) -> bool {
        if self.is_server {
            say(format_args!("listening {}", self.socket.local_addr().expect("bound above").port()));
        }
        let mut well = true;
        for _ in 0..self.connections {
            let mut connection = self.connection();
            let result = connection.converse();
            if let Err(reason) = &result {
                say(format_args!("failed: {reason}"));
            }
            well &= result.is_ok();
            say(format_args!("over"));
        }
        well
    }

    fn connection(&self) -> Connection<'_> {
        let now = Instant::now();
        let (config, certificate) = (self.config.clone(), self.certificate.clone());
        let mut dtls = match self.version {
            Version::Dtls12 => Dtls::new_12(config, certificate, now),
            Version::Dtls13 => Dtls::new_13(config, certificate, now),
            Version::Both => Dtls::new_auto(config, certificate, now),
        };
        dtls.set_active(!self.is_server);
        let address = (!self.is_server).then(|| (Ipv4Addr::LOCALHOST, self.port).into());
        Connection { peer: self, dtls, address, timeout: now, is_connected: false, ended: false, closing: None }
    }

    /// Accepts a certificate that the other role may have.
    fn judge(&self, leaf: &[u8]) -> Result<(), String> {
        let (leaf, now) = (CertificateDer::from(leaf), UnixTime::now());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let outcome = match &self.name {
            Some(name) => {
                let verifier = WebPkiServerVerifier::builder_with_provider(self.roots.clone(), provider).build();
                verifier.map_err(|error| error.to_string())?.verify_server_cert(&leaf, &[], name, &[], now).map(drop)
            }
            None => {
                let verifier = WebPkiClientVerifier::builder_with_provider(self.roots.clone(), provider).build();
                verifier.map_err(|error| error.to_string())?.verify_client_cert(&leaf, &[], now).map(drop)
            }
        };
        outcome.map_err(|error| error.to_string())
    }
}

struct Connection<'a> {
    peer: &'a Peer,
    dtls: Dtls,
    /// The address of the other side; a server learns it from the first datagram.
    address: Option<SocketAddr>,
    timeout: Instant,
    is_connected: bool,
    ended: bool,
    /// The time until which the other side's close_notify is awaited.
    closing: Option<Instant>,
}

impl Connection<'_> {
    fn converse(&mut self) -> Result<(), String> {
        let text = |error: dimpl::Error| error.to_string();
        self.dtls.handle_timeout(Instant::now()).map_err(text)?;
        let mut buffer = [0; 0x1_0000];
        while !self.ended {
            self.drain()?;
            self.obey().map_err(text)?;
            let now = Instant::now();
            if self.closing.is_some_and(|end| end <= now) {
                break;
            }
            let pause = self.timeout.saturating_duration_since(now).clamp(Duration::from_millis(1), PAUSE);
            self.peer.socket.set_read_timeout(Some(pause)).expect("longer than nothing");
            let received = self.peer.socket.recv_from(&mut buffer);
            self.dtls.handle_timeout(Instant::now()).map_err(text)?;
            match received {
                Ok((len, from)) if self.is_the_peer(from, &buffer[..len]) => {
                    self.dtls.handle_packet(&buffer[..len]).map_err(text)?;
                }
                Ok(_) => {} // it is of a client that has gone, or is not known yet
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// Whether a datagram belongs to this connection. A server's connection begins with a ClientHello.
    fn is_the_peer(&mut self, from: SocketAddr, datagram: &[u8]) -> bool {
        if self.address.is_none() && datagram.first() == Some(&HANDSHAKE) && datagram.get(13) == Some(&CLIENT_HELLO) {
            self.address = Some(from);
        }
        self.address == Some(from)
    }

    /// Carries out what dimpl requests.
    fn drain(&mut self) -> Result<(), String> {
        let mut buffer = vec![0; 0x4000];
        loop {
            match self.dtls.poll_output(&mut buffer) {
                Output::Packet(datagram) => {
                    let address = self.address.ok_or("a datagram for nobody")?;
                    self.peer.socket.send_to(datagram, address).map_err(|error| error.to_string())?;
                }
                Output::BufferTooSmall { needed } => buffer.resize(needed, 0),
                Output::Timeout(at) => {
                    self.timeout = at;
                    return Ok(());
                }
                Output::PeerCert(leaf) => self.peer.judge(leaf)?,
                Output::Connected => {
                    let is_13 = self.dtls.protocol_version() == Some(ProtocolVersion::DTLS1_3);
                    say(format_args!("version {}\nconnected", if is_13 { "1.3" } else { "1.2" }));
                    self.is_connected = true;
                }
                Output::ApplicationData(data) => {
                    let mut stdout = io::stdout();
                    let _ = stdout.write_all(data).and_then(|()| stdout.flush()); // its reader may have gone
                }
                Output::CloseNotify => {
                    if self.closing.is_none() {
                        say(format_args!("closed by the peer"));
                        let _ = self.dtls.close(); // dimpl may have closed by itself
                        self.closing = Some(Instant::now() + PAUSE);
                    } else {
                        self.ended = true;
                    }
                }
                _ => {}
            }
        }
    }

    /// Sends the lines that were read, and obeys the commands among them.
    fn obey(&mut self) -> Result<(), dimpl::Error> {
        while self.is_connected && self.closing.is_none() {
            match self.peer.input.try_recv() {
                Ok(line) if line == "!close" => {
                    self.dtls.close()?;
                    self.closing = Some(Instant::now() + FAREWELL);
                }
                Ok(line) => drop(self.dtls.send_application_data(format!("{line}\n").as_bytes())?),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        Ok(())
    }
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// The longest wait at a time, so that input is noticed.
const PAUSE: Duration = Duration::from_millis(10);

/// The time that a peer may take for its close_notify.
const FAREWELL: Duration = Duration::from_secs(2);

fn code_points<T>(list: &str, make: fn(u16) -> T) -> Result<Vec<T>, String> {
    list.split(',').map(|digits| u16::from_str_radix(digits, 16).map(make).map_err(|_| list.to_owned())).collect()
}

/// Prints a line on standard error.
fn say(line: core::fmt::Arguments<'_>) {
    eprintln!("{line}");
}

/// Returns a channel of the lines of standard input.
fn input() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lock().lines().map_while(Result::ok);
        lines.try_for_each(|line| sender.send(line))
    });
    receiver
}
