//! `terse-bench joins` measures how fast the simulator works off a whole 6TiSCH network of which every mote is a device that makes a
//! handshake of the engine: how many slots in a second of CPU time, and what memory the process takes for it.
//!
//! Power returns to all motes at once. They form a network by MSF and RPL in a square with the root in its centre, by the
//! Pister-hack model, and each connects within a random time after it has a place there. Nothing is reported. A slot counts once for
//! the whole network; they are the virtual time by the length of a slot.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use terse_ibc::Generator;
use terse_interop::case::Case;
use terse_net::OsRng;
use terse_sim::compare::{IdentityKeys, Parties};
use terse_sim::computing::counting;
use terse_sim::scenario::{Aead, EngineOptions, Group, MakesParties, Prepared, ScenarioFile};
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::resume::ExternalPsk;
use terse_tls::{CipherSuite, Datagrams, EndpointLimits, NamedGroup, SignatureScheme};

use crate::measure::cpu_seconds;
use crate::probe::counted;
use crate::slots::{median, resident};
use crate::table::lay_out;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Joins {
    /// The protocol, as scenario files name it: `DTLS 1.3`.
    pub version: String,
    /// What handshakes leave out, as scenario files name it: `full`.
    pub mode: String,
    /// The most hours of virtual time; a run ends sooner when all devices are connected.
    pub hours: f64,
    /// Each device connects within so many minutes after it has a place in the network.
    pub spread: u32,
    /// The side of the square, in metres.
    pub side: f64,
    /// So many times, each with a seed of its own.
    pub rounds: u16,
}

