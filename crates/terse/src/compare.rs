//! `terse compare` runs every handshake mode side by side on a simulated link, and prints bytes by message and by
//! layer, packets, round trips, times and signatures; processor time and heap if requested.
//!
//! What must always hold: a row describes only connections whose mode and setting are the row's.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use terse_pki::Chain;
use terse_sim::Exchange;
use terse_sim::compare::{Comparison, Failed, Mode, Row, Setting, Version};
use terse_tls::{CipherSuite, NamedGroup, SignatureScheme};

use crate::failure::Failure;
use crate::options::{self, Crypto};
use crate::output;

pub(crate) mod certificates;
mod devices;
pub(crate) mod files;
mod itls;
mod network;
pub(crate) mod one_length;
mod probe;
pub(crate) mod report;
pub(crate) mod table;

use certificates::{Algorithms, Chains};

const EXAMPLE: &str = "Examples:
  terse compare --mtu 1500 --mtu 576 --mtu 127 --html report.html
  terse compare --link ieee802154 --loss 5 --runs 100 --transport datagram --certificates p256x3
  terse compare --device cortex-m4,server --tls 1.3 --certificates p256x3 --suite TLS_AES_128_CCM_SHA256
  terse compare --paper itls --html itls.html";

/// How many connections a row has unless `--runs` says otherwise.
const RUNS: u16 = 10;

/// Full, cached, resumed, pre-shared-key and identity-key handshakes on the same simulated link, side by side.
///
/// Each connection carries one message each way and closes. Modes that need an earlier connection have one, which is not
/// counted. The engine is the real one; TCP, UDP and the link are simulated, in virtual time. Computing takes none of it,
/// unless --device says on what both sides compute.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct CompareArgs {
    /// Repeat the evaluation of a paper instead, and show it beside the paper's numbers: docs/itls-paper.md
    #[arg(long, value_name = "PAPER", conflicts_with_all = itls::NOT_WITH_PAPER, help_heading = "What is compared")]
    paper: Option<KnownPaper>,
    /// Certificates of both sides: rsa2048, rsa3072, rsa4096, p256, p384 or ed25519, then x and how many from leaf to root
    /// (2 to 8, the root is not sent)
    #[arg(long, value_name = "CHAIN", default_value = "rsa2048x3", help_heading = "What is compared")]
    certificates: Chain,
    /// Certificates of the server, if they differ
    #[arg(long, value_name = "CHAIN", help_heading = "What is compared")]
    server_certificates: Option<Chain>,
    /// Only this version of TLS and DTLS (repeatable) [default: both]
    #[arg(long, value_name = "VERSION", help_heading = "What is compared")]
    tls: Vec<ProtocolVersion>,
    /// Only over a stream (TLS, TCP) or over datagrams (DTLS, UDP) (repeatable) [default: both]
    #[arg(long, value_name = "TRANSPORT", help_heading = "What is compared")]
    transport: Vec<Transport>,
    /// Only this mode: full, rfc7924, bithac, compact, resumed, psk, identity-first, identity or identity-bls12381
    /// (repeatable) [default: all]
    #[arg(long, value_name = "MODE", help_heading = "What is compared")]
    mode: Vec<Mode>,
    /// Allow only this cipher suite (repeatable) [default: AES-128-GCM; with psk in version 1.2, CCM_8]
    #[arg(long = "suite", value_name = "NAME", value_parser = options::suite, help_heading = "What is compared")]
    suites: Vec<CipherSuite>,
    /// Allow only this key exchange group (repeatable) [default: x25519]
    #[arg(long = "group", value_name = "NAME", value_parser = options::group, help_heading = "What is compared")]
    groups: Vec<NamedGroup>,
    /// Accept only this signature scheme (repeatable) [default: those that the certificates need]
    #[arg(long = "sigalg", value_name = "NAME", value_parser = options::signature_scheme, help_heading = "What is compared")]
    signature_schemes: Vec<SignatureScheme>,
    /// Do not send the server's name
    #[arg(long, help_heading = "What is compared")]
    no_sni: bool,
    /// DTLS servers do not make sure of a client's address first (DTLS 1.3)
    #[arg(long, help_heading = "What is compared")]
    no_cookie: bool,
    /// How long DTLS waits before it sends a flight again, at least; a slow link wants more
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(10..=600_000), help_heading = "What is compared")]
    dtls_timeout: u32,
    /// Send the client's message with its first flight where the mode has early data: resumed, identity (under a ticket),
    /// identity-first and identity-bls12381 (at first contact). The columns about the request show what it gains
    #[arg(long)]
    early_data: bool,
    /// Bytes of the client's message
    #[arg(long, value_name = "N", default_value_t = Exchange::default().request, value_parser = message_len, help_heading = "What is compared")]
    request: usize,
    /// Bytes of the server's message
    #[arg(long, value_name = "N", default_value_t = Exchange::default().reply, value_parser = message_len, help_heading = "What is compared")]
    reply: usize,
    /// Where the cryptography comes from. The same run gives the same bytes with rustcrypto only, which does not sign with RSA
    #[arg(long, value_name = "PROVIDER", default_value = "aws-lc", help_heading = "What is compared")]
    crypto: Crypto,

    #[command(flatten)]
    files: certificates::Files,

    #[command(flatten)]
    network: network::NetworkOptions,

    #[command(flatten)]
    devices: devices::DeviceOptions,

    /// Connections for each row, each with a seed of its own: the row is the one with the median of bytes [default: 10;
    /// with --paper, where packets are lost: 500, and the mean]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000), help_heading = "How it is measured")]
    runs: Option<u16>,
    /// What losses follow from; with --crypto rustcrypto, all randomness of handshakes
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "How it is measured")]
    seed: u64,
    /// Measure the processor time of both sides' engines, from the first packet to the last: median of the runs
    #[arg(long, help_heading = "How it is measured")]
    cpu: bool,
    /// Measure the heap of both sides; needs --crypto rustcrypto, since AWS-LC allocates where it cannot be counted
    #[arg(long, conflicts_with = "device", help_heading = "How it is measured")]
    memory: bool,

    /// Print the sizes of handshake messages, too
    #[arg(long, help_heading = "Output")]
    messages: bool,
    /// Write the rows as comma-separated values (- for standard output, instead of the table)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,
    /// Write a report with figures, in one file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Write the packets of each row, for Wireshark, with the secrets that decrypt them
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pcapng: Option<PathBuf>,
    /// Write the secrets (NSS key log format)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    keylog: Option<PathBuf>,
}

