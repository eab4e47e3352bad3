//! Honest clients of `terse server --echo` run beside hostile ones: all that the honest ones do must succeed, whatever
//! the others do. With `--nocapture` it prints how long the honest ones took, with and without the others:
//!
//! ```text
//! cargo test --release -p terse --test all soak:: -- --nocapture
//! ```

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread;
use std::time::Instant;

use crate::common::{Patience, Pki, SAFETY_LIMIT, SERVER, Server};
use terse_net::{Clock, DatagramClient, OsRng, Stream, Timed};
use terse_tls::{ClientConfig, Connection, Datagrams, ProtocolVersion, ServerAddress, Trust};

/// The number of connections of the honest client, one after the other.
const CONNECTIONS: usize = 60;

/// The message of each side in a connection.
const MESSAGE: [u8; 200] = [7; 200];

/// A server, as its clients see it.
#[derive(Clone)]
struct World {
    config: Arc<ClientConfig>,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// The number of attacks by hostile clients.
    attacks: Arc<AtomicU32>,
}

impl World {
    fn new(pki: &Pki, server: &Server, datagrams: Option<Datagrams>) -> Self {
        let provider = &terse_aws_lc::PROVIDER;
        let trust = Trust::new(&[pki.authority.root().clone()]).unwrap();
        let mut config = ClientConfig::builder(provider);
        config.trust(trust);
        config.datagrams(datagrams);
        Self {
            config: Arc::new(config.build().unwrap()),
            address: server.address.parse().unwrap(),
            stop: Arc::new(AtomicBool::new(false)),
            attacks: Arc::new(AtomicU32::new(0)),
        }
    }

    fn connection(&self) -> Connection {
        let server = ServerAddress::new(SERVER.try_into().unwrap(), self.address.port());
        Connection::client(self.config.clone(), server, Clock::new().now(), &mut OsRng).unwrap()
    }

