//! `terse join-proxy init`: writes a configuration with every key.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use terse_onboard::discovery::Place;
use terse_onboard::join_proxy::Mode;
use terse_pki::write_file;

use super::{at_most_all, failed, udp};
use crate::failure::Failure;
use crate::output;

#[derive(Args, Debug)]
pub(super) struct Init {
    /// The directory to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Where a registrar is (repeatable, at most 16) [default: what multicast DNS finds]
    #[arg(long = "registrar", value_name = "HOST:PORT")]
    registrars: Vec<Place>,
    /// Also pass datagrams on, in this mode: stateful or stateless
    #[arg(long, value_name = "MODE", value_parser = udp::mode)]
    udp_mode: Option<Mode>,
    /// Where a registrar is for datagrams; in the stateless mode, where it takes JPY (repeatable, at most 16) [default: what
    /// answers by CoAP on the links]
    #[arg(long = "udp-registrar", value_name = "HOST:PORT", requires = "udp_mode")]
    udp_registrars: Vec<Place>,
}

impl Init {
    pub(super) fn run(self, json: bool) -> Result<(), Failure> {
        at_most_all(&self.registrars, "--registrar")?;
        at_most_all(&self.udp_registrars, "--udp-registrar")?;
        let path = self.out.join("join-proxy.toml");
        let text = self.text();
        fs::create_dir_all(&self.out).map_err(|error| failed(format_args!("{}: {error}", self.out.display())))?;
        write_file(&path, text.as_bytes(), false, false).map_err(failed)?;
        let written = path.display().to_string();
        match json {
            true => output::json(&json!({ "written": [written] })),
            false => output::line(written),
        }
    }

    fn text(&self) -> String {
        let tcp = format!(
            r#"# A join proxy: `terse join-proxy --config join-proxy.toml`.
listen = "[::]:8443"
# Where registrars are; without any, multicast DNS finds them, and nobody vouches for what it finds.
registrars = [{}]
# By multicast DNS, for devices.
announce = true

[limits]
connections = 256
per_address = 4
idle_seconds = 90
total_seconds = 900
bytes = 1048576
"#,
            list(&self.registrars)
        );
        let Some(mode) = self.udp_mode else { return tcp };
        let mode = if mode == Mode::Stateful { "stateful" } else { "stateless" };
        let udp = format!(
            r#"
# Datagrams of constrained devices.
[udp]
# "stateful", or "stateless", for which the registrar must take JPY.
mode = "{mode}"
# Where devices send to: the address of this machine on their link.
listen = "[fe80::1%eth0]:5684"
# Where registrars are; without any, they are asked for by CoAP, and nobody vouches for what answers.
registrars = [{}]
# Whom to ask then, as in ["registrar.plant.example:5683"], or on which interfaces; without both, on all links.
ask = []
interfaces = []
# Answers devices that ask by CoAP for join proxies, at this port.
discovery = true
discovery_port = 5683
# Devices have link-local addresses; add the prefixes of others.
on_link = []
mtu = 1280
per_address = 2
per_interface = 10
idle_seconds = 30
datagrams_per_second = 1000
"#,
            list(&self.udp_registrars)
        );
        tcp + &udp
    }
}

fn list(places: &[Place]) -> String {
    let quoted: Vec<_> = places.iter().map(|place| format!("{:?}", place.to_string())).collect();
    quoted.join(", ")
}
