//! A connection has a client and a server of one world, and the wire between them.
//!
//! What must always hold: every call of a side goes through the [`Probe`]; a handshake counts as one of the setting's
//! mode only if the client says so.

use crate::pipe::{Pipe, Wire};
use crate::probe::{Probe, Unwatched};
use crate::stack::{End, Mode, Side, World};

/// A client and a server.
pub struct Pair {
    client: Option<Box<dyn End>>,
    server: Option<Box<dyn End>>,
    to_server: Box<Pipe>,
    to_client: Box<Pipe>,
    done: [bool; 2],
    /// The bytes that the server had sent when the client was connected.
    from_server: u64,
}

/// The cost of a handshake on the wire, in bytes of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Cost {
    /// The bytes that the client sent.
    pub client: u64,
    /// The bytes that the server sent until the client was connected (in TLS 1.2: until both were).
    pub server: u64,
    /// The bytes that the server sent after that: the tickets of TLS 1.3, the ACKs of DTLS 1.3.
    pub tickets: u64,
}

impl Cost {
    /// Returns the bytes of both directions, without tickets.
    pub const fn total(self) -> u64 {
        self.client + self.server
    }
}

impl Pair {
    /// Creates a pair without connections, and the wire, for a stream or for `datagrams`. It can be used for one
    /// connection after the other.
    pub fn new(datagrams: bool) -> Self {
        let (to_server, to_client) = (Pipe::new(datagrams), Pipe::new(datagrams));
        Self { client: None, server: None, to_server, to_client, done: [false; 2], from_server: 0 }
    }

    /// Creates both sides and connects them.
    pub fn connect(&mut self, world: &dyn World, probe: &mut dyn Probe) -> Result<Cost, String> {
        self.start(world, probe)?;
        self.complete(probe)
    }

    /// Creates both sides, and stops when the server has sent its certificates and waits for the client's.
    pub fn half_open(&mut self, world: &dyn World, probe: &mut dyn Probe) -> Result<(), String> {
        self.start(world, probe)?;
        for _ in 0..MAX_TURNS {
            self.turn(probe)?;
            if self.to_client.total() > MORE_THAN_A_COOKIE {
                return if self.done[1] { Err("the server waits for nothing".into()) } else { Ok(()) };
            }
        }
        Err("the server sends nothing".into())
    }

    /// Continues until both sides are connected.
    pub fn complete(&mut self, probe: &mut dyn Probe) -> Result<Cost, String> {
        for _ in 0..MAX_TURNS {
            self.turn(probe)?;
            if self.done == [true; 2] {
                let (client, server) = (self.to_server.total(), self.from_server);
                return Ok(Cost { client, server, tickets: self.to_client.total() - server });
            }
        }
        Err("the two do not come to an end".into())
    }

    /// Returns the mode of the handshake, by the client.
    pub fn mode(&self) -> Option<Mode> {
        self.client.as_ref().map(|client| client.mode())
    }

    /// Lets both sides take what is in flight, such as the last ACK of DTLS 1.3.
    pub fn settle(&mut self, probe: &mut dyn Probe) -> Result<(), String> {
        for side in [Side::Client, Side::Server] {
            let pipe = if side == Side::Client { &mut self.to_client } else { &mut self.to_server };
            if pipe.waiting().is_empty() {
                continue;
            }
            if self.with(side, probe, |end, wire| end.read(wire, &mut [0; 16]))? > 0 {
                return Err("data that nobody sent".into());
            }
        }
        Ok(())
    }

    /// Sends a byte from the server: with it the client gets tickets, and the confirmation that caches need. Returns
    /// how many bytes of records that took, with the acknowledgements of tickets.
    pub fn confirm(&mut self, probe: &mut dyn Probe) -> Result<u64, String> {
        let before = self.to_client.total() + self.to_server.total();
        self.with(Side::Server, probe, |end, wire| end.write(wire, b"."))?;
        let mut byte = [0];
        let len = self.with(Side::Client, probe, |end, wire| end.read(wire, &mut byte))?;
        if (len, byte) == (1, *b".") {
            Ok(self.to_client.total() + self.to_server.total() - before)
        } else {
            Err("data got lost".into())
        }
    }

