//! SIGHUP: a service reads its configuration again, and says in its log what came of it.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;

use crate::common::{SAFETY_LIMIT, ended, lines, run, terse};

/// A service whose log is read line by line. It ends when this is dropped.
pub(crate) struct Service {
    child: Child,
    lines: Receiver<String>,
    log: Receiver<String>,
    pub(crate) address: String,
}

impl Service {
    fn start(words: &[&str]) -> Self {
        let mut command = terse();
        command.args(words);
        Self::start_with(command)
    }

    pub(crate) fn start_with(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, log) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        let mut service = Self { child, lines: stdout, log, address: String::new() };
        let first = service.line();
        service.address = first.strip_prefix("listening ").expect("the first line").into();
        service
    }

    /// Returns the next line of standard output.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        let line = self.lines.recv_timeout(SAFETY_LIMIT);
        line.unwrap_or_else(|error| panic!("no line: {error}: {:?}", self.log.try_iter().collect::<Vec<_>>()))
    }

    /// Returns the lines of the log up to the one with `part`.
    #[track_caller]
    pub(crate) fn log_until(&self, part: &str) -> String {
        self.log_until_one_of(&[part])
    }

    #[track_caller]
    fn log_until_one_of(&self, parts: &[&str]) -> String {
        let mut lines = String::new();
        while !parts.iter().any(|part| lines.contains(part)) {
            let line = self.log.recv_timeout(SAFETY_LIMIT);
            lines += &line.unwrap_or_else(|error| panic!("{parts:?} does not come: {error}: {lines}"));
            lines.push('\n');
        }
        lines
    }

    /// Sends SIGHUP, and returns the lines of the log up to the one that says how it ended.
    #[track_caller]
    pub(crate) fn hang_up(&self) -> String {
        self.signal("-HUP");
        self.log_until_one_of(&["was read again", "nothing was changed"])
    }

    /// Sends SIGTERM, and returns the exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        self.signal("-TERM");
        let Some(status) = ended(&mut self.child) else {
            panic!("still running after {SAFETY_LIMIT:?}: {:?}", self.log.try_iter().collect::<Vec<_>>())
        };
        status.code()
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ok(words: &[&str]) {
    let mut command = terse();
    command.args(words);
    let outcome = run(command);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
}

/// Goes through what can come of a changed configuration.
fn reads_again(service: &str, config: &Path) {
    let text = fs::read_to_string(config).unwrap();
    let running = Service::start(&[service, "--config", config.to_str().unwrap()]);
    assert!(running.hang_up().contains("the configuration was read again"));
    fs::write(config, format!("colour = 1\n{text}")).unwrap();
    let log = running.hang_up();
    assert!(log.contains("the configuration is wrong") && log.contains("colour") && log.contains("line 1"), "{log}");
    fs::write(config, format!("health = \"127.0.0.1:1\"\n{text}")).unwrap();
    let log = running.hang_up();
    assert!(log.contains("at a restart alone") && log.contains("health") && log.contains("was read again"), "{log}");
}

#[test]
fn a_masa_and_a_registrar_read_their_configurations_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).display().to_string();
    ok(&["masa", "init", "--out", &text("maker"), "--listen", "127.0.0.1:0"]);
    reads_again("masa", &path("maker/masa.toml"));
    let (out, ca) = (text("plant"), text("maker/ca/ca.pem"));
    let name = ["--name", "registrar.plant.example", "--manufacturer-ca", &ca, "--listen", "127.0.0.1:0"];
    ok(&[&["registrar", "init", "--out", &out][..], &name].concat());
    reads_again("registrar", &path("plant/registrar.toml"));
}
