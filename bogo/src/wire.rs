//! A connection on the runner's socket: whole reads and writes, or byte by byte.
//!
//! What must always hold: an alert is handed to the socket before its error is returned.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use pki_types::UnixTime;
use terse_net::{Clock, OsRng};
use terse_tls::crypto::Signing;
use terse_tls::{Connection, Event, Now};

use crate::Failure;
use crate::options::Run;

/// A connection, its socket, and what lies between them.
pub(crate) struct Wire {
    pub(crate) connection: Connection,
    socket: TcpStream,
    clock: ShiftedClock,
    /// Byte by byte.
    slow: bool,
    input: Vec<u8>,
    /// Why nothing can be written any more.
    broken: Option<std::io::Error>,
    /// That the peer is done, and how: with `close_notify`, or not.
    pub(crate) end: Option<End>,
    /// Bytes that came as early data.
    pub(crate) early_data: Vec<u8>,
    pub(crate) is_connected: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    CloseNotify,
    Transport,
}

/// The machine's clocks, `shift` seconds ahead.
#[derive(Clone, Copy)]
pub(crate) struct ShiftedClock {
    pub(crate) clock: Clock,
    pub(crate) shift: u64,
}

impl ShiftedClock {
    pub(crate) fn now(&self) -> Now {
        let now = self.clock.now();
        let ahead = |unix: UnixTime| UnixTime::since_unix_epoch(Duration::from_secs(unix.as_secs() + self.shift));
        Now { unix: now.unix.map(ahead), ..now }
    }
}

/// The runner listens, whichever side the shim is.
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
    pub(crate) fn new(connection: Connection, socket: TcpStream, clock: ShiftedClock, slow: bool) -> Self {
        Self {
            connection,
            socket,
            clock,
            slow,
            input: Vec::new(),
            broken: None,
            end: None,
            early_data: Vec::new(),
            is_connected: false,
        }
    }

    /// Sends what waits to be sent.
    pub(crate) fn flush(&mut self) {
        let mut buffer = [0; 4096];
        let buffer = if self.slow { &mut buffer[..1] } else { &mut buffer[..] };
        while let Some(len) = self.connection.poll_transmit(self.clock.now(), buffer) {
            self.write(&buffer[..len]);
        }
    }

    /// A runner that no longer listens may have said why: what it sent is read all the same.
    fn write(&mut self, bytes: &[u8]) {
        if self.broken.is_none() {
            self.broken = self.socket.write_all(bytes).err();
        }
    }

    /// Sends one byte of what waits to be sent.
    pub(crate) fn send_byte(&mut self) {
        let mut byte = [0];
        if self.connection.poll_transmit(self.clock.now(), &mut byte).is_some() {
            self.write(&byte);
        }
    }

    /// Takes what the peer sent, waiting if there is nothing, and acts on it.
    pub(crate) fn receive(&mut self) -> Result<(), Failure> {
        self.take_input()?;
        self.act()
    }

    /// The same, but sends nothing in response.
    pub(crate) fn receive_only(&mut self) -> Result<(), Failure> {
        self.take_input()?;
        self.handle_events()
    }

    fn take_input(&mut self) -> Result<(), Failure> {
        if self.input.is_empty() {
            let mut buffer = [0; 0x5000];
            match self.socket.read(&mut buffer)? {
                0 => {
                    if let Some(error) = self.broken.take() {
                        return Err(error.into());
                    }
                    self.end.get_or_insert(End::Transport);
                    let result = self.connection.handle_end_of_input(self.clock.now());
                    // BoringSSL's shim takes the end of the transport for the end of the data, unless it is told not to.
                    return if self.is_connected { Ok(()) } else { Ok(result?) };
                }
                len => self.input.extend_from_slice(&buffer[..len]),
            }
        }
        let len = if self.slow { 1 } else { self.input.len() };
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

    /// Waits for data, or the end of it: 0.
    pub(crate) fn recv(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.connection.recv(out) {
                0 if self.end.is_some() => return Ok(0),
                0 => self.receive()?,
                len => return Ok(len),
            }
        }
    }

    /// Ends the transport: what the runner still sends must not make the machine reset the connection before the runner
    /// has read everything.
    pub(crate) fn drain(mut self) {
        self.flush();
        if self.socket.shutdown(Shutdown::Write).is_ok() {
            let _ = std::io::copy(&mut self.socket, &mut std::io::sink());
        }
    }
}
