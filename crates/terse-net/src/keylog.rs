//! A key log file has the secrets of connections, for debugging, in the NSS key log format, which Wireshark reads.
//!
//! What must always hold: a line is written whole, so that several programs can append to one file.

use core::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use terse_tls::KeyLog;
use zeroize::Zeroizing;

/// A key log file. Whoever reads it can decrypt the connections.
#[derive(Debug)]
pub struct KeyLogFile {
    file: File,
}

impl KeyLogFile {
    /// Opens the file at `path` to append to it; a new file has mode 0600.
    pub fn append(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: options.open(path)? })
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &'static str, client_random: &[u8; 32], secret: &[u8]) {
        // The line never grows, so that no copy of a secret stays behind in memory.
        let mut line = Zeroizing::new(String::with_capacity(label.len() + 2 * (32 + secret.len()) + 3));
        line.push_str(label);
        for part in [&client_random[..], secret] {
            line.push(' ');
            for byte in part {
                let _ = write!(line, "{byte:02x}"); // writing to a String cannot fail
            }
        }
        line.push('\n');
        // A full disk must not end a connection; the log is then incomplete, which its reader notices.
        let _ = (&self.file).write_all(line.as_bytes());
    }
}

#[cfg(test)]
mod tests;
