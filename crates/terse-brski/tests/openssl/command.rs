//! The `openssl` command, in a temporary directory of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use pki_types::CertificateDer;
use terse_pki::{Authority, Validity, to_pem};

/// A time in November 2025.
pub(crate) const NOW: u64 = 1_763_700_000;

pub(crate) const VALIDITY: Validity = Validity { not_before: NOW, not_after: NOW + 9 * 86_400 };

pub(crate) struct OpenSsl(tempfile::TempDir);

impl OpenSsl {
    /// Returns `None` if the command is not here.
    pub(crate) fn new() -> Option<Self> {
        let there = Command::new("openssl").arg("version").output().is_ok();
        if !there {
            let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
            assert!(!required, "openssl is required: apt-get install openssl");
            eprintln!("skipped: openssl is not installed");
        }
        there.then(|| Self(tempfile::tempdir().unwrap()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: &[u8]) {
        fs::write(self.path(name), contents).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Runs the command with `arguments`, words separated by spaces.
    pub(crate) fn output(&self, arguments: &str) -> Output {
        Command::new("openssl").args(arguments.split_whitespace()).current_dir(self.0.path()).output().unwrap()
    }

    /// Returns what the command wrote, after a success.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &str) -> String {
        let output = self.output(arguments);
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "openssl {arguments}: {text}");
        text
    }

    /// Writes `root.pem`, `leaf.pem`, and `intermediates.pem`.
    pub(crate) fn write_chain(&self, authority: &Authority, chain: &[CertificateDer<'_>]) {
        let pem = |chain: &[CertificateDer<'_>]| chain.iter().map(|one| to_pem("CERTIFICATE", one)).collect::<String>();
        self.write("root.pem", authority.root_pem().as_bytes());
        self.write("leaf.pem", pem(&chain[..1]).as_bytes());
        self.write("intermediates.pem", pem(&chain[1..]).as_bytes());
    }
}
