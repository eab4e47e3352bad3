//! `terse demo` takes a sensor from its factory into a plant, where it earns a certificate, and connects it to a broker on
//! loopback again and again, over TCP and over UDP. A table shows what the later handshakes left out.
//!
//! What must always hold: the exit code is 0 only if every step did what its name says; the connections use the certificate
//! that the sensor has earned.

use alloc::sync::Arc;
use core::time::Duration;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use terse_ibc::Generator;
use terse_net::pki_types::ServerName;
use terse_net::{Clock, OsRng, Report};
use terse_pki::{Authority, AuthorityOptions, Chain, KeyAlgorithm, LeafOptions, Validity};
use terse_tls::FallbackReason;
use terse_tls::cache::Scheme;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::resume::{ClientResumption, MemoryClientSessions, ServerResumption, TicketKeys};
use terse_tls::summary::{Mode, Summary, Transport};
use terse_tls::{
    ClientAuthentication, ClientConfig, ClientIdentity, ConfigBuilder, Credential, ServerConfig, ServerIdentity, Trust,
};

use crate::failure::Failure;
use crate::{output, services};

mod meet;
mod onboarding;
mod processes;
mod table;

use meet::Outcome;
use onboarding::{Onboarded, Phase};

const EXAMPLE: &str = "Example:
  terse demo --algorithm rsa2048 --chain 3";

/// A device is onboarded, and meets a server again and again; what the later meetings did without.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DemoArgs {
    /// Key algorithm: p256, p384, ed25519, rsa2048, rsa3072 or rsa4096; with rsa the sensor's own key is p256
    #[arg(long, default_value_t = KeyAlgorithm::P256)]
    algorithm: KeyAlgorithm,
    /// Certificates from leaf to root, both counted: 2 to 8 (the root is not sent)
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u8).range(2..=8))]
    chain: u8,
}

const BROKER: &str = "broker.plant.example";
const SENSOR: &str = "sensor17.plant.example";

/// A step: how the two connect, what the client may leave out, and the expected mode.
#[derive(Clone, Copy)]
struct Plan {
    name: &'static str,
    transport: Transport,
    schemes: Schemes,
    mode: Mode,
}

impl Plan {
    const fn new(name: &'static str, transport: Transport, schemes: Schemes, mode: Mode) -> Self {
        Self { name, transport, schemes, mode }
    }
}

const STEPS: [Plan; 9] = [
    Plan::new("full", Transport::Stream, Schemes::COMPACT, Mode::Full),
    Plan::new("rfc7924", Transport::Stream, Schemes::RFC7924, Mode::Cached(Scheme::Rfc7924)),
    Plan::new("cached", Transport::Stream, Schemes::COMPACT, Mode::Cached(Scheme::Compact)),
    Plan::new("resumed", Transport::Stream, Schemes::COMPACT, Mode::Resumed),
    Plan::new("identity", Transport::Stream, Schemes::COMPACT, Mode::Identity),
    Plan::new("dtls_full", Transport::Datagram, Schemes::COMPACT, Mode::Full),
    Plan::new("dtls_cached", Transport::Datagram, Schemes::COMPACT, Mode::Cached(Scheme::Compact)),
    Plan::new("dtls_resumed", Transport::Datagram, Schemes::COMPACT, Mode::Resumed),
    Plan::new("dtls_identity", Transport::Datagram, Schemes::COMPACT, Mode::Identity),
];

/// The lifetime of sessions in seconds, which is longer than the demonstration.
const SESSION_LIFETIME: u32 = 3600;

/// Runs the command.
pub(crate) fn run(args: &DemoArgs, json: bool) -> Result<(), Failure> {
    let chain = Chain::new(args.algorithm, args.chain.into()).map_err(failed)?;
    services::run(async {
        let mut stop = services::stop()?;
        let demo = tokio::select! {
            biased;
            _ = stop.wait_for(|is_stopped| *is_stopped) => return Err(Failure::Failed("interrupted".into())),
            demo = Demo::new(chain) => demo?,
        };
        // From here on nothing is left behind, whenever it ends.
        tokio::spawn(async move {
            if stop.wait_for(|is_stopped| *is_stopped).await.is_ok() {
                std::process::exit(1);
            }
        });
        tokio::task::block_in_place(|| demo.show(chain, json))
    })
}