/// A paper whose evaluation can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KnownPaper {
    /// Identity-based handshakes: tables I and II, figures 4 to 8
    Itls,
}

/// A version, of TLS and of DTLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProtocolVersion {
    /// TLS 1.2 and DTLS 1.2
    #[value(name = "1.2")]
    V12,
    /// TLS 1.3 and DTLS 1.3
    #[value(name = "1.3")]
    V13,
}

/// What carries records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// TCP
    Stream,
    /// UDP
    Datagram,
}

fn message_len(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(len) if (1..=16_384).contains(&len) => Ok(len),
        _ => Err("a message has 1 to 16384 bytes".into()),
    }
}

/// Runs the command.
pub(crate) fn run(args: &CompareArgs, json: bool) -> Result<(), Failure> {
    if let Some(KnownPaper::Itls) = args.paper {
        return itls::run(args, json);
    }
    if args.network.wants_list() {
        return output::line(network::list());
    }
    if args.devices.wants_list() {
        return args.devices.print_list(json);
    }
    let prints_csv = args.csv.as_deref().is_some_and(files::is_standard_output);
    if prints_csv && json {
        return Err(Failure::Usage("--json and --csv - both want standard output; give --csv a file".into()));
    }
    for path in [&args.csv, &args.html, &args.pcapng, &args.keylog].into_iter().flatten() {
        files::check(path)?;
    }
    if args.memory && args.crypto != Crypto::Rustcrypto {
        return Err(Failure::Usage(
            "--memory needs --crypto rustcrypto: AWS-LC allocates where it is not counted".into(),
        ));
    }
    let server = args.server_certificates.unwrap_or(args.certificates);
    let comparison = args.comparison(server)?;
    let settings = args.settings()?;
    let mut rows = Vec::new();
    let mut captures = Vec::new();
    let mut failures = Vec::new();
    let mut lacks_time = false;
    let mut meter = probe::Meter::new(args.memory);
    let progress = Progress::new(settings.len());
    for (number, setting) in settings.iter().enumerate() {
        progress.show(number, setting);
        let measured = comparison.measure(setting, &mut meter);
        let (cpu, heap) = meter.take();
        let measured = match measured {
            Ok(measured) => measured,
            Err(error) => {
                progress.clear();
                lacks_time |= matches!(error, Failed::NoTime(_));
                let Setting { version, mode, link, .. } = setting;
                let failure = format!("{version} {mode}, {}, MTU {}: {error}", link.name, link.mtu);
                output::warn(&failure);
                failures.push(failure);
                continue;
            }
        };
        let mut row = measured.row;
        row.cpu = cpu.filter(|_| args.cpu);
        row.peak_heap = heap;
        if json {
            output::json(&row)?;
        }
        rows.push(row);
        captures.push(measured.capture);
    }
    progress.clear();
    // The table comes first: it is printed even if a file cannot be written.
    if !json && !prints_csv {
        args.print(&rows)?;
    }
    if let Some(path) = &args.csv {
        files::write_csv(path, &rows)?;
    }
    if let Some(path) = &args.pcapng {
        files::write_captures(path, &captures)?;
    }
    if let Some(path) = &args.keylog {
        files::write_keys(path, &captures)?;
    }
    if let Some(path) = &args.html {
        let devices = settings.first().and_then(|setting| setting.devices.as_ref());
        files::write(path, report::render(args, &rows, &failures, devices).as_bytes())?;
    }
    match failures.len() {
        0 => Ok(()),
        missing if lacks_time => Err(Failure::Failed(format!(
            "{missing} of {} rows could not be measured; see above. A device has no time for what nobody measured on it \
             (--device list): try other --certificates, --suite, --group or --mode, or add the time in a file for \
             --devices",
            settings.len()
        ))),
        missing => Err(Failure::Failed(format!(
            "{missing} of {} rows could not be measured; see above. If peers stopped answering, the link is too slow or \
             loses too much: try a longer --dtls-timeout, a smaller --mtu or less --loss",
            settings.len()
        ))),
    }
}

