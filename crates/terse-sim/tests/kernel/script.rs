//! The same conversation runs with the kernel in either role and [`Config::linux`] in the other. The test compares what
//! each sends in the same role.

use crate::link::{KERNEL, Link, OURS};
use crate::namespace::set;
use crate::transfer::{bytes, read};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;
use terse_sim::tcp::{Config, Connection, Segment, State};

/// A conversation, in turns, the client first. Then the client closes, and the server after it.
struct Script {
    name: &'static str,
    /// The turns: the time that the application thinks, in milliseconds, and the lengths of its writes.
    turns: &'static [(u64, &'static [usize])],
}

const SCRIPTS: [Script; 5] = [
    Script { name: "a request and an answer", turns: &[(0, &[400]), (0, &[2000])] },
    Script { name: "an answer that takes longer than an acknowledgement waits", turns: &[(0, &[400]), (100, &[2000])] },
    Script {
        name: "questions and quick answers",
        turns: &[
            (0, &[100]),
            (0, &[200]),
            (0, &[100]),
            (0, &[200]),
            (0, &[100]),
            (0, &[200]),
            (0, &[100]),
            (0, &[200]),
        ],
    },
    Script {
        name: "questions, and answers that become slow",
        turns: &[
            (0, &[100]),
            (0, &[200]),
            (0, &[100]),
            (90, &[200]),
            (0, &[100]),
            (90, &[200]),
            (0, &[100]),
            (0, &[9]),
        ],
    },
    Script {
        name: "a handshake of TLS 1.2",
        turns: &[(0, &[78]), (30, &[766]), (60, &[455 + 59 + 67 + 6 + 45]), (30, &[51]), (0, &[100]), (0, &[300])],
    },
];

/// Returns the compared properties of a segment: its flags, the lengths of header and payload, and for a SYN its
/// options.
fn describe(segment: &Segment) -> String {
    let flags = segment.flags;
    let names =
        [(flags.syn, "SYN "), (flags.fin, "FIN "), (flags.psh, "PSH "), (flags.rst, "RST "), (flags.ece, "ECE ")];
    let names: String = names.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
    let ack = if segment.acknowledgement.is_some() { "ACK" } else { "" };
    let sizes = format!("{} + {}", segment.header_len(), segment.payload.len());
    let options = &segment.options;
    let syn = match options.maximum_segment_size {
        Some(size) if flags.syn => {
            format!(", MSS {size}, scale {:?}, SACK {}", options.window_scale, options.sack_permitted)
        }
        _ => String::new(),
    };
    format!("{names}{ack} {sizes}{syn}")
}

/// Prints what both send in both roles, and asserts that it is equal.
pub(crate) fn compare(link: &mut Link) {
    set("tcp_sack", "1");
    set("tcp_timestamps", "1");
    set("tcp_ecn", "2");
    // These are the kernel's defaults: the window scale follows from the largest size of the buffer.
    set("tcp_rmem", "4096 131072 6291456");
    for script in &SCRIPTS {
        // On a busy machine the kernel's application may be late, so that an acknowledgement leaves without its data.
        let same = (0..TRIES).any(|_| compare_one(link, script));
        assert!(same, "{}: Config::linux() does not send what the kernel sends", script.name);
    }
}

fn compare_one(link: &mut Link, script: &'static Script) -> bool {
    let mut same = true;
    let (kernel_client, our_server) = converse(link, script, false);
    let (kernel_server, our_client) = converse(link, script, true);
    for (role, kernel, ours) in [("client", kernel_client, our_client), ("server", kernel_server, our_server)] {
        println!("{}: the {role}, as the kernel / as Config::linux():", script.name);
        for index in 0..kernel.len().max(ours.len()) {
            let of = |segments: &[String]| segments.get(index).cloned().unwrap_or_default();
            let (kernel, ours) = (of(&kernel), of(&ours));
            let mark = if kernel == ours { ' ' } else { '!' };
            println!("  {mark} {kernel:<60} {ours}");
            same &= kernel == ours;
        }
    }
    same
}

