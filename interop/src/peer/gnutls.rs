//! GnuTLS 3.7: `gnutls-serv --echo` and `gnutls-cli`.
//!
//! The server sends nothing of its own; the line `**REHANDSHAKE**` makes it update its keys. Inline commands, words
//! between circumflexes, do so on the client.

use std::process::Command;

use terse_tls::{AlertDescription, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::absence::{NO_CCM_WITH_ECDHE, NO_CONNECTION_IDS, NO_OTHER_VERSION, SAYS_NOTHING, absent};
use super::{Absence, Implementation, Refusal, Remote, Role, Running, Way};
use crate::case::{Asks, Case, EARLY_DATA, EXPORTER_LABEL, EXPORTER_LEN, Means, Sessions};
use crate::datagrams::IP_AND_UDP;
use crate::features::Carrier;
use crate::pki::{Files, PSK, PSK_IDENTITY, Side, from_hex, hex};
use crate::process::{Process, TCP, UDP};
use crate::tap::Wire;

/// Both versions of TLS, and DTLS 1.2.
pub(super) struct GnuTls;

impl Implementation for GnuTls {
    fn name(&self) -> &'static str {
        "gnutls"
    }

    fn version(&self) -> Result<String, String> {
        let mut found = Vec::new();
        for program in ["gnutls-cli", "gnutls-serv"] {
            let output = Command::new(program).arg("--version").output();
            let output = output
                .map_err(|error| format!("`{program}` does not run ({error}); install the package gnutls-bin"))?;
            found.push(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned());
        }
        Ok(found.join(", "))
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

    fn staples(&self) -> bool {
        true
    }

    fn heeds_stapled_revocations(&self) -> bool {
        true
    }

    /// `gnutls-serv` accepts early data without showing it.
    fn shows_early_data(&self) -> bool {
        false
    }

    /// The programs send one alert each for every fault that they find in a certificate.
    fn alert_about_certificate(&self, role: Role, _: AlertDescription) -> AlertDescription {
        match role {
            Role::Client => AlertDescription::ACCESS_DENIED,
            Role::Server => AlertDescription::BAD_CERTIFICATE,
        }
    }

    fn refuses_missing_certificate(&self, version: ProtocolVersion) -> Refusal {
        Refusal::Alert(match version {
            ProtocolVersion::TLS_1_3 => AlertDescription::CERTIFICATE_REQUIRED,
            _ => AlertDescription::DECODE_ERROR,
        })
    }

    fn alert_about_version(&self, _: ProtocolVersion, _: Carrier) -> AlertDescription {
        AlertDescription::HANDSHAKE_FAILURE
    }

    /// GnuTLS's client asks for a renegotiation again and again until our side gives up, and its server leaves when
    /// something else is sent.
    fn leaves_without_renegotiation(&self) -> bool {
        true
    }
}

const PASSES_OVER: &str = "gnutls-cli passes over the first alert that answers its ClientHello, whoever sends it";

const ABSENCES: &[Absence] = &[
    absent("server_refuses_when_no_suite_is_common", PASSES_OVER).for_our_server().dtls(),
    absent("alpn_nothing_in_common", PASSES_OVER).for_our_server().dtls(),
    absent("server_refuses_missing_certificate", SAYS_NOTHING).for_our_client().dtls(),
    absent("server_refuses_when_no_suite_is_common", SAYS_NOTHING).for_our_client().dtls(),
    absent("alpn_nothing_in_common", SAYS_NOTHING).for_our_client().dtls(),
    absent("exporter", "gnutls-serv does not print it over UDP").for_our_client().dtls(),
    absent("record_size_limit_of_the_peer", "GnuTLS's programs do not ask for it over UDP").dtls(),
    absent("connection_id_of_both", NO_CONNECTION_IDS),
    absent("connection_id_of_ours", NO_CONNECTION_IDS),
    absent("connection_id_of_the_peer", NO_CONNECTION_IDS),
    absent("only_our_side_is_limited_to_it", NO_OTHER_VERSION).dtls(),
    absent("X25519MLKEM768", "GnuTLS has it from 3.8.8 on, if built with liboqs or leancrypto"),
    absent("max_fragment_length", "gnutls-cli offers record_size_limit, which replaces it").for_our_server(),
    absent("hello_retry_request_with_cookie", "GnuTLS's server sends no cookies").for_our_client(),
    absent("resumption_of_kept_sessions", "GnuTLS's server seals its TLS 1.3 sessions").for_our_client().tls13(),
    absent("pre_shared_key_with_ecdhe", NO_CCM_WITH_ECDHE),
    absent("extended_master_secret_missing", "GnuTLS's programs always use it"),
    absent("no_version_in_common", SAYS_NOTHING).for_our_client().dtls(),
    absent("no_version_in_common", PASSES_OVER).for_our_server().dtls(),
];

fn server_program(case: &Case) -> (Process, u16) {
    let files = case.files(Side::Server);
    let mut command = program("gnutls-serv", case, &files, &case.server_groups, &case.server_protocols);
    command.args([if case.server_closes { "--http" } else { "--echo" }, "--port", "0"]);
    match case.asks {
        Asks::No => drop(command.arg("--disable-client-cert")),
        Asks::Optional => drop(command.arg("--verify-client-cert")),
        Asks::Required if case.means == Means::RawPublicKeys => drop(command.arg("--require-client-cert")),
        Asks::Required => drop(command.args(["--require-client-cert", "--verify-client-cert"])),
    }
    if case.datagrams.is_some() && !case.cookie {
        command.arg("--nocookie");
    }
    if !case.server_protocols.is_empty() {
        command.arg("--alpn-fatal");
    }
    if case.shows_name {
        command.args(["--sni-hostname", case.name(), "--sni-hostname-fatal"]);
    }
    if case.no_tickets || case.sessions == Some(Sessions::Kept) {
        command.arg("--noticket");
    }
    if case.means == Means::PreSharedKey {
        command.arg("--pskpasswd").arg(&files.psk);
    }
    if case.early_data {
        command.args(["--earlydata", "--maxearlydata", "1024"]);
    }
    if let Some(response) = case.ocsp_response() {
        command.arg("--ignore-ocsp-response-errors").arg("--ocsp-response").arg(files.write("response.der", response));
    }
    let mut process = Process::start(command, files);
    let port = process.listening_port(if case.datagrams.is_some() { &UDP } else { &TCP });
    (process, port)
}

fn client_program(case: &Case, port: u16) -> Process {
    let files = case.files(Side::Client);
    let mut command = program("gnutls-cli", case, &files, &case.client_groups, &case.client_protocols);
    command.args(["--port", &port.to_string(), "--verify-hostname", case.name(), "--inline-commands"]);
    if case.sends_name {
        command.args(["--sni-hostname", case.name()]);
    } else {
        command.arg("--disable-sni");
    }
    if !case.client_groups.is_empty() {
        command.arg("--single-key-share");
    }
    if case.means == Means::PreSharedKey {
        command.args(["--pskusername", PSK_IDENTITY, "--pskkey", &hex(&PSK)]);
    }
    if case.means == Means::RawPublicKeys {
        command.arg("--no-ca-verification"); // it believes any key
    }
    if case.connections > 1 {
        command.args(["--resume", "--waitresumption"]);
    }
    if case.sessions == Some(Sessions::Kept) {
        command.arg("--noticket");
    }
    if case.early_data {
        command.arg("--earlydata").arg(files.write("early", EARLY_DATA));
    }
    command.arg("127.0.0.1");
    Process::start(command, files)
}

/// Adds the options that both programs share.
fn program(name: &str, case: &Case, files: &Files, groups: &[NamedGroup], protocols: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.arg("--x509cafile").arg(&files.root);
    if let Some((keys, own)) = files.raw_keys.as_ref().zip(files.credential.as_ref()) {
        command.arg("--rawpkfile").arg(&keys.own_pem).arg("--rawpkkeyfile").arg(&own.key);
    } else if let Some(own) = &files.credential {
        command.arg("--x509certfile").arg(&own.chain).arg("--x509keyfile").arg(&own.key);
    }
    command.args(["--priority", &priority(case, groups)]);
    if let Some(datagrams) = &case.datagrams {
        command.arg("--udp");
        if let Some(mtu) = datagrams.peer_mtu {
            command.args(["--mtu", &(mtu - IP_AND_UDP).to_string()]);
        }
    }
    for protocol in protocols {
        command.args(["--alpn", protocol]);
    }
    if let Some(size) = case.peer_record_size {
        command.args(["--recordsize", &size.to_string()]);
    }
    if case.exporter {
        command.args(["--keymatexport", EXPORTER_LABEL, "--keymatexportsize", &EXPORTER_LEN.to_string()]);
    }
    command
}

/// Returns a priority string: GnuTLS's own language for suites, groups, signature schemes and versions.
fn priority(case: &Case, groups: &[NamedGroup]) -> String {
    let mut priority = String::from("NORMAL:-VERS-ALL");
    if case.datagrams.is_some() {
        priority += ":+VERS-DTLS1.2";
    }
    for version in case.peer_versions.iter().filter(|_| case.datagrams.is_none()).rev() {
        priority += if *version == ProtocolVersion::TLS_1_2 { ":+VERS-TLS1.2" } else { ":+VERS-TLS1.3" };
    }
    if !case.suites.is_empty() {
        priority += ":-CIPHER-ALL:-KX-ALL"; // NORMAL leaves out CCM with short tags
        case.suites.iter().for_each(|suite| priority += suite_name(*suite));
    }
    match case.means {
        Means::Certificates => {}
        Means::RawPublicKeys => priority += ":-CTYPE-ALL:+CTYPE-CLI-RAWPK:+CTYPE-SRV-RAWPK",
        Means::PreSharedKey => priority += ":+ECDHE-PSK:+PSK",
    }
    if !groups.is_empty() {
        priority += ":-GROUP-ALL";
        groups.iter().for_each(|group| priority += group_name(*group));
    }
    if !case.schemes.is_empty() {
        priority += ":-SIGN-ALL";
        case.schemes.iter().for_each(|scheme| priority += scheme_name(*scheme));
    }
    if !case.compatibility_mode {
        priority += ":%DISABLE_TLS13_COMPAT_MODE";
    }
    priority
}

fn suite_name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => ":+ECDHE-ECDSA:+AES-128-GCM",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => ":+ECDHE-ECDSA:+AES-256-GCM",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => ":+ECDHE-ECDSA:+CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM => ":+ECDHE-ECDSA:+AES-128-CCM",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8 => ":+ECDHE-ECDSA:+AES-128-CCM-8",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => ":+ECDHE-RSA:+AES-128-GCM",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => ":+ECDHE-RSA:+AES-256-GCM",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => ":+ECDHE-RSA:+CHACHA20-POLY1305",
        CipherSuite::TLS_PSK_WITH_AES_128_CCM_8 => ":+PSK:+AES-128-CCM-8",
        CipherSuite::TLS_AES_128_GCM_SHA256 => ":+AES-128-GCM",
        CipherSuite::TLS_AES_256_GCM_SHA384 => ":+AES-256-GCM",
        CipherSuite::TLS_CHACHA20_POLY1305_SHA256 => ":+CHACHA20-POLY1305",
        CipherSuite::TLS_AES_128_CCM_SHA256 => ":+AES-128-CCM",
        CipherSuite::TLS_AES_128_CCM_8_SHA256 => ":+AES-128-CCM-8",
        other => panic!("GnuTLS has no suite {other}"),
    }
}

