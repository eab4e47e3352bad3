//! A process of a service, with a fault, which is started again when it was killed.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use super::relay::Relay;
use crate::common::{Patience, terse};

/// Which service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Masa,
    Registrar,
}

/// What happens to a process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    None,
    /// It is killed at this step. The next process has no fault.
    KillAt(usize),
    /// While the file [`FULL`] is in the folder, its disk is full from this write to a file on. The file [`HIT`] says so.
    FullFrom(usize),
}

/// A service that runs, behind an address that stays.
pub(crate) struct Service {
    running: Arc<Mutex<Running>>,
    keeper: Option<JoinHandle<Ended>>,
}

struct Running {
    child: Child,
    is_stopping: bool,
}

/// How a service has ended.
pub(crate) struct Ended {
    /// Whether a process was killed by the fault.
    pub(crate) was_killed: bool,
    /// What its processes have logged.
    pub(crate) log: String,
}

impl Service {
    pub(crate) fn start(role: Role, folder: &Path, relay: &Relay, fault: Fault) -> Self {
        let running = Running { child: spawn(role, folder, fault), is_stopping: false };
        let running = Arc::new(Mutex::new(running));
        let keeper = thread::spawn({
            let (running, folder, relay) = (running.clone(), folder.to_owned(), relay.clone());
            move || keep(&running, || spawn(role, &folder, Fault::None), &relay)
        });
        Self { running, keeper: Some(keeper) }
    }

    /// Whether its process has ended, and there will be no other one.
    pub(crate) fn has_ended(&self) -> bool {
        self.keeper.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Asks it to end, as a service manager does, and waits.
    pub(crate) fn stop(mut self) -> Ended {
        let keeper = self.keeper.take().expect("it was not stopped");
        let mut running = self.running.lock().unwrap();
        running.is_stopping = true;
        // If it was killed just now, nobody is asked.
        let _ = Command::new("kill").args(["-TERM", &running.child.id().to_string()]).stderr(Stdio::null()).status();
        drop(running);
        let patience = Patience::new();
        while !keeper.is_finished() {
            patience.wait("the service does not end");
        }
        keeper.join().unwrap()
    }
}

/// A test that fails leaves no process behind.
impl Drop for Service {
    fn drop(&mut self) {
        if let (Some(_), Ok(mut running)) = (&self.keeper, self.running.lock()) {
            running.is_stopping = true;
            let _ = running.child.kill();
        }
    }
}

/// Leads the relay to a process, and to another one if it was killed.
fn keep(running: &Mutex<Running>, restart: impl Fn() -> Child, relay: &Relay) -> Ended {
    let mut ended = Ended { was_killed: false, log: String::new() };
    loop {
        let (stdout, stderr) = {
            let child = &mut running.lock().unwrap().child;
            (child.stdout.take().unwrap(), child.stderr.take().unwrap())
        };
        let logged = thread::spawn(|| std::io::read_to_string(stderr).unwrap());
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let address = line.strip_prefix("listening ").expect("a line with the address");
            relay.lead_to(Some(address.parse().unwrap()));
        }
        // Its output ends with the process.
        relay.lead_to(None);
        let mut running = running.lock().unwrap();
        let status = running.child.wait().unwrap();
        ended.log += &logged.join().unwrap();
        // The process after a kill may be asked to end before it listens for that.
        let is_asked = status.success() || running.is_stopping && status.signal() == Some(SIGTERM);
        if status.signal() != Some(SIGKILL) {
            assert!(is_asked, "{status}: {}", ended.log);
            return ended;
        }
        assert!(!ended.was_killed, "killed again: {}", ended.log);
        ended.was_killed = true;
        if running.is_stopping {
            return ended;
        }
        running.child = restart();
    }
}

fn spawn(role: Role, folder: &Path, fault: Fault) -> Child {
    let mut command = terse();
    match role {
        Role::Masa => command.arg("masa").arg("--config").arg(folder.join("maker/masa.toml")),
        Role::Registrar => command.arg("registrar").arg("--config").arg(folder.join("plant/registrar.toml")),
    };
    command.arg("--verbose");
    match fault {
        Fault::None => {}
        Fault::KillAt(step) => {
            command.env("LD_PRELOAD", library()).env("FAULT_KILL_AT", step.to_string());
        }
        Fault::FullFrom(write) => {
            command.env("LD_PRELOAD", library()).env("FAULT_FULL_FROM", write.to_string());
            command.env("FAULT_FULL_WHILE", folder.join(FULL)).env("FAULT_FULL_HIT", folder.join(HIT));
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the library with the faults, which is built once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/fault.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fault-{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&library).arg(&source);
        assert!(compiler.arg("-ldl").status().expect("a C compiler, which AWS-LC needs as well").success());
        library
    })
}

/// The disk is full while this file exists.
pub(crate) const FULL: &str = "full";

/// Exists when a write was refused.
pub(crate) const HIT: &str = "hit";

const SIGKILL: i32 = 9;

const SIGTERM: i32 = 15;
