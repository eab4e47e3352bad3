//! `-v` prints the handshake on standard error, a line for each message.

use core::net::SocketAddr;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use terse_tls::{Trace, TraceEvent};

/// A trace that prints a line for each event.
#[derive(Debug)]
pub(crate) struct TraceLog {
    prefix: Mutex<String>,
}

impl TraceLog {
    /// Creates a trace. `connection` tells the connections of a server apart; it is empty if there is only one.
    pub(crate) fn new(connection: &str) -> Self {
        let prefix = if connection.is_empty() { String::new() } else { format!("{connection} ") };
        Self { prefix: Mutex::new(prefix) }
    }

    /// Names the connection of the next lines by its address.
    pub(crate) fn set_connection(&self, address: Option<SocketAddr>) {
        let prefix = address.map_or_else(String::new, |address| format!("{address} "));
        *self.prefix.lock().unwrap_or_else(PoisonError::into_inner) = prefix;
    }
}

impl Trace for TraceLog {
    fn event(&self, event: TraceEvent<'_>) {
        let line = match event {
            TraceEvent::Sent(message, len) => format!("-> {message}, {len} B"),
            TraceEvent::Received(message, len) => format!("<- {message}, {len} B"),
            TraceEvent::LeftOut(object) => format!("   {} left out: the other side has it", object.name()),
            TraceEvent::Note(note) => format!("   {note}"),
            TraceEvent::SentAgain { after } => format!("   nothing came within {after} ms: the flight is sent again"),
            TraceEvent::AlertSent(alert) => format!("-> alert {alert}"),
            TraceEvent::AlertReceived(alert) => format!("<- alert {alert}"),
            event => format!("   {event:?}"),
        };
        let prefix = self.prefix.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(std::io::stderr().lock(), "{prefix}{line}"); // nowhere to report a failure
    }
}
