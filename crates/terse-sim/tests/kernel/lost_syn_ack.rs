//! A server's first SYN-ACK is lost, and its data is not acknowledged: the test compares how much it sends at once, and
//! how long it waits then. Experiments lose that segment on purpose, so that the server begins with a timeout of 3 s.

use crate::link::{KERNEL, Link};
use crate::namespace::set;
use crate::script::{PATIENCE, TRIES};
use core::time::Duration;
use std::io::Write;
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;
use terse_sim::Time;
use terse_sim::tcp::{Config, Connection, Ecn, Flags, Options, Segment};

/// The behaviour of a server.
#[derive(Debug)]
struct Beginning {
    /// The number of segments of its first burst.
    burst: usize,
    /// The time until the next segment, in tenths of a second.
    waited: u128,
    /// Whether that was the first segment again (a timeout), or the last of the burst (a probe).
    first_again: bool,
}

/// Compares the kernel with [`Config::linux`], with SACK (where the end of the burst is probed) and without.
pub(crate) fn compare(link: &mut Link) {
    set("tcp_timestamps", "0");
    // The data is longer than the initial window, or shorter: without new data, the probe is the last segment.
    for (sack, len) in [(false, 20_000), (true, 20_000), (true, 5_000)] {
        set("tcp_sack", if sack { "1" } else { "0" });
        // On a busy machine we may see late what the kernel sends.
        let same = (0..TRIES).any(|_| {
            let kernel = of_kernel(link, sack, len);
            let ours = of_ours(&syn(1, sack), len);
            println!("after a lost SYN-ACK, {len} bytes, SACK {sack}: the kernel {kernel:?}, Config::linux() {ours:?}");
            (kernel.burst, kernel.first_again) == (ours.burst, ours.first_again)
                && kernel.waited.abs_diff(ours.waited) <= 5
        });
        assert!(same, "the kernel sends something else, or waits for another time");
    }
}

/// Returns a SYN of ours.
pub(crate) fn syn(port: u16, sack: bool) -> Segment {
    Segment {
        source_port: 40_000,
        destination_port: port,
        flags: Flags { syn: true, ..Flags::default() },
        window: 60_000,
        options: Options { maximum_segment_size: Some(1000), sack_permitted: sack, ..Options::default() },
        ..Segment::default()
    }
}

/// Returns the third segment of the handshake.
pub(crate) fn answer(syn: &Segment, syn_ack: &Segment) -> Segment {
    Segment {
        sequence: syn.end(),
        acknowledgement: Some(syn_ack.end()),
        flags: Flags::default(),
        options: Options::default(),
        ..syn.clone()
    }
}

fn of_kernel(link: &mut Link, sack: bool, len: usize) -> Beginning {
    let port = link.prepare(1, 1500, 0.0, 0.0);
    let syn = syn(port, sack);
    let listener = TcpListener::bind((KERNEL, port)).expect("a free port");
    let (done, wait) = mpsc::channel::<()>();
    let kernel = thread::spawn(move || {
        let mut stream = listener.accept().expect("we connect").0;
        stream.write_all(&vec![0; len]).expect("the buffer has room");
        let _ = wait.recv();
    });
    let begun = Instant::now();
    let next = |link: &mut Link| loop {
        assert!(begun.elapsed() < PATIENCE, "the kernel is silent");
        if let Some((segment, _)) = link.receive(Duration::from_millis(10)) {
            return (link.now(), segment);
        }
    };
    link.send_segment(&syn);
    // The first SYN-ACK is lost; the kernel sends it again after a second.
    next(link);
    let (_, syn_ack) = next(link);
    link.send_segment(&answer(&syn, &syn_ack));
    let beginning = beginning(|| next(link));
    link.send_segment(&Segment { flags: Flags { rst: true, ..Flags::default() }, ..answer(&syn, &syn_ack) });
    drop(done);
    kernel.join().expect("the kernel's side");
    beginning
}

fn of_ours(syn: &Segment, len: usize) -> Beginning {
    let config = Config { timestamps: false, ..Config::linux() };
    let mut now = Time::ZERO;
    let mut connection = Connection::accept(config, syn, 1, now).expect("it is a SYN");
    connection.poll_transmit(now);
    now = connection.poll_timeout().expect("the SYN-ACK has a timer");
    connection.handle_timeout(now);
    let syn_ack = connection.poll_transmit(now).expect("it is sent again").segment;
    connection.handle_segment(now, &answer(syn, &syn_ack), Ecn::NotEct);
    connection.send(now, &vec![0; len]);
    beginning(|| {
        loop {
            if let Some(transmit) = connection.poll_transmit(now) {
                return (now, transmit.segment);
            }
            now = connection.poll_timeout().expect("data is under way");
            connection.handle_timeout(now);
        }
    })
}

/// Collects a server's segments until one is repeated.
fn beginning(mut next: impl FnMut() -> (Time, Segment)) -> Beginning {
    let mut burst = Vec::new();
    let mut last = Time::ZERO;
    loop {
        let (now, segment) = next();
        if burst.contains(&segment.sequence) {
            let waited = (now.since(last).as_millis() + 50) / 100;
            return Beginning { burst: burst.len(), waited, first_again: segment.sequence == burst[0] };
        }
        burst.push(segment.sequence);
        last = now;
    }
}
