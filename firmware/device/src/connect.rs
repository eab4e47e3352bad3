//! One connection of a device.

use alloc::sync::Arc;
use core::fmt;

use pki_types::{DnsName, ServerName};
use terse_tls::crypto::Rng;
use terse_tls::{ClientConfig, Connection, Error, Event, Instant, Now, ServerAddress, Summary};

use crate::clock::Clock;
use crate::known::Device;
use crate::wire::Wire;

/// What a connection needs of its device.
pub struct Surroundings<'a> {
    /// The network.
    pub wire: &'a mut dyn Wire,
    /// The time since the start.
    pub clock: &'a mut Clock,
    /// The time of the start, in seconds since 1970, if the device knows it.
    pub started: Option<u64>,
    /// Randomness.
    pub rng: &'a mut dyn Rng,
}

impl Surroundings<'_> {
    fn now(&mut self) -> Now {
        self.clock.now(self.started)
    }
}

/// Why a connection failed.
#[derive(Debug)]
pub enum ConnectionFailed {
    /// The engine has given up.
    Engine(Error),
    /// The server has ended the connection before it answered.
    Closed,
    /// The server has not answered for too long.
    Silent,
}

impl fmt::Display for ConnectionFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Closed => f.write_str("the server has closed the connection"),
            Self::Silent => f.write_str("the server is silent"),
        }
    }
}

/// Returns the address of a device's server, which has a name of DNS; `None` if the settings have none.
pub fn address(device: &Device) -> Option<ServerAddress> {
    let name = DnsName::try_from(device.text("name")).ok()?.to_owned();
    Some(ServerAddress::new(ServerName::DnsName(name), device.number("port")?))
}

/// What calls of the engine run under.
pub trait Observer {
    /// Runs a call of the engine.
    fn run<T>(&mut self, call: impl FnOnce() -> T) -> T;

    /// Notes that the handshake is complete.
    fn connected(&mut self);
}

/// Runs calls as they are.
pub struct Unobserved;

impl Observer for Unobserved {
    fn run<T>(&mut self, call: impl FnOnce() -> T) -> T {
        call()
    }

    fn connected(&mut self) {}
}

/// Connects, sends [`REQUEST`], waits for the same to come back, and closes the connection. Returns what the engine did.
pub fn connect(
    config: Arc<ClientConfig>,
    address: ServerAddress,
    around: &mut Surroundings<'_>,
    observer: &mut impl Observer,
) -> Result<Summary, ConnectionFailed> {
    let now = around.now();
    let begun = observer.run(|| Connection::client(config, address, now, around.rng));
    let mut connection = begun.map_err(ConnectionFailed::Engine)?;
    let mut buffer = [0; BUFFER_LEN];
    let (mut is_sent, mut answered) = (false, 0);
    let end = now.monotonic.0 + PATIENCE_MS;
    while answered < REQUEST.len() {
        let now = around.now();
        if now.monotonic > Instant(end) {
            return Err(ConnectionFailed::Silent);
        }
        let len = around.wire.receive(now.monotonic.0, &mut buffer);
        let received = observer.run(|| receive(&mut connection, now, around.rng, &mut buffer[..len]));
        let failed = received.and_then(|()| observer.run(|| connection.handle_timeout(now))).err();
        while let Some(len) = observer.run(|| connection.poll_transmit(now, &mut buffer)) {
            around.wire.transmit(now.monotonic.0, &buffer[..len]);
        }
        if let Some(error) = failed {
            return Err(ConnectionFailed::Engine(error));
        }
        while let Some(event) = connection.poll_event() {
            if event == Event::PeerClosed {
                return Err(ConnectionFailed::Closed);
            }
        }
        if connection.is_connected() && !is_sent {
            observer.connected();
            is_sent = true;
            observer.run(|| connection.send(REQUEST)).map_err(ConnectionFailed::Engine)?;
            continue;
        }
        answered += observer.run(|| connection.recv(&mut buffer));
        if len == 0 {
            around.wire.pause();
        }
    }
    observer.run(|| connection.close());
    let now = around.now();
    while let Some(len) = observer.run(|| connection.poll_transmit(now, &mut buffer)) {
        around.wire.transmit(now.monotonic.0, &buffer[..len]);
    }
    Ok(connection.summary().clone())
}

fn receive(connection: &mut Connection, now: Now, rng: &mut dyn Rng, mut input: &mut [u8]) -> Result<(), Error> {
    while !input.is_empty() {
        let taken = connection.handle_input(now, rng, input)?;
        if taken == 0 {
            break; // it waits for data to be read, and no server here sends more than fits
        }
        input = &mut input[taken..];
    }
    Ok(())
}

/// What the device sends.
pub const REQUEST: &[u8] = b"22.5 C";

/// The most bytes that are sent or received at once.
const BUFFER_LEN: usize = 1_280;

/// How long a connection may take, in milliseconds.
const PATIENCE_MS: u64 = 150_000;
