//! Runs OpenSSL 3: `openssl s_server` and `openssl s_client`.
//!
//! Lines on their standard input are application data, except the commands `Q` (close), `K` and `k` (KeyUpdate, with and
//! without a request). A command is recognised only if nothing else is read together with it. It is therefore sent once the
//! data written before has come back in some form.

use std::process::Command;
use std::sync::Arc;

use terse_tls::{AlertDescription, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::absence::{NO_CCM_WITH_ECDHE, NO_CONNECTION_IDS, NO_OTHER_VERSION, absent};
use super::{Absence, DatagramCookies, Implementation, Remote, Role, Running, Way};
use crate::case::{Asks, Case, EARLY_DATA, EXPORTER_LABEL, EXPORTER_LEN, Means, Sessions};
use crate::features::Carrier;
use crate::pki::{Files, PSK, PSK_IDENTITY, Side, from_hex, hex};
use crate::process::Process;
use crate::tap::Wire;

/// Both versions of TLS, and DTLS 1.2.
pub(super) struct OpenSsl;

impl Implementation for OpenSsl {
    fn name(&self) -> &'static str {
        "openssl"
    }

    fn version(&self) -> Result<String, String> {
        let output = Command::new("openssl").arg("version").output();
        let output =
            output.map_err(|error| format!("`openssl` does not run ({error}); install the package openssl"))?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if text.starts_with("OpenSSL 3") { Ok(text) } else { Err(format!("{text} is not OpenSSL 3")) }
    }

    fn speaks(&self, version: ProtocolVersion, carrier: Carrier) -> bool {
        carrier == Carrier::Tcp || version == ProtocolVersion::TLS_1_2
    }

    fn server(&self, case: &Case) -> Option<(Box<dyn Remote>, u16)> {
        let (process, port) = server_program(case);
        Some((Box::new(Program::new(Running { process, way: Way::To(port) }, case)), port))
    }

    fn client(&self, case: &Case, way: Way) -> Option<Box<dyn Remote>> {
        let process = client_program(case, way.port());
        Some(Box::new(Program::new(Running { process, way }, case)))
    }

    fn absences(&self) -> &'static [Absence] {
        ABSENCES
    }

    /// Its server always sends a cookie. With the option `-listen`, which asks for one, it does not resume.
    fn datagram_cookies(&self) -> DatagramCookies {
        DatagramCookies::Always
    }

    fn sends_cookies_before_it_reads_versions(&self) -> bool {
        true
    }

    /// `openssl s_client` shows a stapled response, and does not heed it.
    fn staples(&self) -> bool {
        true
    }
}

const ABSENCES: &[Absence] = &[
    absent("ed25519", "OpenSSL has no Ed25519 in DTLS").dtls(),
    absent("connection_id_of_both", NO_CONNECTION_IDS),
    absent("connection_id_of_ours", NO_CONNECTION_IDS),
    absent("connection_id_of_the_peer", NO_CONNECTION_IDS),
    absent("only_our_side_is_limited_to_it", NO_OTHER_VERSION).dtls(),
    absent("X25519MLKEM768", "OpenSSL has it from 3.5 on"),
    absent("record_size_limit_of_ours", "OpenSSL has no record_size_limit"),
    absent("record_size_limit_of_the_peer", "OpenSSL has no record_size_limit"),
    absent("pre_shared_key_with_ecdhe", NO_CCM_WITH_ECDHE),
    absent("raw_public_keys", "OpenSSL has raw public keys from 3.2 on"),
    absent("extended_master_secret_missing", "OpenSSL's programs always use it"),
];

fn server_program(case: &Case) -> (Process, u16) {
    let files = case.files(Side::Server);
    let mut command = program("s_server", case, &files, &case.server_groups, &case.server_protocols);
    command.args(["-accept", "127.0.0.1:0", "-naccept", &case.connections.to_string()]);
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
        command.arg(if case.datagrams.is_some() { "-listen" } else { "-stateless" });
    }
    if case.server_closes {
        command.arg("-rev"); // sends lines back in reverse, and closes after `CLOSE`; ended by `Q`, it just drops
    }
    if case.no_tickets {
        command.args(["-num_tickets", "0", "-no_ticket"]);
    }
    if case.means == Means::PreSharedKey {
        command.arg("-nocert");
    }
    if case.early_data {
        command.arg("-early_data");
    }
    if let Some(response) = case.ocsp_response() {
        command.arg("-status_file").arg(files.write("response.der", response));
    }
    let process = Process::start(command, files);
    let address = process.wait_for_line("ACCEPT ");
    let port = address.rsplit(':').next().and_then(|port| port.parse().ok());
    (process, port.unwrap_or_else(|| panic!("no port in {address:?}")))
}

fn client_program(case: &Case, port: u16) -> Process {
    client_with(case, port, Arc::new(case.files(Side::Client)))
}

/// Starts a client that keeps its session in a file, and offers that session if the file exists.
fn client_with(case: &Case, port: u16, files: Arc<Files>) -> Process {
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
    if case.no_tickets {
        command.arg("-no_ticket");
    }
    if case.early_data && files.session.exists() {
        command.arg("-early_data").arg(files.write("early", EARLY_DATA));
    }
    if case.staple.is_some() {
        command.arg("-status");
    }
    if case.connections > 1 {
        command.arg("-sess_out").arg(&files.session);
    }
    if files.session.exists() {
        command.arg("-sess_in").arg(&files.session);
    }
    Process::start(command, files)
}