fn group_name(group: NamedGroup) -> &'static str {
    match group {
        NamedGroup::SECP256R1 => ":+GROUP-SECP256R1",
        NamedGroup::SECP384R1 => ":+GROUP-SECP384R1",
        NamedGroup::X25519 => ":+GROUP-X25519",
        other => panic!("GnuTLS 3.7 has no group {other}"),
    }
}

fn scheme_name(scheme: SignatureScheme) -> &'static str {
    match scheme {
        SignatureScheme::ECDSA_SECP256R1_SHA256 => ":+SIGN-ECDSA-SECP256R1-SHA256:+SIGN-ECDSA-SHA256",
        SignatureScheme::ECDSA_SECP384R1_SHA384 => ":+SIGN-ECDSA-SECP384R1-SHA384:+SIGN-ECDSA-SHA384",
        SignatureScheme::ED25519 => ":+SIGN-EDDSA-ED25519",
        SignatureScheme::RSA_PSS_RSAE_SHA256 => ":+SIGN-RSA-PSS-RSAE-SHA256",
        SignatureScheme::RSA_PSS_RSAE_SHA384 => ":+SIGN-RSA-PSS-RSAE-SHA384",
        SignatureScheme::RSA_PSS_RSAE_SHA512 => ":+SIGN-RSA-PSS-RSAE-SHA512",
        SignatureScheme::RSA_PKCS1_SHA256 => ":+SIGN-RSA-SHA256",
        SignatureScheme::RSA_PKCS1_SHA384 => ":+SIGN-RSA-SHA384",
        SignatureScheme::RSA_PKCS1_SHA512 => ":+SIGN-RSA-SHA512",
        other => panic!("no name for {other}"),
    }
}

