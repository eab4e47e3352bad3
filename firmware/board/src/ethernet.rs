//! The Ethernet of the boards: smoltcp on a LAN9118, with one socket to the computer that runs QEMU.

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpCidr, IpEndpoint, Ipv4Address};

use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

use controller::Controller;
use terse_device::clock::Clock;
use terse_device::wire::Wire;
pub use transport::{Datagrams, Stream, Transport};

mod controller;
mod transport;

/// A socket to one peer at a time, [`Datagrams`] or a [`Stream`].
pub struct Ethernet<S> {
    device: Frames,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    /// The last port of the device.
    local: u16,
    /// The peer, while the socket is open.
    peer: Option<IpEndpoint>,
    kind: PhantomData<S>,
}

impl<S: Transport> Ethernet<S> {
    /// Starts the controller. `seed` is not predictable.
    pub fn start(seed: u64) -> Self {
        let mut device = Frames(Controller::start(ADDRESS));
        let mut config = Config::new(EthernetAddress(ADDRESS).into());
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let _ = addresses.push(IpCidr::new(DEVICE.into(), 24)); // there is room for one
        });
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let socket = sockets.add(S::new());
        Self { device, interface, sockets, socket, local: (seed >> 16) as u16, peer: None, kind: PhantomData }
    }

    /// Opens the socket to this port of the computer, and waits until a stream is there. What is open is closed.
    pub fn open(&mut self, port: u16, clock: &mut Clock) {
        self.close(clock);
        let peer = IpEndpoint::new(COMPUTER.into(), port);
        // Another port of the range for anybody (RFC 6335, 6) than before.
        self.local = 49_152 | self.local.wrapping_add(1);
        self.sockets.get_mut::<S>(self.socket).open(self.interface.context(), self.local, peer);
        self.peer = Some(peer);
        self.wait(clock, S::is_decided);
    }

    /// Closes the socket. What it has received is gone.
    pub fn close(&mut self, clock: &mut Clock) {
        if self.peer.take().is_some() {
            self.socket().end();
            self.wait(clock, S::has_ended);
            self.socket().abort();
        }
    }

    /// Whether there is something to receive, or the peer has ended the stream.
    pub fn has_received(&mut self, milliseconds: u64) -> bool {
        self.poll(milliseconds);
        self.peer.is_some() && self.socket().has_received()
    }

    /// Takes what has come, as [`Wire::receive`] does; `None` if the peer has ended the stream.
    pub fn take(&mut self, milliseconds: u64, buffer: &mut [u8]) -> Option<usize> {
        self.poll(milliseconds);
        let peer = self.peer?;
        self.socket().receive(peer, buffer)
    }

    /// Waits until something is so, but not for ever.
    fn wait(&mut self, clock: &mut Clock, is_so: impl Fn(&S) -> bool) {
        let end = clock.milliseconds() + PATIENCE_MS;
        loop {
            let now = clock.milliseconds();
            self.poll(now);
            if is_so(self.socket()) || now > end {
                return;
            }
            cortex_m::asm::wfi();
        }
    }

    fn poll(&mut self, milliseconds: u64) {
        let now = Instant::from_millis(milliseconds as i64);
        self.interface.poll(now, &mut self.device, &mut self.sockets);
    }

    fn socket(&mut self) -> &mut S {
        self.sockets.get_mut(self.socket)
    }
}

impl<S: Transport> Wire for Ethernet<S> {
    fn receive(&mut self, milliseconds: u64, buffer: &mut [u8]) -> usize {
        self.take(milliseconds, buffer).unwrap_or_default()
    }

    fn transmit(&mut self, milliseconds: u64, bytes: &[u8]) {
        if let Some(peer) = self.peer {
            self.socket().transmit(peer, bytes);
            self.poll(milliseconds);
        }
    }

    fn pause(&mut self) {
        cortex_m::asm::wfi();
    }
}

/// The addresses of QEMU's network for users.
const DEVICE: Ipv4Address = Ipv4Address::new(10, 0, 2, 15);
const COMPUTER: Ipv4Address = Ipv4Address::new(10, 0, 2, 2);

/// An address that is administered locally.
const ADDRESS: [u8; 6] = [0x02, 0, 0, 0, 0, 0x27];

/// How long a stream may take to open and to close, in milliseconds.
const PATIENCE_MS: u64 = 3_000;

/// The longest datagram with its headers, and the longest frame of Ethernet without its checksum.
const MTU: usize = 1_500;
const FRAME: usize = 14 + MTU;

/// The controller, as smoltcp wants it.
struct Frames(Controller);

impl Device for Frames {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending<'_>)> {
        let mut frame = vec![0; FRAME];
        let len = self.0.receive(&mut frame)?;
        frame.truncate(len);
        Some((Received(frame), Sending(&mut self.0)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending(&mut self.0))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME;
        capabilities
    }
}

/// A frame that has come.
struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

/// The right to send a frame.
struct Sending<'a>(&'a mut Controller);

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut frame = vec![0; len];
        let result = write(&mut frame);
        self.0.transmit(&frame);
        result
    }
}
