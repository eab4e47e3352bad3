//! Tests run on PostgreSQL: a server of this process alone, which ends with it, however that ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a configuration says for a new database. Without PostgreSQL this process says so, and ends: it has no other tests.
#[allow(dead_code)] // not each of those who include this file is such a process
pub(crate) fn new(_file: &str) -> String {
    try_new().unwrap_or_else(|| std::process::exit(0))
}

/// Returns the URL of a new database, or says that there is no PostgreSQL here.
pub(crate) fn try_new() -> Option<String> {
    static DATABASES: AtomicU32 = AtomicU32::new(0);
    let server = server()?;
    let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    server.run(&format!("CREATE DATABASE {name}"));
    Some(format!("postgres://postgres@{}:{}/{name}", server.folder.replace('/', "%2F"), server.port))
}

/// Makes the server use TLS on its port, with this certificate and key in PEM. Returns the port.
#[allow(dead_code)] // not everybody who includes this file needs it
pub(crate) fn use_tls(certificate: &str, key: &str) -> Option<u16> {
    let server = server()?;
    for (name, pem) in [("tls.pem", certificate), ("tls.key", key)] {
        // The server writes the file, so that it is its own.
        let lines: Vec<String> = pem.lines().map(|line| format!("('{line}')")).collect();
        let lines = lines.join(", ");
        server.run(&format!("COPY (VALUES {lines}) TO PROGRAM 'umask 077 && cat > {}/{name}'", server.folder));
    }
    for (setting, file) in [("ssl_cert_file", "tls.pem"), ("ssl_key_file", "tls.key")] {
        server.run(&format!("ALTER SYSTEM SET {setting} = '{}/{file}'", server.folder));
    }
    server.run("ALTER SYSTEM SET ssl = on");
    server.run("SELECT pg_reload_conf()");
    Some(server.port)
}

/// Returns the path of one of PostgreSQL's programs, which are here.
#[allow(dead_code)] // not everybody who includes this file needs it
pub(crate) fn program(name: &str) -> PathBuf {
    programs().expect("PostgreSQL is here").join(name)
}

fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| programs().map(|programs| Server::new(&programs))).as_ref()
}

/// A server.
struct Server {
    psql: PathBuf,
    /// Its data and its socket.
    folder: String,
    /// At loopback, and in the name of the socket.
    port: u16,
    /// Its standard input is closed when this process ends, and then the server ends.
    _child: Child,
}

impl Server {
    fn new(programs: &Path) -> Self {
        // Somebody else may take a port before PostgreSQL does.
        let started = (0..5).find_map(|_| Self::start(programs));
        started.expect("PostgreSQL starts")
    }

    fn start(programs: &Path) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let user = Command::new("id").arg("-u").output().unwrap().stdout;
        let mut command = match user.trim_ascii() {
            b"0" => {
                // PostgreSQL does not run as root.
                let mut command = Command::new("setpriv");
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "sh"]);
                command
            }
            _ => Command::new("sh"),
        };
        command.args(["-c", SCRIPT]).env("PROGRAMS", programs).env("PORT", port.to_string());
        command.current_dir("/").process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("setpriv and sh are here");
        let mut folder = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut folder).unwrap();
        if !folder.ends_with('\n') {
            child.wait().unwrap();
            return None;
        }
        Some(Self { psql: programs.join("psql"), folder: folder.trim().into(), port, _child: child })
    }

    fn run(&self, statement: &str) {
        let mut command = Command::new(&self.psql);
        command.args(["-X", "-q", "-o", "/dev/null", "-h", &self.folder, "-p", &self.port.to_string()]);
        command.args(["-U", "postgres", "-c", statement]);
        assert!(command.status().unwrap().success(), "{statement}");
    }
}

/// Returns the folder of PostgreSQL's programs, or says that it is not here.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists());
    let found = folders.max();
    if found.is_none() {
        let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
        assert!(!required, "PostgreSQL is required: apt-get install postgresql");
        let _ = writeln!(std::io::stderr(), "skipped: PostgreSQL is not here: apt-get install postgresql");
    }
    found
}

/// Starts a server in a new folder, writes the name of that, and removes all when the standard input ends. The server's own
/// configuration is not the one that the services need: they say what they need.
const SCRIPT: &str = r#"
    set -e
    folder=$(mktemp -d "${TMPDIR:-/tmp}/terse-postgres.XXXXXX")
    pid=
    trap 'test -z "$pid" || { kill -QUIT $pid; wait $pid; } 2>/dev/null; rm -rf "$folder"' EXIT
    "$PROGRAMS/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --no-sync >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    "$PROGRAMS/postgres" -D "$folder/data" -k "$folder" -p "$PORT" -c listen_addresses=127.0.0.1 -c max_connections=400 -c fsync=off \
        -c synchronous_commit=off -c default_transaction_isolation=serializable >>"$folder/log" 2>&1 &
    pid=$!
    tries=0
    until "$PROGRAMS/pg_isready" -q -h "$folder" -p "$PORT"; do
        sleep 0.1
        tries=$((tries + 1))
        kill -0 $pid && [ $tries -lt 3000 ] || { cat "$folder/log" >&2; exit 1; }
    done
    echo "$folder"
    cat >/dev/null
"#;
