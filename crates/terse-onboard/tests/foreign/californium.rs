//! Californium with Scandium is a pledge of constrained BRSKI, over DTLS 1.2 with connection IDs (RFC 9146), whose voucher
//! request cose-java signs, and whose voucher it verifies (RFC 9052).

use std::process::Command;

use super::programs::{is_here, skipped};
use super::world::{SERIAL, World};

/// The program, which Java compiles when it runs it.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/CoapsPledge.java");

/// What it needs.
const POM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/pom.xml");

/// The libraries, which Maven fetches; `None` if they are not here.
fn jars() -> Option<String> {
    let are_tools_here = is_here("javac", "-version", "default-jdk-headless")
        && is_here("mvn", "-version", "maven")
        && is_here("openssl", "version", "openssl");
    if !are_tools_here {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("jars");
    let mut command = Command::new("mvn");
    command.args(["--quiet", "--batch-mode", "dependency:build-classpath", "--file", POM]);
    command.arg(format!("-Dmdep.outputFile={}", list.display()));
    let output = command.output().unwrap();
    if !output.status.success() {
        skipped("Californium with cose-java", &String::from_utf8_lossy(&output.stdout));
        return None;
    }
    Some(std::fs::read_to_string(list).unwrap())
}

#[test]
fn californium_goes_the_whole_way_with_cose_java_and_changes_its_port() {
    let Some(jars) = jars() else { return };
    let world = World::start("");
    let folder = world.folder();
    let relay = world.relay();
    world.write_certification_request("ldevid");
    world.write_certification_request("next");
    let arguments = format!(
        "-XX:TieredStopAtLevel=1 -cp {jars} {PROGRAM} {} {SERIAL} devices/{SERIAL} masa/voucher.pem",
        relay.address.port()
    );
    let output = folder.output("java", &arguments);
    let [said, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{said}{error}");

    // Both connections are those of a constrained device, whose connection ID is what the registrar knows it by.
    let lines_with =
        |start: &str| said.lines().filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect();
    let suites: Vec<String> = lines_with("suite ");
    assert_eq!(suites, ["TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8"; 2]);
    let ids: Vec<String> = lines_with("connection ID ");
    assert!(ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(|id| id.starts_with("CID=")), "{ids:?}");
    assert!(relay.ports() > 20, "{} ports", relay.ports());

    let root = folder.openssl("x509 -in domain/ca/ca.pem");
    assert!(folder.openssl("storeutl -certs cacerts.pem").contains(&root), "the root is among them");
    for name in ["ldevid", "next"] {
        folder
            .openssl(&format!("verify -purpose sslclient -CAfile domain/ca/ca.pem -untrusted cacerts.pem {name}.pem"));
        assert!(folder.openssl(&format!("x509 -in {name}.pem -noout -subject")).contains(SERIAL));
        let own = folder.openssl(&format!("pkey -in {name}.key -pubout"));
        assert_eq!(folder.openssl(&format!("x509 -in {name}.pem -noout -pubkey")), own);
    }
    world.stop();
}
