//! The tests run the built binary: certificates in a temporary directory, servers in the background, clients to their
//! end.
//!
//! A safety limit ends a test that hangs; no test asserts how long anything takes.
#![allow(dead_code, unreachable_pub)] // each test file uses a part

use core::fmt::Debug;
use core::time::Duration;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use terse_pki::{Authority, AuthorityOptions, Chain, LeafOptions, Validity};

/// The time after which a program is taken to hang, also on a machine that is slow and busy.
pub const SAFETY_LIMIT: Duration = Duration::from_secs(300);

pub const SERVER: &str = "broker.plant.example";
pub const CLIENT: &str = "sensor17.plant.example";

/// A CA, a server and a client, in files: `ca.pem`, `server.pem`, `server.key`, `client.pem`, `client.key`.
pub struct Pki {
    pub directory: tempfile::TempDir,
    pub authority: Authority,
}

impl Pki {
    pub fn new() -> Self {
        Self::with_chain("p256x3")
    }

    pub fn with_chain(chain: &str) -> Self {
        let chain: Chain = chain.parse().unwrap();
        let authority = Authority::new(&AuthorityOptions::new(chain, validity())).unwrap();
        let pki = Self { directory: tempfile::tempdir().unwrap(), authority };
        pki.write("ca.pem", &pki.authority.root_pem());
        pki.issue("server", &LeafOptions::new(SERVER, validity()));
        pki.issue("client", &LeafOptions::new(CLIENT, validity()));
        pki
    }

    /// Issues `name.pem` and `name.key`.
    pub fn issue(&self, name: &str, options: &LeafOptions) {
        let credential = self.authority.issue(options).unwrap();
        self.write(&format!("{name}.pem"), &credential.chain_pem());
        self.write(&format!("{name}.key"), &credential.key_pem());
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    pub fn write(&self, file: &str, contents: &str) {
        fs::write(self.path(file), contents).unwrap();
    }

    /// Starts `terse server` on a free port, with the server's certificate, and `options`: words separated by spaces. A
    /// word that starts with `@` is a file of this directory.
    pub fn server(&self, options: &str) -> Server {
        Server::start(self.command("server --listen 127.0.0.1:0 --cert @server.pem --key @server.key --json", options))
    }

    /// Runs `terse client` to `server` with `options`.
    pub fn client(&self, server: &Server, options: &str) -> Outcome {
        self.client_at(&server.address, options)
    }

    /// Runs `terse client` to `address` with `options`, for threads that cannot share a [`Server`].
    pub fn client_at(&self, address: &str, options: &str) -> Outcome {
        let always = format!("client --connect {address} --server-name {SERVER} --ca @ca.pem --json");
        run(self.command(&always, options))
    }

    /// Returns `terse` with `always` and `options`.
    pub fn command(&self, always: &str, options: &str) -> Command {
        let mut command = terse();
        for word in always.split_whitespace().chain(options.split_whitespace()) {
            match word.strip_prefix('@') {
                Some(file) => command.arg(self.path(file)),
                None => command.arg(word),
            };
        }
        command
    }
}

pub fn validity() -> Validity {
    Validity::days(now() - 86_400, 30)
}

pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub fn terse() -> Command {
    Command::new(env!("CARGO_BIN_EXE_terse"))
}

/// The result of a program that has ended.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Returns its lines of JSON, after a success.
    #[track_caller]
    pub fn objects(&self) -> Vec<Value> {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.lines()
    }

    /// Returns its only line of JSON, after a success.
    #[track_caller]
    pub fn object(&self) -> Value {
        let mut objects = self.objects();
        assert_eq!(objects.len(), 1, "{self:#?}");
        objects.remove(0)
    }

    /// Returns its lines of JSON.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(json).collect()
    }

    /// Checks the exit code, and that one line on standard error holds `parts`.
    #[track_caller]
    pub fn refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let line = self.stderr.lines().next().unwrap_or_default();
        for part in parts {
            assert!(line.contains(part), "{part:?} is not in the first line: {self:#?}");
        }
    }
}

