//! Runs a program of ours that drives a library: those in `c/` and `java/`, and `dimpl-peer`. They all take the same orders
//! and print the same lines (see `c/peer.h`). Lines on their standard input are application data, except the orders
//! `!close` and `!keys`. They report what happened on standard error, apart from the data.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use terse_tls::{AlertDescription, ProtocolVersion};

use super::{Remote, Running, Way};
use crate::case::{Asks, Case, EARLY_DATA, EXPORTER_LABEL, Means, Sessions};
use crate::compile::{Launcher, run};
use crate::datagrams::IP_AND_UDP;
use crate::pki::{PSK, PSK_IDENTITY, Side, from_hex, hex};
use crate::process::Process;
use crate::tap::Wire;

/// A program of ours that drives a library.
pub(super) struct Driver {
    make: fn() -> Result<Launcher, String>,
    made: OnceLock<Result<Launcher, String>>,
    takes_record_size_limit: bool,
}

impl Driver {
    /// Describes a program that `make` makes when it is first asked for.
    pub(super) const fn new(make: fn() -> Result<Launcher, String>) -> Self {
        Self { make, made: OnceLock::new(), takes_record_size_limit: false }
    }

    /// Describes a program that takes the order `record-size-limit` as well, over datagrams.
    pub(super) const fn with_record_size_limit(make: fn() -> Result<Launcher, String>) -> Self {
        Self { make, made: OnceLock::new(), takes_record_size_limit: true }
    }

    /// Returns what the program says about its library's version, or why there is no program.
    pub(super) fn version(&self) -> Result<String, String> {
        let output = run(self.command()?.arg("version"), "its program")?;
        Ok(output.trim().to_owned())
    }

    /// Starts the program's server, and returns its port.
    pub(super) fn server(&self, case: &Case) -> (Box<dyn Remote>, u16) {
        let process = self.start("server", case, Side::Server, |words| {
            let asks = match case.asks {
                Asks::No => "no",
                Asks::Optional => "optional",
                Asks::Required => "required",
            };
            words.add("asks", asks);
            words.add("groups", code_points(case.server_groups.iter().map(|group| group.0)));
            words.add("protocols", case.server_protocols.join(","));
            if case.cookie {
                words.add("cookie", "1");
            }
        });
        let port = process.wait_for_line("listening ").parse().expect("a port");
        (Box::new(Program::new(Running { process, way: Way::To(port) }, case)), port)
    }

    /// Starts the program's client.
    pub(super) fn client(&self, case: &Case, way: Way) -> Box<dyn Remote> {
        let process = self.start("client", case, Side::Client, |words| {
            words.add("port", way.port().to_string());
            words.add("name", case.name());
            words.add("groups", code_points(case.client_groups.iter().map(|group| group.0)));
            words.add("protocols", case.client_protocols.join(","));
            if !case.sends_name {
                words.add("sends-name", "0");
            }
            if let Some(length) = case.max_fragment_length {
                words.add("fragment", (length.bytes().ilog2() - 8).to_string()); // 1 is 512 bytes
            }
        });
        Box::new(Program::new(Running { process, way }, case))
    }

    pub(super) fn command(&self) -> Result<Command, String> {
        let made = self.made.get_or_init(self.make).as_ref();
        made.map(Launcher::command).map_err(Clone::clone)
    }

