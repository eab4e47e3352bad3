//! The options of identity keys.

use std::path::PathBuf;

use clap::Args;

/// The identity keys of this side, and what is known of peers with identities.
#[derive(Args, Debug)]
#[command(next_help_heading = "Identity")]
pub(crate) struct IdentityOptions {
    /// Prove this side's identity with the key in this file, in TLS 1.3 or DTLS 1.3: no certificates. `terse pkg extract`
    /// makes one (a server may have several: repeatable)
    #[arg(long = "identity-key", value_name = "FILE")]
    pub(crate) identity_keys: Vec<PathBuf>,
    /// Keep the public parts of the keys of peers in this file, so that they are not sent again, and the tickets for
    /// --early-data
    #[arg(long, value_name = "FILE", requires = "identity_keys")]
    pub(crate) identity_file: Option<PathBuf>,
    /// Refuse the identities in this file, one in each line, such as eui64:0200000000000017; it is read again when it
    /// changes
    #[arg(long, value_name = "FILE", requires = "identity_keys")]
    pub(crate) deny: Option<PathBuf>,
}

impl IdentityOptions {
    /// Whether a key was given.
    pub(crate) const fn is_given(&self) -> bool {
        !self.identity_keys.is_empty()
    }
}
