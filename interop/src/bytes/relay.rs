//! A TCP relay between a client and a server, which counts what passes.
//!
//! What must always hold: a byte is counted before it is passed on, so that what an endpoint has received is counted.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

use crate::process::{LIMIT, listener};
use crate::tap::{Ledger, Records, SharedLedger};

/// A relay for one connection.
pub(super) struct Relay {
    /// Where a client connects to.
    pub(super) port: u16,
    /// `sent` is the client's direction.
    ledger: SharedLedger,
}

impl Relay {
    /// A relay to the server on `port`.
    pub(super) fn to(port: u16) -> Self {
        let (listener, own_port) = listener();
        let ledger = SharedLedger::default();
        let shared = ledger.clone();
        thread::spawn(move || relay(&listener, port, &shared));
        Self { port: own_port, ledger }
    }

    /// What has passed so far.
    pub(super) fn passed(&self) -> Ledger {
        self.ledger.lock().clone()
    }
}

/// An endpoint whose relay fails notices that its connection ends.
fn relay(listener: &TcpListener, port: u16, ledger: &SharedLedger) {
    let Ok((client, _)) = listener.accept() else { return };
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return };
    let (Ok(from_client), Ok(from_server)) = (client.try_clone(), server.try_clone()) else { return };
    thread::scope(|scope| {
        scope.spawn(|| pass(from_client, server, ledger, |ledger| &mut ledger.sent));
        scope.spawn(|| pass(from_server, client, ledger, |ledger| &mut ledger.received));
    });
}

fn pass(mut from: TcpStream, mut to: TcpStream, ledger: &SharedLedger, direction: fn(&mut Ledger) -> &mut Records) {
    let mut buffer = [0; 0x4000];
    let prepared = from.set_read_timeout(Some(LIMIT)).and_then(|()| to.set_nodelay(true));
    while prepared.is_ok() {
        let Ok(len @ 1..) = from.read(&mut buffer) else { break };
        direction(&mut ledger.lock()).add(&buffer[..len]);
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    // An error says that it is closed already.
    let _ = to.shutdown(Shutdown::Write);
}
