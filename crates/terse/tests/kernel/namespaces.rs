//! Two network namespaces have a link between them, each with the TCP of the kernel that runs the test.
//!
//! What must always hold: the namespaces are removed with the test, however it ends; no other test has the same ones.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The two ends of a link.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Client,
    Server,
}

/// A link of plain Ethernet between two namespaces.
pub(crate) struct Link {
    client: Namespace,
    server: Namespace,
}

/// A namespace by its name.
struct Namespace(String);

/// The server's address on the link.
pub(crate) const SERVER: &str = "192.0.2.1";
/// The client's address on the link.
const CLIENT: &str = "192.0.2.2";
/// The name of the link at both ends.
pub(crate) const INTERFACE: &str = "eth0";

/// The tools, the option by which each shows its version, and Debian's packages.
const TOOLS: [(&str, &str, &str); 3] =
    [("ip", "-V", "iproute2"), ("ethtool", "--version", "ethtool"), ("tcpdump", "--version", "tcpdump")];

impl Link {
    /// Creates a link that carries IPv4 packets of at most `mtu` bytes. The error says why this machine cannot have
    /// one.
    pub(crate) fn new(mtu: u16) -> Result<Self, String> {
        for (tool, version, package) in TOOLS {
            let output = Command::new(tool).arg(version).output();
            output.map_err(|error| format!("{tool} cannot be run ({error}): apt-get install {package}"))?;
        }
        let link = Self { client: Namespace::new("client")?, server: Namespace::new("server")? };
        let (client, server) = (&link.client.0, &link.server.0);
        ip(&format!("link add {INTERFACE} netns {client} type veth peer name {INTERFACE} netns {server}"))?;
        for (end, address) in [(&link.client, CLIENT), (&link.server, SERVER)] {
            let name = &end.0;
            // Hosts with IPv6 look for routers, so that it is disabled. A new namespace has the kernel's defaults for
            // TCP, except for congestion control and the sizes of buffers, which are its host's; the buffers are never
            // full here.
            end.set("net/ipv6/conf/all/disable_ipv6", &["1"]).ok();
            end.set("net/ipv4/tcp_congestion_control", &["cubic", "reno"])?;
            run(end
                .command("ethtool")
                .args(["-K", INTERFACE])
                .args(["tso", "gso", "gro", "tx", "rx"].iter().flat_map(|offload| [*offload, "off"])))?;
            ip(&format!("-n {name} address add {address}/30 dev {INTERFACE}"))?;
            ip(&format!("-n {name} link set {INTERFACE} mtu {mtu} up"))?;
        }
        Ok(link)
    }

    /// Returns a command that runs at one end.
    pub(crate) fn command(&self, end: End, program: &str) -> Command {
        match end {
            End::Client => self.client.command(program),
            End::Server => self.server.command(program),
        }
    }
}

impl Namespace {
    fn new(role: &str) -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("terse-{}-{number}-{role}", std::process::id());
        ip(&format!("netns add {name}"))?;
        Ok(Self(name))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0, program]);
        command
    }

    /// Sets a kernel parameter to the first value that it accepts.
    fn set(&self, parameter: &str, values: &[&str]) -> Result<(), String> {
        let mut result = Ok(());
        for value in values {
            result = run(self.command("sh").args(["-c", &format!("echo {value} > /proc/sys/{parameter}")]));
            if result.is_ok() {
                break;
            }
        }
        result
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&format!("netns delete {}", self.0));
    }
}

/// A process in the background, ended when dropped.
pub(crate) struct Background(pub(crate) Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip(words: &str) -> Result<(), String> {
    run(Command::new("ip").args(words.split_whitespace()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let reason = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {}", reason.trim())) }
}
