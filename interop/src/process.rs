//! A peer that is a program is started, fed, read, and ended.
//!
//! What must always hold: every wait ends, at the latest after [`LIMIT`]; no program outlives its [`Process`]; a
//! program's output can be shown when a cell fails.

use core::cell::RefCell;
use core::fmt::Write as _;
use core::time::Duration;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;

use terse_net::Timed;

use crate::pki::Files;
use crate::tap::Wire;

/// The longest wait: after it, a program is taken to hang. Nothing waits for its end where all goes well: a flight that is lost
/// five times comes after 31 seconds, and a machine may be ten times slower than others.
pub const LIMIT: Duration = Duration::from_secs(300);

/// The number of bytes of a program's output that are shown.
const SHOWN: usize = 3000;

/// The time between two looks at something that cannot be waited for.
const PAUSE: Duration = Duration::from_millis(5);

/// A running program.
pub struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    output: Arc<Output>,
    files: Option<Arc<Files>>,
}

/// The standard output and standard error of a program.
#[derive(Default)]
struct Output {
    state: Mutex<Said>,
    changed: Condvar,
}

/// The two streams are kept apart: their common order means nothing.
#[derive(Default)]
struct Said {
    streams: [Vec<u8>; 2],
    /// Where the output of the current connection begins.
    start: [usize; 2],
    closed: usize,
}

impl Process {
    /// Starts a program that reads `files`.
    pub fn start(command: Command, files: impl Into<Arc<Files>>) -> Self {
        let mut this = Self::without_files(command);
        this.files = Some(files.into());
        this
    }

    /// Starts a program whose files, if it has any, are kept elsewhere.
    pub fn without_files(mut command: Command) -> Self {
        let name = format!("{command:?}");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let output = Arc::new(Output::default());
        listen(child.stdout.take().expect("piped above"), 0, output.clone());
        listen(child.stderr.take().expect("piped above"), 1, output.clone());
        EXHIBITS.with_borrow_mut(|exhibits| exhibits.push((name.clone(), output.clone())));
        Self { name, stdin: child.stdin.take(), child, output, files: None }
    }

    /// Returns the files that the program reads.
    pub fn files(&self) -> Arc<Files> {
        self.files.clone().expect("a program that was started with files")
    }

    /// Writes to the program's standard input.
    pub fn write(&mut self, data: &[u8]) {
        let stdin = self.stdin.as_mut().expect("standard input is open until it is closed here");
        let result = stdin.write_all(data).and_then(|()| stdin.flush());
        result.unwrap_or_else(|error| panic!("{} takes no input: {error}", self.name));
    }

    /// Closes the program's standard input.
    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Ignores all output so far.
    pub fn forget(&self) {
        let mut said = lock(&self.output.state);
        said.start = said.streams.each_ref().map(Vec::len);
    }

    /// Waits until the program has written `text`.
    pub fn wait_for(&self, text: &str) {
        self.wait_for_times(1, text);
    }

    /// Waits until the program has written `text` this many times.
    pub fn wait_for_times(&self, times: usize, text: &str) {
        let text = text.as_bytes();
        self.find(text, |said| (said.windows(text.len()).filter(|said| *said == text).count() >= times).then_some(()));
    }

    /// Waits until the program has written `data`.
    pub fn wait_for_data(&self, data: &[u8]) {
        // The end of `data` is enough for the message of a failure.
        self.find(&data[data.len().saturating_sub(40)..], |said| contains(said, data).then_some(()));
    }

    /// Waits for the rest of the line that begins with `prefix`.
    pub fn wait_for_line(&self, prefix: &str) -> String {
        self.find(prefix.as_bytes(), |said| {
            let said = String::from_utf8_lossy(said);
            let rest = &said[said.find(prefix)? + prefix.len()..];
            Some(rest[..rest.find('\n')?].trim().to_owned())
        })
    }

