//! OpenSSL reads the bodies of EST that this crate writes, and writes ones that this crate reads. Without the `openssl` command
//! the tests are skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;

use terse_brski::certificate;
use terse_brski::est::{CsrAttributes, UnsignedRequest, decode_certs_only, decode_certs_only_ber, encode_certs_only};
use terse_pki::pki_types::pem::PemObject as _;
use terse_pki::pki_types::{CertificateDer, PrivateKeyDer};
use terse_pki::{Authority, AuthorityOptions, IdevidOptions, NameAttribute, Subject, Validity, to_pem};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;

const NOW: u64 = 1_763_700_000;

/// Runs `openssl` with `arguments`, words separated by spaces, and returns what it wrote after a success. Returns `None` if
/// the command is not here.
#[track_caller]
fn openssl(arguments: &str, input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new("openssl");
    let command = command.args(arguments.split_whitespace());
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = spawned else {
        let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
        assert!(!required, "openssl is required: apt-get install openssl");
        eprintln!("skipped: openssl is not installed");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // Beside the reader: neither waits for the other.
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap(); // a command that stops reading has an error, which is seen below
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    Some([output.stdout, output.stderr].concat())
}

fn text(output: Vec<u8>) -> String {
    String::from_utf8(output).unwrap()
}

fn chain() -> Vec<CertificateDer<'static>> {
    let options = AuthorityOptions::new("p256x3".parse().unwrap(), Validity::without_end(NOW));
    let authority = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
    authority.issue_idevid(&IdevidOptions::new("WI-3005", NOW)).unwrap().chain().to_vec()
}

#[test]
fn openssl_prints_our_certificates() {
    let chain = chain();
    let der = encode_certs_only(&chain);
    let Some(printed) = openssl("pkcs7 -inform DER -print_certs -noout", &der) else { return };
    let printed = text(printed);
    assert_eq!(printed.matches("subject=").count(), chain.len());
    assert!(printed.contains("subject=serialNumber = WI-3005"), "{printed}");
    // What OpenSSL encodes anew is what we encoded: it is DER.
    let again = openssl("pkcs7 -inform DER -outform DER", &der).unwrap();
    assert_eq!(again, der);
}

#[test]
fn our_reader_finds_the_certificates_of_openssl() {
    let chain = chain();
    let pem: String = chain.iter().map(|one| to_pem("CERTIFICATE", one)).collect();
    let Some(der) = openssl("crl2pkcs7 -nocrl -certfile /dev/stdin -outform DER", pem.as_bytes()) else { return };
    let mut found = decode_certs_only(&der).unwrap();
    assert_eq!(decode_certs_only_ber(&der).unwrap(), found);
    found.sort_by_key(|one| chain.iter().position(|other| other == one));
    assert_eq!(found, chain);
    // Without a certificate it is of no use.
    let none = openssl("crl2pkcs7 -nocrl -outform DER", b"").unwrap();
    decode_certs_only(&none).unwrap_err();
}

#[test]
fn openssl_verifies_our_requests() {
    let subject = Subject::empty().with(NameAttribute::Organization, "Maker").unwrap();
    let subject = subject.with(NameAttribute::SerialNumber, "WI-3005").unwrap();
    for (key, signature) in [
        ("-algorithm EC -pkeyopt ec_paramgen_curve:P-256", "ecdsa-with-SHA256"),
        ("-algorithm EC -pkeyopt ec_paramgen_curve:P-384", "ecdsa-with-SHA384"),
        ("-algorithm ED25519", "ED25519"),
    ] {
        let Some(pem) = openssl(&format!("genpkey {key}"), b"") else { return };
        let key = PROVIDER.load_key(&PrivateKeyDer::from_pem_slice(&pem).unwrap()).unwrap();
        // CSR attributes as a registrar sends them: a subjectAltName with the name in RFC 9908's example.
        let asked = [
            0x30, 0x2e, 0x30, 0x2c, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e, 0x31, 0x1f, 0x30,
            0x1d, 0x30, 0x1b, 0x06, 0x03, 0x55, 0x1d, 0x11, 0x04, 0x14, 0x30, 0x12, 0x82, 0x10,
        ];
        let asked = [&asked[..], b"www.myServer.com"].concat();
        let asked = CsrAttributes::from_der(&asked).unwrap();
        for extensions in [&[][..], &asked.extensions] {
            let request = UnsignedRequest::new(subject.der(), &*key, key.schemes()[0], extensions).unwrap();
            let request = request.sign(&*key, &mut SeededRng::new(7)).unwrap();
            let printed = text(openssl("req -inform DER -verify -noout -text", &request).unwrap());
            assert!(printed.contains("verify OK"), "{printed}");
            assert!(printed.contains("Subject: O = Maker, serialNumber = WI-3005"), "{printed}");
            assert!(printed.contains(&format!("Signature Algorithm: {signature}")), "{printed}");
            assert_eq!(printed.contains("DNS:www.myServer.com"), !extensions.is_empty(), "{printed}");
            assert_eq!(asked.check(&request).is_ok(), !extensions.is_empty());
            // What OpenSSL encodes anew is what we encoded: it is DER.
            assert_eq!(openssl("req -inform DER -outform DER", &request).unwrap(), request);
        }
    }
}

#[test]
fn our_check_reads_the_requests_of_openssl() {
    let subject = Subject::common_name("sensor-17").unwrap();
    let arguments = "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -subj /CN=sensor-17 \
                     -outform DER -addext subjectAltName=DNS:a.example -addext keyUsage=critical,digitalSignature";
    let Some(request) = openssl(arguments, b"").map(|output| {
        // The progress of key generation may come after the request.
        let len = 4 + usize::from(u16::from_be_bytes([output[2], output[3]]));
        output[..len].to_vec()
    }) else {
        return;
    };
    let mut asked = CsrAttributes::default();
    asked.subject = Some(subject.der().to_vec());
    asked.extensions = vec![
        [&[0x30, 0x14, 6, 3, 0x55, 0x1d, 17, 4, 13, 0x30, 11, 0x82, 9][..], b"a.example"].concat(),
        vec![0x30, 0x0e, 6, 3, 0x55, 0x1d, 15, 1, 1, 0xff, 4, 4, 3, 2, 7, 0x80],
    ];
    assert_eq!(asked.check(&request), Ok(()));
    asked.subject = Some(Subject::common_name("sensor-18").unwrap().der().to_vec());
    asked.check(&request).unwrap_err();
}

#[test]
fn openssl_sees_the_same_fields() {
    let leaf = chain().remove(0);
    let Some(key) = openssl("x509 -inform DER -pubkey -noout", &leaf) else { return };
    let key = openssl("pkey -pubin -outform DER", &key).unwrap();
    assert_eq!(certificate::public_key(&leaf).unwrap(), key);
    let idevid = certificate::Idevid::read(&PROVIDER, &leaf, certificate::SerialNumberField::default()).unwrap();
    let printed = text(openssl("x509 -inform DER -noout -ext authorityKeyIdentifier", &leaf).unwrap());
    let issuer: String = idevid.issuer.unwrap()[6..].iter().map(|byte| format!("{byte:02X}:")).collect();
    assert!(printed.contains(issuer.trim_end_matches(':')), "{printed}");
}