    /// Sends one message each way, and closes. Returns the bytes of all records since the connection was made.
    pub fn converse(&mut self, request: &[u8], reply: &[u8]) -> Result<u64, String> {
        let mut buffer = vec![0; request.len().max(reply.len())];
        for (from, to, message) in [(Side::Client, Side::Server, request), (Side::Server, Side::Client, reply)] {
            self.with(from, &mut Unwatched, |end, wire| end.write(wire, message))?;
            let len = self.with(to, &mut Unwatched, |end, wire| end.read(wire, &mut buffer))?;
            if buffer.get(..len) != Some(message) {
                return Err("data got lost".into());
            }
        }
        for (from, to) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
            self.with(from, &mut Unwatched, |end, wire| end.close(wire))?;
            self.with(to, &mut Unwatched, |end, wire| end.read(wire, &mut buffer))?;
        }
        Ok(self.to_client.total() + self.to_server.total())
    }

    /// Drives both sides as applications drive them from now on.
    pub fn as_applications(&mut self) {
        for end in [&mut self.client, &mut self.server] {
            *end = end.take().map(End::as_application);
        }
    }

    /// Carries `data` from the client to the server.
    pub fn carry(&mut self, data: &[u8], buffer: &mut [u8]) -> Result<(), String> {
        self.with(Side::Client, &mut Unwatched, |end, wire| end.write(wire, data))?;
        let mut left = data.len();
        while left > 0 {
            match self.with(Side::Server, &mut Unwatched, |end, wire| end.read(wire, buffer))? {
                0 => return Err("data got lost".into()),
                len => left -= len,
            }
        }
        Ok(())
    }

    /// Ends the connection, the client first, which keeps its session.
    pub fn end(&mut self, probe: &mut dyn Probe) {
        let (mut client, mut server) = (self.client.take(), self.server.take());
        probe.call(Side::Client, &mut || drop(client.take()));
        probe.call(Side::Server, &mut || drop(server.take()));
    }

    fn start(&mut self, world: &dyn World, probe: &mut dyn Probe) -> Result<(), String> {
        self.to_server.clear();
        self.to_client.clear();
        self.done = [false; 2];
        self.client = Some(call(probe, Side::Client, || world.connect(Side::Client))?);
        self.server = Some(call(probe, Side::Server, || world.connect(Side::Server))?);
        Ok(())
    }

    /// Lets each side go on once, unless it is connected.
    fn turn(&mut self, probe: &mut dyn Probe) -> Result<(), String> {
        if !self.done[0] {
            self.done[0] = self.with(Side::Client, probe, |end, wire| end.handshake(wire))?;
            self.from_server = self.to_client.total();
        }
        if !self.done[1] {
            self.done[1] = self.with(Side::Server, probe, |end, wire| end.handshake(wire))?;
        }
        Ok(())
    }

    fn with<T>(
        &mut self,
        side: Side,
        probe: &mut dyn Probe,
        run: impl FnOnce(&mut dyn End, Wire<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let (end, wire) = match side {
            Side::Client => (&mut self.client, Wire { input: &mut self.to_client, output: &mut self.to_server }),
            Side::Server => (&mut self.server, Wire { input: &mut self.to_server, output: &mut self.to_client }),
        };
        let end = end.as_deref_mut().ok_or("not connected")?;
        call(probe, side, || run(end, wire)).map_err(|error| format!("{side:?}: {error}"))
    }
}

/// The most turns: more than any handshake takes.
const MAX_TURNS: usize = 20;

/// A number of bytes that is more than a HelloVerifyRequest, and less than a server's certificates.
const MORE_THAN_A_COOKIE: u64 = 300;

/// Runs `run` through the probe.
fn call<T>(probe: &mut dyn Probe, side: Side, run: impl FnOnce() -> T) -> T {
    let (mut run, mut result) = (Some(run), None);
    probe.call(side, &mut || result = run.take().map(|run| run()));
    result.expect("a probe runs the call")
}
