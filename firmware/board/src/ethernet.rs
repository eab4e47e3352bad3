//! Datagrams over the Ethernet of the boards: smoltcp on a LAN9118.

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpCidr, IpEndpoint, Ipv4Address};

use alloc::vec;
use alloc::vec::Vec;

use controller::Controller;
use terse_device::wire::Wire;

mod controller;

/// A UDP socket to one peer.
pub struct Ethernet {
    device: Frames,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    /// The last port of the device.
    local: u16,
    peer: IpEndpoint,
}

impl Ethernet {
    /// Opens a socket to this port of the computer that runs QEMU. `seed` is not predictable.
    pub fn open(port: u16, seed: u64) -> Self {
        let mut device = Frames(Controller::start(ADDRESS));
        let mut config = Config::new(EthernetAddress(ADDRESS).into());
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let _ = addresses.push(IpCidr::new(DEVICE.into(), 24)); // there is room for one
        });
        let queue = |packets, len| udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; packets], vec![0; len]);
        let socket = udp::Socket::new(queue(RECEIVED, RECEIVED * MTU), queue(SENT, SENT * MTU));
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let socket = sockets.add(socket);
        let peer = IpEndpoint::new(COMPUTER.into(), port);
        let mut ethernet = Self { device, interface, sockets, socket, local: (seed >> 16) as u16, peer };
        ethernet.reopen(port);
        ethernet
    }

    /// Closes the socket, and opens it anew to this port of the computer.
    pub fn reopen(&mut self, port: u16) {
        self.close();
        self.peer.port = port;
        // Another port of the range for anybody (RFC 6335, 6) than before.
        self.local = 49_152 | self.local.wrapping_add(1);
        let local = self.local;
        let _ = self.socket().bind(local); // it is not 0, and the socket is closed
    }

    /// Closes the socket. What it has received is gone.
    pub fn close(&mut self) {
        self.socket().close();
    }

    /// Whether a datagram waits to be received.
    pub fn has_received(&mut self, milliseconds: u64) -> bool {
        self.poll(milliseconds);
        self.socket().can_recv()
    }

    fn poll(&mut self, milliseconds: u64) {
        let now = Instant::from_millis(milliseconds as i64);
        self.interface.poll(now, &mut self.device, &mut self.sockets);
    }

    fn socket(&mut self) -> &mut udp::Socket<'static> {
        self.sockets.get_mut(self.socket)
    }
}

impl Wire for Ethernet {
    fn receive(&mut self, milliseconds: u64, buffer: &mut [u8]) -> usize {
        self.poll(milliseconds);
        let peer = self.peer;
        match self.socket().recv_slice(buffer) {
            Ok((len, from)) if from.endpoint == peer => len,
            _ => 0, // nothing, or from somebody else, or too long
        }
    }

    fn transmit(&mut self, milliseconds: u64, bytes: &[u8]) {
        let peer = self.peer;
        let _ = self.socket().send_slice(bytes, peer); // without room it is lost, as a datagram may be
        self.poll(milliseconds);
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

/// How many datagrams wait, in each direction.
const RECEIVED: usize = 4;
const SENT: usize = 4;

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
