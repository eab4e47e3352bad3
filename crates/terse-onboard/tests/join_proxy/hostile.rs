//! Strangers on the link, and on the way to the registrar.

use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use alloc::sync::Arc;
use terse_brski::join_proxy::{HEADER_LEN, OnLink};
use terse_net::tokio::{Jpy, Plain};
use terse_onboard::join_proxy::{Mode, UdpLimits};

use super::registrar::Registrar;
use super::world::{Proxy, configs, datagrams, exchange, pledge, pledge_on, socket};
use crate::deadline::{Deadline, SAFETY_LIMIT};

const LOCALHOST: IpAddr = IpAddr::V4(core::net::Ipv4Addr::LOCALHOST);

/// A registrar that a test plays.
struct Played {
    socket: UdpSocket,
    proxy: Proxy,
    pledge: UdpSocket,
}

impl Played {
    fn start(mode: Mode) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
        let proxy = Proxy::start("127.0.0.1:0", mode, &[socket.local_addr().unwrap()]);
        let pledge = super::world::socket(LOCALHOST, proxy.address);
        Self { socket, proxy, pledge }
    }

    /// Sends until something arrives at the registrar: the proxy may still be looking it up. Returns what arrived, and from where.
    fn arrive(&self, content: &[u8]) -> (Vec<u8>, SocketAddr) {
        self.socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut buffer = [0; 3_000];
        let deadline = Deadline::new();
        loop {
            self.pledge.send(content).unwrap();
            if let Ok((len, from)) = self.socket.recv_from(&mut buffer) {
                self.socket.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
                return (buffer[..len].to_vec(), from);
            }
            deadline.check("nothing arrives");
        }
    }

    /// The next datagram that the pledge receives.
    fn received(&self) -> Vec<u8> {
        let mut buffer = [0; 3_000];
        let len = self.pledge.recv(&mut buffer).expect("an answer");
        buffer[..len].to_vec()
    }
}

fn message(header: &[u8], content: &[u8]) -> Vec<u8> {
    let mut prefix = [0; 80];
    let len = Jpy::prefix(header, content.len(), &mut prefix).unwrap();
    [&prefix[..len], content].concat()
}

#[test]
fn an_answer_with_a_forged_header_goes_nowhere() {
    let scene = Played::start(Mode::Stateless);
    let (first, proxy) = scene.arrive(b"hello");
    let (header, content) = Jpy::parse(&first).unwrap();
    assert_eq!((header.len(), &first[content]), (HEADER_LEN, &b"hello"[..]));
    let mut forged = Vec::new();
    for byte in 0..HEADER_LEN {
        let mut changed = header.to_vec();
        changed[byte] ^= 1;
        forged.push(message(&changed, b"forged"));
    }
    forged.push(message(&header[..HEADER_LEN - 1], b"forged"));
    forged.push(message(&[header, &[0]].concat(), b"forged"));
    forged.push(message(&[], b"forged"));
    forged.push(b"forged".to_vec());
    forged.push([&message(header, b"forged")[..], b"!"].concat());
    forged.push(message(header, b"forged")[..10].to_vec());
    for datagram in &forged {
        scene.socket.send_to(datagram, proxy).unwrap();
    }
    // What has the right header and does not fit is not sent either.
    scene.socket.send_to(&message(header, b""), proxy).unwrap();
    scene.socket.send_to(&message(header, &[7; 1_195]), proxy).unwrap();
    scene.socket.send_to(&message(header, &[7; 1_194]), proxy).unwrap();
    assert_eq!(scene.received(), [7; 1_194], "the first one that arrives");
    let counters = scene.proxy.stop();
    assert_eq!((counters.not_authentic, counters.answered), (forged.len() as u64, 1), "{counters:?}");
    assert_eq!(counters.wrong_length, 2, "{counters:?}");
}

#[test]
fn an_answer_from_another_address_goes_nowhere() {
    for mode in [Mode::Stateful, Mode::Stateless] {
        let scene = Played::start(mode);
        let (first, proxy) = scene.arrive(b"hello");
        let answer = |content: &[u8]| match mode {
            Mode::Stateful => content.to_vec(),
            Mode::Stateless => message(Jpy::parse(&first).unwrap().0, content),
        };
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        let other = UdpSocket::bind("127.0.0.9:0").unwrap();
        for _ in 0..20 {
            stranger.send_to(&answer(b"forged"), proxy).unwrap();
            other.send_to(&answer(b"forged"), proxy).unwrap();
        }
        scene.socket.send_to(&answer(b"true"), proxy).unwrap();
        assert_eq!(scene.received(), b"true");
        assert_eq!(scene.proxy.stop().answered, 1);
    }
}