/// Returns the table of networks of so many devices, the root not included.
pub fn measure(sizes: &[u16], joins: &Joins) -> Result<String, String> {
    let header =
        ["devices", "virtual s", "slots", "slots/CPU s", "CPU s", "connected", "handshakes", "failed", "memory MB"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for size in sizes {
        let prepared = prepare(*size, joins)?;
        let runs = (0..u32::from(joins.rounds)).map(|round| {
            eprintln!("{size} devices, round {} of {}", round + 1, joins.rounds);
            run(&prepared, round)
        });
        let runs = runs.collect::<Result<Vec<Run>, String>>()?;
        let of = |value: &dyn Fn(&Run) -> f64| format!("{:.0}", median(runs.iter().map(value)));
        rows.push(vec![
            size.to_string(),
            of(&|run| run.time),
            of(&Run::slots),
            of(&|run| run.slots() / run.seconds),
            format!("{:.1}", median(runs.iter().map(|run| run.seconds))),
            of(&|run| run.connected),
            of(&|run| run.handshakes),
            of(&|run| run.failures),
            format!("{:.0}", runs.iter().map(|run| run.memory).fold(0.0, f64::max)),
        ]);
    }
    Ok(lay_out(&rows))
}

struct Run {
    /// Seconds of virtual time.
    time: f64,
    /// Seconds of CPU time.
    seconds: f64,
    connected: f64,
    /// Handshakes that were complete on the server.
    handshakes: f64,
    /// Handshakes that failed on a device.
    failures: f64,
    /// The most that the process has added to its memory meanwhile, in MB.
    memory: f64,
}

impl Run {
    fn slots(&self) -> f64 {
        self.time * 1e3 / SLOT_MS
    }
}

fn prepare(devices: u16, joins: &Joins) -> Result<Prepared, String> {
    let source = scenario(devices, joins);
    let file = ScenarioFile::parse("joins", &source).map_err(|mistakes| mistakes.to_string())?;
    Prepared::new(&file.base, &Maker).map_err(|error| error.to_string())
}

fn run(prepared: &Prepared, number: u32) -> Result<Run, String> {
    let before = resident();
    forget_peak();
    let begun = cpu_seconds();
    let mut result = None;
    counted(|| result = Some(prepared.run(number)));
    let outcome = result.ok_or("the run was not made")?.map_err(|error| error.to_string())?;
    let seconds = cpu_seconds() - begun;
    let memory = (peak().unwrap_or(before) - before).max(0.0);
    let Some(fleet) = outcome.fleet else { return Err(outcome.failure.unwrap_or_default()) };
    Ok(Run {
        time: fleet.measured.as_secs_f64(),
        seconds,
        connected: fleet.connected() as f64,
        handshakes: fleet.connections as f64,
        failures: fleet.failures as f64,
        memory,
    })
}

/// Returns the scenario file. A round trip over many hops takes half a minute: with shorter timers flights are repeated that are still
/// under way.
fn scenario(devices: u16, joins: &Joins) -> String {
    let Joins { version, mode, hours, spread, side, .. } = joins;
    let (limit, spread) = (hours * 3_600_000.0, u64::from(*spread) * 60_000);
    format!(
        r#"
peers = "engine"
limit_ms = {limit}
topology = {{ motes = {devices}, clients = "all", root = "centre" }}
schedule.slot_ms = {SLOT_MS}
radio = {{ model = "pister-hack", side_m = {side} }}
forming.function = "msf"
pool.root_frames = 200
reconnect.spread_ms = {spread}
event.observed_ms = 0
dtls = {{ client_timeout_ms = 60_000, server_timeout_ms = 60_000, longest_timeout_ms = 240_000 }}
sixlowpan = {{ gateway_compresses_udp = true, reassembly_timeout_ms = 10_000, reassembly_buffers = 8 }}
serial = {{ up_ms = 0, down_ms = 0 }}
engine = {{ version = "{version}", mode = "{mode}", certificates = "p256x2", client_device = "cortex-m4" }}
"#
    )
}

/// Makes both sides of the scenario above: chains of two certificates with keys of P-256.
struct Maker;

impl MakesParties for Maker {
    fn parties(&self, options: &EngineOptions) -> Result<Parties, String> {
        let provider = counting(&terse_aws_lc::PROVIDER).ok_or("this program counts too many providers")?;
        let suites = match options.aead {
            Aead::Aes128Ccm => [CipherSuite::TLS_AES_128_CCM_SHA256, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM],
            Aead::Aes128Ccm8 => {
                [CipherSuite::TLS_AES_128_CCM_8_SHA256, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8]
            }
            Aead::Aes128Gcm => {
                [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]
            }
        };
        let group = match options.group {
            Group::X25519 => NamedGroup::X25519,
            Group::Secp256r1 => NamedGroup::SECP256R1,
        };
        let case = Case {
            chain: "p256x2",
            suites: suites.to_vec(),
            client_groups: vec![group],
            server_groups: vec![group],
            schemes: vec![SignatureScheme::ECDSA_SECP256R1_SHA256],
            sends_name: false,
            ..Case::mutual(provider)
        };
        Ok(Parties {
            client: case.client_config().to_builder(),
            server: case.server_config().to_builder(),
            address: case.address(),
            curve: Some(NamedGroup::SECP256R1),
            psk: ExternalPsk::new(b"sensor17", &[0x5a; 32]).map_err(text)?,
            ristretto255: identity_keys(IdentityAlgorithm::Ristretto255)?,
            bls12381: identity_keys(IdentityAlgorithm::Bls12381)?,
            datagrams: Datagrams::default(),
            limits: EndpointLimits::default(),
        })
    }

    /// Certificates are made for the occasion, and are valid for a month.
    fn begins(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}

fn identity_keys(algorithm: IdentityAlgorithm) -> Result<IdentityKeys, String> {
    let generator = Generator::new(algorithm, 1, u64::MAX, &mut OsRng).map_err(text)?;
    let issue = |identity: &str| generator.issue(&identity.parse().map_err(text)?).map_err(text);
    Ok(IdentityKeys { client: issue("eui64:0200000000000011")?, server: issue("device:broker01")? })
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// Lets Linux count the peak of the memory anew.
fn forget_peak() {
    // Where that is not possible, the peak is that of the process.
    drop(fs::write("/proc/self/clear_refs", "5"));
}

/// Returns the peak of the memory of the process in MB, as Linux says it.
fn peak() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1_024.0 / 1e6)
}

/// The length of a slot.
const SLOT_MS: f64 = 10.0;
