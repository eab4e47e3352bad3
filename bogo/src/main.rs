//! The shim of BoringSSL's protocol test runner (`ssl/test/PORTING.md`) is one side of a connection, as the flags say,
//! against the runner's other side.
//!
//! What must always hold: exit code 0 means that the connection was made and was as expected; 89 that the shim lacks a
//! feature; 90 that something is wrong which no test may expect.

use core::fmt;
use std::process::ExitCode;

mod clock;
mod config;
mod exchange;
mod expect;
mod identity;
mod notes;
mod options;
mod packets;
mod sessions;
mod wire;

use options::{Refusal, Run};
use terse_tls::{ApiMisuse, Error};

/// The reason why the run ends.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The flags ask for something that is not implemented, or is malformed.
    Refused(Refusal),
    /// The connection failed.
    Engine(Error),
    /// The connection is not as expected.
    Unexpected(String),
    /// A handshake was completed that must fail.
    HandshakeDone,
    /// A file of the runner cannot be used.
    File(&'static str),
    /// The transport failed.
    Io(std::io::Error),
    /// The shim's own CA failed.
    Pki,
}

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        std::process::exit(MUST_FAIL);
    }));
    if std::env::args_os().any(|argument| argument == "-is-handshaker-supported") {
        println!("No");
        return ExitCode::SUCCESS;
    }
    let (run, parsed) = Run::parse(std::env::args_os().skip(1));
    let mut version = None;
    let result = parsed.map_err(Failure::from).and_then(|()| exchange::connections(&run, &mut version));
    if let Some(prefix) = &run.notes {
        notes::write(prefix, &run, version, result.as_ref().err());
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            match failure {
                Failure::Refused(Refusal::Unimplemented(_)) => ExitCode::from(UNIMPLEMENTED),
                Failure::HandshakeDone | Failure::Pki => std::process::exit(MUST_FAIL),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// The exit code for a test that was not run.
const UNIMPLEMENTED: u8 = 89;

/// The exit code for a test that has failed, whatever it expects.
const MUST_FAIL: i32 = 90;

/// The engine's errors are printed letter for letter, so that `config.json` can name them.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "{refusal:?}"),
            Self::Engine(error) => write!(f, "{error:?}"),
            Self::Unexpected(what) => write!(f, "unexpected: {what}"),
            Self::HandshakeDone => f.write_str("the handshake is done, and must not be"),
            Self::File(what) => write!(f, "unusable: {what}"),
            Self::Io(error) => write!(f, "transport: {error}"),
            Self::Pki => f.write_str("the shim's own CA"),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<ApiMisuse> for Failure {
    fn from(error: ApiMisuse) -> Self {
        Self::Engine(error.into())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}
