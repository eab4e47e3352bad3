//! `terse cache` lists what a cache file holds about which peers, how old it is, and why it was not used last time.
//!
//! What must always hold: no ticket is printed, because an unused ticket links two connections.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use terse_net::CacheFile;
use terse_tls::cache::{ClientStore, Fingerprint, Lineage, PeerEntry, Save, Scope, ScopeRecord, ServerStore};

use crate::credentials::CACHE_CAPACITY;
use crate::failure::Failure;
use crate::output::{self, date};

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List what is kept, a line for each peer
    #[command(after_help = "Example: terse cache list sensor.cache")]
    List(CacheArgs),
    /// Show everything that is kept of some peers
    #[command(after_help = "Example: terse cache show sensor.cache broker.plant.example")]
    Show(Chosen),
    /// Forget peers: the next connection with each of them is in full
    #[command(after_help = "Example: terse cache drop broker.cache sensor1.plant.example\n\
        Stop the program that has the file open first: it would write again what it has in memory.")]
    Drop(Dropped),
}

#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// What --cache-file names
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Chosen {
    #[command(flatten)]
    cache: CacheArgs,
    /// A name or an address, a server's also with :PORT; or eight or more digits of a fingerprint
    #[arg(value_name = "PEER", required = true)]
    peers: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Dropped {
    #[command(flatten)]
    cache: CacheArgs,
    /// A name or an address, a server's also with :PORT; or eight or more digits of a fingerprint
    #[arg(value_name = "PEER", required_unless_present = "all")]
    peers: Vec<String>,
    /// Forget everything
    #[arg(long, conflicts_with = "peers")]
    all: bool,
}

pub(crate) fn run(command: CacheCommand, json: bool) -> Result<(), Failure> {
    match command {
        CacheCommand::List(cache) => list(&Kept::all(&open(&cache)?), json),
        CacheCommand::Show(Chosen { cache, peers }) => show(&choose(Kept::all(&open(&cache)?), &peers)?, json),
        CacheCommand::Drop(Dropped { cache, peers, all }) => {
            let file = open(&cache)?;
            let kept = Kept::all(&file);
            drop_from(&file, if all { kept } else { choose(kept, &peers)? }, json)
        }
    }
}

/// Opens a cache file, which must exist and be usable.
fn open(cache: &CacheArgs) -> Result<CacheFile, Failure> {
    let path = &cache.file;
    if !path.exists() {
        let message = format!("there is no cache file {}; name one that --cache-file made", path.display());
        return Err(Failure::Failed(message));
    }
    let (file, damage) = CacheFile::open(path, CACHE_CAPACITY).map_err(|error| Failure::Failed(error.to_string()))?;
    match damage {
        None => Ok(file),
        Some(damage) => Err(Failure::Failed(format!("{}; a connection would start it afresh", damage.cause()))),
    }
}

/// What the cache has about one peer. With `--json` each is an object.
#[derive(Debug, Serialize)]
struct Kept {
    /// The role of the peer: `server` or `client`.
    role: &'static str,
    /// The server's name or address; for a client, the name by which it called the server.
    server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    /// The peer as the application sees it, or `None` if it sent no certificate, or the certificate is gone.
    peer: Option<String>,
    fingerprint: Option<String>,
    /// The client's own Certificate in that connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_certificate: Option<String>,
    /// The validity that the whole chain has, in seconds since 1970, like all times here.
    not_before: Option<u64>,
    not_after: Option<u64>,
    signatures_saved: u8,
    /// The scheme that the server accepted last.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<&'static str>,
    tickets: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_requests: Option<usize>,
    /// Whether the last offers were accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<&'static str>,
    made: Option<u64>,
    last_used: Option<u64>,
    /// Why the last offer was not for everything.
    fallback: Option<&'static str>,
    #[serde(skip)]
    key: Key,
}

/// The key of an entry.
#[derive(Debug)]
enum Key {
    Scope(Scope),
    Lineage(Lineage),
}

impl Kept {
    /// Returns all entries, the most recently used first.
    fn all(file: &CacheFile) -> Vec<Self> {
        let servers = file.client().records().into_iter().rev().map(Self::of_server);
        let clients = file.server().lineages().into_iter().rev().map(Self::of_client);
        servers.chain(clients).collect()
    }

    fn of_server((scope, record): (Scope, ScopeRecord)) -> Self {
        Self {
            server: scope.server.to_string(),
            port: Some(scope.port),
            transport: Some(scope.transport.name()),
            own_certificate: scope.credential.map(hex),
            scheme: record.scheme().map(|scheme| scheme.name()),
            tickets: record.tickets(),
            certificate_requests: Some(record.certificate_requests()),
            health: Some(record.health()),
            made: record.made(),
            last_used: record.last_used(),
            fallback: record.reason().map(|reason| reason.text()),
            ..Self::of_entry("server", record.server_entry(), Key::Scope(scope))
        }
    }

    fn of_client(lineage: Lineage) -> Self {
        let entry = lineage.entry().cloned();
        Self {
            server: entry.as_ref().map_or_else(String::new, |entry| entry.server().to_string()),
            tickets: lineage.tickets().count(),
            made: lineage.made(),
            last_used: lineage.last_used(),
            ..Self::of_entry("client", entry.as_ref(), Key::Lineage(lineage))
        }
    }

    fn of_entry(role: &'static str, entry: Option<&PeerEntry>, key: Key) -> Self {
        let peer = entry.map(PeerEntry::peer);
        let validity = peer.map(|peer| peer.validity()).filter(|validity| !validity.is_unbounded());
        Self {
            role,
            server: String::new(),
            port: None,
            transport: None,
            peer: peer.map(|peer| peer.identity().to_string()),
            fingerprint: entry.map(|entry| hex(entry.fingerprint())),
            own_certificate: None,
            not_before: validity.map(|validity| validity.not_before()),
            not_after: validity.map(|validity| validity.not_after()),
            signatures_saved: peer.map_or(0, |peer| peer.signatures()),
            scheme: None,
            tickets: 0,
            certificate_requests: None,
            health: None,
            made: None,
            last_used: None,
            fallback: None,
            key,
        }
    }

    /// Returns the peer's address or name, with which its line begins.
    fn title(&self) -> String {
        match (self.port, &self.peer) {
            (Some(port), _) => {
                let over = if self.transport == Some("datagram") { ", datagrams" } else { "" };
                format!("server {}:{port}{over}", self.server)
            }
            (None, Some(peer)) => format!("client {peer}"),
            (None, None) => "client without a certificate".to_owned(),
        }
    }

    fn is_meant_by(&self, peer: &str) -> bool {
        let digits = peer.to_ascii_lowercase();
        let is_fingerprint = digits.len() >= MIN_DIGITS
            && self.fingerprint.as_ref().is_some_and(|fingerprint| fingerprint.starts_with(&digits));
        let is_place = self.port.is_some_and(|port| {
            let name = self.server.as_str();
            peer == name || peer == format!("{name}:{port}")
        });
        is_fingerprint || is_place || self.peer.as_deref() == Some(peer)
    }

    /// Returns the line after the title.
    fn line(&self) -> String {
        let mut parts = vec![count(self.tickets, "ticket")];
        parts.extend(self.scheme.map(str::to_owned));
        parts.extend(self.last_used.or(self.made).map(|time| format!("used {}", date(time))));
        parts.extend(self.not_after.map(|time| format!("valid until {}", date(time))));
        parts.extend(self.health.filter(|health| *health != "working").map(str::to_owned));
        parts.extend(self.fallback.map(|reason| format!("last time: {reason}")));
        parts.join("; ")
    }

    /// Returns all details, a line for each.
    fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        let mut add = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
        add("peer", self.peer.clone());
        add("called it", Some(self.server.clone()).filter(|server| self.port.is_none() && !server.is_empty()));
        add("fingerprint", self.fingerprint.clone());
        add("own certificate", self.own_certificate.clone());
        add("valid from", self.not_before.map(date));
        add("valid until", self.not_after.map(date));
        add("saves", Some(count(self.signatures_saved.into(), "signature")));
        add("scheme", self.scheme.map(str::to_owned));
        add("tickets", Some(self.tickets.to_string()));
        add("requests", self.certificate_requests.map(|count| count.to_string()));
        add("offers", self.health.map(str::to_owned));
        add("made", self.made.map(date));
        add("last used", self.last_used.map(date));
        add("last time", self.fallback.map(str::to_owned));
        rows
    }
}

