//! Programs of others, which run in the folder of a test, and what they say.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::deadline::SAFETY_LIMIT;

/// Whether a program is here: it runs with `argument`. If not, the test says so, and fails where nothing may be skipped.
pub(crate) fn is_here(program: &str, argument: &str, package: &str) -> bool {
    let tried = Command::new(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok() || skipped(program, &format!("apt-get install {package}"))
}

/// Whether curl and OpenSSL are here.
pub(crate) fn are_curl_and_openssl_here() -> bool {
    is_here("curl", "--version", "curl") && is_here("openssl", "version", "openssl")
}

/// Says that a test is skipped because something is missing, and what helps. Returns false.
pub(crate) fn skipped(what: &str, help: &str) -> bool {
    let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
    assert!(!required, "{what} is required: {help}");
    println!("skipped: {what} is not here: {help}");
    false
}

/// A folder in which programs run.
#[derive(Clone, Copy)]
pub(crate) struct Folder<'a>(pub(crate) &'a Path);

/// What a server has answered to curl.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

impl Folder<'_> {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Runs a program with these arguments, words separated by spaces. One that hangs is ended, and has failed.
    pub(crate) fn output(&self, program: &str, arguments: &str) -> Output {
        let mut command = Command::new("timeout");
        command.arg(SAFETY_LIMIT.as_secs().to_string()).arg(program);
        command.args(arguments.split_whitespace()).current_dir(self.0).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// The time, as vouchers have it (RFC 3339).
    pub(crate) fn now(&self) -> String {
        let now = self.output("date", "-u +%Y-%m-%dT%H:%M:%SZ").stdout;
        String::from_utf8(now).unwrap().trim().into()
    }

    /// Runs OpenSSL, and returns what it wrote to its standard output after a success.
    #[track_caller]
    pub(crate) fn openssl(&self, arguments: &str) -> String {
        let output = self.output("openssl", arguments);
        assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Signs `NAME.json` by the certificate and the key of `signer`, with further options of OpenSSL, and writes `NAME.cms`. The
    /// certificates that follow the signer's are sent along: OpenSSL adds that one itself, and takes it only once.
    #[track_caller]
    pub(crate) fn sign(&self, signer: &str, options: &str, name: &str) {
        let chain = String::from_utf8(self.read(&format!("{signer}.pem"))).unwrap();
        let issuers: String = chain.split_inclusive(END_CERTIFICATE).skip(1).collect();
        self.write("issuers.pem", issuers);
        self.openssl(&format!(
            "cms -sign -binary -nodetach -outform DER -econtent_type {JSON_VOUCHER} {options} -signer {signer}.pem \
             -inkey {signer}.key -certfile issuers.pem -in {name}.json -out {name}.cms"
        ));
    }

    /// Runs curl, and returns what the server answered.
    #[track_caller]
    pub(crate) fn curl(&self, arguments: &str) -> Answer {
        let output = self.try_curl(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "curl {arguments}: {} {error}", output.status);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let (status, content_type) = said.split_once(' ').unwrap();
        let status = status.parse().unwrap();
        // Without a body curl writes no file.
        Answer { status, content_type: content_type.into(), body: std::fs::read(self.path(BODY)).unwrap_or_default() }
    }

    /// Runs curl. The body that it gets is in a file.
    pub(crate) fn try_curl(&self, arguments: &str) -> Output {
        let _ = std::fs::remove_file(self.path(BODY)); // the first time there is none
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--noproxy", "*", "--output", BODY]);
        command.args(["--max-time", &SAFETY_LIMIT.as_secs().to_string()]);
        command.args(["--write-out", "%{http_code} %{content_type}"]);
        command.args(arguments.split_whitespace()).current_dir(self.0).stdin(Stdio::null());
        command.output().unwrap()
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Checks that the answer is of this type, and not an error.
    #[track_caller]
    pub(crate) fn is(&self, content_type: &str) {
        assert_eq!((self.status, &*self.content_type), (200, content_type), "{}", self.text());
    }

    /// Checks that the answer is an error with a text for people, which says `part`.
    #[track_caller]
    pub(crate) fn is_refusal(&self, status: u16, part: &str) {
        let text = self.text();
        assert_eq!((self.status, &*self.content_type), (status, "text/plain; charset=utf-8"), "{text}");
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// The file into which curl writes bodies.
const BODY: &str = "body";

/// The last line of a certificate in PEM.
const END_CERTIFICATE: &str = "-----END CERTIFICATE-----\n";

/// The object identifier id-ct-animaJSONVoucher (RFC 8366, 8.4), which OpenSSL has no name for.
pub(crate) const JSON_VOUCHER: &str = "1.2.840.113549.1.9.16.1.40";
