//! What is between a device and its server. It counts the bytes that pass, and cuts the power of the device when there were so many.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};

use crate::Failed;
use crate::device::Power;
use crate::scenario::Link;

/// A relay on a port of its own, as long as this program runs.
pub(crate) struct Relay {
    pub(crate) port: u16,
    meter: Arc<Mutex<Meter>>,
}

/// Counts what passes, in both directions together.
#[derive(Default)]
struct Meter {
    passed: u64,
    cut: Option<(u64, Power)>,
}

impl Relay {
    /// Starts a relay to the server at this port.
    pub(crate) fn start(link: Link, server: u16) -> Result<Self, Failed> {
        let meter = Arc::new(Mutex::new(Meter::default()));
        let shared = meter.clone();
        let server = SocketAddr::from(([127, 0, 0, 1], server));
        let port = match link {
            Link::Uart => {
                let listener = TcpListener::bind("127.0.0.1:0")?;
                let port = listener.local_addr()?.port();
                std::thread::spawn(move || {
                    for device in listener.incoming() {
                        let _ = join(device, server, &shared); // whoever is gone has no use for it
                    }
                });
                port
            }
            Link::Ethernet | Link::Framed => {
                let socket = UdpSocket::bind("127.0.0.1:0")?;
                let port = socket.local_addr()?.port();
                std::thread::spawn(move || pass_datagrams(&socket, server, &shared));
                port
            }
        };
        Ok(Self { port, meter })
    }

    /// Counts anew. After `cut` bytes, the power is cut.
    pub(crate) fn arm(&self, cut: Option<(u64, Power)>) {
        *lock(&self.meter) = Meter { passed: 0, cut };
    }

    /// Returns how many bytes have passed since.
    pub(crate) fn passed(&self) -> u64 {
        lock(&self.meter).passed
    }
}

fn lock(meter: &Mutex<Meter>) -> std::sync::MutexGuard<'_, Meter> {
    meter.lock().expect("nobody panics with it")
}

impl Meter {
    /// Returns how many of these bytes pass before the power is cut, which this does if it is due.
    fn pass(&mut self, len: usize) -> usize {
        let left = self.cut.as_ref().map_or(u64::MAX, |(cut, _)| cut.saturating_sub(self.passed));
        let passes = (len as u64).min(left);
        self.passed += passes;
        if let Some((_, power)) = self.cut.as_ref().filter(|_| passes == left) {
            power.cut();
        }
        passes as usize
    }
}

/// Joins a device's stream with one to the server.
fn join(device: std::io::Result<TcpStream>, server: SocketAddr, meter: &Arc<Mutex<Meter>>) -> std::io::Result<()> {
    let (device, server) = (device?, TcpStream::connect(server)?);
    for (from, to) in [(device.try_clone()?, server.try_clone()?), (server, device)] {
        let meter = meter.clone();
        std::thread::spawn(move || pass_stream(from, to, &meter));
    }
    Ok(())
}

fn pass_stream(mut from: TcpStream, mut to: TcpStream, meter: &Mutex<Meter>) {
    let mut buffer = [0; 4_096];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        let passes = lock(meter).pass(len);
        if to.write_all(&buffer[..passes]).is_err() || passes < len {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write); // it may be gone
}

fn pass_datagrams(socket: &UdpSocket, server: SocketAddr, meter: &Arc<Mutex<Meter>>) {
    let mut upstream = HashMap::<SocketAddr, UdpSocket>::new();
    let mut buffer = [0; 2_048];
    while let Ok((len, device)) = socket.recv_from(&mut buffer) {
        if lock(meter).pass(len) < len {
            continue;
        }
        if let Some(known) = upstream.get(&device) {
            let _ = known.send(&buffer[..len]); // it is lost, as a datagram may be
            continue;
        }
        let answers = || {
            let new = UdpSocket::bind("127.0.0.1:0")?;
            new.connect(server)?;
            new.send(&buffer[..len])?;
            Ok::<_, std::io::Error>((new.try_clone()?, new, socket.try_clone()?))
        };
        let Ok((kept, new, back)) = answers() else { continue };
        upstream.insert(device, kept);
        let meter = meter.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 2_048];
            while let Ok(len) = new.recv(&mut buffer) {
                if lock(&meter).pass(len) == len {
                    let _ = back.send_to(&buffer[..len], device); // it is lost, as a datagram may be
                }
            }
        });
    }
}