/// A program of GnuTLS while it runs.
struct Program {
    running: Running,
    /// The line that the program prints when it is refused.
    refused: &'static str,
    key_updates: usize,
    is_over_udp: bool,
}

impl Program {
    fn new(running: Running, case: &Case) -> Self {
        let only_tls12 = case.peer_versions == [ProtocolVersion::TLS_1_2];
        let refused = if only_tls12 { "Error in handshake" } else { "A TLS fatal alert has been received" };
        Self { running, refused, key_updates: 0, is_over_udp: case.datagrams.is_some() }
    }
}

impl Remote for Program {
    fn echoes(&self) -> bool {
        self.running.role() == Role::Client
    }

    fn send(&mut self, data: &[u8]) {
        self.running.process.write(data);
    }

    fn expect(&mut self, data: &[u8]) {
        self.running.process.wait_for_data(data);
    }

    fn updates_keys_on(&self) -> Option<(&'static [u8], &'static [u8])> {
        (self.running.role() == Role::Client).then_some((b"**REHANDSHAKE**\n", b"Successfully executed command\n"))
    }

    fn update_keys(&mut self) {
        self.running.process.write(b"^rekey^\n");
        self.key_updates += 1;
        self.running.process.wait_for_times(self.key_updates, "Rekey was completed");
    }