#[track_caller]
pub fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Runs a program to its end.
#[track_caller]
pub fn run(mut command: Command) -> Outcome {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (stdout, stderr) = (Said::by(child.stdout.take().unwrap()), Said::by(child.stderr.take().unwrap()));
    let Some(status) = ended(&mut child) else {
        panic!("still running after {SAFETY_LIMIT:?}: {command:?}: {}{}", stdout.so_far(), stderr.so_far())
    };
    Outcome { code: status.code(), stdout: stdout.all(), stderr: stderr.all() }
}

/// A server in the background, stopped when dropped.
pub struct Server {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<Said>,
    pub address: String,
}

impl Server {
    #[track_caller]
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        let stderr = Some(Said::by(child.stderr.take().unwrap()));
        let mut server = Self { child, lines, stderr, address: String::new() };
        let Ok(first) = server.lines.recv_timeout(SAFETY_LIMIT) else { panic!("no output: {:?}", server.end()) };
        server.address = first.strip_prefix("listening ").expect("the first line").into();
        server
    }

    /// Returns the next line of standard output.
    #[track_caller]
    pub fn line(&self) -> String {
        self.lines.recv_timeout(SAFETY_LIMIT).unwrap_or_else(|error| panic!("no line: {error}: {}", self.said()))
    }

    /// Returns the report of the next connection.
    #[track_caller]
    pub fn report(&self) -> Value {
        json(&self.line())
    }

    /// Stops the server, and returns its standard error.
    pub fn end(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.stderr.take().map(Said::all).unwrap_or_default()
    }

    /// Returns what is on its standard error so far.
    fn said(&self) -> String {
        self.stderr.as_ref().map(Said::so_far).unwrap_or_default()
    }

    /// Asks the server to end, as a service manager does, and returns its exit code and its standard error.
    #[cfg(unix)]
    #[track_caller]
    pub fn terminate(mut self) -> (Option<i32>, String) {
        self.ask_to_end();
        (self.wait(), self.end())
    }

    /// Asks the server to end, and does not wait for it.
    #[cfg(unix)]
    #[track_caller]
    pub fn ask_to_end(&self) {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(asked.success());
    }

    /// Waits until the server exits by itself, and returns its exit code.
    #[track_caller]
    pub fn wait(&mut self) -> Option<i32> {
        let Some(status) = ended(&mut self.child) else {
            panic!("still running after {SAFETY_LIMIT:?}: {}", self.said())
        };
        status.code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a program writes, which is read for as long as it runs.
pub struct Said {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Said {
    pub fn by(mut source: impl Read + Send + 'static) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let read = bytes.clone();
        let reader = thread::spawn(move || {
            let mut chunk = [0; 4_096];
            while let Ok(len @ 1..) = source.read(&mut chunk) {
                read.lock().unwrap().extend_from_slice(&chunk[..len]);
            }
        });
        Self { bytes, reader }
    }

    pub fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    /// Waits for the end, and returns all.
    pub fn all(self) -> String {
        self.reader.join().unwrap();
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }
}

/// Returns the lines that a program writes.
pub fn lines(source: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || BufReader::new(source).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    lines
}

/// Waits until a program has ended. One that hangs is killed: then there is no status.
pub fn ended(child: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if start.elapsed() > SAFETY_LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(GLANCE);
    }
}

/// Since when a test waits for a state, at which it looks again and again.
pub struct Patience(Instant);

impl Patience {
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Lets a moment pass before the next look. `seen` is what the last one has seen.
    #[track_caller]
    pub fn wait(&self, seen: impl Debug) {
        assert!(self.0.elapsed() < SAFETY_LIMIT, "it has not come after {SAFETY_LIMIT:?}; seen last: {seen:?}");
        thread::sleep(GLANCE);
    }
}

/// The time between two looks.
const GLANCE: Duration = Duration::from_millis(2);

/// Connects to an address, for reads that do not hang.
pub fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
    stream
}

#[cfg(unix)]
pub fn mode(path: impl AsRef<Path>) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