#[test]
fn a_datagram_fits_the_packets_of_the_network_or_is_dropped() {
    for (mode, max) in [(Mode::Stateful, 1_232), (Mode::Stateless, 1_194)] {
        let scene = Played::start(mode);
        scene.arrive(b"hello");
        for len in [0, max + 1, 2_000, 65_000] {
            scene.pledge.send(&vec![7; len]).unwrap();
        }
        scene.pledge.send(&vec![8; max]).unwrap();
        // Whatever was sent again while the proxy looked its registrar up is not there any more.
        let mut buffer = [0; 3_000];
        let deadline = Deadline::new();
        let len = loop {
            deadline.check("no other datagram arrives");
            let len = scene.socket.recv(&mut buffer).unwrap();
            if !buffer[..len].ends_with(b"hello") {
                break len;
            }
        };
        assert!(buffer[..len].ends_with(&vec![8; max]) && len <= 1_232, "{len}");
        assert_eq!(scene.proxy.stop().wrong_length, 4);
    }
}

#[test]
fn who_is_not_on_a_link_is_not_served() {
    let (_, server) = configs(datagrams());
    let registrar = Registrar::start("127.0.0.1:0", server, Plain);
    for mode in [Mode::Stateful, Mode::Stateless] {
        let limits = UdpLimits::default();
        let none = OnLink::new(vec!["127.0.0.1/32".parse().unwrap()]).unwrap();
        let proxy = Proxy::start_with("127.0.0.1:0", mode, &[registrar.address], none, limits);
        let stranger = socket("127.0.0.9".parse().unwrap(), proxy.address);
        for _ in 0..10 {
            stranger.send(b"hello").unwrap();
        }
        let pledge = socket(LOCALHOST, proxy.address);
        pledge.send(&[7; 2_000]).unwrap(); // it is counted behind them
        let counters = loop_until_counted(proxy);
        assert_eq!((counters.off_link, counters.passed_on), (10, 0), "{counters:?}");
    }
}

/// Stops a proxy when it has read what was sent.
fn loop_until_counted(proxy: Proxy) -> terse_onboard::join_proxy::UdpCounters {
    for _ in 0..20 {
        proxy.advance(Duration::from_millis(1));
    }
    proxy.stop()
}

