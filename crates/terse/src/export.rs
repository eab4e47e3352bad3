//! `--export` prints keying material for another protocol (RFC 9846, 7.5), which can be compared on both sides.

use core::fmt::Write;

use terse_net::NetError;
use terse_tls::Connection;

/// Returns 32 exported bytes in hexadecimal, if a label was given.
pub(crate) fn hex(connection: &Connection, label: Option<&str>) -> Result<Option<String>, NetError> {
    let Some(label) = label else { return Ok(None) };
    let mut bytes = [0; 32];
    connection.export_keying_material(label.as_bytes(), None, &mut bytes)?;
    let mut hex = String::with_capacity(64);
    for byte in bytes {
        let _ = write!(hex, "{byte:02x}"); // writing to a String cannot fail
    }
    Ok(Some(hex))
}
