//! A PostgreSQL of this benchmark alone, which ends with it.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::link::Link;
use crate::web::text;

/// A server.
pub(super) struct Postgres {
    programs: PathBuf,
    folder: String,
    port: u16,
    /// Its standard input is closed when this is dropped, and then the server ends.
    _server: Child,
}

impl Postgres {
    /// Starts a server in a new folder. Commits wait for the disk, as in a plant.
    pub(super) fn start() -> Result<Self, String> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let folders = versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists());
        let programs = folders.max().ok_or("PostgreSQL is not here: apt-get install postgresql")?;
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).map_err(text)?.port();
        let user = Command::new("id").arg("-u").output().map_err(text)?.stdout;
        let mut command = match user.trim_ascii() {
            b"0" => {
                // PostgreSQL does not run as root.
                let mut command = Command::new("setpriv");
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "sh"]);
                command
            }
            _ => Command::new("sh"),
        };
        command.args(["-c", SCRIPT]).env("PROGRAMS", &programs).env("PORT", port.to_string()).current_dir("/");
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(text)?;
        let mut folder = String::new();
        if let Some(output) = server.stdout.take() {
            BufReader::new(output).read_line(&mut folder).map_err(text)?;
        }
        match folder.trim() {
            "" => Err("PostgreSQL does not start".into()),
            folder => Ok(Self { programs, folder: folder.into(), port, _server: server }),
        }
    }

    /// Makes a database.
    pub(super) fn create(&self, name: &str) -> Result<(), String> {
        self.query("postgres", &format!("CREATE DATABASE {name}")).map(drop)
    }

    /// Returns the URL of a database over a link, whose socket is in `folder`.
    pub(super) fn url(&self, name: &str, link: &Link, folder: &Path) -> Result<String, String> {
        link.to_socket(&Path::new(&self.folder).join(format!(".s.PGSQL.{}", self.port)), folder)?;
        let folder = folder.to_str().ok_or("the name of the folder is not UTF-8")?;
        Ok(format!("postgres://postgres@{}:{}/{name}", folder.replace('/', "%2F"), self.port))
    }

    /// Runs a statement, and returns what it gives.
    pub(super) fn query(&self, database: &str, statement: &str) -> Result<String, String> {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-h", &self.folder, "-p", &self.port.to_string(), "-U", "postgres"]);
        command.args(["-d", database, "-c", statement]);
        let output = command.output().map_err(text)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(format!("{statement}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// Starts a server in a new folder, writes the name of that, and removes all when the standard input ends.
const SCRIPT: &str = r#"
    set -e
    folder=$(mktemp -d "${TMPDIR:-/tmp}/terse-plant.XXXXXX")
    pid=
    trap 'test -z "$pid" || { kill -QUIT $pid; wait $pid; } 2>/dev/null; rm -rf "$folder"' EXIT
    "$PROGRAMS/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 >"$folder/log" 2>&1
    "$PROGRAMS/postgres" -D "$folder/data" -k "$folder" -p "$PORT" -c listen_addresses= -c max_connections=200 \
        >>"$folder/log" 2>&1 &
    pid=$!
    until "$PROGRAMS/pg_isready" -q -h "$folder" -p "$PORT"; do kill -0 $pid; sleep 0.1; done
    echo "$folder"
    cat >/dev/null
"#;
