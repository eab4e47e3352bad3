//! Writes become segments while the peer acknowledges nothing, and once it does: the kernel runs with `TCP_NODELAY` and
//! without, and [`Config::linux`] with Nagle's algorithm off and in Minshall's variation.

use crate::link::{KERNEL, Link};
use crate::lost_syn_ack::{answer, syn};
use crate::namespace::set;
use crate::script::{PATIENCE, TRIES};
use core::time::Duration;
use std::io::Write;
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;
use terse_sim::Time;
use terse_sim::tcp::{Config, Connection, Ecn, Nagle, Segment, SequenceNumber};

/// The lengths of the writes, one call each, right after the handshake.
const WRITES: [&[usize]; 6] =
    [&[92, 455, 120, 9], &[2500], &[2500, 300], &[100, 2500], &[1000, 1000], &[300, 700, 1000, 1]];

/// The payloads that were sent before anything was acknowledged, and after all of that was.
type Payloads = (Vec<usize>, Vec<usize>);

pub(crate) fn compare(link: &mut Link) {
    // Without SACK there are no loss probes, and for 200 ms there is no timeout.
    set("tcp_timestamps", "0");
    set("tcp_sack", "0");
    for writes in WRITES {
        for nagle in [Nagle::Off, Nagle::Minshall] {
            // On a busy machine the kernel's application may be late, or ours.
            let same = (0..TRIES).any(|_| {
                let kernel = of_kernel(link, writes, nagle);
                let ours = of_ours(writes, nagle);
                println!("writes of {writes:?}, {nagle:?}: the kernel {kernel:?}, Config::linux() {ours:?}");
                kernel == ours
            });
            assert!(same, "Config::linux() does not cut its segments as the kernel does");
        }
    }
}

fn acknowledgement(third: &Segment, sent: &[usize]) -> Segment {
    let next = third.acknowledgement.expect("it has one") + sent.iter().sum::<usize>() as u32;
    Segment { acknowledgement: Some(next), ..third.clone() }
}

fn of_kernel(link: &mut Link, writes: &'static [usize], nagle: Nagle) -> Payloads {
    let port = link.prepare(1, 1500, 0.0, 0.0);
    let listener = TcpListener::bind((KERNEL, port)).expect("a free port");
    let (done, wait) = mpsc::channel::<()>();
    let kernel = thread::spawn(move || {
        let mut stream = listener.accept().expect("we connect").0;
        stream.set_nodelay(nagle == Nagle::Off).expect("it is a TCP stream");
        for len in writes {
            stream.write_all(&vec![0; *len]).expect("the buffer has room");
        }
        let _ = wait.recv();
    });
    let syn = syn(port, false);
    link.send_segment(&syn);
    let begun = Instant::now();
    let syn_ack = loop {
        assert!(begun.elapsed() < PATIENCE, "no SYN-ACK");
        if let Some((segment, _)) = link.receive(Duration::from_millis(10)) {
            break segment;
        }
    };
    let third = answer(&syn, &syn_ack);
    link.send_segment(&third);
    let first = collect(link);
    let all = acknowledgement(&third, &first);
    link.send_segment(&all);
    let second = collect(link);
    let mut reset = all;
    reset.flags.rst = true;
    link.send_segment(&reset);
    drop(done);
    kernel.join().expect("the kernel's side");
    (first, second)
}

/// Returns the payloads that the kernel sends for the first time within a while.
fn collect(link: &mut Link) -> Vec<usize> {
    let begun = Instant::now();
    let mut next = None;
    let mut payloads = Vec::new();
    while begun.elapsed() < Duration::from_millis(100) {
        let Some((segment, _)) = link.receive(Duration::from_millis(10)) else { continue };
        let is_new = next.is_none_or(|next: SequenceNumber| !segment.sequence.is_before(next));
        if !segment.payload.is_empty() && is_new {
            next = Some(segment.end());
            payloads.push(segment.payload.len());
        }
    }
    payloads
}

fn of_ours(writes: &[usize], nagle: Nagle) -> Payloads {
    let now = Time::ZERO;
    let syn = syn(1, false);
    let config = Config { timestamps: false, nagle, ..Config::linux() };
    let mut connection = Connection::accept(config, &syn, 1, now).expect("it is a SYN");
    let syn_ack = connection.poll_transmit(now).expect("a SYN-ACK").segment;
    let third = answer(&syn, &syn_ack);
    connection.handle_segment(now, &third, Ecn::NotEct);
    let mut first = Vec::new();
    for len in writes {
        connection.send(now, &vec![0; *len]);
        first.extend(payloads(&mut connection, now));
    }
    connection.handle_segment(now, &acknowledgement(&third, &first), Ecn::NotEct);
    (first, payloads(&mut connection, now))
}

fn payloads(connection: &mut Connection, now: Time) -> Vec<usize> {
    core::iter::from_fn(|| connection.poll_transmit(now)).map(|transmit| transmit.segment.payload.len()).collect()
}
