//! An application's connection is a [`terse_net::Stream`], with its buffers, its copies and its readings of the clock,
//! over a transport that is the wire in memory.

use core::mem;
use std::io::{self, ErrorKind, Read, Write};

use terse_interop::case::clock;
use terse_net::{NetError, Stream};

use super::{TerseEnd, mode, text};
use crate::pipe::{Pipe, Wire};
use crate::stack::{End, Mode};

pub(super) struct StreamEnd(Stream<Transport>);

/// Both directions of the wire during a call; empty pipes otherwise.
struct Transport {
    input: Box<Pipe>,
    output: Box<Pipe>,
}

impl StreamEnd {
    /// Wraps `end`, which is connected.
    pub(super) fn new(end: TerseEnd) -> Self {
        let transport = Transport { input: Pipe::new(false), output: Pipe::new(false) };
        Self(Stream::new(end.connection, transport, clock()))
    }

    fn with<T>(&mut self, wire: Wire<'_>, call: impl FnOnce(&mut Stream<Transport>) -> T) -> T {
        self.0.transport_mut().swap(&mut *wire.input, &mut *wire.output);
        let result = call(&mut self.0);
        self.0.transport_mut().swap(wire.input, wire.output);
        result
    }
}

impl Transport {
    const fn swap(&mut self, input: &mut Box<Pipe>, output: &mut Box<Pipe>) {
        mem::swap(&mut self.input, input);
        mem::swap(&mut self.output, output);
    }
}

impl Read for Transport {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let waiting = self.input.waiting();
        let len = waiting.len().min(out.len());
        if len == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        out[..len].copy_from_slice(&waiting[..len]);
        self.input.consume(len);
        Ok(len)
    }
}

impl Write for Transport {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.output.room()[..data.len()].copy_from_slice(data);
        self.output.produce(data.len());
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl End for StreamEnd {
    fn handshake(&mut self, _: Wire<'_>) -> Result<bool, String> {
        Ok(true)
    }

    fn mode(&self) -> Mode {
        mode(self.0.connection())
    }

    fn as_application(self: Box<Self>) -> Box<dyn End> {
        self
    }

    fn write(&mut self, wire: Wire<'_>, data: &[u8]) -> Result<(), String> {
        self.with(wire, |stream| stream.send(data)).map_err(text)
    }

    fn read(&mut self, wire: Wire<'_>, out: &mut [u8]) -> Result<usize, String> {
        match self.with(wire, |stream| stream.receive(out)) {
            Err(NetError::TimedOut { .. }) => Ok(0),
            result => result.map_err(text),
        }
    }
}
