//! Transfers both ways at once, with losses and marks, over links of several sizes.

use crate::link::{KERNEL, Link, OURS};
use crate::namespace::set;
use crate::script::{PATIENCE, TRIES};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use terse_sim::Time;
use terse_sim::tcp::{Config, Connection, EcnMode};

/// The parameters of a transfer.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    kernel_listens: bool,
    mtu: u16,
    loss: f64,
    marking: f64,
    config: Config,
    kernel_sack: bool,
    kernel_timestamps: bool,
    kernel_ecn: u8,
    len: usize,
}

/// Runs every case; a failure names its case.
pub(crate) fn all(link: &mut Link) {
    let cases = cases();
    for (seed, case) in cases.iter().enumerate() {
        let begun = Instant::now();
        // On a busy machine we may be late, so that something is sent again that was not lost.
        let is_right = (0..TRIES).any(|_| {
            let (statistics, is_right) = run(link, seed as u64 + 1, case);
            println!("{} ({} ms): {statistics}", case.name, begun.elapsed().as_millis());
            is_right
        });
        assert!(is_right, "{}: something is sent again that was not lost", case.name);
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mtu in [1500, 576, 127] {
        for kernel_listens in [true, false] {
            let linux = Config::linux().for_mtu(mtu, 20);
            let base = Case {
                name: String::new(),
                kernel_listens,
                mtu,
                loss: 0.0,
                marking: 0.0,
                config: linux.clone(),
                kernel_sack: true,
                kernel_timestamps: true,
                kernel_ecn: 2,
                // The length is about as many segments as a megabyte takes on the larger links.
                len: if mtu < 200 { 250_000 } else { 1_000_000 },
            };
            let lossy = Case { loss: 0.02, ..base.clone() };
            let without_sack = Config { sack_sender: false, sack_receiver: false, ..linux.clone() };
            let with_ecn = Config { ecn: EcnMode::On, ..linux.clone() };
            let constrained = Config { send_buffer: 4096, ..Config::constrained() }.for_mtu(mtu, 20);
            let variants = [
                ("no losses", base.clone()),
                ("losses", lossy.clone()),
                ("losses, we have no SACK", Case { config: without_sack, ..lossy.clone() }),
                (
                    "losses, the kernel has no SACK and no timestamps",
                    Case { kernel_sack: false, kernel_timestamps: false, ..lossy.clone() },
                ),
                ("losses and marks, ECN", Case { config: with_ecn, kernel_ecn: 1, marking: 0.05, ..lossy.clone() }),
                ("constrained", Case { config: constrained.clone(), len: 50_000, ..base.clone() }),
                ("constrained, losses", Case { config: constrained, len: 10_000, loss: 0.1, ..lossy }),
            ];
            for (what, case) in variants {
                let role = if kernel_listens { "client" } else { "server" };
                cases.push(Case { name: format!("{role}, MTU {mtu}, {what}"), ..case });
            }
        }
    }
    cases
}

/// Returns what was counted, and whether nothing was sent again for another reason than a loss.
fn run(link: &mut Link, seed: u64, case: &Case) -> (String, bool) {
    set("tcp_sack", if case.kernel_sack { "1" } else { "0" });
    set("tcp_timestamps", if case.kernel_timestamps { "1" } else { "0" });
    set("tcp_ecn", &case.kernel_ecn.to_string());
    let port = link.prepare(seed, case.mtu, case.loss, case.marking);
    let (ours, theirs) = (bytes(case.len, 1), bytes(case.len, 2));

    let kernel = kernel_side(case.kernel_listens, port, theirs.clone());
    let mut connection = open(link, case, port);
    let (mut written, mut received) = (0, Vec::new());
    let begun = Instant::now();
    while !(kernel.is_finished() && connection.is_closed()) {
        assert!(begun.elapsed() < PATIENCE, "{}: it does not end; {:?}", case.name, connection);
        assert_eq!(connection.failure(), None, "{}", case.name);
        let now = link.now();
        read(&mut connection, now, &mut received);
        link.transmit(&mut connection);
        if written < ours.len() {
            written += connection.send(now, &ours[written..]);
            if written == ours.len() {
                connection.close(now);
            }
        }
        link.transmit(&mut connection);
        link.step(&mut connection);
    }
    read(&mut connection, link.now(), &mut received);
    let heard = kernel.join().unwrap_or_else(|_| panic!("{}: the kernel's side failed", case.name));
    assert!(heard == ours, "{}: the kernel received {} bytes of {}", case.name, heard.len(), ours.len());
    assert!(received == theirs, "{}: we received {} bytes of {}", case.name, received.len(), theirs.len());
    let statistics = connection.statistics();
    // The kernel may delay an acknowledgement for longer than a probe waits.
    let is_right = case.loss > 0.0 || statistics.retransmissions <= statistics.loss_probes;
    assert_eq!(link.lost > 0, case.loss > 0.0, "{}: lost {}", case.name, link.lost);
    assert_eq!(statistics.ecn_reductions > 0, case.marking > 0.0, "{}", case.name);
    let counted = format!(
        "{} segments, {} retransmitted, {} timeouts, {} fast, {} probes, {} pure ACKs",
        statistics.segments_sent,
        statistics.retransmissions,
        statistics.timeouts,
        statistics.fast_retransmits,
        statistics.loss_probes,
        statistics.pure_acks_sent
    );
    (counted, is_right)
}

pub(crate) fn read(connection: &mut Connection, now: Time, received: &mut Vec<u8>) {
    let mut buffer = vec![0; connection.readable()];
    connection.recv(now, &mut buffer);
    received.extend_from_slice(&buffer);
}

/// Opens our side, after the SYN of the side that begins.
fn open(link: &mut Link, case: &Case, port: u16) -> Connection {
    let sequence = link.random_sequence();
    if case.kernel_listens {
        return Connection::connect(case.config.clone(), 40_000, port, sequence, link.now());
    }
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some((syn, _)) = link.receive(Duration::from_millis(10))
            && let Some(connection) = Connection::accept(case.config.clone(), &syn, sequence, link.now())
        {
            return connection;
        }
    }
    panic!("{}: no SYN", case.name)
}

/// Runs the kernel's side, which writes `data` while it reads, and returns what it read.
fn kernel_side(listens: bool, port: u16, data: Vec<u8>) -> JoinHandle<Vec<u8>> {
    // The listener must exist before our SYN.
    let listener = listens.then(|| TcpListener::bind((KERNEL, port)).expect("a free port"));
    thread::spawn(move || {
        let mut stream = match listener {
            Some(listener) => listener.accept().expect("we connect").0,
            None => TcpStream::connect((OURS, port)).expect("we accept"),
        };
        let mut writer = stream.try_clone().expect("a second handle");
        let writing = thread::spawn(move || {
            writer.write_all(&data).expect("we read");
            writer.shutdown(Shutdown::Write).expect("it is open");
        });
        let mut received = Vec::new();
        stream.read_to_end(&mut received).expect("we write");
        writing.join().expect("it wrote");
        received
    })
}

pub(crate) fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    core::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(len)
    .collect()
}
