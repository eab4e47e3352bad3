//! libcoap is a pledge of constrained BRSKI (draft-ietf-anima-constrained-voucher, RFC 9148), with OpenSSL and with GnuTLS.
//! Each of its requests has a DTLS connection of its own. Its artefacts are signed and verified by our crates.

use terse_brski::coap::{content_format, multipart};

use super::libcoap_client::{Client, GNUTLS, OPENSSL, are_here};
use super::world::{SERIAL, World};

/// How a client names resources.
#[derive(Clone, Copy)]
enum Names {
    WellKnown,
    Short,
    Abbreviated,
}

impl Names {
    /// Options and a path that name a resource.
    fn of(self, resource: &str) -> (String, String) {
        let (_, group, abbreviation) = RESOURCES.into_iter().find(|(name, ..)| *name == resource).unwrap();
        match self {
            Self::WellKnown => (String::new(), format!("/.well-known/{group}/{resource}")),
            Self::Short => (String::new(), format!("/{}/{resource}", &group[..1])),
            Self::Abbreviated => (format!("-O 13,0x{abbreviation:04x}"), String::new()),
        }
    }
}

/// Resources: their names, where they are, and their values of Uri-Path-Abbrev.
const RESOURCES: [(&str, &str, u16); 6] = [
    ("rv", "brski", 402),
    ("vs", "brski", 403),
    ("es", "brski", 401),
    ("crts", "est", 301),
    ("sen", "est", 302),
    ("sren", "est", 303),
];

/// Starts the services for a client. With OpenSSL, libcoap sends its own certificate alone, so that there the root of the
/// manufacturer issues IDevIDs.
fn start_for(program: &str) -> World {
    World::start_with(if program == OPENSSL { "p256x2" } else { "p256x3" }, "")
}

/// Goes up to the open gate of EST, and fetches the CA certificates in both forms.
fn join(device: Client<'_>, names: Names) {
    let (world, folder) = (device.world, device.world.folder());
    world.write_cose_request();
    let (options, path) = names.of("rv");
    let answer = device.send_until_decided(&format!("{options} -m post -t 836 -A 836 -f request.cose"), &path);
    answer.is("2.04", Some(content_format::VOUCHER_COSE));
    world.check_voucher(&answer.payload);
    let (options, path) = names.of("vs");
    device.send(&format!("{options} -m post -t cbor -f status.cbor"), &path).is("2.04", None);

    let (options, path) = names.of("crts");
    let answer = device.send_until_decided(&format!("{options} -A 281"), &path);
    answer.is("2.05", Some(content_format::PKCS7_CERTS_ONLY));
    folder.write("cacerts.p7", &answer.payload);
    folder.openssl("pkcs7 -inform DER -in cacerts.p7 -print_certs -out cacerts.pem");
    let answer = device.send(&format!("{options} -A 62"), &path);
    answer.is("2.05", Some(content_format::MULTIPART_CORE));
    let parts = multipart::decode(&answer.payload, 8).unwrap();
    assert!(parts.iter().all(|(format, _)| *format == content_format::PKIX_CERT), "{parts:?}");
    let mut each: Vec<_> = parts.iter().map(|(_, certificate)| certificate.to_vec()).collect();
    folder.write("issuer.der", &each[0]);
    let mut certificates: Vec<_> = world.certificates("cacerts.pem").iter().map(|one| one.to_vec()).collect();
    // Those in a certs-only are a set.
    each.sort();
    certificates.sort();
    assert_eq!(each, certificates);
    assert!(certificates.contains(&world.certificates("domain/ca/ca.pem")[0].to_vec()), "the root is among them");
}

/// Writes a certificate as `NAME.pem`, and checks that it is one of the domain for the key of `NAME.key`.
fn read_certificate(world: &World, name: &str, certificate: &[u8]) {
    let folder = world.folder();
    folder.write("certificate.der", certificate);
    folder.openssl(&format!("x509 -inform DER -in certificate.der -out {name}.pem"));
    // The issuer is the first of the CA certificates.
    folder.openssl("x509 -inform DER -in issuer.der -out issuer.pem");
    folder.openssl(&format!("verify -partial_chain -trusted issuer.pem {name}.pem"));
    folder.openssl(&format!("verify -purpose sslclient -CAfile domain/ca/ca.pem -untrusted cacerts.pem {name}.pem"));
    assert!(folder.openssl(&format!("x509 -in {name}.pem -noout -subject")).contains(SERIAL));
    let own = folder.openssl(&format!("pkey -in {name}.key -pubout"));
    assert_eq!(folder.openssl(&format!("x509 -in {name}.pem -noout -pubkey")), own);
}

