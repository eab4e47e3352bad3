//! An address that stays while the service behind it comes and goes.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Carries bytes from an address of its own to the service of the moment.
#[derive(Clone)]
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    service: Arc<Mutex<Option<SocketAddr>>>,
}

impl Relay {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Self { address: listener.local_addr().unwrap(), service: Arc::default() };
        let service = relay.service.clone();
        // It ends with the test process: a thread that waits costs nothing.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A client of a service that is away is closed.
                let address = *service.lock().unwrap();
                if let Some(server) = address.and_then(|address| TcpStream::connect(address).ok()) {
                    carry(&client, &server);
                    carry(&server, &client);
                }
            }
        });
        relay
    }

    /// Whether there is no service.
    pub(crate) fn is_closed(&self) -> bool {
        self.service.lock().unwrap().is_none()
    }

    /// Leads new connections to this address, or nowhere.
    pub(crate) fn lead_to(&self, service: Option<SocketAddr>) {
        *self.service.lock().unwrap() = service;
    }
}

fn carry(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    let _ = (from.set_nodelay(true), to.set_nodelay(true)); // of a socket that was reset
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to); // however it ends, both are closed
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
