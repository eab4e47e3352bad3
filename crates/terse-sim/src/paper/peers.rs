//! The paper's peers: Mbed TLS with the paper's profile, as scripts.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::script::{Handshake, Timers};

/// The handshakes of the paper, and the timers of its DTLS.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Peers {
    /// TLS, whatever the MSS.
    pub tls: Handshake,
    /// DTLS with a maximum fragment length of 1024.
    pub dtls_mfl_1024: Handshake,
    /// DTLS with a maximum fragment length of 512: certificates are cut.
    pub dtls_mfl_512: Handshake,
    /// The timer of the client.
    pub dtls_client: Timers,
    /// The timer of the server.
    pub dtls_server: Timers,
}

impl Peers {
    /// Returns the handshakes of the paper.
    pub fn of_paper() -> &'static Self {
        static PEERS: LazyLock<Peers> = LazyLock::new(|| {
            // The text is a part of the program, and a test reads it.
            toml::from_str(include_str!("mbedtls.toml")).expect("mbedtls.toml is valid")
        });
        &PEERS
    }
}
