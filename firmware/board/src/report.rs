//! What a connection has cost a device, as JSON.

use core::fmt;

use terse_tls::Summary;

use crate::meter::Meter;

/// What a connection has cost.
pub struct Report<'a> {
    /// What the engine did.
    pub summary: &'a Summary,
    /// Instructions and stack.
    pub meter: &'a Meter,
    /// The most bytes that the connection had in use at once.
    pub heap: usize,
    /// The same of everything else, if it has memory of its own.
    pub device: Option<usize>,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { summary, meter, heap, device } = self;
        let (sent, received) = (summary.sent.record_bytes, summary.received.record_bytes);
        let version = summary.version_name().unwrap_or_default();
        write!(f, "{{\"mode\":\"{}\",\"version\":\"{version}\",", summary.mode.name())?;
        write!(f, "\"instructions\":{},\"stack\":{},", meter.handshake_instructions, meter.stack)?;
        write!(f, "\"heap\":{heap},\"sent\":{sent},\"received\":{received},")?;
        if let Some(device) = device {
            write!(f, "\"device\":{device},")?;
        }
        write!(f, "\"retransmissions\":{}}}", summary.retransmissions)
    }
}
