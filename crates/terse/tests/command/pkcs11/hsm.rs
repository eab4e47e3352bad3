//! SoftHSM, with a token in a directory of its own, and the programs that look at it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::run;

/// The PIN of the token.
pub(super) const PIN: &str = "738291";

/// A token named `plant`.
pub(super) struct Hsm(tempfile::TempDir);

impl Hsm {
    /// Returns `None` if SoftHSM or the programs for it are not here.
    pub(super) fn new() -> Option<Self> {
        let there = is_there(module().is_some(), "softhsm2")
            && is_there(Command::new("softhsm2-util").arg("--version").output().is_ok(), "softhsm2")
            && is_there(Command::new("pkcs11-tool").arg("--help").output().is_ok(), "opensc")
            && is_there(Command::new("openssl").arg("version").output().is_ok(), "openssl");
        there.then(Self::make)
    }

    /// Makes another token.
    pub(super) fn another(&self) -> Self {
        Self::make()
    }

    fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tokens")).unwrap();
        let tokens = folder.path().join("tokens");
        let config = format!("directories.tokendir = {}\nobjectstore.backend = file\n", tokens.display());
        fs::write(folder.path().join("softhsm2.conf"), config).unwrap();
        let hsm = Self(folder);
        let words = format!("--init-token --free --label plant --pin {PIN} --so-pin 12345678");
        hsm.ok("softhsm2-util", &words);
        hsm
    }

    /// Gives SoftHSM's configuration to a program.
    pub(super) fn configure(&self, command: &mut Command) {
        command.env("SOFTHSM2_CONF", self.0.path().join("softhsm2.conf"));
    }

    /// Runs a program with words that are separated by spaces.
    #[track_caller]
    pub(super) fn ok(&self, program: &str, words: &str) {
        let mut command = Command::new(program);
        self.configure(command.args(words.split_whitespace()));
        let outcome = run(command);
        assert_eq!(outcome.code, Some(0), "{program} {words}: {outcome:#?}");
    }

    /// Runs `pkcs11-tool`, logged in.
    #[track_caller]
    pub(super) fn tool(&self, words: &str) {
        let module = module().unwrap();
        let always = format!("--module {} --token-label plant --login --pin {PIN}", module.display());
        self.ok("pkcs11-tool", &format!("{always} {words}"));
    }
}

/// Says that what comes with a Debian package is not here.
pub(super) fn is_there(there: bool, package: &str) -> bool {
    if !there {
        let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
        assert!(!required, "{package} is required: apt-get install {package}");
        eprintln!("skipped: {package} is not installed");
    }
    there
}

/// Returns SoftHSM's module.
pub(super) fn module() -> Option<PathBuf> {
    library("softhsm/libsofthsm2.so").or_else(|| library("pkcs11/libsofthsm2.so"))
}

/// Returns the module that writes down which functions of another one are called.
pub(super) fn spy() -> Option<PathBuf> {
    let spy = library("pkcs11/pkcs11-spy.so").or_else(|| library("pkcs11-spy.so"));
    is_there(spy.is_some(), "opensc-pkcs11");
    spy
}

/// Returns how often a PIN was given to a token, by what the spy wrote.
#[track_caller]
pub(super) fn logins(log: &Path) -> usize {
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("C_OpenSession"), "{log}");
    log.matches(": C_Login").count()
}

/// Finds a library where systems have them.
pub(super) fn library(name: &str) -> Option<PathBuf> {
    let multiarch = fs::read_dir("/usr/lib").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let folders = [PathBuf::from("/usr/lib"), PathBuf::from("/usr/lib64"), PathBuf::from("/usr/local/lib")];
    folders.into_iter().chain(multiarch).map(|folder| folder.join(name)).find(|path| path.is_file())
}
