//! Debian's Bouncy Castle 1.72, driven by `java/Peer.java`.

use terse_tls::ProtocolVersion;

use super::driver::Driver;
use super::{Implementation, Remote, Way};
use crate::case::Case;
use crate::compile::{JavaProgram, Launcher};
use crate::features::Carrier;

/// Pre-shared keys in TLS 1.2.
pub(super) struct BouncyCastle;

static DRIVER: Driver = Driver::new(make);

fn make() -> Result<Launcher, String> {
    let program = JavaProgram {
        name: "bouncycastle",
        class: "Peer",
        sources: &["java/Peer.java"],
        settings: &[],
        jars: || Ok("/usr/share/java/bctls.jar:/usr/share/java/bcprov.jar:/usr/share/java/bcutil.jar".into()),
        packages: "libbctls-java and default-jdk-headless",
    };
    program.compile()
}

impl Implementation for BouncyCastle {
    fn name(&self) -> &'static str {
        "bouncy"
    }

    fn version(&self) -> Result<String, String> {
        DRIVER.version()
    }

    fn speaks(&self, version: ProtocolVersion, carrier: Carrier) -> bool {
        (version, carrier) == (ProtocolVersion::TLS_1_2, Carrier::Tcp)
    }

    fn server(&self, case: &Case) -> Option<(Box<dyn Remote>, u16)> {
        Some(DRIVER.server(case))
    }

    fn client(&self, case: &Case, way: Way) -> Option<Box<dyn Remote>> {
        Some(DRIVER.client(case, way))
    }

    fn only_features(&self) -> Option<&'static [&'static str]> {
        Some(&["pre_shared_key", "pre_shared_key_with_ecdhe"])
    }
}
