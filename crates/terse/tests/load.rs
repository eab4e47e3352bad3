//! Clients take the places of `terse server` without using them. They have `--timeout` seconds for the whole handshake,
//! however they spend them; other clients wait at most that long.

use core::time::Duration;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;

use crate::common::{Pki, SAFETY_LIMIT};

/// The number of connections that the server serves at a time.
const PLACES: usize = 256;

/// Waits until the server ends `connection`.
fn wait_for_end(mut connection: &TcpStream) {
    connection.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
    let mut ignored = [0; 64];
    loop {
        match connection.read(&mut ignored) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => return,
            Err(error) => panic!("the server holds on: {error}"),
        }
    }
}

#[test]
fn stalled_handshakes_end() {
    let pki = Pki::with_chain("ed25519x2");
    // The good client has as long for its handshake, which is enough on a busy machine as well.
    let mut server = pki.server("--timeout 5 --echo");
    let stalled: Vec<_> = (0..PLACES + 20)
        .map(|number| {
            let mut connection = TcpStream::connect(&server.address).unwrap();
            // A client sends nothing, a part of a header, or a part of a message.
            let begin = &[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3][..number % 12];
            connection.write_all(begin).unwrap();
            connection
        })
        .collect();
    // All places are taken, and 20 more clients wait before this one.
    let outcome = pki.client(&server, "--send hello --expect 5 --timeout 120");
    assert_eq!(outcome.object()["mode"], "full");
    stalled.iter().for_each(wait_for_end);
    // There is one report for each, and that of the good client.
    let reports: Vec<_> = (0..=stalled.len()).map(|_| server.report()).collect();
    let failed = reports.iter().filter(|report| report["error"].is_string()).count();
    assert_eq!(failed, stalled.len());
    assert!(server.end().contains("did not finish the handshake in time"));
}

/// A byte now and then does not keep a connection alive.
#[test]
fn one_byte_at_a_time() {
    let pki = Pki::with_chain("ed25519x2");
    let server = pki.server("--timeout 1");
    let mut slow = TcpStream::connect(&server.address).unwrap();
    slow.write_all(&[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc]).unwrap();
    let dripping = slow.try_clone().unwrap();
    let drip = thread::spawn(move || {
        let mut dripping = &dripping;
        while dripping.write_all(&[0]).is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let report = server.report();
    assert!(report["error"].as_str().unwrap().contains("did not finish the handshake in time"), "{report}");
    wait_for_end(&slow);
    drip.join().unwrap();
}
