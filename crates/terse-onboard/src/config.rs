//! Configuration files in TOML.
//!
//! What must always hold: an unknown key is an error, and every error names the file, the line and what to do.

use core::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use terse_net::files::FileError;

/// Why a configuration cannot be used. It displays as one line.
#[derive(Debug)]
pub struct ConfigError {
    path: PathBuf,
    problem: String,
}

impl ConfigError {
    /// Creates the error about `path`.
    pub fn new(path: &Path, problem: impl fmt::Display) -> Self {
        Self { path: path.into(), problem: problem.to_string() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl core::error::Error for ConfigError {}

impl From<FileError> for ConfigError {
    fn from(error: FileError) -> Self {
        let text = error.to_string();
        let problem = text.strip_prefix(&format!("{}: ", error.path().display())).unwrap_or(&text);
        Self::new(error.path(), problem)
    }
}

/// Reads a configuration. Its type refuses unknown keys (`#[serde(deny_unknown_fields)]`).
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::new(path, error))?;
    parse(path, &text)
}

/// Parses the text of the configuration at `path`.
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let message = error.message().to_owned();
        match line {
            Some(line) => ConfigError::new(path, format_args!("line {line}: {message}")),
            None => ConfigError::new(path, message),
        }
    })
}

/// Returns the text of a configuration with all keys and tables that are commented out in it.
#[cfg(test)]
pub(crate) fn uncommented(text: &str) -> String {
    let is_key =
        |words: &[&str]| matches!(words, [name, "=", ..] if name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
    let uncommented = |line: &str| match line.strip_prefix("# ") {
        Some(rest) if rest.starts_with('[') || is_key(&rest.split(' ').collect::<Vec<_>>()) => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(uncommented).collect()
}

/// Returns a path of a configuration: relative to the configuration's own folder.
pub fn beside(config: &Path, path: &Path) -> PathBuf {
    config.parent().unwrap_or(Path::new("")).join(path)
}

/// Whether others than its owner can read a file, as nobody should a private key. Where files have no such modes: no.
pub fn is_readable_by_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}