/// Both parties, with all that they keep between connections.
struct Demo {
    /// How the sensor has earned its certificate.
    onboarded: Onboarded,
    client: ConfigBuilder<ClientConfig>,
    client_store: Arc<MemoryClientStore>,
    sessions: Arc<MemoryClientSessions>,
    /// The sensor's identity key, which stands in the place of its certificate.
    identity: ClientIdentity,
    server: ConfigBuilder<ServerConfig>,
    name: ServerName<'static>,
    clock: Clock,
}

/// One connection, as both sides saw it.
pub(crate) struct Step {
    name: &'static str,
    time: Duration,
    pub(crate) client: Summary,
    pub(crate) server: Summary,
    problem: Option<String>,
}

/// The JSON object of the onboarding.
#[derive(serde::Serialize)]
struct Onboarding<'a> {
    step: &'static str,
    ok: bool,
    ms: f64,
    serial: &'static str,
    assertion: &'a str,
    phases: &'a [Phase],
    processes: [&'static str; 4],
}

/// The JSON object of a connection; `summary` is the client's.
#[derive(serde::Serialize)]
struct Line<'a> {
    step: &'static str,
    ok: bool,
    ms: f64,
    summary: Report<'a>,
}

impl Demo {
    async fn new(chain: Chain) -> Result<Self, Failure> {
        let provider = &terse_aws_lc::PROVIDER;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since_1970.map_err(|_| Failure::Failed("this machine's clock is before 1970; set it".into()))?;
        let validity = Validity::days(now.as_secs().saturating_sub(3600), 30);
        let options =
            |chain, name: &str| AuthorityOptions { name: name.into(), ..AuthorityOptions::new(chain, validity) };
        let plant = Authority::new(&options(chain, "Plant CA")).map_err(failed)?;
        // The broker trusts devices of two CAs, and names both: that makes its CertificateRequest worth caching.
        let vendor_chain = Chain::new(KeyAlgorithm::P256, 2).map_err(failed)?;
        let vendor = Authority::new(&options(vendor_chain, "Sensor Vendor CA")).map_err(failed)?;
        // A device signs its requests with ECDSA or Ed25519, also where the CA has RSA.
        let algorithm = match chain.algorithm() {
            algorithm @ (KeyAlgorithm::P384 | KeyAlgorithm::Ed25519) => algorithm,
            _ => KeyAlgorithm::P256,
        };
        let onboarded = onboarding::run(&plant, algorithm, validity, now.as_secs()).await?;
        let issued = plant.issue(&LeafOptions::new(BROKER, validity)).map_err(failed)?;
        let key = provider.load_key(issued.key()).map_err(failed)?;
        let broker = Credential::new(issued.chain().to_vec(), key).map_err(failed)?;
        let trust = |roots: &[&Authority]| {
            let anchors: Vec<_> = roots.iter().map(|authority| authority.root().clone()).collect();
            Trust::new(&anchors).map_err(failed)
        };

        let mut client = ClientConfig::builder(provider);
        client.trust(trust(&[&plant])?);
        client.credentials(vec![onboarded.credential.clone()]);
        let mut server = ServerConfig::builder(provider);
        server.credential(broker);
        server.client_authentication(ClientAuthentication::Required(trust(&[&plant, &vendor])?));
        server.certificate_authorities(true);
        let keys = TicketKeys::new(provider.tls13_suites[0].aead, SESSION_LIFETIME, 0).map_err(failed)?;
        server.resumption(Some(ServerResumption::Stateless(Arc::new(keys))));
        server.cache(Some(ServerCache::new(Arc::new(MemoryServerStore::new(16)), Schemes::COMPACT)));
        let keys =
            Generator::new(IdentityAlgorithm::Ristretto255, 1, validity.not_after, &mut OsRng).map_err(failed)?;
        let issue = |name: &str| keys.issue(&format!("dns:{name}").parse().map_err(failed)?).map_err(failed);
        server.identity(ServerIdentity::new([issue(BROKER)?]));
        let identity = ClientIdentity::new(issue(SENSOR)?);
        Ok(Self {
            onboarded,
            client,
            identity,
            client_store: Arc::new(MemoryClientStore::new(16)),
            sessions: Arc::new(MemoryClientSessions::new(16)),
            server,
            name: ServerName::try_from(BROKER).map_err(failed)?,
            clock: Clock::new(),
        })
    }

