//! The options of a pre-shared key.

use std::path::PathBuf;

use clap::Args;
use terse_net::files;
use terse_tls::resume::ExternalPsk;

use crate::failure::Failure;

/// A key that both sides have from elsewhere, and its identity.
#[derive(Args, Debug)]
#[command(next_help_heading = "Pre-shared key")]
pub(crate) struct PskOptions {
    /// The name of a pre-shared key, sent in the clear: a client offers the key, a server accepts it
    #[arg(long, value_name = "ID", requires = "psk_file")]
    psk_identity: Option<String>,
    /// The pre-shared key in hexadecimal digits: `openssl rand -hex 32` makes one
    #[arg(long, value_name = "FILE", requires = "psk_identity")]
    psk_file: Option<PathBuf>,
    /// Import the key (RFC 9258), for TLS 1.3 alone; both sides must do so, with the same context
    #[arg(long, value_name = "CONTEXT", num_args = 0..=1, default_missing_value = "", requires = "psk_identity")]
    psk_import: Option<String>,
}

impl PskOptions {
    /// Whether a key was given.
    pub(crate) const fn is_given(&self) -> bool {
        self.psk_identity.is_some()
    }

    /// Whether the key is imported, and so cannot be used in TLS 1.2.
    pub(crate) const fn is_imported(&self) -> bool {
        self.psk_import.is_some()
    }

    /// Loads the key, if one was given.
    pub(crate) fn load(&self) -> Result<Option<ExternalPsk>, Failure> {
        let (Some(identity), Some(file)) = (&self.psk_identity, &self.psk_file) else { return Ok(None) };
        let key = files::read_psk(file).map_err(|error| Failure::Failed(error.to_string()))?;
        let psk = ExternalPsk::new(identity.as_bytes(), &key);
        let psk = match &self.psk_import {
            None => psk,
            Some(context) => psk.and_then(|psk| psk.imported(context.as_bytes())),
        };
        psk.map(Some).map_err(|error| Failure::Usage(format!("{error}; choose another --psk-identity or context")))
    }
}
