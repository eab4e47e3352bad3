//! A path to the registrar on which a device changes its port all the time, as behind a join proxy that forgets it.

use core::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::UdpSocket;

use super::world::World;

/// The path. It ends with the world.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    ports: Arc<AtomicUsize>,
}

impl Relay {
    /// How many ports the registrar has seen.
    pub(crate) fn ports(&self) -> usize {
        self.ports.load(Ordering::Relaxed)
    }
}

impl World {
    /// Opens a path for one device at a time. Once the registrar has sent data over a connection, each datagram of the device
    /// that has a connection ID goes to it from another port.
    pub(crate) fn relay(&self) -> Relay {
        let near = self.runtime().block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
        let relay = Relay { address: near.local_addr().unwrap(), ports: Arc::default() };
        self.runtime().spawn(run(near, self.coaps, relay.ports.clone()));
        relay
    }
}

async fn run(near: UdpSocket, registrar: SocketAddr, ports: Arc<AtomicUsize>) {
    let mut far = another_port(registrar, &ports).await;
    let (mut device, mut has_data) = (None, false);
    let (mut there, mut back) = ([0; 2_048], [0; 2_048]);
    loop {
        tokio::select! {
            received = near.recv_from(&mut there) => {
                let (len, from) = received.unwrap();
                let is_new = device.replace(from) != Some(from);
                has_data &= !is_new;
                if is_new || (has_data && there[0] == TLS12_CID) {
                    far = another_port(registrar, &ports).await;
                }
                far.send(&there[..len]).await.unwrap();
            }
            received = far.recv(&mut back) => {
                let len = received.unwrap();
                has_data |= back[0] == APPLICATION_DATA;
                near.send_to(&back[..len], device.expect("it has asked")).await.unwrap();
            }
        }
    }
}

async fn another_port(registrar: SocketAddr, ports: &AtomicUsize) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(registrar).await.unwrap();
    ports.fetch_add(1, Ordering::Relaxed);
    socket
}

/// The content types of records (RFC 5246, 6.2.1; RFC 9146, 4).
const APPLICATION_DATA: u8 = 23;
const TLS12_CID: u8 = 25;
