//! The `openssl` command, in a temporary directory of its own.
//!
//! Tests that want it are skipped where it is not installed, unless `TERSE_REQUIRE_ALL=1`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use pki_types::CertificateDer;
use terse_pki::{Authority, Validity, to_pem};

/// A time in November 2025.
pub const NOW: u64 = 1_763_700_000;

/// Nine days from then on.
pub const VALIDITY: Validity = Validity { not_before: NOW, not_after: NOW + 9 * 86_400 };

/// The command, and its directory.
pub struct OpenSsl(tempfile::TempDir);

impl OpenSsl {
    /// Returns `None` if the command is not here.
    pub fn new() -> Option<Self> {
        let there = Command::new("openssl").arg("version").output().is_ok();
        if !there {
            let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
            assert!(!required, "openssl is required: apt-get install openssl");
            eprintln!("skipped: openssl is not installed");
        }
        there.then(|| Self(tempfile::tempdir().unwrap()))
    }

    /// Returns the path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    /// Returns the contents of a file.
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Runs the command with `arguments`, words separated by spaces.
    pub fn output(&self, arguments: &str) -> Output {
        Command::new("openssl").args(arguments.split_whitespace()).current_dir(self.0.path()).output().unwrap()
    }

    /// Returns what the command wrote, after a success.
    #[track_caller]
    pub fn run(&self, arguments: &str) -> String {
        let output = self.output(arguments);
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "openssl {arguments}: {text}");
        text
    }

    /// Writes `root.pem`, `leaf.pem`, and `intermediates.pem`.
    pub fn write_chain(&self, authority: &Authority, chain: &[CertificateDer<'_>]) {
        let pem = |chain: &[CertificateDer<'_>]| chain.iter().map(|one| to_pem("CERTIFICATE", one)).collect::<String>();
        self.write("root.pem", authority.root_pem());
        self.write("leaf.pem", pem(&chain[..1]));
        self.write("intermediates.pem", pem(&chain[1..]));
    }

    /// Validates `leaf.pem`.
    pub fn validate(&self, options: &str) -> Output {
        let time = NOW + 60;
        self.output(&format!("verify -attime {time} -CAfile root.pem -untrusted intermediates.pem {options} leaf.pem"))
    }

    /// Validates `leaf.pem`, and expects success.
    #[track_caller]
    pub fn verify(&self, options: &str) {
        let output = self.validate(options);
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert_eq!(text.trim(), "leaf.pem: OK", "{options}");
    }

    /// Returns the printed form of `leaf.pem`, with single spaces.
    pub fn text(&self) -> String {
        let text = self.run("x509 -in leaf.pem -noout -text");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
