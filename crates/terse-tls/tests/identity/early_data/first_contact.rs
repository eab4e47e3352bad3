//! Early data at first contact: nothing but names and static keys protects it.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use terse_testkit::identity;
use terse_testkit::pki::NOW;
use terse_tls::cache::NotSaved;
use terse_tls::identity::KnownPeers;
use terse_tls::identity_early_data::FirstContactHorizon;
use terse_tls::{ApiMisuse, Now, PeerMisbehaved};

use super::*;

/// By how many seconds the clocks may differ.
const WINDOW: u32 = 10;

/// So long after its start the server accepts early data at first contact.
const READY: u64 = 2 * WINDOW as u64 + 1;

/// A client that has never talked to the server, and knows its public part from its own key file.
fn strangers(algorithm: IdentityAlgorithm) -> World {
    let mut world = World::new(algorithm);
    world.server.early_data(ServerEarlyData::new(MAX_SIZE).window_seconds(WINDOW));
    restart(&mut world, 0, 4);
    forget(&mut world);
    world.of_client = world.of_client.clone().early_data(false).first_contact(MAX_SIZE);
    world
}

/// The server begins anew, so many seconds after the beginning.
fn restart(world: &mut World, seconds: u64, capacity: usize) {
    let memory = Arc::new(FirstContactMemory::trusting_clock(capacity, NOW + seconds));
    world.of_server = world.of_server.clone().first_contact(memory);
}

/// A disk, which outlives a restart of the server.
#[derive(Default)]
struct Disk {
    horizon: AtomicU64,
    writes: AtomicU64,
    is_full: AtomicBool,
}

impl FirstContactHorizon for Disk {
    fn saved(&self) -> u64 {
        self.horizon.load(Ordering::Relaxed)
    }

    fn save(&self, horizon: u64) -> Result<(), NotSaved> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        if self.is_full.load(Ordering::Relaxed) {
            return Err(NotSaved);
        }
        self.horizon.fetch_max(horizon, Ordering::Relaxed);
        Ok(())
    }
}

impl Disk {
    fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }
}

/// The server begins anew with this disk, when its clock shows so many seconds after the beginning.
fn restart_with(world: &mut World, seconds: u64, disk: &Arc<Disk>) {
    let memory = Arc::new(FirstContactMemory::new(4, NOW + seconds, disk.clone()));
    world.of_server = world.of_server.clone().first_contact(memory);
}

/// The client knows nothing but the public part of the server's key.
fn forget(world: &mut World) {
    let key = &IdentityKeys::shared(world.algorithm).server;
    let known = KnownPeers::new(4);
    if !key.public_part().is_empty() {
        known.provide(key.parameters().authority(), &identity::server(), key.public_part());
    }
    world.of_client = world.of_client.clone().known_peers(Arc::new(known));
}

impl World {
    /// Makes the client's first flight.
    fn flight(&mut self, seconds: u64) -> Vec<u8> {
        let flight = self.early_pair(seconds).transmit(Side::Client);
        forget(self);
        flight
    }
}

#[test]
fn is_accepted_with_nothing_but_a_name() {
    for algorithm in IdentityAlgorithm::ALL {
        let mut world = strangers(algorithm);
        world.of_client = world.of_client.clone().early_data(true);
        world.connect_early(READY, EarlyDataProtection::FirstContact);
        world.connect_early(READY, EarlyDataProtection::Ticket); // the server has sent a ticket
    }
}

#[test]
fn is_rejected_by_a_server_that_does_not_want_it() {
    let mut world = strangers(RISTRETTO255);
    world.of_server = ServerIdentity::new([IdentityKeys::shared(RISTRETTO255).server.clone()]);
    world.server.early_data(None);
    world.connect_rejected(READY);
}

