//! These tests show what a trace of a connection is told about the network.

use alloc::sync::Arc;
use std::sync::Mutex;

use terse_testkit::datagrams::{Datagram, DatagramPair};
use terse_testkit::setup::Setup;
use terse_tls::{Datagrams, ProtocolVersion, Trace, TraceEvent};

use super::modes::PROVIDER;

/// Notes when flights were sent again.
#[derive(Default)]
struct SentAgain(Mutex<Vec<u64>>);

impl Trace for SentAgain {
    fn event(&self, event: TraceEvent<'_>) {
        if let TraceEvent::SentAgain { after } = event {
            self.0.lock().unwrap().push(after);
        }
    }
}

#[test]
fn flights_that_are_sent_again_are_told() {
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, "p256x2").over(ProtocolVersion::TLS_1_2, Datagrams::default());
    let trace = Arc::new(SentAgain::default());
    setup.client.trace(trace.clone());
    let mut pair =
        DatagramPair::new(&Arc::new(setup.client.build().unwrap()), &Arc::new(setup.server.build().unwrap()), 1);
    pair.run(|datagram| if datagram.number < 3 { vec![] } else { Datagram::arrives(datagram) }).unwrap();
    assert!(pair.client.is_connected());
    assert_eq!(*trace.0.lock().unwrap(), [1_000, 2_000, 4_000]);
    assert_eq!(pair.client.summary().retransmissions, 3);
}
