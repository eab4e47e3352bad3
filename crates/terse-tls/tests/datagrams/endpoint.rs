//! Servers for many clients: cookies, addresses, connection IDs, and what is kept for whom.

use alloc::sync::Arc;
use core::net::SocketAddr;

use terse_testkit::pair::at;
use terse_testkit::pki::server_address;
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::{Connection, Datagrams, Endpoint, EndpointEvent, EndpointLimits, Now};

use crate::PROVIDER;

struct World {
    endpoint: Endpoint,
    client: Connection,
    now: Now,
    rng: SeededRng,
    events: Vec<EndpointEvent>,
    sizes: Vec<(bool, usize)>,
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 4000))
}

impl World {
    fn new(setup: &Setup, limits: EndpointLimits) -> Self {
        let (mut rng, now) = (SeededRng::new(1), at(0));
        let endpoint = Endpoint::new(Arc::new(setup.server.clone()), limits, &mut rng).unwrap();
        let client = Connection::client(Arc::new(setup.client.clone()), server_address(), now, &mut rng).unwrap();
        Self { endpoint, client, now, rng, events: Vec::new(), sizes: Vec::new() }
    }

    fn run(&mut self, from: SocketAddr) {
        let mut buffer = [0; 2048];
        loop {
            let mut idle = true;
            while let Some(len) = self.client.poll_transmit(self.now, &mut buffer) {
                idle = false;
                self.sizes.push((true, len));
                self.endpoint.handle_datagram(self.now, &mut self.rng, from, &mut buffer[..len]);
            }
            while let Some((to, len)) = self.endpoint.poll_transmit(self.now, &mut buffer) {
                idle = false;
                self.sizes.push((false, len));
                assert_eq!(to, from);
                self.client.handle_input(self.now, &mut self.rng, &mut buffer[..len]).unwrap();
            }
            self.events.extend(core::iter::from_fn(|| self.endpoint.poll_event()).map(|(_, event)| event));
            if idle {
                return;
            }
        }
    }
}

#[test]
fn a_client_proves_its_address_with_a_cookie() {
    for max_datagram in [99, 1232] {
        for connection_id in [None, Some(0), Some(4)] {
            let datagrams = Datagrams { max_datagram, connection_id, ..Datagrams::default() };
            let setup = Setup::mutual(PROVIDER, PROVIDER, "p256x3").over(datagrams);
            let mut world = World::new(&setup, EndpointLimits::default());
            world.run(address(1));
            assert!(world.client.is_connected());
            assert_eq!(world.events, [EndpointEvent::Connected]);
            assert_eq!(world.endpoint.counters().cookies_sent, 1);
            assert_eq!(world.client.summary().round_trips, 3);
            println!("{max_datagram} {connection_id:?} {:?}", world.sizes.iter().map(|s| s.1).sum::<usize>());
            println!("{:?} {:?}", world.client.summary().sent, world.client.summary().received);
            world.client.send(b"hello").unwrap();
            world.run(address(1));
            assert_eq!(world.events.pop(), Some(EndpointEvent::Data(b"hello".to_vec())));
        }
    }
}
