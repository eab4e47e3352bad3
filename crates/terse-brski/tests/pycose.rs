//! pycose verifies what this crate signs with COSE, and signs what this crate verifies; cbor2 reads its CBOR.
//!
//! `tools/prepare.sh` installs both in `target/python`. Without them, there or for `python3`, the tests are skipped; with
//! `TERSE_REQUIRE_ALL=1` that is a failure.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use pki_types::{CertificateDer, UnixTime};
use terse_brski::SignatureRefused;
use terse_brski::cose::{Signed, Unsigned, without_certificates};
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Assertion, Nonce, Pin, Voucher, VoucherRequest};
use terse_pki::{Authority, AuthorityOptions, Credential, Validity, VoucherSignerOptions};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::SignatureScheme;

const KINDS: [(&str, SignatureScheme); 3] = [
    ("p256x3", SignatureScheme::ECDSA_SECP256R1_SHA256),
    ("p384x3", SignatureScheme::ECDSA_SECP384R1_SHA384),
    ("ed25519x3", SignatureScheme::ED25519),
];

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pycose/cose.py");

/// A Python that runs the script, and a directory of its own.
struct Python {
    child: Child,
    answers: BufReader<ChildStdout>,
    directory: tempfile::TempDir,
}

impl Python {
    /// Returns `None` if there is no pycose.
    fn new() -> Option<Self> {
        let prepared = concat!(env!("CARGO_TARGET_TMPDIR"), "/../python/bin/python");
        let has_pycose = |program: &&str| {
            let tried = Command::new(program).args(["-c", "import cbor2, pycose"]).output();
            tried.is_ok_and(|output| output.status.success())
        };
        let Some(program) = [prepared, "python3"].into_iter().find(has_pycose) else {
            let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
            assert!(!required, "pycose is required: tools/prepare.sh");
            eprintln!("skipped: pycose is not installed");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command.arg(SCRIPT).current_dir(directory.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Some(Self { child, answers, directory })
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.directory.path().join(name), contents).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.path().join(name)).unwrap()
    }