    fn find<T>(&self, what: &[u8], mut find: impl FnMut(&[u8]) -> Option<T>) -> T {
        let start = Instant::now();
        let mut said = lock(&self.output.state);
        loop {
            let mut streams = said.streams.iter().zip(said.start);
            if let Some(found) = streams.find_map(|(stream, start)| find(&stream[start..])) {
                return found;
            }
            let what = String::from_utf8_lossy(what);
            let left = LIMIT.checked_sub(start.elapsed());
            let left = left.unwrap_or_else(|| panic!("{} did not say {what:?} in time", self.name));
            assert!(said.closed < said.streams.len(), "{} ended without saying {what:?}", self.name);
            said = match self.output.changed.wait_timeout(said, left) {
                Ok((said, _)) => said,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Waits for the program's end.
    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            match self.child.try_wait().unwrap_or_else(|error| panic!("{} cannot be waited for: {error}", self.name)) {
                Some(status) => return status,
                None if start.elapsed() > LIMIT => panic!("{} did not end in time", self.name),
                None => thread::sleep(PAUSE),
            }
        }
    }

    /// Kills the program.
    pub fn kill(&mut self) {
        // An error means that it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns the IPv4 port that the program listens on, from the system's tables of open files and sockets: some
    /// programs do not say which port they were given for port 0.
    pub fn listening_port(&mut self, sockets: &Sockets) -> u16 {
        let start = Instant::now();
        loop {
            if let Some(port) = listening_port(self.child.id(), sockets) {
                return port;
            }
            assert!(matches!(self.child.try_wait(), Ok(None)), "{} ended before it listened", self.name);
            assert!(start.elapsed() < LIMIT, "{} did not listen in time", self.name);
            thread::sleep(PAUSE);
        }
    }

    /// Waits until the program connects to `listener`.
    pub fn accept(&mut self, listener: &TcpListener) -> Timed {
        accept(listener, || {
            assert!(matches!(self.child.try_wait(), Ok(None)), "{} ended before it connected", self.name)
        })
    }
}

impl Wire for Timed {
    fn end(&mut self) {
        self.linger(LIMIT);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Connects to a program that listens on `port`.
pub fn connect(port: u16) -> Timed {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    timed(
        TcpStream::connect_timeout(&address, LIMIT).unwrap_or_else(|error| panic!("connecting to {address}: {error}")),
    )
}

/// Opens a listener on a port that the system picks. Returns it with the port.
pub fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = listener.local_addr().expect("bound above").port();
    (listener, port)
}

/// Waits for a connection to `listener`. `check` panics once there can be none any more.
pub fn accept(listener: &TcpListener, mut check: impl FnMut()) -> Timed {
    listener.set_nonblocking(true).expect("a listener can be polled");
    let start = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).expect("a socket can block");
                return timed(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => check(),
            Err(error) => panic!("accepting a connection: {error}"),
        }
        assert!(start.elapsed() < LIMIT, "nobody connected in time");
        thread::sleep(PAUSE);
    }
}

fn timed(stream: TcpStream) -> Timed {
    let mut timed = Timed::new(stream).expect("a socket's options can be set");
    timed.set_limit(LIMIT);
    timed
}

fn listen(mut source: impl Read + Send + 'static, stream: usize, output: Arc<Output>) {
    thread::spawn(move || {
        let mut buffer = [0; 0x1000];
        loop {
            let len = source.read(&mut buffer).unwrap_or(0);
            let mut said = lock(&output.state);
            said.streams[stream].extend_from_slice(&buffer[..len]);
            said.closed += usize::from(len == 0);
            output.changed.notify_all();
            if len == 0 {
                return;
            }
        }
    });
}

fn lock(state: &Mutex<Said>) -> std::sync::MutexGuard<'_, Said> {
    state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn contains(said: &[u8], data: &[u8]) -> bool {
    said.len() >= data.len() && said.windows(data.len()).rev().any(|window| window == data)
}

/// A table of the system's sockets, and the state of those that accept any peer.
pub struct Sockets(&'static str, &'static str);

/// The TCP sockets that listen.
pub const TCP: Sockets = Sockets("/proc/net/tcp", "0A");

/// The UDP sockets that are not connected.
pub const UDP: Sockets = Sockets("/proc/net/udp", "07");

/// Finds the port: column 1 is the local address, 3 the state, 9 the inode.
fn listening_port(process: u32, Sockets(table, state): &Sockets) -> Option<u16> {
    let files = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    let sockets: Vec<String> = files
        .filter_map(|file| fs::read_link(file.ok()?.path()).ok()?.into_os_string().into_string().ok())
        .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let table = fs::read_to_string(table).ok()?;
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let listens = columns.get(3) == Some(state) && sockets.iter().any(|inode| columns.get(9) == Some(&&**inode));
        listens.then(|| u16::from_str_radix(columns[1].split_once(':')?.1, 16).ok()).flatten()
    })
}

thread_local! {
    /// The output of the programs of this thread.
    static EXHIBITS: RefCell<Vec<(String, Arc<Output>)>> = const { RefCell::new(Vec::new()) };
}

/// Adds a text that no program wrote to the report of a failure.
pub fn exhibit(name: &str, text: String) {
    let output = Output::default();
    lock(&output.state).streams[0] = text.into();
    EXHIBITS.with_borrow_mut(|exhibits| exhibits.push((name.into(), Arc::new(output))));
}

/// Takes the output of the programs that this thread started since the last call, for the report of a failure.
pub fn take_exhibits() -> String {
    let mut text = String::new();
    for (name, output) in EXHIBITS.take() {
        let _ = writeln!(text, "--- {name}"); // writing to a String cannot fail
        for stream in &lock(&output.state).streams {
            text += &String::from_utf8_lossy(&stream[stream.len().saturating_sub(SHOWN)..]);
        }
    }
    text
}