/// The memory rejects a flight that comes again, whether the first one has finished or not.
#[test]
fn a_replay_is_rejected() {
    let mut world = strangers(RISTRETTO255);
    let flight = world.flight(READY);
    let config = world.server_config();
    let (served, failure) = serve(&config, &flight, READY);
    assert_eq!((failure, &served.delivered[..]), (None, DATA));
    for seconds in [0, 1, u64::from(WINDOW), u64::from(WINDOW) + 1] {
        let (served, _) = serve(&config, &flight, READY + seconds);
        assert_eq!((&served.delivered[..], served.status()), (&b""[..], EarlyDataStatus::Rejected), "{seconds}");
    }
}

#[test]
fn of_two_flights_at_once_the_faster_is_delivered() {
    let mut world = strangers(RISTRETTO255);
    let flight = world.flight(READY);
    let (hello, early) = split_hello(&flight);
    let config = world.server_config();
    let (mut first, _) = serve(&config, hello, READY);
    let (mut second, _) = serve(&config, hello, READY);
    assert_eq!((second.take(early), &second.delivered[..]), (None, DATA));
    assert_eq!((first.take(early), &first.delivered[..]), (Some(TAKEN), &b""[..]));
}

#[test]
fn outside_of_the_window_it_is_rejected() {
    for (late, expected) in [
        (0, EarlyDataStatus::Accepted),
        (i64::from(WINDOW), EarlyDataStatus::Accepted),
        (i64::from(WINDOW) + 1, EarlyDataStatus::Rejected),
        (-i64::from(WINDOW), EarlyDataStatus::Accepted),
        (-i64::from(WINDOW) - 1, EarlyDataStatus::Rejected),
    ] {
        let mut world = strangers(RISTRETTO255);
        let sent = 3 * READY;
        let flight = world.flight(sent);
        let (served, _) = serve(&world.server_config(), &flight, sent.checked_add_signed(late).unwrap());
        assert_eq!(served.status(), expected, "{late}");
    }
}

/// A ClientHello that the server has accepted before its restart would be accepted again, even one of a client whose clock
/// is ahead by the whole window.
#[test]
fn after_a_restart_nothing_is_accepted_that_could_be_a_replay() {
    for ahead in [0, u64::from(WINDOW)] {
        let mut world = strangers(RISTRETTO255);
        let accepted = READY;
        let flight = world.flight(accepted + ahead);
        let (served, _) = serve(&world.server_config(), &flight, accepted);
        assert_eq!(served.delivered, DATA);
        restart(&mut world, accepted, 4);
        for seconds in 0..=2 * u64::from(WINDOW) + 1 {
            let (served, _) = serve(&world.server_config(), &flight, accepted + seconds);
            assert_eq!((&served.delivered[..], served.status()), (&b""[..], EarlyDataStatus::Rejected), "{seconds}");
        }
        world.connect_early(accepted + READY, EarlyDataProtection::FirstContact);
    }
}

/// A flight was taken, and the server begins anew with a clock that was set back, so that it reaches the time of the flight again.
/// Without a horizon on the disk the flight would be taken again.
#[test]
fn after_a_restart_with_the_clock_set_back_no_replay_is_accepted() {
    const SENT: u64 = 2 * 86_400;
    let window = u64::from(WINDOW);
    for back in [2 * window, 3_600, 86_400] {
        for ahead in [0, window] {
            let mut world = strangers(RISTRETTO255);
            let disk = Arc::new(Disk::default());
            restart_with(&mut world, SENT - 3_600, &disk);
            let flight = world.flight(SENT + ahead);
            let (served, failure) = serve(&world.server_config(), &flight, SENT);
            assert_eq!((failure, &served.delivered[..]), (None, DATA));

            restart_with(&mut world, SENT - back, &disk);
            for seconds in SENT - window..=SENT + 3 * window {
                let (served, failure) = serve(&world.server_config(), &flight, seconds);
                assert_eq!((failure, &served.delivered[..]), (None, &b""[..]), "{back} {seconds}");
                assert_eq!(served.status(), EarlyDataStatus::Rejected);
            }
            // A client loses its early data, and nothing else, until the clock has passed the horizon.
            forget(&mut world);
            for seconds in [SENT - back, SENT - back + READY, SENT + 60] {
                world.connect_rejected(seconds);
                forget(&mut world);
            }
            world.connect_early(SENT + ahead + window + 60 + 1, EarlyDataProtection::FirstContact);

            restart(&mut world, SENT - back, 4);
            let (served, _) = serve(&world.server_config(), &flight, SENT + ahead);
            assert_eq!(served.delivered, DATA, "by a memory that trusts the clock");
        }
    }
}

