//! Runs our own command, `terse client` and `terse server`, over datagrams.
//!
//! The client sends [`PING`] by itself, waits for as many bytes, and closes; the server sends back what it receives. When a
//! connection has ended, the command reports what happened in one line of JSON.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use terse_tls::{AlertDescription, ProtocolVersion};

use super::{Implementation, Remote, Role, Running, Way};
use crate::case::{Asks, Case, EARLY_DATA, EXPORTER_LABEL, Means, Sessions};
use crate::compile::built_by_cargo;
use crate::datagrams::{PING, PONG};
use crate::features::Carrier;
use crate::pki::{Files, PSK, PSK_IDENTITY, Side, from_hex, hex};
use crate::process::Process;

/// Our own command, which is built if it is missing.
fn command() -> Result<&'static Path, String> {
    static COMMAND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    COMMAND.get_or_init(|| built_by_cargo("terse")).as_deref().map_err(Clone::clone)
}

/// It speaks DTLS only: over TCP, our side is in this process.
pub(super) struct Terse;

impl Implementation for Terse {
    fn name(&self) -> &'static str {
        "terse"
    }

    fn version(&self) -> Result<String, String> {
        let output = crate::compile::run(Command::new(command()?).arg("--version"), "it is built from this workspace")?;
        Ok(output.trim().to_owned())
    }

    fn speaks(&self, _: ProtocolVersion, carrier: Carrier) -> bool {
        carrier == Carrier::Udp
    }

    fn server(&self, case: &Case) -> Option<(Box<dyn Remote>, u16)> {
        let (process, port) = server_program(case);
        Some((Box::new(Program::new(Running { process, way: Way::To(port) }, case)), port))
    }

    fn client(&self, case: &Case, way: Way) -> Option<Box<dyn Remote>> {
        let process = client_program(case, way.port());
        Some(Box::new(Program::new(Running { process, way }, case)))
    }
}

fn server_program(case: &Case) -> (Process, u16) {
    let files = case.files(Side::Server);
    let mut words = words("server", case, &files, Side::Server);
    words.args(["--listen", "127.0.0.1:0", "--echo", "--max-connections", &case.connections.to_string()]);
    if case.asks != Asks::No && case.means == Means::Certificates {
        words.arg("--client-ca").arg(&files.root);
    }
    if case.asks == Asks::Required {
        words.arg("--require-client-cert");
    }
    if case.ca_names {
        words.arg("--ca-names");
    }
    if case.early_data {
        words.args(["--early-data-size", "16384"]);
        words.arg("--no-cookie"); // which would cost the client its early data
    }
    match case.sessions {
        None => drop(words.arg("--no-tickets")),
        Some(Sessions::Kept) => drop(words.arg("--stateful-tickets")),
        Some(Sessions::Sealed) => {}
    }
    let process = Process::start(words, files);
    let address = process.wait_for_line("listening ");
    let port = address.rsplit(':').next().and_then(|port| port.parse().ok());
    (process, port.unwrap_or_else(|| panic!("no port in {address:?}")))
}

fn client_program(case: &Case, port: u16) -> Process {
    client_with(case, port, Arc::new(case.files(Side::Client)))
}

/// Starts a client that keeps its sessions and its cache beside its other files.
fn client_with(case: &Case, port: u16, files: Arc<Files>) -> Process {
    let mut words = words("client", case, &files, Side::Client);
    words.args(["--connect", &format!("127.0.0.1:{port}"), "--server-name", case.name()]);
    words.args(["--send", "ping\n", "--expect", &PONG.len().to_string()]);
    if !case.sends_name {
        words.arg("--no-sni");
    }
    if case.means == Means::Certificates {
        words.arg("--ca").arg(&files.root);
    }
    if let Some(length) = case.max_fragment_length {
        words.args(["--max-fragment-length", &length.bytes().to_string()]);
    }
    if case.connections > 1 {
        words.arg("--resume-file").arg(&files.session);
    }
    if case.early_data && files.session.exists() {
        words.args(["--early-data", EARLY_DATA]);
    }
    Process::start(words, files)
}