    fn start(&self, role: &str, case: &Case, side: Side, more: impl FnOnce(&mut Words)) -> Process {
        let files = case.files(side);
        let mut words = Words(self.command().unwrap_or_else(|reason| panic!("{reason}")));
        words.0.arg(role);
        words.add("connections", case.connections.to_string());
        let path = |path: &Path| path.display().to_string();
        match case.means {
            Means::Certificates => {
                words.add("ca", path(&files.root));
                words.add("chain", files.credential.as_ref().map(|own| path(&own.chain)).unwrap_or_default());
            }
            Means::RawPublicKeys => {
                let keys = files.raw_keys.as_ref().expect("files of raw public keys");
                words.add("raw-key", path(&keys.own_der));
                words.add("peer-raw-key", path(&keys.peer_der));
            }
            Means::PreSharedKey => {
                words.add("identity", PSK_IDENTITY);
                words.add("psk", hex(&PSK));
            }
        }
        words.add("key", files.credential.as_ref().map(|own| path(&own.key)).unwrap_or_default());
        let name = |version: &ProtocolVersion| if *version == ProtocolVersion::TLS_1_2 { "1.2" } else { "1.3" };
        words.add("versions", case.peer_versions.iter().map(name).collect::<Vec<_>>().join(","));
        words.add("suites", code_points(case.suites.iter().map(|suite| suite.0)));
        words.add("schemes", code_points(case.schemes.iter().map(|scheme| scheme.0)));
        let only_tls12 = case.peer_versions == [ProtocolVersion::TLS_1_2];
        if case.no_tickets || only_tls12 && case.sessions == Some(Sessions::Kept) {
            words.add("tickets", "0");
        }
        if case.peer_lacks_extended_master_secret {
            words.add("extended-master-secret", "0");
        }
        if case.early_data {
            words.add("early-data", EARLY_DATA.trim_end());
        }
        if case.exporter {
            words.add("exporter", EXPORTER_LABEL);
        }
        if let Some(datagrams) = &case.datagrams {
            words.add("datagrams", "1");
            words.add("datagram", datagrams.peer_mtu.map(|mtu| (mtu - IP_AND_UDP).to_string()).unwrap_or_default());
            let limit = case.peer_record_size.filter(|_| self.takes_record_size_limit);
            words.add("record-size-limit", limit.map(|limit| limit.to_string()).unwrap_or_default());
            words.add("connection-id", datagrams.peer_connection_id.map(|len| len.to_string()).unwrap_or_default());
        }
        more(&mut words);
        Process::start(words.0, files)
    }
}

/// The command line of a program, while it is put together.
struct Words(Command);

impl Words {
    /// Adds `WORD=VALUE`, unless the value is empty.
    fn add(&mut self, word: &str, value: impl AsRef<str>) {
        if !value.as_ref().is_empty() {
            self.0.arg(format!("{word}={}", value.as_ref()));
        }
    }
}

/// Returns code points in the form that the programs take.
fn code_points(list: impl Iterator<Item = u16>) -> String {
    list.map(|code_point| format!("{code_point:04x}")).collect::<Vec<_>>().join(",")
}

/// A program of ours while it runs.
struct Program {
    running: Running,
    /// How many connections follow this one.
    left: usize,
    key_updates: usize,
}

impl Program {
    const fn new(running: Running, case: &Case) -> Self {
        Self { running, left: case.connections - 1, key_updates: 0 }
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
        self.running.process.write(b"!keys\n");
        self.key_updates += 1;
        self.running.process.wait_for_times(self.key_updates, "keys updated\n");
    }

    fn keying_material(&mut self) -> Vec<u8> {
        from_hex(&self.running.process.wait_for_line("keying material "))
    }

    fn expect_server_name(&mut self, name: &str) {
        self.running.process.wait_for(&format!("server name {name}\n"));
    }

    fn expect_protocol(&mut self, name: &str) {
        self.running.process.wait_for(&format!("protocol {name}\n"));
    }

    fn close(&mut self) {
        self.running.process.write(b"!close\n");
    }

    fn expect_close(&mut self) {
        self.running.process.wait_for("closed by the peer\nover\n");
        if self.left == 0 {
            let status = self.running.process.wait();
            assert!(status.success(), "the program ended with {status} after our close_notify");
        }
    }

    fn expect_alert(&mut self, alert: AlertDescription) {
        self.running.process.wait_for(&format!("alert received {}\n", alert.0));
    }

    fn vanish(&mut self) {
        self.running.process.kill();
    }

    fn next(&mut self) {
        self.left -= 1;
        self.key_updates = 0;
        self.running.process.forget();
    }

    fn wire(&mut self) -> Box<dyn Wire> {
        self.running.meet()
    }
}