#[test]
fn the_horizon_is_saved_before_anything_is_accepted_and_about_once_a_minute() {
    let mut world = strangers(RISTRETTO255);
    let disk = Arc::new(Disk::default());
    restart_with(&mut world, 0, &disk);
    assert_eq!(disk.writes(), 0);
    for (seconds, writes) in [(READY, 1), (READY + 1, 1), (READY + 59, 1), (READY + 61, 2), (READY + 120, 2)] {
        let flight = world.flight(seconds);
        let (hello, _) = split_hello(&flight);
        assert_eq!(serve(&world.server_config(), hello, seconds).0.status(), EarlyDataStatus::Accepted);
        assert_eq!(disk.writes(), writes, "{seconds}");
        assert!(disk.saved() >= NOW + seconds + u64::from(WINDOW));
    }
}

/// A server that cannot save the horizon takes no early data, and goes on with the connections.
#[test]
fn a_full_disk_costs_the_early_data_and_no_connection() {
    let mut world = strangers(RISTRETTO255);
    let disk = Arc::new(Disk::default());
    restart_with(&mut world, 0, &disk);
    disk.is_full.store(true, Ordering::Relaxed);
    for (seconds, writes) in [(READY, 1), (READY, 1), (READY + 1, 2)] {
        world.connect_rejected(seconds);
        forget(&mut world);
        assert_eq!(disk.writes(), writes, "one attempt in a second");
    }
    disk.is_full.store(false, Ordering::Relaxed);
    world.connect_early(READY + 2, EarlyDataProtection::FirstContact);
}

/// A horizon that is not known any more can be any.
#[test]
fn without_a_known_horizon_nothing_is_accepted() {
    let mut world = strangers(RISTRETTO255);
    let disk = Arc::new(Disk { horizon: AtomicU64::new(u64::MAX), ..Disk::default() });
    restart_with(&mut world, 0, &disk);
    world.connect_rejected(READY);
    forget(&mut world);
    world.connect_rejected(1 << 20);
    assert_eq!(disk.writes(), 0);
}

/// Two servers with one key and two memories: the attack that a shared memory prevents.
#[test]
fn two_memories_would_deliver_a_replay() {
    let mut world = strangers(RISTRETTO255);
    let flight = world.flight(READY);
    for _ in 0..2 {
        restart(&mut world, 0, 4);
        let (served, failure) = serve(&world.server_config(), &flight, READY);
        assert_eq!((failure, &served.delivered[..]), (None, DATA));
    }
}

#[test]
fn a_full_memory_rejects() {
    let mut world = strangers(RISTRETTO255);
    restart(&mut world, 0, 1);
    let flights = [world.flight(READY), world.flight(READY)];
    let config = world.server_config();
    let outcomes = flights.map(|flight| serve(&config, &flight, READY).0.status());
    assert_eq!(outcomes, [EarlyDataStatus::Accepted, EarlyDataStatus::Rejected]);
    // There is room again when the first one is no longer fresh.
    forget(&mut world);
    let later = READY + u64::from(WINDOW) + 1;
    let flight = world.flight(later);
    assert_eq!(serve(&world.server_config(), &flight, later).0.status(), EarlyDataStatus::Accepted);
}