    /// Connects again and again, and shows how each time.
    fn show(&self, chain: Chain, json: bool) -> Result<(), Failure> {
        if json {
            output::json(&self.onboarding())?;
        }
        let mut steps = Vec::new();
        for plan in STEPS {
            if plan.mode == Mode::Resumed {
                self.fetch_ticket(plan)?;
            }
            let step = self.meet(plan, plan.mode == Mode::Resumed)?;
            if json {
                output::json(&step.line())?;
            }
            if let Some(problem) = step.problem {
                return Err(Failure::Failed(format!("step {}: {problem}", plan.name)));
            }
            steps.push(step);
        }
        if !json {
            output::line(table::table(chain, self.onboarded.report.ms, &steps))?;
        }
        Ok(())
    }

    /// Makes a connection that is not shown, so that the sensor has a session to resume: it requests none before.
    fn fetch_ticket(&self, plan: Plan) -> Result<(), Failure> {
        match self.meet(Plan { mode: Mode::Cached(Scheme::Compact), ..plan }, true)?.problem {
            None => Ok(()),
            Some(problem) => Err(Failure::Failed(format!("before step {}: {problem}", plan.name))),
        }
    }

    /// Makes a connection. Fails if the two cannot be brought together at all.
    fn meet(&self, plan: Plan, resumes: bool) -> Result<Step, Failure> {
        let mut config = self.client.clone();
        config.cache(Some(ClientCache::new(self.client_store.clone(), plan.schemes)));
        config.resumption(resumes.then(|| ClientResumption::new(self.sessions.clone())));
        if plan.mode == Mode::Identity {
            config.trust(Trust::nobody()).credentials(Vec::new()).cache(None).identity(self.identity.clone());
        }
        let start = Instant::now();
        let met = match plan.transport {
            Transport::Datagram => self.meet_over_datagrams(config)?,
            _ => self.meet_over_a_stream(config)?,
        };
        let Outcome { client, server, problem } = met;
        let problem = problem.or_else(|| unexpected(&client, &server, plan.mode));
        Ok(Step { name: plan.name, time: start.elapsed(), client, server, problem })
    }
}

impl Demo {
    /// Returns the JSON object of the first step.
    fn onboarding(&self) -> Onboarding<'_> {
        let report = &self.onboarded.report;
        Onboarding {
            step: "onboard",
            ok: true,
            ms: report.ms,
            serial: onboarding::SERIAL,
            assertion: &report.assertion,
            phases: &report.phases,
            processes: onboarding::PROCESSES,
        }
    }
}

impl Step {
    fn line(&self) -> Line<'_> {
        Line {
            step: self.name,
            ok: self.problem.is_none(),
            ms: ms(self.time),
            summary: Report::new(&self.client, self.problem.as_deref()),
        }
    }
}

/// Returns the difference from the expected mode, if there is one.
fn unexpected(client: &Summary, server: &Summary, mode: Mode) -> Option<String> {
    if client.mode != mode || server.mode != mode {
        let reason = client.fallback.or(server.fallback).map_or("no reason given", FallbackReason::text);
        return Some(format!(
            "the handshake was {} for the sensor and {} for the broker, not {mode} ({reason})",
            client.mode, server.mode
        ));
    }
    let verified = [client, server].map(|summary| summary.signatures_verified > 0);
    let due = match mode {
        Mode::Full => [true, true],
        Mode::Cached(Scheme::Rfc7924) => [false, true],
        _ => [false, false],
    };
    (verified != due).then(|| {
        let counts = [client, server].map(|summary| output::count(summary.signatures_verified, "signature"));
        format!("the sensor verified {} of certificates and the broker {}", counts[0], counts[1])
    })
}

/// Returns milliseconds with the precision of microseconds.
fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}