/// Adds the options that client and server share.
fn words(role: &str, case: &Case, files: &Files, side: Side) -> Command {
    let datagrams = case.datagrams.clone().unwrap_or_default();
    let mut words = Command::new(command().unwrap_or_else(|reason| panic!("{reason}")));
    words.args([role, "--dtls", "--json"]);
    for version in &case.our_versions {
        words.args(["--tls", if *version == ProtocolVersion::TLS_1_2 { "1.2" } else { "1.3" }]);
    }
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.args([name, &value]);
        }
    };
    option("--mtu", datagrams.our_mtu.map(|mtu| mtu.to_string()));
    option("--connection-id", datagrams.our_connection_id.map(|len| len.to_string()));
    option("--record-size-limit", case.our_record_size_limit.map(|limit| limit.to_string()));
    option("--export", case.exporter.then(|| EXPORTER_LABEL.into()));
    option("--cache", Some(datagrams.our_cache.unwrap_or("off").into()));
    let provider = if case.provider.name == terse_rustcrypto::PROVIDER.name { "rustcrypto" } else { "aws-lc" };
    option("--crypto", Some(provider.into()));
    case.suites.iter().for_each(|suite| option("--suite", Some(suite.to_string())));
    case.schemes.iter().for_each(|scheme| option("--sigalg", Some(scheme.to_string())));
    let (groups, protocols) = match side {
        Side::Client => (&case.client_groups, &case.client_protocols),
        Side::Server => (&case.server_groups, &case.server_protocols),
    };
    groups.iter().for_each(|group| option("--group", Some(group.to_string())));
    protocols.iter().for_each(|protocol| option("--alpn", Some((*protocol).into())));
    if datagrams.our_cache.is_some() {
        words.arg("--cache-file").arg(files.session.with_extension("cache"));
    }
    if !case.requires_extended_master_secret {
        words.arg("--no-extended-master-secret");
    }
    if case.means == Means::PreSharedKey {
        words.args(["--psk-identity", PSK_IDENTITY, "--psk-file"]).arg(files.write("psk.hex", hex(&PSK)));
        if case.imports_key {
            words.arg("--psk-import");
        }
    } else if let Some(own) = &files.credential {
        words.arg("--key").arg(&own.key);
        match &files.raw_keys {
            Some(_) => {}
            None => drop(words.arg("--cert").arg(&own.chain)),
        }
    }
    if let Some(keys) = &files.raw_keys {
        words.arg("--peer-key").arg(&keys.peer_der);
    }
    words
}

/// The command while it runs.
struct Program {
    running: Running,
    case: Case,
}

impl Program {
    fn new(running: Running, case: &Case) -> Self {
        Self { running, case: case.clone() }
    }

    fn is_client(&self) -> bool {
        self.running.role() == Role::Server
    }
}

impl Remote for Program {
    fn echoes(&self) -> bool {
        !self.is_client()
    }

    /// The client was told when it was started.
    fn send(&mut self, data: &[u8]) {
        assert!(self.is_client() && data == PING, "terse sends nothing else");
    }

    /// The client does not say what it received, only that it was enough: its report has no error then.
    fn expect(&mut self, data: &[u8]) {
        assert!(self.is_client() && data.len() == PONG.len(), "terse waits for nothing else");
    }

    fn keying_material(&mut self) -> Vec<u8> {
        let report = self.report().expect("terse reports");
        from_hex(report["exported"].as_str().expect("what was exported"))
    }

    fn expect_protocol(&mut self, name: &str) {
        assert_eq!(self.report().expect("terse reports")["alpn"], name);
    }

    /// The client closes by itself.
    fn close(&mut self) {
        assert!(self.is_client(), "terse's servers do not close");
    }

    fn expect_close(&mut self) {
        let report = self.report().expect("terse reports");
        assert!(report["error"].is_null(), "{report}");
    }

    fn expect_alert(&mut self, alert: AlertDescription) {
        let report = self.report().expect("terse reports");
        let error = report["error"].as_str().unwrap_or_default();
        assert!(error.contains(&format!("alert {alert}")), "not refused with {alert}: {report}");
    }

    fn vanish(&mut self) {
        self.running.process.kill();
    }

    fn next(&mut self) {
        if let (true, Way::Datagrams(port)) = (self.is_client(), &self.running.way) {
            self.running.process = client_with(&self.case, *port, self.running.process.files());
        }
        self.running.process.forget();
    }

    fn report(&mut self) -> Option<serde_json::Value> {
        const START: &str = "{\"version\":";
        let line = self.running.process.wait_for_line(START);
        Some(serde_json::from_str(&format!("{START}{line}")).expect("a line of JSON"))
    }
}
