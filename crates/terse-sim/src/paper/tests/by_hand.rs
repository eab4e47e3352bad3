//! The bytes of the paper's rows, computed by hand from the script and the headers: no network is run.
//!
//! A frame has a header of 21 bytes and an FCS of 2. A compressed packet of up to 101 bytes goes in one; of a longer one,
//! each frame has at most 96 bytes, after a header of 4 (FRAG1) or 5 (FRAGN). Compressed headers, mote to server: IP 22 (23
//! with the next header of TCP), UDP 4, TCP 20; server to mote: IP 20, UDP 8, TCP 20. The SYN and the SYN-ACK have 8 bytes of
//! options.

use crate::paper::{Peers, RowKey, Targets};
use crate::script::{Handshake, Party};
use Party::{Client, Server};

/// Returns the bytes of the frames of a compressed packet.
fn frames(packet: usize) -> usize {
    let fragments = if packet <= 101 { 0 } else { packet.div_ceil(96) };
    match fragments {
        0 => 23 + packet,
        fragments => 23 * fragments + 4 + 5 * (fragments - 1) + packet,
    }
}

fn datagram(from: Party, content: usize) -> usize {
    frames(content + if from == Client { 22 + 4 } else { 20 + 8 })
}

fn segment(from: Party, content: usize) -> usize {
    frames(content + if from == Client { 22 + 1 + 20 } else { 20 + 20 })
}

fn of_datagrams(handshake: &Handshake) -> usize {
    let of = |party| handshake.parts(party).into_iter().map(move |bytes| datagram(party, bytes));
    of(Client).chain(of(Server)).sum()
}

/// The paper has 2680 and 2841.
#[test]
fn the_rows_of_dtls() {
    let peers = Peers::of_paper();
    assert_eq!(of_datagrams(&peers.dtls_mfl_1024), 2681);
    assert_eq!(of_datagrams(&peers.dtls_mfl_512), 2840);
    let targets = Targets::of_paper();
    for (size, bytes) in [(1024, 2681.0), (512, 2840.0)] {
        let of_paper = targets.row(RowKey::dtls(size)).expect("a row of table 2").bytes.mean;
        assert!(targets.bounds["dtls-bytes"].holds(bytes / of_paper), "{size}");
    }
}

/// Without acknowledgements but the one that completes TCP's handshake, the rows of TLS have 2562, 2933, 2601 and 3070 bytes.
/// These are the segmentations that give them, and no others do:
///
/// - Without Nagle's algorithm **on both sides** each record is a segment, or several if it is longer than the MSS.
/// - With it on both sides, the first record of a flight leaves at once, with full segments of the next ones, and all others
///   are joined. At an MSS of 336 the client's Certificate is longer than a segment, so that what is left of it is joined with
///   the others.
/// - The server's ChangeCipherSpec and Finished are two segments in either case: Finished waits, and is sent alone.
///
/// So a scenario sets Nagle's algorithm on the server as on the mote. What a mote sends whose stack goes on while it computes
/// has two segments more with Nagle's algorithm: see `segments`.
#[test]
fn the_rows_of_tls_without_acknowledgements() {
    let tls = &Peers::of_paper().tls;
    let (client, server) = (tls.parts(Client), tls.parts(Server));
    let joined = |records: &[usize], mss: usize| -> Vec<usize> {
        let all: usize = records.iter().sum();
        (0..all).step_by(mss).map(|from| mss.min(all - from)).collect()
    };
    let apart = |records: &[usize], mss: usize| -> Vec<usize> {
        records.iter().flat_map(|record| joined(core::slice::from_ref(record), mss)).collect()
    };
    // The first record, and the others joined.
    let nagle = |records: &[usize], mss: usize| {
        let mut segments = joined(&records[..1], mss);
        segments.extend(joined(&records[1..], mss));
        segments
    };
    let total = |client_flight: Vec<usize>, server_flight: Vec<usize>| {
        let options = segment(Client, 8) + segment(Server, 8) + segment(Client, 0);
        let hello_and_flight = client_flight.into_iter().chain([client[0]]).map(|bytes| segment(Client, bytes));
        let server_flights = server_flight.iter().chain(&server[5..]).map(|bytes| segment(Server, *bytes));
        options + hello_and_flight.chain(server_flights).sum::<usize>()
    };
    let (client, server_flight) = (&client, &server[..5]);
    assert_eq!(nagle(server_flight, 336), [92, 336, 305]);
    assert_eq!(joined(&client[1..], 336), [336, 263]);
    assert_eq!(total(nagle(&client[1..], 844), nagle(server_flight, 844)), 2562);
    assert_eq!(total(apart(&client[1..], 844), apart(server_flight, 844)), 2933);
    assert_eq!(total(joined(&client[1..], 336), nagle(server_flight, 336)), 2601);
    assert_eq!(total(apart(&client[1..], 336), apart(server_flight, 336)), 3070);
    // Nagle's algorithm on the mote alone would leave the server's records apart.
    assert_eq!(total(nagle(&client[1..], 844), apart(server_flight, 844)), 2731);
    assert_eq!(total(apart(&client[1..], 844), nagle(server_flight, 844)), 2764);
}
