//! A small PKI has a CA, a server and a client, as tests need them. Certificates are valid around [`NOW`].

use pki_types::UnixTime;
use terse_tls::ServerAddress;

#[cfg(feature = "issue")]
mod issued;
#[cfg(feature = "issue")]
pub use issued::{Pki, credential, validity};

/// The time of tests: 2026-01-01 00:00:00 UTC, in seconds since 1970.
pub const NOW: u64 = 1_767_225_600;

/// One day in seconds.
pub const DAY: u64 = 86_400;

/// The name in every server certificate.
pub const SERVER_NAME: &str = "broker.plant.example";

/// The name in every client certificate.
pub const CLIENT_NAME: &str = "sensor-17.plant.example";

/// Returns the time `seconds` after [`NOW`].
pub fn unix_time(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(core::time::Duration::from_secs(NOW + seconds))
}

/// Returns the server that tests connect to: [`SERVER_NAME`], port 8883.
pub fn server_address() -> ServerAddress {
    let name = pki_types::ServerName::try_from(SERVER_NAME).expect("a valid name");
    ServerAddress::new(name, 8883)
}
