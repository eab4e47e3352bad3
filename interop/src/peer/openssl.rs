//! OpenSSL 3: `openssl s_server` and `openssl s_client`.
//!
//! Lines on their standard input are application data, but for `Q` (close), `K` and `k` (KeyUpdate, with and without a
//! request); a command is seen only where nothing else is read together with it, that is, once what was written before
//! has come back in some form.

use std::process::Command;

use terse_tls::{AlertDescription, NamedGroup, SignatureScheme};

use super::{Remote, Role};
use crate::case::{Asks, Case, EXPORTER_LABEL, EXPORTER_LEN};
use crate::pki::{Files, Side};
use crate::process::{Process, connect, listener};
use crate::tap::Wire;

/// What `s_client` says when its handshake is complete.
pub(super) const CLIENT_CONNECTED: &str = "SSL handshake has read";

/// What `s_server` says when its handshake is complete.
pub(super) const SERVER_CONNECTED: &str = "CIPHER is ";

pub(super) fn version() -> Result<String, String> {
    let output = Command::new("openssl").arg("version").output();
    let output = output.map_err(|error| format!("`openssl` does not run ({error}); install the package openssl"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if text.starts_with("OpenSSL 3") { Ok(text) } else { Err(format!("{text} is not OpenSSL 3")) }
}

pub(super) fn server(case: &Case) -> (Box<dyn Remote>, Box<dyn Wire>) {
    let (process, port) = server_program(case);
    let wire = connect(port);
    (Box::new(Program::new(process, Role::Client)), Box::new(wire))
}

pub(super) fn client(case: &Case) -> (Box<dyn Remote>, Box<dyn Wire>) {
    let (listener, port) = listener();
    let mut process = client_program(case, port);
    let wire = process.accept(&listener);
    (Box::new(Program::new(process, Role::Server)), Box::new(wire))
}

pub(super) fn server_program(case: &Case) -> (Process, u16) {
    let files = case.files(Side::Server);
    let mut command = program("s_server", case, &files, &case.server_groups, &case.server_protocols);
    command.args(["-accept", "127.0.0.1:0", "-naccept", "1"]);
    if let Some(own) = files.credential.as_ref().filter(|_| case.shows_name) {
        command.args(["-servername", case.name()]).arg("-cert2").arg(&own.chain).arg("-key2").arg(&own.key);
    }
    match case.asks {
        Asks::No => {}
        Asks::Optional => drop(command.args(["-verify", "4", "-verify_return_error"])),
        Asks::Required => drop(command.args(["-Verify", "4", "-verify_return_error"])),
    }
    if !case.schemes.is_empty() {
        command.args(["-client_sigalgs", &schemes(&case.schemes)]);
    }
    if case.cookie {
        command.arg("-stateless");
    }
    if case.server_closes {
        command.arg("-rev"); // sends lines back in reverse, and closes after `CLOSE`; ended by `Q`, it just drops
    }
    if case.no_tickets {
        command.args(["-num_tickets", "0"]);
    }
    let process = Process::start(command, files);
    let address = process.wait_for_line("ACCEPT ");
    let port = address.rsplit(':').next().and_then(|port| port.parse().ok());
    (process, port.unwrap_or_else(|| panic!("no port in {address:?}")))
}

pub(super) fn client_program(case: &Case, port: u16) -> Process {
    let files = case.files(Side::Client);
    let mut command = program("s_client", case, &files, &case.client_groups, &case.client_protocols);
    command.args(["-connect", &format!("127.0.0.1:{port}"), "-verify", "4", "-verify_return_error"]);
    command.args(["-verify_hostname", case.name()]);
    if case.sends_name {
        command.args(["-servername", case.name()]);
    } else {
        command.arg("-noservername");
    }
    if !case.schemes.is_empty() {
        command.args(["-sigalgs", &schemes(&case.schemes)]);
    }
    if let Some(length) = case.max_fragment_length {
        command.args(["-maxfraglen", &length.bytes().to_string()]);
    }
    Process::start(command, files)
}

/// What both programs are told alike.
fn program(name: &str, case: &Case, files: &Files, groups: &[NamedGroup], protocols: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.arg(name).arg("-CAfile").arg(&files.root).args(["-no-CApath", "-no-CAstore"]);
    if let Some(own) = &files.credential {
        command.arg("-cert").arg(&own.chain).arg("-key").arg(&own.key); // the leaf alone
        if let Some(intermediates) = &own.intermediates {
            command.arg("-cert_chain").arg(intermediates);
        }
    }
    if !case.compatibility_mode {
        command.arg("-no_middlebox"); // without it, a server sends ChangeCipherSpec even if it was not asked to
    }
    if !case.suites.is_empty() {
        command.args(["-ciphersuites", &join(&case.suites)]);
    }
    if !groups.is_empty() {
        let groups: Vec<_> = groups.iter().map(|group| group_name(*group)).collect();
        command.args(["-groups", &groups.join(":")]);
    }
    if !protocols.is_empty() {
        command.args(["-alpn", &protocols.join(",")]);
    }
    if case.exporter {
        command.args(["-keymatexport", EXPORTER_LABEL, "-keymatexportlen", &EXPORTER_LEN.to_string()]);
    }
    command
}

fn group_name(group: NamedGroup) -> &'static str {
    match group {
        NamedGroup::SECP256R1 => "P-256",
        NamedGroup::SECP384R1 => "P-384",
        NamedGroup::X25519 => "X25519",
        other => panic!("OpenSSL 3.0 has no group {other}"),
    }
}

fn schemes(schemes: &[SignatureScheme]) -> String {
    join(schemes)
}

/// OpenSSL spells suites and signature schemes as the registry does.
fn join(code_points: &[impl ToString]) -> String {
    let names: Vec<_> = code_points.iter().map(ToString::to_string).collect();
    names.join(":")
}

/// A running program.
struct Program {
    process: Process,
    /// Ours.
    role: Role,
    key_updates: usize,
}

impl Program {
    const fn new(process: Process, role: Role) -> Self {
        Self { process, role, key_updates: 0 }
    }
}

impl Remote for Program {
    fn send(&mut self, data: &[u8]) {
        self.process.write(data);
    }

    fn expect(&mut self, data: &[u8]) {
        self.process.wait_for_data(data);
    }

    fn update_keys(&mut self) {
        self.process.write(b"K\n");
        self.key_updates += 1;
        if self.role == Role::Server {
            self.process.wait_for_times(self.key_updates, "KEYUPDATE");
        } // `s_server` says nothing in time, but looks at its standard input before it reads what we send next
    }

    fn keying_material(&mut self) -> Vec<u8> {
        from_hex(&self.process.wait_for_line("Keying material: "))
    }

    fn expect_server_name(&mut self, name: &str) {
        self.process.wait_for(&format!("Hostname in TLS extension: \"{name}\""));
    }

    fn expect_protocol(&mut self, name: &str) {
        match self.role {
            Role::Client => self.process.wait_for(&format!("ALPN protocols selected: {name}")),
            Role::Server => self.process.wait_for(&format!("ALPN protocol: {name}")),
        }
    }

    fn closes_on(&self) -> Option<&'static [u8]> {
        (self.role == Role::Client).then_some(b"CLOSE\n")
    }

    fn close(&mut self) {
        self.process.write(b"Q\n");
    }

    fn expect_close(&mut self) {
        match self.role {
            Role::Client => self.process.wait_for("DONE"),
            Role::Server => self.process.wait_for("closed"),
        }
        let status = self.process.wait();
        assert!(status.success(), "openssl ended with {status} after our close_notify");
    }

    fn expect_alert(&mut self, alert: AlertDescription) {
        self.process.wait_for(&format!("SSL alert number {}", alert.0));
    }

    fn vanish(&mut self) {
        self.process.kill();
    }
}

/// Bytes from hexadecimal digits.
pub(super) fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().map(|digit| digit.to_digit(16).expect("a hexadecimal digit") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
