//! The C programs as they are built, their peers, and the files of a small PKI.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};

use crate::shared::{self, SAFETY_LIMIT, skipped};

pub const SERVER: &str = "broker.plant.example";

/// How C programs are watched.
#[derive(Clone, Copy, Debug)]
pub enum Watch {
    /// AddressSanitizer and UndefinedBehaviorSanitizer, in what is C and in the library's use of its memory.
    Sanitizers,
    /// Valgrind, with leaks.
    Valgrind,
}

impl Watch {
    /// Returns whether the tests can watch so. What is missing is said, and with `TERSE_REQUIRE_ALL=1` it is a failure.
    pub fn is_here(self) -> bool {
        let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
        let needed: &[(&str, &str)] = match self {
            Self::Sanitizers => &[("cc", "build-essential"), ("make", "build-essential")],
            Self::Valgrind => &[("cc", "build-essential"), ("make", "build-essential"), ("valgrind", "valgrind")],
        };
        needed.iter().all(|(program, package)| has(program) || skipped(program, &format!("apt-get install {package}")))
    }

    /// Returns where the programs are, which are built once.
    fn folder(self) -> &'static Path {
        static BUILT: [OnceLock<tempfile::TempDir>; 2] = [OnceLock::new(), OnceLock::new()];
        let (number, flags) = match self {
            Self::Sanitizers => (0, "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"),
            Self::Valgrind => (1, "-g -O1"),
        };
        let build = || {
            let out = tempfile::tempdir().unwrap();
            let made = Command::new("make")
                .args(["-C", concat!(env!("CARGO_MANIFEST_DIR"), "/examples-c")])
                .arg(format!("OUT={}", out.path().display()))
                .arg(format!("LIBRARY={}", library().display()))
                .arg(format!("CFLAGS={flags}"))
                .output()
                .unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            out
        };
        BUILT[number].get_or_init(build).path()
    }

    /// Returns the C program `name`, which fails if anything is wrong with its memory.
    pub fn program(self, name: &str) -> Command {
        let program = self.folder().join(name);
        match self {
            Self::Sanitizers => {
                let mut command = Command::new(program);
                command.env("ASAN_OPTIONS", "detect_leaks=1:exitcode=99").env("UBSAN_OPTIONS", "exitcode=99");
                command
            }
            Self::Valgrind => {
                let mut command = Command::new("valgrind");
                command.args([
                    "--quiet",
                    "--error-exitcode=99",
                    "--leak-check=full",
                    "--errors-for-leak-kinds=definite",
                    concat!("--suppressions=", env!("CARGO_MANIFEST_DIR"), "/tests/programs/valgrind.supp"),
                ]);
                command.arg(program);
                command
            }
        }
    }
}

/// Returns the folder where Cargo puts what it has built.
fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().and_then(Path::parent).unwrap().to_path_buf()
}

/// Returns the library that was built with this test: the last one, whatever Cargo has added to its name.
fn library() -> PathBuf {
    let files = fs::read_dir(built().join("deps")).unwrap().map(|file| file.unwrap().path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libterse_capi-") && name.ends_with(".a")
    };
    let last = files.filter(is_library).max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    last.expect("Cargo builds the library with its tests")
}

/// Returns the `terse` command, if it was built.
pub fn terse() -> Option<Command> {
    let program = built().join("terse");
    (program.exists() || skipped("the terse command", "cargo build -p terse")).then(|| Command::new(program))
}

/// Returns the `openssl` command.
pub fn openssl() -> Option<Command> {
    let is_here = Command::new("openssl").arg("version").output().is_ok();
    (is_here || skipped("openssl", "apt-get install openssl")).then(|| Command::new("openssl"))
}

/// A CA, a server and a client, in files: `ca.pem`, `server.pem`, `server.key`, `client.pem`, `client.key`; and `other.pem`, another
/// CA.
pub struct Pki(tempfile::TempDir);

