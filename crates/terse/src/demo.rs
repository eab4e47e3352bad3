//! `terse demo`: a sensor and a broker meet on loopback again and again, with certificates made for the occasion, and a
//! table says what the later meetings did without.
//!
//! What must always hold: the exit code is 0 only if every step did what its name says.

use alloc::sync::Arc;
use core::time::Duration;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use terse_net::pki_types::ServerName;
use terse_net::{Clock, NetError, OsRng, Report, Stream, Timed, explain};
use terse_pki::{Authority, AuthorityOptions, Chain, KeyAlgorithm, LeafOptions, Validity};
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::crypto::CryptoProvider;
use terse_tls::resume::{ClientResumption, MemoryClientSessions, ServerResumption, TicketKeys};
use terse_tls::summary::{Mode, Summary};
use terse_tls::{ClientAuthentication, ClientConfig, Connection, Credential, ServerAddress, ServerConfig, Trust};

use crate::failure::Failure;
use crate::output;

mod table;

const EXAMPLE: &str = "Example:
  terse demo --algorithm rsa2048 --chain 3";

/// Two parties meet again and again; what the later meetings did without.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DemoArgs {
    /// Key algorithm: p256, p384, ed25519, rsa2048, rsa3072 or rsa4096
    #[arg(long, default_value_t = KeyAlgorithm::P256)]
    algorithm: KeyAlgorithm,
    /// Certificates from leaf to root, both counted: 2 to 9 (the root is not sent)
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u8).range(2..=9))]
    chain: u8,
}

const BROKER: &str = "broker.plant.example";
const SENSOR: &str = "sensor17.plant.example";

/// The steps: name, what the client takes part in, what must come of it.
const STEPS: [(&str, Schemes, Mode); 4] = [
    ("full", Schemes::BITHAC, Mode::Full),
    ("rfc7924", Schemes::RFC7924, Mode::Rfc7924),
    ("cached", Schemes::BITHAC, Mode::Bithac),
    ("resumed", Schemes::BITHAC, Mode::Resumed),
];

/// How long a session can be resumed, in seconds: the demonstration is shorter.
const SESSION_LIFETIME: u32 = 3600;

/// No step takes longer, whatever the machine is doing.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Runs the command.
pub(crate) fn run(args: &DemoArgs, json: bool) -> Result<(), Failure> {
    let chain = Chain::new(args.algorithm, args.chain.into()).map_err(failed)?;
    let demo = Demo::new(chain)?;
    let mut steps = Vec::new();
    for (name, schemes, mode) in STEPS {
        if mode == Mode::Resumed {
            demo.fetch_ticket()?;
        }
        let step = demo.step(name, schemes, mode)?;
        if json {
            output::json(&step.line())?;
        }
        if let Some(problem) = step.problem {
            return Err(Failure::Failed(format!("step {name}: {problem}")));
        }
        steps.push(step);
    }
    if !json {
        output::line(table::table(chain, &steps))?;
    }
    Ok(())
}

/// Both parties, before they meet.
struct Demo {
    client: ClientConfig,
    client_store: Arc<MemoryClientStore>,
    sessions: Arc<MemoryClientSessions>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
    clock: Clock,
}

/// One meeting, as both sides saw it.
pub(crate) struct Step {
    name: &'static str,
    time: Duration,
    pub(crate) client: Summary,
    pub(crate) server: Summary,
    problem: Option<String>,
}

/// A step on a line of JSON; `summary` is the client's.
#[derive(serde::Serialize)]
struct Line<'a> {
    step: &'static str,
    ok: bool,
    ms: f64,
    summary: Report<'a>,
}

impl Demo {
    fn new(chain: Chain) -> Result<Self, Failure> {
        let provider = &terse_aws_lc::PROVIDER;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since_1970.map_err(|_| Failure::Failed("this machine's clock is before 1970; set it".into()))?;
        let validity = Validity::days(now.as_secs().saturating_sub(3600), 30);
        let options =
            |chain, name: &str| AuthorityOptions { name: name.into(), ..AuthorityOptions::new(chain, validity) };
        let plant = Authority::new(&options(chain, "Plant CA")).map_err(failed)?;
        // The broker knows devices of two CAs, and tells them: that makes its CertificateRequest worth caching.
        let vendor_chain = Chain::new(KeyAlgorithm::P256, 2).map_err(failed)?;
        let vendor = Authority::new(&options(vendor_chain, "Sensor Vendor CA")).map_err(failed)?;
        let credential = |name| {
            let issued = plant.issue(&LeafOptions::new(name, validity)).map_err(failed)?;
            let key = (provider.load_key)(issued.key()).map_err(failed)?;
            Credential::new(provider, issued.chain().to_vec(), key).map_err(failed)
        };
        let trust = |roots: &[&Authority]| {
            let anchors: Vec<_> = roots.iter().map(|authority| authority.root().clone()).collect();
            Trust::new(provider, &anchors).map_err(failed)
        };

        let mut client = ClientConfig::new(provider, trust(&[&plant])?);
        client.credential = Some(credential(SENSOR)?);
        thrifty(&mut client, provider);
        let mut server = ServerConfig::new(provider, credential(BROKER)?);
        server.client_authentication = ClientAuthentication::Required(trust(&[&plant, &vendor])?);
        server.certificate_authorities = true;
        let keys = TicketKeys::new(provider.tls13_suites[0].aead, SESSION_LIFETIME, 0).map_err(failed)?;
        server.resumption = Some(ServerResumption::Stateless(Arc::new(keys)));
        server.cache = Some(ServerCache { store: Arc::new(MemoryServerStore::new(16)), schemes: Schemes::BITHAC });
        Ok(Self {
            client,
            client_store: Arc::new(MemoryClientStore::new(16)),
            sessions: Arc::new(MemoryClientSessions::new(16)),
            server: Arc::new(server),
            name: ServerName::try_from(BROKER).map_err(failed)?,
            clock: Clock::new(),
        })
    }