    fn udp(&self) -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(self.address).unwrap();
        socket
    }

    fn datagram_client(&self) -> DatagramClient {
        let mut client = DatagramClient::new(self.connection(), self.udp(), Clock::new());
        client.set_limit(SAFETY_LIMIT);
        client
    }

    fn stream(&self) -> Stream<Timed> {
        let mut transport = Timed::new(TcpStream::connect(self.address).unwrap()).unwrap();
        transport.set_limit(SAFETY_LIMIT);
        Stream::new(self.connection(), transport, Clock::new())
    }

    /// Makes a connection of an honest client over datagrams. The network may lose datagrams, so that it repeats its
    /// message.
    fn honest_datagrams(&self) {
        let mut client = self.datagram_client();
        client.handshake().unwrap();
        let mut received = [0; 256];
        for _ in 0..3 {
            let patience = Patience::new();
            loop {
                patience.wait("no echo");
                client.send(&MESSAGE).unwrap();
                client.set_limit(Duration::from_secs(1));
                match client.receive(&mut received) {
                    Ok(len) => break assert_eq!(received[..len], MESSAGE),
                    Err(error) => assert!(error.is_timeout(), "{error}"),
                }
            }
        }
        client.close().unwrap();
    }

    /// Makes a connection of an honest client over a stream.
    fn honest_stream(&self) {
        let mut stream = self.stream();
        stream.handshake().unwrap();
        let mut received = [0; MESSAGE.len()];
        for _ in 0..3 {
            stream.send(&MESSAGE).unwrap();
            stream.read_exact(&mut received).unwrap();
            assert_eq!(received, MESSAGE);
        }
        stream.close().unwrap();
    }

    /// Returns how long each of the honest client's connections took, in milliseconds, sorted.
    fn measure(&self, honest: fn(&Self)) -> Vec<f64> {
        let mut times: Vec<f64> = (0..CONNECTIONS)
            .map(|_| {
                let start = Instant::now();
                honest(self);
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// Runs the honest client alone, and beside each of `hostile` in a thread of its own, again and again.
    fn soak(&self, name: &str, honest: fn(&Self), hostile: &[fn(&Self)]) {
        let alone = self.measure(honest);
        let threads: Vec<_> = hostile
            .iter()
            .map(|attack| {
                let (world, attack) = (self.clone(), *attack);
                thread::spawn(move || {
                    while !world.stop.load(Ordering::Relaxed) {
                        attack(&world);
                        world.attacks.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let patience = Patience::new();
        while self.attacks.load(Ordering::Relaxed) < 2 * hostile.len() as u32 {
            patience.wait(self.attacks.load(Ordering::Relaxed)); // time for the attacks to begin
        }
        let beside = self.measure(honest);
        self.stop.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let attacks = self.attacks.load(Ordering::Relaxed);
        for (circumstances, times) in [("alone", alone), ("beside hostile clients", beside)] {
            let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
            println!("{name}, {circumstances}: median {median:.1} ms, worst {worst:.1} ms");
        }
        println!("{name}: {attacks} attacks meanwhile");
    }
}

/// Has 64 KiB sent to a new address, and answers nothing that arrives there.
fn moves(world: &World) {
    let mut client = world.datagram_client();
    if client.handshake().is_err() {
        return; // the server had no place
    }
    let elsewhere = world.udp();
    client.move_to(elsewhere);
    for _ in 0..80 {
        let _ = client.send(&[7; 1000]);
    }
}

/// Has 64 KiB sent to a new address in DTLS 1.2, with a byte of junk after each record but the first.
fn moves_with_junk(world: &World) {
    let mut world = world.clone();
    world.config = Arc::new(world.config.to_builder().versions([ProtocolVersion::TLS_1_2]).build().unwrap());
    let Some((mut connection, _)) = by_hand(&world) else { return };
    let elsewhere = world.udp();
    let mut buffer = [0; 2048];
    for number in 0..120 {
        let _ = connection.send(&[7; 1000]);
        while let Some(len) = connection.poll_transmit(Clock::new().now(), &mut buffer) {
            let junk: &[u8] = if number > 0 { &[0] } else { &[] };
            let _ = elsewhere.send(&[&buffer[..len], junk].concat());
        }
        thread::sleep(Duration::from_micros(200)); // the socket's buffer is shared by all clients
    }
}

/// Returns a connection whose datagrams the test sends itself.
fn by_hand(world: &World) -> Option<(Connection, UdpSocket)> {
    let (socket, clock) = (world.udp(), Clock::new());
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut connection = world.connection();
    let mut buffer = [0; 2048];
    while connection.is_handshaking() {
        while let Some(len) = connection.poll_transmit(clock.now(), &mut buffer) {
            let _ = socket.send(&buffer[..len]);
        }
        if connection.is_handshaking() {
            let len = socket.recv(&mut buffer).ok()?;
            connection.handle_input(clock.now(), &mut OsRng, &mut buffer[..len]).ok()?;
        }
    }
    while let Some(len) = connection.poll_transmit(clock.now(), &mut buffer) {
        let _ = socket.send(&buffer[..len]);
    }
    Some((connection, socket))
}

/// Has much data sent back, and reads none of it.
fn never_reads(world: &World) {
    let mut client = world.datagram_client();
    if client.handshake().is_ok() {
        for _ in 0..200 {
            let _ = client.send(&[7; 1000]);
        }
    }
}

/// Begins handshakes, and continues none of them.
fn half_opens(world: &World) {
    let (socket, clock) = (world.udp(), Clock::new());
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut connection = world.connection();
    let mut buffer = [0; 2048];
    for _ in 0..2 {
        while let Some(len) = connection.poll_transmit(clock.now(), &mut buffer) {
            let _ = socket.send(&buffer[..len]);
        }
        let Ok(len) = socket.recv(&mut buffer) else { return };
        let _ = connection.handle_input(clock.now(), &mut OsRng, &mut buffer[..len]);
    }
}

/// Sends bytes that are no record, endless ClientHellos, and parts of ClientHellos.
fn floods(world: &World) {
    let socket = world.udp();
    let mut hello = [0; 2048];
    let Some(len) = world.connection().poll_transmit(Clock::new().now(), &mut hello) else { return };
    for number in 0..20_u8 {
        let _ = socket.send(&hello[..len]);
        let _ = socket.send(b"GET / HTTP/1.0\r\n\r\n");
        let _ = socket.send(&[&[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, number, 0, 13, 1, 0, 4, 0][..], &[0; 9]].concat());
        thread::sleep(Duration::from_micros(500)); // the socket's buffer is shared by all clients
    }
}

/// Connects and sends nothing, a part of a header, or a part of a message; some of these connections stay open.
fn stalls(world: &World) {
    let connections: Vec<_> = (0..40)
        .filter_map(|number| {
            let mut connection = TcpStream::connect(world.address).ok()?;
            connection.write_all(&[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3][..number % 12]).ok()?;
            Some(connection)
        })
        .collect();
    thread::sleep(Duration::from_millis(200));
    drop(connections);
}

/// Sends a byte now and then.
fn dribbles(world: &World) {
    let Ok(mut connection) = TcpStream::connect(world.address) else { return };
    let _ = connection.write_all(&[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc]);
    for _ in 0..50 {
        thread::sleep(Duration::from_millis(5));
        if connection.write_all(&[0]).is_err() {
            return;
        }
    }
}

/// Has much data sent back over a stream, and reads none of it.
fn never_reads_a_stream(world: &World) {
    let mut stream = world.stream();
    if stream.handshake().is_ok() {
        stream.transport_mut().set_limit(Duration::from_millis(300));
        let _ = stream.send(&vec![7; 8 << 20]);
    }
}

/// Sends bytes that are no record, and disconnects.
fn talks_nonsense(world: &World) {
    let Ok(mut connection) = TcpStream::connect(world.address) else { return };
    let _ = connection.write_all(b"GET / HTTP/1.0\r\n\r\n");
    let _ = connection.read(&mut [0; 64]);
}

#[test]
fn honest_clients_over_datagrams_are_served_beside_hostile_ones() {
    let pki = Pki::with_chain("p256x2");
    let server = pki.server("--dtls --echo --connection-id 8 --timeout 5");
    let world = World::new(&pki, &server, Some(Datagrams::default().connection_id(Some(0))));
    world.soak("DTLS", World::honest_datagrams, &[moves, moves_with_junk, never_reads, half_opens, floods]);
}

#[test]
fn honest_clients_over_streams_are_served_beside_hostile_ones() {
    let pki = Pki::with_chain("p256x2");
    let server = pki.server("--echo --timeout 5");
    let world = World::new(&pki, &server, None);
    world.soak("TLS", World::honest_stream, &[stalls, dribbles, never_reads_a_stream, talks_nonsense]);
}