/// Returns what the kernel sent, and what we did.
fn converse(link: &mut Link, script: &'static Script, kernel_listens: bool) -> (Vec<String>, Vec<String>) {
    let port = link.prepare(1, 1500, 0.0, 0.0);
    let listener = kernel_listens.then(|| TcpListener::bind((KERNEL, port)).expect("a free port"));
    let kernel = thread::spawn(move || kernel_side(script, port, listener));
    let begun = Instant::now();
    let mut connection = if kernel_listens {
        Connection::connect(Config::linux(), 40_000, port, 1, link.now())
    } else {
        loop {
            assert!(begun.elapsed() < PATIENCE, "no SYN");
            if let Some((syn, _)) = link.receive(Duration::from_millis(10))
                && let Some(connection) = Connection::accept(Config::linux(), &syn, 1, link.now())
            {
                break connection;
            }
        }
    };
    link.transmit(&mut connection);
    while connection.state() == State::SynSent || connection.state() == State::SynReceived {
        assert!(begun.elapsed() < PATIENCE, "the handshake does not end: {connection:?}");
        link.step(&mut connection);
    }
    for (index, (pause, writes)) in script.turns.iter().enumerate() {
        let is_ours = (index % 2 == 0) == kernel_listens;
        if is_ours {
            idle(link, &mut connection, Duration::from_millis(*pause));
            for len in *writes {
                assert_eq!(connection.send(link.now(), &bytes(*len, 1)), *len);
                link.transmit(&mut connection);
            }
        } else {
            let mut received = Vec::new();
            while received.len() < writes.iter().sum() {
                assert!(begun.elapsed() < PATIENCE, "it does not end: {} bytes have come", received.len());
                link.step(&mut connection);
                read(&mut connection, link.now(), &mut received);
                link.transmit(&mut connection);
            }
        }
    }
    if kernel_listens {
        connection.close(link.now());
        link.transmit(&mut connection);
    }
    while !connection.is_peer_finished() {
        assert!(begun.elapsed() < PATIENCE, "the kernel does not close: {connection:?}");
        link.step(&mut connection);
    }
    if !kernel_listens {
        connection.close(link.now());
        link.transmit(&mut connection);
    }
    while !(kernel.is_finished() && connection.is_closed()) {
        assert!(begun.elapsed() < PATIENCE, "it does not end: {connection:?}");
        link.step(&mut connection);
    }
    kernel.join().expect("the kernel's side");
    let of =
        |kernel: bool| link.log.iter().filter(|(by, _)| *by == kernel).map(|(_, segment)| describe(segment)).collect();
    (of(true), of(false))
}

/// Lets time pass for the connection.
fn idle(link: &mut Link, connection: &mut Connection, pause: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < pause {
        link.step(connection);
    }
}

fn kernel_side(script: &Script, port: u16, listener: Option<TcpListener>) {
    let listens = listener.is_some();
    let mut stream = match listener {
        Some(listener) => listener.accept().expect("we connect").0,
        None => TcpStream::connect((OURS, port)).expect("we accept"),
    };
    for (index, (pause, writes)) in script.turns.iter().enumerate() {
        if (index % 2 == 0) == listens {
            stream.read_exact(&mut vec![0; writes.iter().sum()]).expect("we write");
            continue;
        }
        thread::sleep(Duration::from_millis(*pause));
        for len in *writes {
            stream.write_all(&bytes(*len, 1)).expect("we read");
        }
    }
    if !listens {
        stream.shutdown(Shutdown::Write).expect("it is open");
    }
    assert_eq!(stream.read(&mut [0; 1]).expect("we close"), 0);
}

/// The time after which a connection is taken to hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How often something is tried that depends on who is late: most of these on a busy machine.
pub(crate) const TRIES: u32 = 20;