    /// Gives an order, and returns what is said, or why it is refused.
    fn order(&mut self, order: &str) -> Result<String, String> {
        writeln!(self.child.stdin.as_ref().unwrap(), "{order}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let answer: HashMap<String, String> = serde_json::from_str(&answer).unwrap();
        answer.get("said").cloned().ok_or_else(|| answer["refused"].clone())
    }

    /// Gives an order that succeeds.
    #[track_caller]
    fn run(&mut self, order: &str) -> String {
        self.order(order).unwrap_or_else(|refused| panic!("{order}: {refused}"))
    }

    /// Writes the files of a signer: `leaf.der`, `ca.der`, and `leaf.key`.
    fn write_signer(&self, credential: &Credential) {
        self.write("leaf.der", &credential.chain()[0]);
        self.write("ca.der", &credential.chain()[1]);
        self.write("leaf.key", credential.key_pem().as_bytes());
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signer(chain: &str) -> Credential {
    let validity = Validity { not_before: 1_763_700_000, not_after: 1_763_700_000 + 9 * 86_400 };
    let authority = Authority::new(&AuthorityOptions::new(chain.parse().unwrap(), validity)).unwrap();
    authority.issue_voucher_signer(&VoucherSignerOptions::new("Maker", validity)).unwrap()
}

fn sign(credential: &Credential, scheme: SignatureScheme, content: &[u8], x5bag: &[CertificateDer<'_>]) -> Vec<u8> {
    let key = terse_aws_lc::PROVIDER.load_key(credential.key()).unwrap();
    let unsigned = Unsigned::new(content, &credential.chain()[0], x5bag, scheme).unwrap();
    unsigned.sign(&*key, &mut SeededRng::new(1)).unwrap()
}

fn request() -> VoucherRequest {
    let mut request = VoucherRequest::new("JADA123456789".into());
    request.assertion = Some(Assertion::Proximity);
    request.nonce = Some(Nonce::of_random_bytes(&[0xfb; 8]));
    request.proximity_registrar = vec![Pin::PublicKeySha256([7; 32])];
    request
}

#[test]
fn pycose_verifies_what_is_signed_here() {
    let Some(mut python) = Python::new() else { return };
    let content = request().to_cbor();
    for (chain, scheme) in KINDS {
        let credential = signer(chain);
        python.write_signer(&credential);
        let [leaf, ca] = [0, 1].map(|place| credential.chain()[place].to_vec());
        // Nothing, a byte string, and an array.
        for (count, bag) in
            [(0, vec![0xf6]), (1, string(&leaf)), (2, [&[0x82], &string(&leaf)[..], &string(&ca)].concat())]
        {
            let signed = sign(&credential, scheme, &content, &credential.chain()[..count]);
            python.write("signed", &signed);
            python.run("verify leaf.der");
            assert_eq!(python.read("content"), content);
            assert_eq!(python.read("x5bag"), bag, "{chain}, {count}");
            python.write("signed", without_certificates(&signed).unwrap());
            python.run("verify leaf.der");
            assert_eq!(python.read("x5bag"), [0xf6]);
            let mut changed = signed;
            *changed.last_mut().unwrap() ^= 1;
            python.write("signed", &changed);
            assert_eq!(python.order("verify leaf.der"), Err(r#"ValueError('the signature is wrong')"#.to_owned()));
        }
    }
}

/// A byte string of 256 bytes at least.
fn string(bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).unwrap();
    [&[0x59], &len.to_be_bytes()[..], bytes].concat()
}

#[test]
fn what_pycose_signs_is_verified_here() {
    let Some(mut python) = Python::new() else { return };
    let content = request().to_cbor();
    python.write("content", &content);
    for (chain, _) in KINDS {
        let credential = signer(chain);
        python.write_signer(&credential);
        for certificates in ["", "leaf.der", "leaf.der ca.der", "ca.der leaf.der"] {
            python.run(&format!("sign leaf.key {certificates}"));
            let encoded = python.read("signed");
            for provider in [&PROVIDER, &terse_aws_lc::PROVIDER] {
                let signed = Signed::verify(provider, &encoded, credential.chain()).unwrap();
                assert_eq!(signed.content, content);
                assert_eq!(signed.chain[0], credential.chain()[0]);
                match Signed::verify(provider, &encoded, &[]) {
                    Ok(signed) => assert_eq!(signed.chain[..], credential.chain()[..signed.chain.len()]),
                    Err(refused) => assert_eq!((refused, certificates), (SignatureRefused::NoSigner, "")),
                }
                // The registrar forwards it without the certificates.
                let stripped = without_certificates(&encoded).unwrap();
                assert_eq!(Signed::verify(provider, &stripped, &[]).unwrap_err(), SignatureRefused::NoSigner);
                assert_eq!(Signed::verify(provider, &stripped, credential.chain()).unwrap().content, content);
            }
        }
    }
}

#[test]
fn cbor2_reads_what_is_written_here() {
    let Some(mut python) = Python::new() else { return };
    python.write("content", request().to_cbor());
    let expected = format!("2501 1 2\n2501 7 {}\n2501 11 {}\n2501 13 JADA123456789\n", "fb".repeat(8), "07".repeat(32));
    assert_eq!(python.run("fields"), expected);

    let time = |seconds| Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds)));
    let mut voucher = Voucher::new("JADA123456789".into(), Assertion::Verified);
    voucher.created_on = time(1_670_321_732);
    voucher.expires_on = time(1_670_926_532);
    voucher.last_renewal_date = time(1_670_926_533);
    voucher.domain_cert_revocation_checks = Some(false);
    voucher.idevid_issuer = Some([4, 2, 0x30, 0].into());
    voucher.nonce = Some(Nonce::of_random_bytes(&[1; 16]));
    voucher.pins =
        vec![Pin::Certificate(vec![0x30, 0].into()), Pin::PublicKey([0x30, 1].into()), Pin::PublicKeySha256([8; 32])];
    python.write("content", voucher.to_cbor());
    let nonce = "01".repeat(16);
    let hash = "08".repeat(32);
    let expected = [
        "1 0",
        "2 2022-12-06T10:15:32Z",
        "3 False",
        "4 2022-12-13T10:15:32Z",
        "5 04023000",
        "6 2022-12-13T10:15:33Z",
        &format!("7 {nonce}"),
        "8 3000",
        "9 3001",
        &format!("10 {hash}"),
        "11 JADA123456789",
    ];
    let expected: String = expected.iter().map(|line| format!("2451 {line}\n")).collect();
    assert_eq!(python.run("fields"), expected);
}

#[test]
fn cbor2_reads_status_messages() {
    let Some(mut python) = Python::new() else { return };
    let mut status = Status::new(false, Some("the pin differs".into()));
    status.reason_context = Some(r#"{"a":[1,-2,null,1.5,"x"]}"#.into());
    // The script prints the fields of a container.
    python.write("content", [&[0xa1, 0x00], &status.to_cbor()[..]].concat());
    let expected = "0 version 1\n0 status False\n0 reason the pin differs\n\
        0 reason-context {'a': [1, -2, None, 1.5, 'x']}\n";
    assert_eq!(python.run("fields"), expected);
}
