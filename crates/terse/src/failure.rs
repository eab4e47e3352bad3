//! A failure stops the command, and has an exit code.

use core::fmt;
use std::process::ExitCode;

/// The reason why the command stops; the message is one line that says what is wrong and what to try.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The operation failed: exit code 1.
    Failed(String),
    /// The command was used wrongly: exit code 2.
    Usage(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Failed(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::Usage(message) => f.write_str(message),
        }
    }
}