impl CompareArgs {
    fn comparison(&self, server: Chain) -> Result<Comparison, Failure> {
        let algorithms = Algorithms {
            suites: self.suites.clone(),
            groups: self.groups.clone(),
            signature_schemes: self.signature_schemes.clone(),
        };
        let provider = self.devices.provider(self.crypto.provider())?;
        let mut parties = match self.files.are_given() {
            true => self.files.parties(provider, &algorithms)?,
            false => {
                let chains = Chains { client: self.certificates, server, length: None };
                certificates::made(provider, chains, &algorithms)?
            }
        };
        parties.client.send_server_name(!self.no_sni);
        parties.limits.require_cookie = !self.no_cookie;
        let (timeout, datagrams) = (u64::from(self.dtls_timeout), &mut parties.datagrams);
        datagrams.initial_timeout = timeout;
        datagrams.min_timeout = timeout; // with a duty cycle the next flight is slower than the last one was
        datagrams.max_timeout = datagrams.max_timeout.max(timeout);
        let certificates = match server == self.certificates {
            _ if self.files.are_given() => "own certificates".into(),
            true => server.to_string(),
            false => format!("client {}, server {server}", self.certificates),
        };
        let begins = if self.files.are_given() { unix_now()? } else { certificates::NOW };
        Ok(Comparison {
            parties,
            certificates,
            begins,
            runs: self.runs.unwrap_or(RUNS).into(),
            seed: self.seed,
            captures: self.pcapng.is_some() || self.keylog.is_some(),
        })
    }