/// Strangers who flood a proxy from their addresses, each from many ports, until this is dropped.
struct Flood {
    rounds: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    fn start(proxy: SocketAddr, addresses: Vec<IpAddr>) -> Self {
        let (rounds, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, stopped) = (rounds.clone(), stop.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Relaxed) {
                for ip in &addresses {
                    let stranger = UdpSocket::bind((*ip, 0)).unwrap();
                    (0..20).for_each(|_| drop(stranger.send_to(&[22; 200], proxy)));
                }
                counted.fetch_add(1, Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { rounds, stop, thread: Some(thread) }
    }

    /// Waits until each address has sent 20 datagrams so many times more, however slow this machine is.
    fn wait_for(&self, rounds: usize) {
        let end = self.rounds.load(Relaxed) + rounds;
        let deadline = Deadline::new();
        while self.rounds.load(Relaxed) < end && !self.thread.as_ref().unwrap().is_finished() {
            deadline.check(self.rounds.load(Relaxed));
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking(), "the flood stopped");
    }
}

/// Strangers with many addresses take all places of the stateful mode, but that of a pledge which is there.
#[test]
fn a_flood_does_not_push_out_a_pledge_of_the_stateful_mode() {
    let (config, server) = configs(datagrams());
    let registrar = Registrar::start("127.0.0.1:0", server, Plain);
    let proxy = Proxy::start("127.0.0.1:0", Mode::Stateful, &[registrar.address]);
    let mut client = pledge(&config, proxy.address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    exchange(&mut client, b"before");
    let path = registrar.connected();
    let flood = Flood::start(proxy.address, (0..40).map(|last| IpAddr::from([127, 0, 7, last])).collect());
    for _ in 0..10 {
        proxy.advance(Duration::from_secs(6));
        flood.wait_for(2); // one of them whole
        exchange(&mut client, b"during");
    }
    drop(flood);
    assert_eq!(path.address().ip(), LOCALHOST);
    let counters = proxy.stop();
    assert!(counters.refused > 100, "{counters:?}");
}

/// The registrar sees at most ten source ports of an interface, and two of a pledge's address.
#[test]
fn the_stateful_mode_has_a_bounded_number_of_source_ports() {
    let scene = Played::start(Mode::Stateful);
    let (_, own) = scene.arrive(b"hello");
    let strangers: Vec<_> = (0..60u8).map(|n| socket(IpAddr::from([127, 0, 7, n / 6]), scene.proxy.address)).collect();
    for _ in 0..5 {
        for stranger in &strangers {
            stranger.send(b"stranger").unwrap();
        }
    }
    let mut ports = BTreeSet::from([own.port()]);
    let receive = || scene.socket.recv_from(&mut [0; 100]).map(|(_, from)| from.port());
    let deadline = Deadline::new();
    while ports.len() < 10 {
        deadline.check(&ports);
        ports.insert(receive().expect("a datagram from another port"));
    }
    // It reads all the others, and passes on what it does.
    let counters = loop_until_counted(scene.proxy);
    scene.socket.set_nonblocking(true).unwrap();
    while let Ok(port) = receive() {
        ports.insert(port);
    }
    assert_eq!(ports.len(), 10);
    assert!(counters.refused >= 60 - 9, "{counters:?}");
}

/// Who floods the stateless mode from an address uses up its share. A pledge has the same share as a stranger once in 32
/// times, so that four of them try: one in a million times all of them have.
#[test]
fn a_pledge_comes_through_a_flood_of_the_stateless_mode() {
    let (config, server) = configs(datagrams());
    let registrar = Registrar::start("127.0.0.1:0", server, Jpy::new());
    let proxy = Proxy::start("127.0.0.1:0", Mode::Stateless, &[registrar.address]);
    let flood = Flood::start(proxy.address, vec![IpAddr::from([127, 0, 7, 1])]);
    flood.wait_for(100);
    let (sender, connected) = mpsc::channel();
    for last in 1..=4 {
        let mut client = pledge_on(&config, socket(IpAddr::from([127, 0, 8, last]), proxy.address));
        client.set_limit(SAFETY_LIMIT);
        let sender = sender.clone();
        thread::spawn(move || {
            if client.handshake().is_ok() {
                let _ = sender.send(()); // the test may have ended
            }
        });
    }
    connected.recv_timeout(SAFETY_LIMIT).expect("a pledge is connected");
    drop(flood);
    let counters = proxy.stop();
    assert!(counters.refused > 0, "{counters:?}");
}

/// Reports to the proxy that its datagrams do not arrive, as whoever is on the way can. Returns whether this machine allows that.
fn report(code: u8, proxy: SocketAddr, registrar: SocketAddr) -> bool {
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (proxy, registrar) else { unreachable!() };
    let ports = [from.port().to_be_bytes(), to.port().to_be_bytes()];
    let ip = [&[0x45, 0, 0, 36, 0, 0, 0, 0, 64, 17, 0, 0][..], &from.ip().octets(), &to.ip().octets()].concat();
    let mut packet = [&[3, code, 0, 0, 0, 0, 0, 0][..], &ip, ports.as_flattened(), &[0, 16, 0, 0], &[0; 8]].concat();
    let words = packet.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[2..4].copy_from_slice(&checksum.to_be_bytes());
    let icmp = Some(rustix::net::ipproto::ICMP);
    let Ok(socket) = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::RAW, icmp) else {
        return false;
    };
    let to = core::net::SocketAddrV4::new(core::net::Ipv4Addr::LOCALHOST, 0);
    rustix::net::sendto(&socket, &packet, rustix::net::SendFlags::empty(), &to).is_ok()
}

/// The reports are that the protocol is not there, that the host is not, and that it is isolated. Where nobody may send such there
/// is nothing to test.
#[test]
fn an_error_of_the_network_ends_no_answers_and_changes_no_source_port() {
    for mode in [Mode::Stateful, Mode::Stateless] {
        for code in [2, 7, 8] {
            let scene = Played::start(mode);
            let (first, proxy) = scene.arrive(b"hello");
            if !report(code, proxy, scene.socket.local_addr().unwrap()) {
                return;
            }
            let answer = match mode {
                Mode::Stateful => b"answer".to_vec(),
                Mode::Stateless => message(Jpy::parse(&first).unwrap().0, b"answer"),
            };
            scene.socket.send_to(&answer, proxy).unwrap();
            assert_eq!(scene.received(), b"answer");
            assert_eq!(scene.arrive(b"again").1, proxy, "the same source port");
            scene.proxy.stop();
        }
    }
}
