//! Bouncy Castle's client of EST enrols a device and renews its certificate (RFC 7030), over the TLS of the JDK. Its device
//! has got its voucher before.

use super::programs::{are_curl_and_openssl_here, is_here, skipped};
use super::world::{REGISTRAR, SERIAL, World};

/// The libraries, as Debian has them.
const JARS: [&str; 3] = ["/usr/share/java/bcpkix.jar", "/usr/share/java/bcprov.jar", "/usr/share/java/bcutil.jar"];

/// The program, which Java compiles when it runs it.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/EstClient.java");

fn is_bouncy_castle_here() -> bool {
    let are_jars_here = JARS.iter().all(|jar| std::path::Path::new(jar).exists());
    is_here("javac", "-version", "default-jdk-headless")
        && (are_jars_here || skipped("Bouncy Castle's bcpkix.jar", "apt-get install libbcpkix-java"))
        && are_curl_and_openssl_here()
}

/// Runs the client as `client`, and expects success.
#[track_caller]
fn est(world: &World, client: &str, request: &str) {
    let folder = world.folder();
    folder.write("hosts", format!("127.0.0.1 {REGISTRAR}\n"));
    let output = folder.output(
        "java",
        &format!(
            "-XX:TieredStopAtLevel=1 -Djdk.net.hosts.file=hosts -cp {} {PROGRAM} {REGISTRAR} {} domain/ca/ca.pem \
             {client} {request}",
            JARS.join(":"),
            world.registrar.port()
        ),
    );
    assert!(output.status.success(), "{request}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn bouncy_castle_enrols_and_enrols_again() {
    if !is_bouncy_castle_here() {
        return;
    }
    let world = World::start(r#"names = ["{serial}.devices.example"]"#);
    world.join();
    let folder = world.folder();
    let device = format!("devices/{SERIAL}");
    est(&world, &device, "cacerts cacerts.pem");
    let root = folder.openssl("x509 -in domain/ca/ca.pem");
    assert!(folder.openssl("storeutl -certs cacerts.pem").contains(&root), "the root is among them");
    est(&world, &device, "csrattrs csrattrs.der");
    let printed = folder.openssl("asn1parse -inform DER -in csrattrs.der");
    assert!(printed.contains("X509v3 Subject Alternative Name"), "{printed}");
    est(&world, &device, "simpleenroll ldevid");
    est(&world, "ldevid", "simplereenroll next");
    for name in ["ldevid", "next"] {
        folder
            .openssl(&format!("verify -purpose sslclient -CAfile domain/ca/ca.pem -untrusted cacerts.pem {name}.pem"));
        let printed = folder.openssl(&format!("x509 -in {name}.pem -noout -subject -ext subjectAltName"));
        assert!(printed.contains(SERIAL) && printed.contains("DNS:wi-3005.devices.example"), "{printed}");
        let own = folder.openssl(&format!("pkey -in {name}.key -pubout"));
        assert_eq!(folder.openssl(&format!("x509 -in {name}.pem -noout -pubkey")), own);
    }
    world.stop();
}

#[test]
fn bouncy_castle_is_told_that_there_are_no_attributes() {
    if !is_bouncy_castle_here() {
        return;
    }
    let world = World::start("");
    world.join();
    est(&world, &format!("devices/{SERIAL}"), "csrattrs csrattrs.der");
    assert!(world.folder().read("csrattrs.der").is_empty());
    world.stop();
}