/// The whole way, from the voucher request to the next LDevID.
fn goes_the_whole_way(device: Client<'_>, names: Names) {
    let world = device.world;
    join(device, names);
    world.write_certification_request("ldevid");
    let (options, path) = names.of("sen");
    let enroll = |accept: u16| device.send(&format!("{options} -m post -t 286 -A {accept} -f ldevid.der"), &path);
    let answer = enroll(content_format::PKIX_CERT);
    answer.is("2.04", Some(content_format::PKIX_CERT));
    read_certificate(world, "ldevid", &answer.payload);
    // The same request has the same certificate, in the other form, too.
    let all_in_one = enroll(content_format::PKCS7_CERTS_ONLY);
    all_in_one.is("2.04", Some(content_format::PKCS7_CERTS_ONLY));
    assert!(all_in_one.payload.windows(answer.payload.len()).any(|part| part == answer.payload));

    let (options, path) = names.of("es");
    device.send_as_member("ldevid", &format!("{options} -m post -t cbor -f status.cbor"), &path).is("2.04", None);
    world.write_certification_request("next");
    let (options, path) = names.of("sren");
    let arguments = format!("{options} -m post -t 286 -A 287 -f next.der");
    let answer = device.send_as_member("ldevid", &arguments, &path);
    answer.is("2.04", Some(content_format::PKIX_CERT));
    read_certificate(world, "next", &answer.payload);
}

#[test]
fn libcoap_gets_a_voucher_enrols_reports_and_enrols_again() {
    if !are_here() {
        return;
    }
    for (program, names) in [(OPENSSL, Names::WellKnown), (GNUTLS, Names::Abbreviated)] {
        let world = start_for(program);
        goes_the_whole_way(Client::device(&world, program, ""), names);
        world.stop();
    }
}

/// The voucher request, its answer and all that is longer than 64 bytes goes in blocks of that size (RFC 7959).
#[test]
fn libcoap_goes_the_whole_way_in_blocks_of_64_bytes() {
    if !are_here() {
        return;
    }
    let world = start_for(OPENSSL);
    let device = Client::device(&world, OPENSSL, "-b 64");
    goes_the_whole_way(device, Names::Short);
    let answer = device.send("-m post -t 836 -A 836 -f request.cose", "/b/rv");
    world.check_voucher(&answer.payload);
    let len = world.folder().read("request.cose").len();
    assert!(answer.blocks("Block1", 64) >= 2 * len.div_ceil(64), "{}", answer.log);
    let answer = device.send("-A 62", "/e/crts");
    assert!(answer.blocks("Block2", 64) >= 2 * answer.payload.len().div_ceil(64), "{}", answer.log);
    world.stop();
}

#[test]
fn libcoap_is_told_what_is_wrong_with_a_request() {
    if !are_here() {
        return;
    }
    let world = start_for(OPENSSL);
    world.write_cose_request();
    world.folder().write("none.cose", [0x84]);
    world.folder().write("long.cose", [0; 40_000]);
    for program in [OPENSSL, GNUTLS] {
        let device = Client::device(&world, program, "");
        for (arguments, path, code, part) in [
            ("-m post -t cbor -f request.cose", "/b/rv", "4.15", "voucher"),
            ("-m post -t 65000 -f request.cose", "/b/rv", "4.15", "Content-Format"),
            ("-m post -f request.cose", "/b/rv", "4.15", "Content-Type"),
            ("-m post -t 836 -A json -f request.cose", "/b/rv", "4.06", "accepted"),
            ("-m post -t 836 -f none.cose", "/b/rv", "4.03", "no CBOR"),
            ("-m post -t 836 -b 1024 -f long.cose", "/b/rv", "4.13", "too long"),
            ("-m post -t cbor -f none.cose", "/b/vs", "4.00", ""),
            ("-m get", "/b/rv", "4.05", ""),
            ("-m post -t 286 -f none.cose", "/e/sen", "4.01", "another client"),
            ("-m get", "/e/crts", "4.01", "another client"),
            ("-m get", "/e/att", "4.04", ""),
            ("-m get", "/nothing", "4.04", ""),
            ("-m get -O 13,0x0fff", "", "4.02", "Uri-Path-Abbrev"),
            ("-m get -O 13,0x012d", "/e/crts", "4.02", "Uri-Path-Abbrev"),
            ("-m get -O 65001,0x00", "/e/crts", "4.02", "65001"),
        ] {
            device.send(arguments, path).is_refusal(code, part);
        }
        // It finds where to ask, and a message that is not confirmable is answered, too.
        let links = device.send("-N -A 40", "/.well-known/core?rt=brski.rv");
        assert_eq!((links.code.as_deref(), &*links.payload), (Some("2.05"), &b"</b/rv>;rt=brski.rv;ct=836"[..]));
    }
    // Nothing of this has kept the device from its voucher.
    join(Client::device(&world, GNUTLS, ""), Names::Short);
    world.stop();
}

#[test]
fn libcoap_gets_nothing_without_a_certificate() {
    if !are_here() {
        return;
    }
    let world = start_for(OPENSSL);
    for program in [OPENSSL, GNUTLS] {
        let stranger = Client { world: &world, program, options: "" };
        let answer = stranger.run("-n -B 5", "/.well-known/core");
        assert!(answer.code.is_none() && answer.payload.is_empty(), "{answer:?}");
        assert!(answer.log.to_lowercase().contains("alert"), "it is told why: {}", answer.log);
    }
    world.stop();
}
