//! The reads and writes of a TCP connection end at a deadline, however slowly the peer feeds it.

use core::time::Duration;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

/// A TCP connection with a deadline for all its calls together. A socket's own time limit starts anew with every call,
/// so that a peer that sends a byte now and then would never meet it.
#[derive(Debug)]
pub struct Timed {
    stream: TcpStream,
    deadline: Option<Instant>,
}

/// The most bytes that a peer may still send after this side has given up; then the connection is dropped.
const MAX_LINGER_BYTES: usize = 0x2_0000;

impl Timed {
    /// Creates a connection without a deadline. Small writes are sent at once: the engine writes whole flights.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, deadline: None })
    }

    /// Sets a deadline: calls fail with [`ErrorKind::TimedOut`] once `limit` has passed from now on.
    pub fn set_limit(&mut self, limit: Duration) {
        self.deadline = Instant::now().checked_add(limit); // beyond the clock's range there is no deadline
    }

    /// Ends the connection so that the last write, perhaps an alert, arrives. A socket that is closed with unread bytes
    /// resets the connection, and the peer loses what it has not read yet.
    pub fn linger(&mut self, limit: Duration) {
        self.set_limit(limit);
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return; // the peer is gone already
        }
        let mut ignored = [0; 4096];
        let mut left = MAX_LINGER_BYTES;
        while let Ok(n @ 1..) = self.read(&mut ignored) {
            left = left.saturating_sub(n);
            if left == 0 {
                break;
            }
        }
    }

    /// Returns the time until the deadline, as a limit for one call. A socket refuses a limit of zero.
    fn remaining(&self) -> io::Result<Option<Duration>> {
        let Some(deadline) = self.deadline else { return Ok(None) };
        match deadline.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(ErrorKind::TimedOut.into()),
        }
    }
}

/// Maps `WouldBlock`, which Unix returns when a call runs into its time limit, to `TimedOut`.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl Read for Timed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.remaining()?)?;
        self.stream.read(out).map_err(timed_out)
    }
}

impl Write for Timed {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.remaining()?)?;
        self.stream.write(data).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