/// Adds the options that both programs share.
fn program(name: &str, case: &Case, files: &Files, groups: &[NamedGroup], protocols: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.arg(name).arg("-CAfile").arg(&files.root).args(["-no-CApath", "-no-CAstore"]);
    if let Some(own) = &files.credential {
        command.arg("-cert").arg(&own.chain).arg("-key").arg(&own.key); // the leaf alone
        if let Some(intermediates) = &own.intermediates {
            command.arg("-cert_chain").arg(intermediates);
        }
    }
    if case.means == Means::PreSharedKey {
        command.args(["-psk_identity", PSK_IDENTITY, "-psk", &hex(&PSK)]);
    }
    if case.sessions == Some(Sessions::Kept) {
        command.arg("-no_ticket");
    }
    if !case.compatibility_mode {
        command.arg("-no_middlebox"); // without it, a server sends ChangeCipherSpec even if it was not asked to
    }
    if let Some(datagrams) = &case.datagrams {
        command.args(["-dtls1_2", "-timeout"]); // which is needed to send anything again
        if let Some(mtu) = datagrams.peer_mtu {
            command.args(["-mtu", &mtu.max(MIN_MTU).to_string()]);
        }
    }
    match case.peer_versions[..] {
        _ if case.datagrams.is_some() => {}
        [ProtocolVersion::TLS_1_2] => drop(command.arg("-tls1_2")),
        [ProtocolVersion::TLS_1_3] => drop(command.arg("-tls1_3")),
        _ => {}
    }
    let (suites12, suites13): (Vec<CipherSuite>, Vec<CipherSuite>) =
        case.suites.iter().partition(|suite| suite.0 >> 8 != 0x13);
    if !suites13.is_empty() {
        command.args(["-ciphersuites", &join(&suites13)]);
    }
    if !suites12.is_empty() {
        let names: Vec<_> = suites12.into_iter().map(suite_name).collect();
        command.args(["-cipher", &names.join(":")]);
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

/// OpenSSL accepts no lower limit than this one, in bytes.
const MIN_MTU: u16 = 256;

/// Returns OpenSSL's own name for a suite of TLS 1.2.
fn suite_name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM => "ECDHE-ECDSA-AES128-CCM",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8 => "ECDHE-ECDSA-AES128-CCM8",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        CipherSuite::TLS_PSK_WITH_AES_128_CCM_8 => "PSK-AES128-CCM8",
        other => panic!("OpenSSL 3.0 has no suite {other}"),
    }
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

/// Joins the names of code points. OpenSSL spells suites of TLS 1.3 and signature schemes as the registry does.
fn join(code_points: &[impl ToString]) -> String {
    let names: Vec<_> = code_points.iter().map(ToString::to_string).collect();
    names.join(":")
}

/// A program of OpenSSL while it runs.
struct Program {
    running: Running,
    case: Case,
    /// How many connections follow this one.
    left: usize,
    key_updates: usize,
}

impl Program {
    fn new(running: Running, case: &Case) -> Self {
        Self { running, case: case.clone(), left: case.connections - 1, key_updates: 0 }
    }
}

impl Remote for Program {
    fn send(&mut self, data: &[u8]) {
        self.running.process.write(data);
    }

    fn expect(&mut self, data: &[u8]) {
        self.running.process.wait_for_data(data);
    }

    fn update_keys(&mut self) {
        self.running.process.write(b"K\n");
        self.key_updates += 1;
        if self.running.role() == Role::Server {
            self.running.process.wait_for_times(self.key_updates, "KEYUPDATE");
        } // `s_server` says nothing in time, but looks at its standard input before it reads what we send next
    }

    fn renegotiate(&mut self) {
        self.running.process.write(b"R\n");
    }

    fn keying_material(&mut self) -> Vec<u8> {
        from_hex(&self.running.process.wait_for_line("Keying material: "))
    }

    fn expect_server_name(&mut self, name: &str) {
        self.running.process.wait_for(&format!("Hostname in TLS extension: \"{name}\""));
    }

    fn expect_protocol(&mut self, name: &str) {
        match self.running.role() {
            Role::Client => self.running.process.wait_for(&format!("ALPN protocols selected: {name}")),
            Role::Server => self.running.process.wait_for(&format!("ALPN protocol: {name}")),
        }
    }

    fn expect_staple(&mut self) {
        self.running.process.wait_for("Cert Status: good");
    }

    fn closes_on(&self) -> Option<&'static [u8]> {
        (self.running.role() == Role::Client).then_some(b"CLOSE\n")
    }

    fn close(&mut self) {
        self.running.process.write(b"Q\n");
    }

    fn expect_close(&mut self) {
        match self.running.role() {
            Role::Client => self.running.process.wait_for("DONE"),
            Role::Server => self.running.process.wait_for("closed"),
        }
        if self.left == 0 || self.running.role() == Role::Server {
            let status = self.running.process.wait();
            assert!(status.success(), "openssl ended with {status} after our close_notify");
        }
    }

    fn expect_alert(&mut self, alert: AlertDescription) {
        self.running.process.wait_for(&format!("SSL alert number {}", alert.0));
    }

    fn vanish(&mut self) {
        self.running.process.kill();
    }

    fn next(&mut self) {
        self.left -= 1;
        self.key_updates = 0;
        let port = match &self.running.way {
            Way::To(_) => None,
            Way::From(listener) => Some(listener.local_addr().expect("a listener").port()),
            Way::Datagrams(port) => Some(*port),
        };
        if let Some(port) = port {
            self.running.process = client_with(&self.case, port, self.running.process.files());
        }
        self.running.process.forget();
    }

    fn wire(&mut self) -> Box<dyn Wire> {
        self.running.meet()
    }
}
