//! A part in `terse demo` that is a process of its own: the command again, with another subcommand.
//!
//! What must always hold: no process outlives its [`Process`] value, and each is reaped; what it says on standard error goes to a file,
//! so that it never waits for a reader; a failure has its own words.

use core::time::Duration;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use tokio::sync::mpsc;

use super::failed;
use crate::failure::Failure;
use crate::output::printable;

/// A running process.
pub(super) struct Process {
    name: &'static str,
    child: Child,
    /// The lines of its standard output; closed when it has closed that.
    lines: mpsc::Receiver<String>,
    errors: PathBuf,
}

impl Process {
    /// Starts `program` as `name`, with what it says on standard error in a file of `folder`.
    pub(super) fn start(
        program: &Path,
        name: &'static str,
        arguments: &[&OsStr],
        folder: &Path,
    ) -> Result<Self, Failure> {
        let errors = folder.join(format!("{name}.errors"));
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(File::create(&errors).map_err(failed)?);
        let mut child = command.spawn().map_err(|error| Failure::Failed(format!("{}: {error}", program.display())))?;
        let (sender, lines) = mpsc::channel(16);
        if let Some(stdout) = child.stdout.take() {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            // It ends with the process, or when nobody reads any more.
            thread::spawn(move || lines.try_for_each(|line| sender.blocking_send(line)));
        }
        Ok(Self { name, child, lines, errors })
    }

    /// Waits until a service says where it listens.
    pub(super) async fn address(&mut self) -> Result<String, Failure> {
        let line = self.lines.recv().await;
        match line.as_deref().and_then(|line| line.strip_prefix("listening ")) {
            Some(address) => Ok(address.to_owned()),
            None => Err(self.failure()),
        }
    }

    /// Waits until the process has succeeded, and returns the last line that it has printed.
    pub(super) async fn report(&mut self) -> Result<String, Failure> {
        let mut last = String::new();
        while let Some(line) = self.lines.recv().await {
            last = line;
        }
        loop {
            match self.child.try_wait().map_err(failed)? {
                Some(status) if status.success() => return Ok(last),
                Some(_) => return Err(self.failure()),
                None => tokio::time::sleep(Duration::from_millis(1)).await, // it is about to end
            }
        }
    }

    /// Returns the failure of a service that has ended by itself.
    pub(super) fn ended(&mut self) -> Option<Failure> {
        let status = self.child.try_wait().ok()?;
        status.map(|_| self.failure())
    }

    /// Returns the failure with the last line of standard error.
    fn failure(&self) -> Failure {
        let errors = fs::read(&self.errors).unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors);
        let last = errors.lines().last().unwrap_or("it has ended without a word");
        let why = printable(last.strip_prefix("terse: ").unwrap_or(last));
        Failure::Failed(format!("step onboard: terse {}: {why}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests;