    /// Returns the versions to compare. A version that was chosen must have a suite; otherwise one without is left out.
    fn protocol_versions(&self) -> Result<Vec<ProtocolVersion>, Failure> {
        let provider = self.crypto.provider();
        let has = |version: ProtocolVersion, suite: CipherSuite| match version {
            ProtocolVersion::V12 => provider.tls12_suite(suite).is_some(),
            ProtocolVersion::V13 => provider.tls13_suite(suite).is_some(),
        };
        let lacks = |version| !self.suites.is_empty() && !self.suites.iter().any(|suite| has(version, *suite));
        if let Some(version) = self.tls.iter().find(|version| lacks(**version)) {
            let name = if *version == ProtocolVersion::V12 { "1.2" } else { "1.3" };
            return Err(Failure::Usage(format!("no --suite is one of TLS {name}; add one, or leave --tls {name} out")));
        }
        let all = [ProtocolVersion::V12, ProtocolVersion::V13].into_iter();
        Ok(all
            .filter(|version| if self.tls.is_empty() { !lacks(*version) } else { self.tls.contains(version) })
            .collect())
    }

    /// Returns the settings: version after version and link after link, each with all modes.
    fn settings(&self) -> Result<Vec<Setting>, Failure> {
        let versions = self.protocol_versions()?;
        let is_wanted = |version: &Version| {
            let of_tls = match version {
                Version::Tls12 | Version::Dtls12 => ProtocolVersion::V12,
                Version::Tls13 | Version::Dtls13 => ProtocolVersion::V13,
            };
            let transport = match version {
                Version::Tls12 | Version::Tls13 => Transport::Stream,
                Version::Dtls12 | Version::Dtls13 => Transport::Datagram,
            };
            versions.contains(&of_tls) && (self.transport.is_empty() || self.transport.contains(&transport))
        };
        let devices = self.devices.sides()?;
        let mut settings = Vec::new();
        let links = self.network.links()?;
        let (tcp, limits_segments) = self.network.tcp();
        for version in Version::ALL.into_iter().filter(is_wanted) {
            for link in &links {
                let is_chosen = |mode: &Mode| self.mode.is_empty() || self.mode.contains(mode);
                for mode in Mode::ALL.into_iter().filter(|mode| mode.exists_in(version) && is_chosen(mode)) {
                    settings.push(Setting {
                        version,
                        mode,
                        link: link.clone(),
                        ip: self.network.ip(link)?,
                        tcp: tcp.clone(),
                        limits_segments,
                        client: client_number(settings.len()),
                        exchange: Exchange {
                            request: self.request,
                            reply: self.reply,
                            early_data: self.early_data && self.may_send_early(mode, version),
                        },
                        devices: devices.clone(),
                    });
                }
            }
        }
        Ok(settings)
    }

    /// Returns whether a client of this mode can send its message early. A cookie rejects early data, unless a ticket of an
    /// identity stands for it.
    fn may_send_early(&self, mode: Mode, version: Version) -> bool {
        match (mode, version) {
            (Mode::Identity | Mode::IdentityFirst | Mode::IdentityBls12381, _) | (Mode::Resumed, Version::Tls13) => {
                true
            }
            (Mode::Resumed, Version::Dtls13) => self.no_cookie,
            _ => false,
        }
    }

    fn print(&self, rows: &[Row]) -> Result<(), Failure> {
        for (number, group) in table::groups(rows).enumerate() {
            if number > 0 {
                output::line("")?;
            }
            output::line(table::layers(group).trim_end())?;
            if self.messages {
                output::line(format!("\n{}", table::messages(group).trim_end()))?;
            }
        }
        Ok(())
    }
}

/// Returns the current time, for certificates from files.
fn unix_now() -> Result<u64, Failure> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970
        .map(|time| time.as_secs())
        .map_err(|_| Failure::Failed("this machine's clock is before 1970; set it".into()))
}

/// Returns a number for the client's address, so that the clients of one capture differ as far as possible.
fn client_number(row: usize) -> u8 {
    (row % 200) as u8 + 10
}

/// Shows on a terminal which row is being measured.
struct Progress {
    total: usize,
    is_shown: bool,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self { total, is_shown: std::io::stderr().is_terminal() }
    }

    fn show(&self, number: usize, setting: &Setting) {
        if self.is_shown {
            let Setting { version, mode, link, .. } = setting;
            let mtu = link.mtu;
            eprint!("\r\x1b[2K{} of {}: {version} {mode}, {}, MTU {mtu}", number + 1, self.total, link.name);
        }
    }

    fn clear(&self) {
        if self.is_shown {
            eprint!("\r\x1b[2K");
        }
    }
}
