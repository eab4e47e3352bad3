//! These tests bound what a server for datagrams keeps of clients that sleep.

use alloc::sync::Arc;
use core::net::SocketAddr;

use terse_testkit::allocator::measure;
use terse_testkit::pair::at;
use terse_testkit::pki::server_address;
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::{
    Connection, ConnectionHandle, Datagrams, Endpoint, EndpointEvent, EndpointLimits, Instant, Now, ProtocolVersion,
};

/// A server, its clients, and the time.
struct World {
    endpoint: Endpoint,
    clients: Vec<Connection>,
    now: Now,
    rng: SeededRng,
}

const CLIENTS: usize = 20;

impl World {
    fn new(version: ProtocolVersion) -> Self {
        let provider = &terse_aws_lc::PROVIDER;
        let setup = Setup::mutual(provider, provider, "p256x3").over(version, Datagrams::default());
        let (mut rng, now) = (SeededRng::new(1), at(0));
        let config = Arc::new(setup.client.build().unwrap());
        let clients =
            (0..CLIENTS).map(|_| Connection::client(config.clone(), server_address(), now, &mut rng).unwrap());
        let clients = clients.collect();
        let endpoint =
            Endpoint::new(Arc::new(setup.server.build().unwrap()), EndpointLimits::default(), &mut rng).unwrap();
        let mut world = Self { endpoint, clients, now, rng };
        world.run();
        world
    }

    /// Carries datagrams until there are none. Returns what happened.
    fn run(&mut self) -> Vec<(ConnectionHandle, EndpointEvent)> {
        let Self { endpoint, clients, now, rng } = self;
        let mut buffer = [0; 2048];
        let mut events = Vec::new();
        loop {
            let mut is_idle = true;
            for (port, client) in (1..).zip(&mut *clients) {
                while let Some(len) = client.poll_transmit(*now, &mut buffer) {
                    is_idle = false;
                    endpoint.handle_datagram(*now, rng, SocketAddr::from(([192, 0, 2, 1], port)), &mut buffer[..len]);
                }
            }
            while let Some((to, len)) = endpoint.poll_transmit(*now, &mut buffer) {
                is_idle = false;
                clients[usize::from(to.address().port()) - 1].handle_input(*now, rng, &mut buffer[..len]).unwrap();
            }
            events.extend(core::iter::from_fn(|| endpoint.poll_event()));
            if is_idle {
                return events;
            }
        }
    }
}

/// The keys of the last flight are kept for 240 seconds (RFC 6347, 4.2.4, and RFC 9147, 5.8.1). Devices that sleep longer
/// do not wake the server, so a timer does.
#[test]
fn last_flights_are_forgotten_without_a_datagram() {
    for (version, least) in [(ProtocolVersion::TLS_1_2, 100), (ProtocolVersion::TLS_1_3, 400)] {
        let mut world = World::new(version);
        assert!(world.clients.iter().all(Connection::is_connected));
        let (mut freed, mut wakes) = (0, 0);
        while let Some(time) = world.endpoint.poll_timeout() {
            assert!(time <= Instant(world.now.monotonic.0 + 240_001), "no longer");
            world.now.monotonic = time;
            let ((), heap) = measure(|| world.endpoint.handle_timeout(world.now));
            freed -= heap.kept;
            wakes += 1;
            world.run();
        }
        println!("D{version}: {} bytes of each client, in {wakes} timers", freed / CLIENTS as i64);
        assert!(freed >= least * CLIENTS as i64 && wakes <= 2 * CLIENTS, "{freed} {wakes}");
        assert!((240_000..241_000).contains(&world.now.monotonic.0), "{:?}", world.now);
        world.clients[0].send(b"awake").unwrap();
        let events = world.run();
        assert!(matches!(&events[..], [(_, EndpointEvent::Data(data))] if data == b"awake"), "{events:?}");
    }
}

/// A burst of datagrams leaves nothing in memory once all of them were read.
#[test]
fn a_burst_of_events_leaves_nothing() {
    let mut world = World::new(ProtocolVersion::TLS_1_2);
    let (server, config) = (&mut world.endpoint, world.clients.len());
    let mut datagrams = Vec::new();
    for round in 0..2_000 {
        let mut buffer = [0; 2048];
        let client = &mut world.clients[round % config];
        client.send(&[7; 30]).unwrap();
        let len = client.poll_transmit(world.now, &mut buffer).unwrap();
        datagrams.push((round % config, buffer[..len].to_vec()));
    }
    let (read, heap) = measure(|| {
        for (client, datagram) in &mut datagrams {
            let from = SocketAddr::from(([192, 0, 2, 1], *client as u16 + 1));
            server.handle_datagram(world.now, &mut world.rng, from, datagram);
        }
        core::iter::from_fn(|| server.poll_event()).count()
    });
    assert_eq!(read, 2_000);
    assert!(heap.peak > 2_000 * 30 && heap.kept < 0x1000, "{heap:?}");
}