    fn renegotiate(&mut self) {
        self.running.process.write(b"^renegotiate^\n");
    }

    fn keying_material(&mut self) -> Vec<u8> {
        from_hex(&self.running.process.wait_for_line("- Key material: "))
    }

    fn expect_server_name(&mut self, _: &str) {
        // With `--sni-hostname-fatal`, there is no handshake unless the client asks for this very name.
    }

    fn expect_protocol(&mut self, name: &str) {
        if matches!(self.running.way, Way::To(_)) && self.is_over_udp {
            return; // it does not say, but has `--alpn-fatal`
        }
        self.running.process.wait_for(&format!("- Application protocol: {name}"));
    }

    fn expect_staple(&mut self) {
        self.running.process.wait_for("OCSP status request");
    }

    fn closes_on(&self) -> Option<&'static [u8]> {
        (self.running.role() == Role::Client).then_some(b"GET / HTTP/1.0\r\n\r\n")
    }

    fn close(&mut self) {
        self.running.process.end_input();
    }

    fn expect_close(&mut self) {
        if self.running.role() == Role::Server {
            self.running.process.wait_for("- Peer has closed the GnuTLS connection");
            let status = self.running.process.wait();
            assert!(status.success(), "gnutls-cli ended with {status} after our close_notify");
        }
    }

    fn expect_alert(&mut self, alert: AlertDescription) {
        match self.running.role() {
            Role::Client => self.running.process.wait_for(self.refused), // it does not say which
            Role::Server => self.running.process.wait_for(&format!("[{}]", alert.0)),
        }
    }

    fn vanish(&mut self) {
        self.running.process.kill();
    }

    /// `--resume`
    fn leaves_first(&self) -> bool {
        self.running.role() == Role::Server
    }

    fn next(&mut self) {
        self.key_updates = 0;
        self.running.process.forget();
    }

    fn wire(&mut self) -> Box<dyn Wire> {
        self.running.meet()
    }
}