    /// The two meet once more, unseen, so that the sensor has a session to resume: it asks for none before.
    fn fetch_ticket(&self) -> Result<(), Failure> {
        match self.meet("ticket", Schemes::BITHAC, Mode::Bithac, true)?.problem {
            None => Ok(()),
            Some(problem) => Err(Failure::Failed(format!("before step resumed: {problem}"))),
        }
    }

    fn step(&self, name: &'static str, schemes: Schemes, mode: Mode) -> Result<Step, Failure> {
        self.meet(name, schemes, mode, mode == Mode::Resumed)
    }

    /// The two meet. Fails if they cannot even be brought together.
    fn meet(&self, name: &'static str, schemes: Schemes, mode: Mode, resumes: bool) -> Result<Step, Failure> {
        let no_socket = |error| Failure::Failed(format!("no connection on loopback: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(no_socket)?;
        let address = listener.local_addr().map_err(no_socket)?;
        let start = Instant::now();
        // A connection is complete before it is accepted.
        let client_socket = TcpStream::connect(address).map_err(no_socket)?;
        let (server_socket, _) = listener.accept().map_err(no_socket)?;

        // The port is part of what the client caches for, and loopback picks a new one each time.
        let address = ServerAddress { name: self.name.clone(), port: 8883 };
        let mut config = self.client.clone();
        config.cache = Some(ClientCache { store: self.client_store.clone(), schemes });
        config.resumption = resumes.then(|| ClientResumption::new(self.sessions.clone()));
        let client = Connection::client(Arc::new(config), address, self.clock.now(), &mut OsRng).map_err(failed)?;
        let server = Connection::server(self.server.clone(), self.clock.now()).map_err(failed)?;
        let mut client = self.stream(client, client_socket).map_err(no_socket)?;
        let mut server = self.stream(server, server_socket).map_err(no_socket)?;

        let (client_result, server_result) = thread::scope(|scope| {
            let broker = scope.spawn(|| be_broker(&mut server));
            let client_result = be_sensor(&mut client);
            if client_result.is_err() {
                client.transport_mut().linger(Duration::from_secs(2));
            }
            (client_result, broker.join())
        });
        let time = start.elapsed();
        let (client, server) = (client.connection().summary().clone(), server.connection().summary().clone());
        let problem = match (client_result, server_result) {
            (_, Err(_)) => Some("the broker's thread panicked".into()),
            (Err(error), _) => Some(explain(&error, &BROKER).to_string()),
            (_, Ok(Err(error))) => Some(explain(&error, &SENSOR).to_string()),
            _ => unexpected(&client, &server, mode),
        };
        Ok(Step { name, time, client, server, problem })
    }

    fn stream(&self, connection: Connection, socket: TcpStream) -> std::io::Result<Stream<Timed>> {
        let mut transport = Timed::new(socket)?;
        transport.set_limit(TIME_LIMIT);
        Ok(Stream::new(connection, transport, self.clock))
    }
}

impl Step {
    fn line(&self) -> Line<'_> {
        Line {
            step: self.name,
            ok: self.problem.is_none(),
            ms: (self.time.as_secs_f64() * 1e6).round() / 1e3,
            summary: Report::new(&self.client, self.problem.as_deref()),
        }
    }
}

/// A device offers what it needs, and not everything that it could do: a suite and a group.
fn thrifty(client: &mut ClientConfig, provider: &CryptoProvider) {
    client.common.suites = provider.tls13_suites.iter().take(1).map(|suite| suite.id).collect();
    client.common.groups.truncate(1);
}

/// Sends a measurement, reads the answer, and waits for the end: only then is the cache entry confirmed.
fn be_sensor(stream: &mut Stream<Timed>) -> Result<(), NetError> {
    stream.handshake()?;
    stream.send(b"21.5 C")?;
    let mut answer = [0; 16];
    stream.receive(&mut answer)?;
    stream.close()?;
    while stream.receive(&mut answer)? > 0 {}
    Ok(())
}

fn be_broker(stream: &mut Stream<Timed>) -> Result<(), NetError> {
    stream.handshake()?;
    let mut measurement = [0; 16];
    while stream.receive(&mut measurement)? > 0 {
        stream.send(b"noted")?;
    }
    stream.close()
}

/// What differs from what the step must show.
fn unexpected(client: &Summary, server: &Summary, mode: Mode) -> Option<String> {
    if client.mode != mode || server.mode != mode {
        let reason = client.fallback.or(server.fallback).unwrap_or("no reason given");
        return Some(format!(
            "the handshake was {} for the sensor and {} for the broker, not {mode} ({reason})",
            client.mode, server.mode
        ));
    }
    let verified = [client, server].map(|summary| summary.signatures_verified > 0);
    let due = match mode {
        Mode::Full => [true, true],
        Mode::Rfc7924 => [false, true],
        _ => [false, false],
    };
    (verified != due).then(|| {
        let counts = [client, server].map(|summary| output::count(summary.signatures_verified, "signature"));
        format!("the sensor verified {} of certificates and the broker {}", counts[0], counts[1])
    })
}

fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}