impl Pki {
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let validity = Validity::days(now - 86_400, 30);
        let options = |name: &str| AuthorityOptions {
            name: name.to_owned(),
            ..AuthorityOptions::new("p256x2".parse().unwrap(), validity)
        };
        let [own, other] = ["Plant CA", "Another CA"].map(|name| Authority::new(&options(name)).unwrap());
        let pki = Self(tempfile::tempdir().unwrap());
        pki.write("ca.pem", own.root_pem());
        pki.write("other.pem", other.root_pem());
        for (name, host) in [("server", SERVER), ("client", "sensor17.plant.example")] {
            let issued = own.issue(&LeafOptions::new(host, validity)).unwrap();
            pki.write(&format!("{name}.pem"), issued.chain_pem());
            pki.write(&format!("{name}.key"), issued.key_pem().to_string());
        }
        fs::create_dir(pki.path("store")).unwrap();
        pki
    }

    fn write(&self, file: &str, contents: String) {
        fs::write(self.path(file), contents).unwrap();
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    /// Adds `options` to `command`: words separated by spaces, those that start with `@` as files of this PKI.
    pub fn with(&self, mut command: Command, options: &str) -> Command {
        for word in options.split_whitespace() {
            match word.strip_prefix('@') {
                Some(file) => command.arg(self.path(file)),
                None => command.arg(word),
            };
        }
        command
    }

    /// Adds a command that signs with the key of `name`, outside of the program.
    pub fn with_signer(&self, mut command: Command, name: &str) -> Command {
        let key = self.path(&format!("{name}.key"));
        command.arg("-S").arg(format!("openssl dgst -sha256 -sign {}", key.display()));
        command
    }
}

/// The result of a program that has ended.
#[derive(Debug)]
pub struct Outcome {
    code: Option<i32>,
    pub stdout: String,
    stderr: String,
}

impl Outcome {
    /// Checks that the program has succeeded, and has printed `parts`.
    #[track_caller]
    pub fn printed(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(0), "{self:#?}");
        for part in parts {
            assert!(self.stdout.contains(part), "{part:?} is not there: {self:#?}");
        }
    }

    /// Checks that the program has ended with 1, and has said `parts` why.
    #[track_caller]
    pub fn refused(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:#?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not there: {self:#?}");
        }
    }
}

/// Runs a program to its end.
#[track_caller]
pub fn run(command: Command) -> Outcome {
    let mut running = Running::start(command);
    running.close_input();
    running.finish()
}

/// A program that runs, and is killed when dropped.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    printed: String,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut stderr = child.stderr.take().unwrap();
        let stderr = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Self { child, lines, printed: String::new(), stderr: Some(stderr) }
    }

    /// Waits for a line with `part`, and returns what follows it.
    #[track_caller]
    pub fn line(&mut self, part: &str) -> String {
        loop {
            let Ok(line) = self.lines.recv_timeout(SAFETY_LIMIT) else {
                let _ = self.child.kill();
                panic!("no line with {part:?}: {:#?}", self.finish());
            };
            self.printed += &format!("{line}\n");
            if let Some((_, rest)) = line.split_once(part) {
                return rest.to_owned();
            }
        }
    }

    /// Waits until a server listens, and returns its port.
    #[track_caller]
    pub fn port(&mut self, part: &str) -> String {
        let address = self.line(part);
        address.rsplit([':', ' ']).next().unwrap().to_owned()
    }

    pub fn write(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub fn close_input(&mut self) {
        self.child.stdin = None;
    }

    /// Waits for the end.
    #[track_caller]
    pub fn finish(&mut self) -> Outcome {
        let status = shared::wait(&mut self.child, SAFETY_LIMIT);
        self.printed.extend(self.lines.iter().map(|line| line + "\n"));
        let stderr = self.stderr.take().map(|stderr| stderr.join().unwrap()).unwrap_or_default();
        let (code, stdout) = (status.and_then(|status| status.code()), core::mem::take(&mut self.printed));
        assert!(status.is_some(), "still running after {SAFETY_LIMIT:?}: {stdout}{stderr}");
        Outcome { code, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
