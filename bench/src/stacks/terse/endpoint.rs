//! Over datagrams, one endpoint serves all clients of a world.
//!
//! What must always hold: each end has an address of its own, and the endpoint's output goes to the end whose datagrams
//! it was given.

use core::cell::{Cell, RefCell};
use core::net::{Ipv6Addr, SocketAddr};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use terse_net::OsRng;
use terse_tls::{ConnectionHandle, Endpoint, EndpointEvent, EndpointLimits, Instant, ServerConfig};

use super::text;
use crate::clock;
use crate::pipe::Wire;
use crate::stack::{End, Mode};

/// The endpoint.
pub(super) struct Server {
    endpoint: Rc<RefCell<Endpoint>>,
    next: Cell<u128>,
}

impl Server {
    pub(super) fn new(config: Arc<ServerConfig>) -> Result<Self, String> {
        let endpoint = Endpoint::new(config, EndpointLimits::default(), &mut OsRng).map_err(text)?;
        Ok(Self { endpoint: Rc::new(RefCell::new(endpoint)), next: Cell::new(1) })
    }

    /// Returns the end for a new client.
    pub(super) fn end(&self) -> ServerEnd {
        let number = self.next.get();
        self.next.set(number + 1);
        let client = SocketAddr::new(Ipv6Addr::from_bits(number).into(), 5683);
        ServerEnd { endpoint: self.endpoint.clone(), client, handle: None, data: VecDeque::new(), failure: None }
    }
}

/// The endpoint's end for one client.
pub(super) struct ServerEnd {
    endpoint: Rc<RefCell<Endpoint>>,
    client: SocketAddr,
    /// The connection, once there is one.
    handle: Option<ConnectionHandle>,
    /// The application data that arrived.
    data: VecDeque<Vec<u8>>,
    failure: Option<String>,
}

impl ServerEnd {
    /// Handles the input that is there, and sends the output.
    fn turn(&mut self, wire: Wire<'_>) -> Result<(), String> {
        let mut endpoint = self.endpoint.borrow_mut();
        let (_, half_open) = endpoint.connections();
        let now = if half_open > 0 { clock::now() } else { clock::last_tick() }; // as `terse_net::DatagramServer` does
        loop {
            let datagram = wire.input.waiting();
            if datagram.is_empty() {
                break;
            }
            let len = datagram.len();
            endpoint.handle_datagram(now, &mut OsRng, self.client, datagram);
            wire.input.consume(len);
        }
        while let Some((to, len)) = endpoint.poll_transmit(now, wire.output.room()) {
            if to != self.client {
                return Err(format!("a datagram for {to}"));
            }
            wire.output.produce(len);
        }
        while let Some((handle, event)) = endpoint.poll_event() {
            match event {
                EndpointEvent::Connected => self.handle = Some(handle),
                EndpointEvent::Data(data) => self.data.push_back(data),
                EndpointEvent::Failed(error) => self.failure = Some(text(error)),
                _ => {}
            }
        }
        self.failure.clone().map_or(Ok(()), Err)
    }
}

impl End for ServerEnd {
    fn handshake(&mut self, wire: Wire<'_>) -> Result<bool, String> {
        self.turn(wire)?;
        Ok(self.handle.is_some())
    }

    fn mode(&self) -> Mode {
        let mut endpoint = self.endpoint.borrow_mut();
        let connection = self.handle.and_then(|handle| endpoint.connection(handle));
        connection.map_or(Mode::Full, |connection| super::mode(connection))
    }

    fn as_application(self: Box<Self>) -> Box<dyn End> {
        self // one look for the last tick for a datagram, as `terse_net::DatagramServer` has
    }

    fn write(&mut self, wire: Wire<'_>, data: &[u8]) -> Result<(), String> {
        let handle = self.handle.ok_or("not connected")?;
        let taken = match self.endpoint.borrow_mut().connection(handle) {
            Some(connection) => connection.send(data).map_err(text)?,
            None => return Err("the connection is gone".into()),
        };
        if taken < data.len() {
            return Err("the send buffer is full".into());
        }
        self.turn(wire)
    }

    fn read(&mut self, wire: Wire<'_>, out: &mut [u8]) -> Result<usize, String> {
        if self.data.is_empty() {
            self.turn(wire)?;
        }
        let Some(data) = self.data.pop_front() else { return Ok(0) };
        out.get_mut(..data.len()).ok_or("a datagram is cut off")?.copy_from_slice(&data);
        Ok(data.len())
    }

    fn deadline(&self) -> Option<u64> {
        self.endpoint.borrow().poll_timeout().map(|Instant(milliseconds)| milliseconds)
    }

    fn expire(&mut self, wire: Wire<'_>) -> Result<(), String> {
        self.endpoint.borrow_mut().handle_timeout(clock::now());
        self.turn(wire)
    }
}

impl Drop for ServerEnd {
    fn drop(&mut self) {
        if let Some(handle) = self.handle {
            self.endpoint.borrow_mut().remove(handle);
        }
    }
}
