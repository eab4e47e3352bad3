//! An export is read from a file.
//!
//! What must always hold: nothing is taken for true before the signature of the whole file was verified, and what is read
//! later is compared with it again; a line has a bounded length, and one line is in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use pki_types::CertificateDer;
use terse_aws_lc::PROVIDER;
use terse_brski::digest::Sha256;
use terse_tls::crypto::HashContext;

use super::entry::{Entry, sha256};
use super::head::hex;
use super::line::{DeviceLine, EndLine, Line, VERSION};
use super::{Finding, LogHead, Problem, Progress, signature};
use crate::config::ConfigError;
use crate::masa::error::MasaError;

/// An export whose signature is good.
#[derive(Clone)]
pub(super) struct Export {
    path: PathBuf,
    end: EndLine,
    head: LogHead,
}

/// What a line holds, where the chain is right so far.
pub(super) enum Content {
    Device(DeviceLine),
    Entry(Box<LoggedEntry>),
}

/// An entry, the head that it makes, and its voucher.
pub(super) struct LoggedEntry {
    pub(super) entry: Entry,
    pub(super) link: LogHead,
    pub(super) voucher: Option<Vec<u8>>,
}

/// Verifies an export without a database, and returns its head. `signers` are the certificates of those who may have signed it.
pub fn verify_export(
    file: &Path,
    signers: &[CertificateDer<'_>],
    progress: Progress<'_>,
) -> Result<LogHead, MasaError> {
    let export = Export::open(file, signers)?;
    export.verify(progress)?;
    Ok(export.head)
}

impl Export {
    /// Opens a file, and verifies that its signer has signed all of it.
    pub(super) fn open(path: &Path, signers: &[CertificateDer<'_>]) -> Result<Self, MasaError> {
        let problem = |problem: &dyn core::fmt::Display| MasaError::from(ConfigError::new(path, problem));
        let (end, digest) = read_end(path)?;
        let Ok(Line::End(end)) = serde_json::from_slice(&end) else {
            return Err(problem(&"its last line is not the end of an export; take another copy of it"));
        };
        let head = end.head().ok_or_else(|| problem(&"its last line is damaged; take another copy of it"))?;
        signature::verify(&end, signers).map_err(|text| problem(&text))?;
        let is_whole = end.sha256 == hex(&digest);
        let export = Self { path: path.into(), end, head };
        if !is_whole {
            export.verify(&mut |_, _| ())?; // to say where, if that can be said
            return Err(problem(&CHANGED));
        }
        Ok(export)
    }

    pub(super) const fn head(&self) -> LogHead {
        self.head
    }

    /// Verifies the chain.
    pub(super) fn verify(&self, progress: Progress<'_>) -> Result<(), MasaError> {
        let mut contents = self.contents()?;
        while contents.next()?.is_some() {
            let length = contents.last.length;
            if length % PROGRESS == 0 {
                progress(length, self.head.length);
            }
        }
        Ok(())
    }

    /// Reads it from the beginning.
    pub(super) fn contents(&self) -> Result<Contents, MasaError> {
        let mut contents = Contents {
            export: self.clone(),
            reader: BufReader::new(open(&self.path)?),
            hash: PROVIDER.sha256.start(),
            last: LogHead::EMPTY,
            line: 0,
        };
        match contents.line()? {
            Some(Line::Log(log)) if log.version == VERSION => Ok(contents),
            Some(Line::Log(_)) => Err(contents.problem("it is of a newer version; use the newest program")),
            _ => Err(contents.problem("it is no export of an audit log")),
        }
    }
}

/// The lines of an export, each of which is verified.
pub(super) struct Contents {
    export: Export,
    reader: BufReader<File>,
    hash: Box<dyn HashContext>,
    last: LogHead,
    line: u64,
}

impl Contents {
    /// Returns what the next line holds, or `None` after the last one, if all of it is what was signed.
    pub(super) fn next(&mut self) -> Result<Option<Content>, MasaError> {
        match self.line()? {
            Some(Line::Device(device)) if self.last.length == 0 => Ok(Some(Content::Device(device))),
            Some(Line::Entry(entry)) => {
                let place = self.last.length.saturating_add(1);
                let (link, entry, voucher) = entry.read().ok_or_else(|| self.found(place, Problem::Changed, None))?;
                let logged = self.check(LoggedEntry { entry, link, voucher })?;
                Ok(Some(Content::Entry(Box::new(logged))))
            }
            Some(_) => Err(self.problem("the line is at the wrong place")),
            None => self.finish().map(|()| None),
        }
    }

    /// Checks that an entry is the next link, and that the voucher is its own.
    fn check(&mut self, logged: LoggedEntry) -> Result<LoggedEntry, MasaError> {
        let place = self.last.length.saturating_add(1);
        let LoggedEntry { entry, link, voucher } = &logged;
        let problem = match link.length {
            position if position > place => Some(Problem::Missing),
            position if position < place => Some(Problem::OutOfOrder(position.saturating_sub(1))),
            _ if entry.link(&self.last.hash) != link.hash => Some(Problem::Changed),
            _ => {
                let digest = voucher.as_ref().map(|voucher| sha256(&[voucher]));
                let is_own = digest.is_none_or(|digest| entry.voucher_sha256.as_deref() == Some(&digest));
                (!is_own).then_some(Problem::VoucherChanged)
            }
        };
        match problem {
            Some(problem) => Err(self.found(place, problem, Some(entry))),
            None => {
                self.last = *link;
                Ok(logged)
            }
        }
    }

    fn finish(&mut self) -> Result<(), MasaError> {
        let (last, head) = (self.last, self.export.head);
        if last.length < head.length {
            return Err(self.found(last.length.saturating_add(1), Problem::Missing, None));
        }
        if last != head {
            return Err(self.found(last.length, Problem::Head, None));
        }
        let digest = core::mem::replace(&mut self.hash, PROVIDER.sha256.start()).finish();
        match hex(digest.as_ref()) == self.export.end.sha256 {
            true => Ok(()),
            false => Err(ConfigError::new(&self.export.path, CHANGED).into()),
        }
    }

    /// Reads the next line, unless it is the last one.
    fn line(&mut self) -> Result<Option<Line>, MasaError> {
        let line = read_line(&mut self.reader, &self.export.path)?;
        self.line += 1;
        let parsed = serde_json::from_slice(&line).map_err(|_| self.problem("it is no line of an export"))?;
        if matches!(parsed, Line::End(_)) {
            return Ok(None);
        }
        self.hash.update(&line);
        Ok(Some(parsed))
    }

    fn found(&self, position: i64, problem: Problem, entry: Option<&Entry>) -> MasaError {
        Finding::at(position, problem).about(entry).in_file(&self.export.path).into()
    }

    fn problem(&self, problem: &str) -> MasaError {
        ConfigError::new(&self.export.path, format_args!("line {}: {problem}", self.line)).into()
    }
}

/// Returns the last line, and the SHA-256 of all bytes before it.
fn read_end(path: &Path) -> Result<(Vec<u8>, Sha256), MasaError> {
    let mut reader = BufReader::new(open(path)?);
    let mut hash = PROVIDER.sha256.start();
    let mut line = read_line(&mut reader, path)?;
    loop {
        let next = read_line(&mut reader, path)?;
        if next.is_empty() {
            let digest = hash.finish();
            return Ok((line, core::array::from_fn(|index| digest.as_ref().get(index).copied().unwrap_or_default())));
        }
        hash.update(&line);
        line = next;
    }
}

fn open(path: &Path) -> Result<File, MasaError> {
    File::open(path).map_err(|error| unreadable(path, &error))
}

/// Reads a line with its end. At the end of the file there is none.
fn read_line(reader: &mut BufReader<File>, path: &Path) -> Result<Vec<u8>, MasaError> {
    let mut line = Vec::new();
    let mut limited = reader.take(MAX_LINE);
    limited.read_until(b'\n', &mut line).map_err(|error| unreadable(path, &error))?;
    match line.len() as u64 {
        MAX_LINE => {
            Err(ConfigError::new(path, "it is no export of an audit log: it has a line that is too long").into())
        }
        _ => Ok(line),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> MasaError {
    ConfigError::new(path, format_args!("cannot be read: {error}")).into()
}

/// What is wrong with a file whose entries are right.
const CHANGED: &str = "it was changed after it was signed; take another copy of it";

/// The most bytes of a line. A voucher has 16 kB at most, and the customers to whom a device was sold have names of any length.
const MAX_LINE: u64 = 1 << 20;

/// After how many entries it is told how many are done.
const PROGRESS: i64 = 1_000;