/// Whoever makes up a ClientHello fills no memory: only a record under its keys does.
#[test]
fn a_forged_hello_takes_no_room() {
    let mut world = strangers(RISTRETTO255);
    restart(&mut world, 0, 1);
    let flight = world.flight(READY);
    let (hello, _) = split_hello(&flight);
    let config = world.server_config();
    for byte in 0..8 {
        let mut forged = hello.to_vec();
        forged[5 + 4 + 2 + byte] ^= 1;
        assert_eq!(serve(&config, &forged, READY).0.status(), EarlyDataStatus::Accepted);
    }
    assert_eq!(serve(&config, &flight, READY).0.delivered, DATA);
}

#[test]
fn without_a_clock_there_is_none() {
    let mut world = strangers(RISTRETTO255);
    let flight = world.flight(READY);
    world.of_server = world.of_server.clone().accept_without_clock(true);
    let config = world.server_config();
    let mut served = Served::new(&config, READY);
    served.now = Now::new(served.now.monotonic, None);
    assert_eq!(served.take(&flight), None);
    assert_eq!((&served.delivered[..], served.status()), (&b""[..], EarlyDataStatus::Rejected));

    world.of_client = world.of_client.clone().accept_without_clock(true);
    let now = Now::new(at(READY).monotonic, None);
    let mut pair = Pair::at(&world.client_config(), &config, 77, now);
    assert_eq!(pair.client.send_early_data(DATA), Ok(0));
    pair.handshake().unwrap();
}

/// A client that holds no public part of the server cannot protect anything, and one that is wrong is found out.
#[test]
fn it_needs_the_public_part_of_the_server() {
    let mut world = strangers(RISTRETTO255);
    world.of_client = world.of_client.clone().known_peers(Arc::new(KnownPeers::new(4)));
    let mut pair = world.pair(READY);
    assert_eq!(pair.client.send_early_data(DATA), Ok(0));
    pair.handshake().unwrap();
    // The client has learned it.
    world.connect_early(READY + 1, EarlyDataProtection::FirstContact);
}

#[test]
fn a_client_with_tls12_is_refused_by_the_configuration() {
    let mut world = strangers(RISTRETTO255);
    let trust =
        terse_testkit::setup::Setup::mutual(PROVIDER, PROVIDER, super::super::CHAIN).client.config().trust().clone();
    world.client.trust(trust);
    assert!(world.client.clone().identity(world.of_client.clone()).build().is_ok());
    world.client.versions([ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2]);
    let refused = world.client.clone().identity(world.of_client.clone()).build();
    assert_eq!(refused.err(), Some(ApiMisuse::FirstContactWithTls12));
}

/// A client that falls back to certificates loses its early data, and nothing else.
#[test]
fn a_server_with_certificates_rejects_it() {
    let mut world = strangers(RISTRETTO255);
    let setup = terse_testkit::setup::Setup::mutual(PROVIDER, PROVIDER, super::super::CHAIN);
    world.client.trust(setup.client.config().trust().clone());
    world.client.credentials(setup.client.config().credentials().to_vec());
    let mut server = setup.server.clone();
    server.versions([ProtocolVersion::TLS_1_3]);
    let server = Arc::new(server.build().unwrap());
    let mut pair = Pair::at(&world.client_config(), &server, 5, at(READY));
    assert_eq!(pair.client.send_early_data(DATA), Ok(DATA.len()));
    pair.handshake().unwrap();
    super::super::check_certified([pair.client.summary(), pair.server.summary()]);
    assert_eq!((pair.client.summary().early_data, &pair.early_data[..]), (EarlyDataStatus::Rejected, &b""[..]));
}

#[test]
fn more_than_the_server_takes_ends_the_connection() {
    let mut world = strangers(RISTRETTO255);
    world.of_client = world.of_client.clone().first_contact(2 * MAX_SIZE);
    let mut pair = world.pair(READY);
    assert_eq!(pair.client.send_early_data(&[7; MAX_SIZE as usize + 1]), Ok(MAX_SIZE as usize + 1));
    let failed = pair.run().unwrap_err();
    assert_eq!((failed.side, failed.error), (Side::Server, PeerMisbehaved::TooMuchEarlyData.into()));
    assert_eq!(pair.early_data, b"");
}
