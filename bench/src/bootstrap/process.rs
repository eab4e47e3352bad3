//! A process of the `terse` command.
//!
//! What must always hold: none outlives its [`Process`]; no wait is longer than [`LIMIT`].

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::web::text;

/// A running process.
pub(crate) struct Process {
    child: Child,
    started: Instant,
    lines: Receiver<(Instant, String)>,
    errors: PathBuf,
}

impl Process {
    /// Starts a process, whose standard error goes to a file.
    pub(crate) fn start(mut command: Command, errors: &Path) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(errors).map_err(text)?);
        let started = Instant::now();
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let (sender, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            thread::spawn(move || lines.try_for_each(|line| sender.send((Instant::now(), line))));
        }
        Ok(Self { child, started, lines, errors: errors.into() })
    }

    /// Returns the address that a service says it listens at.
    pub(crate) fn address(&self) -> Result<String, String> {
        self.address_of("listening")
    }

    /// Returns the address of one kind, which a service says in its next line.
    pub(crate) fn address_of(&self, kind: &str) -> Result<String, String> {
        let (_, line) = self.line()?;
        let address = line.strip_prefix(kind).and_then(|rest| rest.strip_prefix(' '));
        address.map(str::to_owned).ok_or_else(|| format!("{line:?} is no address of the kind {kind}"))
    }

    /// Returns the next line of standard output, and the milliseconds from the start to it.
    pub(crate) fn line(&self) -> Result<(f64, String), String> {
        let (time, line) = self.lines.recv_timeout(LIMIT).map_err(|_| self.problem())?;
        Ok((time.duration_since(self.started).as_secs_f64() * 1e3, line))
    }

    /// Waits for the end, which must be a success. Its standard output is closed by then.
    pub(crate) fn end(mut self) -> Result<(), String> {
        match self.child.wait().map_err(text)?.success() {
            true => Ok(()),
            false => Err(self.problem()),
        }
    }

    /// Returns its milliseconds of CPU time so far, where Linux tells: in steps of ten.
    pub(crate) fn cpu_ms(&self) -> Option<f64> {
        cpu_ms(self.child.id())
    }

    fn problem(&self) -> String {
        let said = fs::read(&self.errors).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        said.lines().last().unwrap_or("a process said nothing").to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the milliseconds of CPU time of a process so far, where Linux tells: in steps of ten.
pub(crate) fn cpu_ms(process: u32) -> Option<f64> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, is the second field, and the times are the 14th and 15th: proc(5).
    let (_, fields) = line.rsplit_once(") ")?;
    let times = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<f64>().ok());
    Some(times.sum::<Option<f64>>()? * 10.0)
}

/// The longest wait for a line.
const LIMIT: Duration = Duration::from_secs(60);
