//! `-v`: the handshake on standard error, a line per message.

use terse_tls::{Trace, TraceEvent};

use std::io::Write;

/// Prints a line per event.
#[derive(Debug)]
pub(crate) struct TraceLog {
    prefix: String,
}

impl TraceLog {
    /// `connection` tells the connections of a server apart; empty if there is only one.
    pub(crate) fn new(connection: &str) -> Self {
        Self { prefix: if connection.is_empty() { String::new() } else { format!("{connection} ") } }
    }
}

impl Trace for TraceLog {
    fn event(&self, event: TraceEvent<'_>) {
        let line = match event {
            TraceEvent::Sent(message, len) => format!("-> {message}, {len} B"),
            TraceEvent::Received(message, len) => format!("<- {message}, {len} B"),
            TraceEvent::LeftOut(object) => format!("   {} left out: the other side has it", object.name()),
            TraceEvent::Note(note) => format!("   {note}"),
            TraceEvent::AlertSent(alert) => format!("-> alert {alert}"),
            TraceEvent::AlertReceived(alert) => format!("<- alert {alert}"),
            event => format!("   {event:?}"),
        };
        let _ = writeln!(std::io::stderr().lock(), "{}{line}", self.prefix); // nowhere to report a failure
    }
}
