//! A connection on the runner's socket reads and writes a stream, as a whole or byte by byte, or datagrams.
//!
//! What must always hold: an alert is written to the socket before its error is returned.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};

use terse_net::OsRng;
use terse_tls::crypto::Signing;
use terse_tls::{ApiMisuse, Connection, Error, Event, ProtocolVersion};

use crate::Failure;
use crate::clock::ShiftedClock;
use crate::options::{Options, Refusal, Run};
use crate::packets::{self, Packet};

/// A connection, its socket, and the buffers between them.
pub(crate) struct Wire {
    pub(crate) connection: Connection,
    socket: TcpStream,
    pub(crate) clock: ShiftedClock,
    /// The unit that is sent and received at once: a datagram, all there is, or a byte.
    unit: Unit,
    input: Vec<u8>,
    /// The error after which nothing can be written any more.
    broken: Option<std::io::Error>,
    /// The peer's end of the connection: with `close_notify`, or without.
    pub(crate) end: Option<End>,
    /// The time that a private key takes, in milliseconds.
    private_key_delay: u64,
    /// Whether a KeyUpdate is to be sent as soon as that is possible.
    wants_key_update: bool,
    has_updated_keys: bool,
    /// The bytes that were received as early data.
    pub(crate) early_data: Vec<u8>,
    pub(crate) is_connected: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    CloseNotify,
    Transport,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Datagram,
    Stretch,
    Byte,
}

/// The time from one datagram to the next after a handshake of DTLS 1.2, in nanoseconds: the runner retransmits its
/// last flight five times at the same instant, and Terse limits its answers in time.
const BETWEEN_DATAGRAMS: u64 = 1_000 * MILLISECOND;

/// A millisecond in nanoseconds.
const MILLISECOND: u64 = 1_000_000;

/// Connects to the runner, which listens whichever side the shim is.
pub(crate) fn connect(run: &Run) -> Result<TcpStream, Failure> {
    let address: SocketAddr = match run.ipv6 {
        true => (Ipv6Addr::LOCALHOST, run.port).into(),
        false => (Ipv4Addr::LOCALHOST, run.port).into(),
    };
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    socket.write_all(&run.shim_id.to_le_bytes())?;
    Ok(socket)
}

impl Wire {
    pub(crate) fn new(connection: Connection, socket: TcpStream, clock: ShiftedClock, options: &Options) -> Self {
        let unit = match (options.dtls, options.slow) {
            (true, _) => Unit::Datagram,
            (false, false) => Unit::Stretch,
            (false, true) => Unit::Byte,
        };
        Self {
            connection,
            socket,
            clock,
            unit,
            input: Vec::new(),
            broken: None,
            end: None,
            private_key_delay: options.private_key_delay,
            wants_key_update: false,
            has_updated_keys: false,
            early_data: Vec::new(),
            is_connected: false,
        }
    }

    /// Sends all output.
    pub(crate) fn flush(&mut self) {
        let len = match self.unit {
            Unit::Datagram => 0x1_0000,
            Unit::Stretch => 4096,
            Unit::Byte => 1,
        };
        let mut buffer = vec![0; len];
        while let Some(len) = self.connection.poll_transmit(self.clock.now(), &mut buffer) {
            match self.unit {
                Unit::Datagram => self.write(&packets::datagram(&buffer[..len])),
                _ => self.write(&buffer[..len]),
            }
        }
    }

    /// Writes to the runner. An error is kept for later: a runner that has closed may have sent the reason, which is
    /// read first.
    fn write(&mut self, bytes: &[u8]) {
        if self.broken.is_none() {
            self.broken = self.socket.write_all(bytes).err();
        }
    }

    /// Sends one byte of the output.
    pub(crate) fn send_byte(&mut self) {
        let mut byte = [0];
        if self.connection.poll_transmit(self.clock.now(), &mut byte).is_some() {
            self.write(&byte);
        }
    }

    /// Waits for input of the peer, and handles it.
    pub(crate) fn receive(&mut self) -> Result<(), Failure> {
        self.take_input()?;
        self.act()?;
        if self.wants_key_update { self.update_keys() } else { Ok(()) }
    }

    /// Sends a KeyUpdate. Over datagrams it waits until the peer has the last flight of the handshake, and any earlier
    /// KeyUpdate.
    pub(crate) fn update_keys(&mut self) -> Result<(), Failure> {
        match self.connection.update_keys(false) {
            Ok(()) => (self.has_updated_keys, self.wants_key_update) = (true, false),
            Err(Error::ApiMisuse(ApiMisuse::KeyUpdateUnderWay)) => self.wants_key_update = !self.has_updated_keys,
            Err(error) => return Err(error.into()),
        }
        self.flush();
        Ok(())
    }

    /// Waits for input of the peer, and handles it without sending anything.
    pub(crate) fn receive_only(&mut self) -> Result<(), Failure> {
        self.take_input()?;
        self.handle_events()
    }

