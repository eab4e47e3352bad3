//! SIGHUP: a service reads its configuration again, and says in its log what came of it.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::common::{run, terse};

/// A service whose log is read line by line. It ends when this is dropped.
struct Service {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl Service {
    fn start(words: &[&str]) -> Self {
        let mut command = terse();
        let mut child = command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.starts_with("listening "), "{first}");
        let log = BufReader::new(child.stderr.take().unwrap());
        Self { child, log }
    }

    /// Sends SIGHUP, and returns the lines of the log up to the one that says how it ended.
    fn hang_up(&mut self) -> String {
        let sent = Command::new("kill").args(["-HUP", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let mut lines = String::new();
        while !lines.contains("was read again") && !lines.contains("nothing was changed") {
            assert_ne!(self.log.read_line(&mut lines).unwrap(), 0, "the service has ended: {lines}");
        }
        lines
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
    let mut running = Service::start(&[service, "--config", config.to_str().unwrap()]);
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