/// The digits of a fingerprint that tell entries apart.
const MIN_DIGITS: usize = 8;

fn choose(kept: Vec<Kept>, peers: &[String]) -> Result<Vec<Kept>, Failure> {
    if let Some(unknown) = peers.iter().find(|peer| !kept.iter().any(|kept| kept.is_meant_by(peer))) {
        let message = format!("nothing is kept of {unknown}; `terse cache list` shows the names");
        return Err(Failure::Failed(output::printable(&message)));
    }
    Ok(kept.into_iter().filter(|kept| peers.iter().any(|peer| kept.is_meant_by(peer))).collect())
}

fn list(kept: &[Kept], json: bool) -> Result<(), Failure> {
    if json {
        return kept.iter().try_for_each(output::json);
    }
    if kept.is_empty() {
        return output::line("nothing is kept");
    }
    let width = kept.iter().map(|kept| kept.title().chars().count()).max().unwrap_or_default();
    kept.iter()
        .try_for_each(|kept| output::line(output::printable(&format!("{:<width$}  {}", kept.title(), kept.line()))))
}

fn show(kept: &[Kept], json: bool) -> Result<(), Failure> {
    if json {
        return list(kept, true);
    }
    kept.iter().try_for_each(|kept| {
        output::line(output::printable(&kept.title()))?;
        let mut rows = kept.rows().into_iter();
        rows.try_for_each(|(name, value)| output::line(output::printable(&format!("  {name:<16}{value}"))))
    })
}

fn drop_from(file: &CacheFile, kept: Vec<Kept>, json: bool) -> Result<(), Failure> {
    for Kept { key, .. } in &kept {
        let saved = match key {
            Key::Scope(scope) => file.update(scope, &mut |record| {
                *record = ScopeRecord::default();
                Save::Now
            }),
            Key::Lineage(lineage) => lineage.tickets().try_for_each(|ticket| file.remove(&ticket)),
        };
        saved.map_err(|error| {
            Failure::Failed(file.take_error().map_or_else(|| error.to_string(), |error| error.to_string()))
        })?;
    }
    if json {
        return list(&kept, true);
    }
    kept.iter().try_for_each(|kept| output::line(output::printable(&format!("dropped: {}", kept.title()))))
}

fn hex(Fingerprint(bytes): Fingerprint) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
