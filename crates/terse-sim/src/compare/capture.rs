//! The packets of a row, and the secrets that decrypt them.

use core::fmt::Write;
use std::sync::Mutex;

use terse_tls::KeyLog;

use crate::capture::Capture;

/// The packets of the connection that a row describes, and its secrets.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// The packets.
    pub capture: Capture,
    /// The connection's secrets (NSS key log format). They protect nothing: both sides were simulated.
    pub key_log: String,
}

impl Captured {
    /// Returns one capture of several rows, a second apart.
    pub fn join(rows: &[Self]) -> Self {
        let mut all = Self::default();
        for row in rows {
            let mut capture = row.capture.clone();
            let last = all.capture.entries().last().map(|entry| entry.at);
            if let Some(last) = last {
                capture.delay(last.since(crate::Time::ZERO) + core::time::Duration::from_secs(1));
            }
            all.capture.merge(capture);
            all.key_log.push_str(&row.key_log);
        }
        all
    }

    /// Returns the capture as pcapng, secrets included.
    pub fn to_pcapng(&self) -> Vec<u8> {
        self.capture.to_pcapng(&self.key_log)
    }
}

/// Collects the secrets of a connection.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<String>);

impl Keys {
    /// Forgets all secrets.
    pub(crate) fn clear(&self) {
        self.with(String::clear);
    }

    /// Returns all lines of the key log.
    pub(crate) fn lines(&self) -> String {
        self.with(|lines| lines.clone())
    }

    fn with<T>(&self, run: impl FnOnce(&mut String) -> T) -> T {
        run(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl KeyLog for Keys {
    fn log(&self, label: &'static str, client_random: &[u8; 32], secret: &[u8]) {
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
                text
            })
        };
        self.with(|lines| *lines += &format!("{label} {} {}\n", hex(client_random), hex(secret)));
    }
}
