//! Scandium of Eclipse Californium, which Maven fetches in the version that `java/scandium/pom.xml` names, driven by
//! `java/scandium/Scandium.java`.

use std::fs;
use std::process::{Command, id};

use terse_tls::{AlertDescription, ProtocolVersion};

use super::absence::{NO_CUT_HELLO, NO_OTHER_VERSION, absent};
use super::driver::Driver;
use super::{Absence, Implementation, Remote, Role, Way};
use crate::case::Case;
use crate::compile::{JavaProgram, Launcher, directory, own, run};
use crate::features::Carrier;

/// DTLS 1.2 with connection IDs.
pub(super) struct Scandium;

static DRIVER: Driver = Driver::with_record_size_limit(make);

fn make() -> Result<Launcher, String> {
    let program = JavaProgram {
        name: "scandium",
        class: "Scandium",
        sources: &["java/scandium/Scandium.java", "java/scandium/Settings.java"],
        settings: &["java/scandium/pom.xml"],
        jars,
        packages: "maven and default-jdk-headless",
    };
    program.compile()
}

fn jars() -> Result<String, String> {
    let list = directory().join(format!("jars.{}", id()));
    let mut command = Command::new("mvn");
    command.args(["--quiet", "--batch-mode", "dependency:build-classpath", "--file"]);
    command.arg(own("java/scandium/pom.xml")).arg(format!("-Dmdep.outputFile={}", list.display()));
    run(&mut command, "install the package maven; it fetches Scandium")?;
    let jars = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let _ = fs::remove_file(&list); // there is nothing to be done if it stays
    Ok(jars)
}

impl Implementation for Scandium {
    fn name(&self) -> &'static str {
        "scandium"
    }

    fn version(&self) -> Result<String, String> {
        DRIVER.version()
    }

    fn speaks(&self, version: ProtocolVersion, carrier: Carrier) -> bool {
        (version, carrier) == (ProtocolVersion::TLS_1_2, Carrier::Udp)
    }

    fn server(&self, case: &Case) -> Option<(Box<dyn Remote>, u16)> {
        Some(DRIVER.server(case))
    }

    fn client(&self, case: &Case, way: Way) -> Option<Box<dyn Remote>> {
        Some(DRIVER.client(case, way))
    }

    fn absences(&self) -> &'static [Absence] {
        ABSENCES
    }

    fn can_be_told_rsa_pss(&self) -> bool {
        false
    }

    fn alert_about_certificate(&self, _: Role, alert: AlertDescription) -> AlertDescription {
        match alert {
            AlertDescription::CERTIFICATE_EXPIRED => alert,
            _ => AlertDescription::BAD_CERTIFICATE,
        }
    }

    fn alert_about_version(&self, _: ProtocolVersion, _: Carrier) -> AlertDescription {
        AlertDescription::INTERNAL_ERROR
    }

    fn is_measured_with(&self, chain: &str) -> bool {
        chain == "p256x3"
    }

    fn changes_ports(&self) -> bool {
        false
    }
}

const ABSENCES: &[Absence] = &[
    absent("resumption_of_sealed_sessions", "Scandium has no tickets").for_our_server(),
    absent("ed25519", "not tried: it needs a provider that Java 17 has not registered"),
    absent("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "Scandium has no ChaCha20"),
    absent("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "Scandium has no ChaCha20"),
    absent("rsa_pss_rsae_sha256", "Scandium has no RSASSA-PSS"),
    absent("rsa_pss_rsae_sha384", "Scandium has no RSASSA-PSS"),
    absent("rsa_pss_rsae_sha512", "Scandium has no RSASSA-PSS"),
    absent("alpn", "Scandium has no ALPN"),
    absent("alpn_nothing_in_common", "Scandium has no ALPN"),
    absent("no_server_name", "Scandium's client checks only a name that it sends").for_our_server(),
    absent("fragmented_client_hello", "Scandium has no ALPN, which makes it long here"),
    absent("mtu_127", NO_CUT_HELLO).for_our_client(),
    absent("exporter", "Scandium 3.14's client fails when it is asked to export").for_our_server(),
    absent("only_our_side_is_limited_to_it", NO_OTHER_VERSION).dtls(),
];