    fn take_input(&mut self) -> Result<(), Failure> {
        if self.input.is_empty() && self.unit == Unit::Datagram {
            match self.read_packet()? {
                Some(Packet::Datagram(datagram)) => {
                    self.input = datagram;
                    if self.is_connected && self.connection.summary().version == Some(ProtocolVersion::TLS_1_2) {
                        self.clock.pass(BETWEEN_DATAGRAMS); // the runner expects no timer here
                    }
                }
                Some(packet) => return self.command(&packet),
                None => return self.handle_end(),
            }
        } else if self.input.is_empty() {
            let mut buffer = [0; 0x5000];
            match self.socket.read(&mut buffer)? {
                0 => return self.handle_end(),
                len => self.input.extend_from_slice(&buffer[..len]),
            }
        }
        let len = if self.unit == Unit::Byte { 1 } else { self.input.len() };
        match self.connection.handle_input(self.clock.now(), &mut OsRng, &mut self.input[..len]) {
            Ok(taken) => {
                self.input.drain(..taken);
                Ok(())
            }
            Err(error) => {
                self.flush();
                Err(error.into())
            }
        }
    }

    /// Reads the next packet. A runner that is done does not read packets still in flight, such as the acknowledgement
    /// of its last record, and its machine then resets the connection: this is an end like any other.
    fn read_packet(&mut self) -> Result<Option<Packet>, Failure> {
        match packets::read(&mut self.socket) {
            Err(error) if error.kind() == ErrorKind::ConnectionReset && self.is_connected => Ok(None),
            packet => Ok(packet?),
        }
    }

    fn handle_end(&mut self) -> Result<(), Failure> {
        // Datagrams may be lost, and the last ones may acknowledge records for which the runner did not wait.
        if let Some(error) = self.broken.take().filter(|_| self.unit != Unit::Datagram || !self.is_connected) {
            return Err(error.into());
        }
        self.end.get_or_insert(End::Transport);
        let result = self.connection.handle_end_of_input(self.clock.now());
        // BoringSSL's shim takes the end of the transport for the end of the data, unless a flag forbids it.
        if self.is_connected { Ok(()) } else { Ok(result?) }
    }

    /// Obeys a command of the runner.
    fn command(&mut self, packet: &Packet) -> Result<(), Failure> {
        match *packet {
            Packet::Datagram(_) => Ok(()),
            Packet::Timeout(nanoseconds) => {
                self.write(&[packets::TIMEOUT_ACK]);
                self.clock.pass(nanoseconds);
                Ok(self.connection.handle_timeout(self.clock.now())?)
            }
            Packet::ExpectNextTimeout(nanoseconds) => self.clock.expect(&self.connection, nanoseconds),
            Packet::Mtu => Err(Refusal::Unimplemented("another MTU for a connection that there is".into()).into()),
            Packet::UpdateTimeout => {
                Err(Refusal::Unimplemented("another timeout for a connection that there is".into()).into())
            }
        }
    }

    fn act(&mut self) -> Result<(), Failure> {
        self.handle_events()?;
        self.flush();
        Ok(())
    }

    fn handle_events(&mut self) -> Result<(), Failure> {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::PeerClosed => self.end = Some(End::CloseNotify),
                Event::EarlyData => self.take_early_data(),
                Event::NeedSignature => self.sign()?,
                _ => return Err(Failure::Unexpected(format!("{event:?}"))),
            }
        }
        Ok(())
    }

    fn take_early_data(&mut self) {
        let mut buffer = [0; 1024];
        loop {
            match self.connection.recv_early_data(&mut buffer) {
                0 => return,
                len => self.early_data.extend_from_slice(&buffer[..len]),
            }
        }
    }

    fn sign(&mut self) -> Result<(), Failure> {
        if self.private_key_delay > 0 {
            self.clock.pass(self.private_key_delay * MILLISECOND);
            self.connection.handle_timeout(self.clock.now())?;
            self.flush();
        }
        let Some(request) = self.connection.signature_request() else { return Ok(()) };
        let signed = request.credential().key().sign(request.scheme(), request.message(), &mut OsRng);
        let signature = match &signed {
            Ok(Signing::Done(signature)) => Ok(signature.as_slice()),
            Ok(Signing::Pending) => return Err(Failure::Unexpected("a key that does not sign".into())),
            Err(error) => Err(*error),
        };
        let result = self.connection.provide_signature(self.clock.now(), &mut OsRng, signature);
        self.flush();
        Ok(result?)
    }

    /// Sends all of `data`.
    pub(crate) fn send(&mut self, mut data: &[u8]) -> Result<(), Failure> {
        while !data.is_empty() {
            let taken = self.connection.send(data)?;
            data = &data[taken..];
            self.flush();
        }
        Ok(())
    }

    /// Waits for data. Returns 0 at its end.
    pub(crate) fn recv(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.connection.recv(out) {
                0 if self.end.is_some() => return Ok(0),
                0 => self.receive()?,
                len => return Ok(len),
            }
        }
    }

    /// Ends the transport. Further input is read, so that the machine does not reset the connection before the runner
    /// has read everything.
    pub(crate) fn drain(mut self) {
        self.flush();
        if self.socket.shutdown(Shutdown::Write).is_ok() {
            let _ = std::io::copy(&mut self.socket, &mut std::io::sink());
        }
    }
}
