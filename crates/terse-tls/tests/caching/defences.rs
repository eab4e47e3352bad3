//! These tests show what each defence of caching is for: the attack that it stops succeeds as soon as the defence is taken away.

use alloc::sync::Arc;
use core::task::Poll;
use std::sync::Mutex;

use terse_pki::Usage;
use terse_testkit::fault;
use terse_testkit::pair::{Side, at};
use terse_testkit::pki::{DAY, Pki};
use terse_tls::cache::{
    AddressId, Commit, Fingerprint, MemoryServerStore, NotSaved, PeerEntry, Row, Schemes, ServerObjects, ServerStore,
    Ticket,
};
use terse_tls::summary::CachedObject;
use terse_tls::{CacheDefence, ClientAuthentication, ExtensionType, Fault, HandshakeType, Trust};

use super::issued::{self, client_leaf, crl, issue, leaf, other_pki, renew, server_leaf};
use super::messages::reply_of;
use super::world::*;

#[test]
fn each_defence_stops_an_attack() {
    for defence in CacheDefence::ALL {
        let mut attacked = 0;
        for setting in SETTINGS.into_iter().chain(RFC7924) {
            println!("{defence:?}"); // is shown if a test fails
            if let Some(succeeds) = attack(defence, setting, None) {
                assert!(!succeeds, "{defence:?} is there");
                assert_eq!(attack(defence, setting, Some(defence)), Some(true), "{defence:?} is not there");
                attacked += 1;
            }
        }
        assert!(attacked > 0, "{defence:?}");
    }
}

/// What the client offers there names nobody: few attacks are of use.
const RFC7924: [Setting; 2] =
    [Setting { version: TLS13, schemes: Schemes::RFC7924 }, Setting { version: TLS12, schemes: Schemes::RFC7924 }];

/// Returns whether the attack that `defence` is against succeeds, or `None` if there is no such attack in this setting.
fn attack(defence: CacheDefence, setting: Setting, without: Option<CacheDefence>) -> Option<bool> {
    let (is_compact, has_tickets) = (setting.schemes == Schemes::COMPACT, setting.schemes != Schemes::RFC7924);
    let mut world = cached(setting, without);
    Some(match defence {
        CacheDefence::SameObjects => renewed_server(&mut world),
        CacheDefence::Selection => reply_of_no_meaning(&mut world),
        CacheDefence::ExtendedMasterSecret if setting.version == TLS12 => without_the_session_hash(&mut world),
        _ if !has_tickets => return None,
        CacheDefence::TranscriptBinding => another_certificate_over_the_key(&mut world),
        CacheDefence::Signature => ticket_without_its_key(&mut world),
        CacheDefence::Finished => client_that_does_not_finish(&mut world),
        CacheDefence::TwoSlots if setting.version == TLS13 => lost_last_flight(&mut world),
        CacheDefence::Lineages if is_compact => thief_of_a_used_ticket(&mut world, without),
        CacheDefence::Holding => parallel_connections(&mut world),
        CacheDefence::DroppedTickets => broken_server(&mut world),
        CacheDefence::Alternation => network_that_swallows_offers(&mut world),
        CacheDefence::FreshTickets => watched_twice(&mut world),
        CacheDefence::TrustPolicy => authority_that_is_believed_no_more(&mut world),
        CacheDefence::ServerName => ticket_at_another_host(&mut world),
        CacheDefence::Validity => expired_certificate(setting, without),
        CacheDefence::Revocation => revoked_certificate(setting, without),
        CacheDefence::Scopes => another_port(&mut world),
        CacheDefence::Roles => server_that_comes_as_a_client(setting, without),
        CacheDefence::TwoSlots | CacheDefence::Lineages | CacheDefence::ExtendedMasterSecret => return None,
    })
}

/// Returns a world after two connections.
fn cached(setting: Setting, without: Option<CacheDefence>) -> World {
    let mut world = World::new(setting);
    go_without(&mut world, without);
    for _ in 0..2 {
        world.connect().unwrap();
    }
    world
}

fn go_without(world: &mut World, without: Option<CacheDefence>) {
    for common in [world.client.common_mut(), world.server.common_mut()] {
        common.set_without(without);
    }
}

/// Has the client show `ticket` instead of its own.
fn show(setting: Setting, ticket: [u8; 8]) -> Arc<dyn Fault> {
    fault::first(HandshakeType::CLIENT_HELLO, move |message| match setting.schemes {
        Schemes::COMPACT => fault::set_extension(message, ExtensionType::COMPACT_CACHE, &ticket),
        _ => {
            let objects = [&[0, 10, 1, 8], &ticket[..]].concat();
            fault::set_extension(message, ExtensionType::CLIENT_CACHED_INFO, &objects);
        }
    })
}

/// The client has two certificates over one key: it means the second, and shows the ticket of the first.
fn another_certificate_over_the_key(world: &mut World) -> bool {
    let ticket = world.next_offer().ticket().expect("a ticket");
    let mut options = client_leaf();
    options.names = vec!["valve-3.plant.example".into()];
    world.client.credentials(vec![renew(&Pki::shared(CHAIN).client, &options)]);
    for _ in 0..2 {
        world.connect().unwrap();
    }
    let (link, result) = world.connect_with(Side::Client, show(world.setting(), ticket));
    let server = link.pair.server.summary();
    assert!(server.cached.contains(&CachedObject::ClientCertificate), "the server did take up the ticket");
    result.is_ok() && server.peer.name().as_deref() == Some(terse_testkit::pki::CLIENT_NAME)
}

/// The attacker has the client's ticket and its Certificate, which is public, but not its key.
fn ticket_without_its_key(world: &mut World) -> bool {
    let spoil = fault::first(HandshakeType::CERTIFICATE_VERIFY, |message| {
        *message.last_mut().expect("a signature") ^= 1;
    });
    let (link, result) = world.connect_with(Side::Client, spoil);
    assert!(link.pair.server.summary().cached.contains(&CachedObject::ClientCertificate));
    result.is_ok()
}

/// An attacker changes a handshake on its way.
fn client_that_does_not_finish(world: &mut World) -> bool {
    let rows = world.rows();
    let spoil = fault::first(HandshakeType::FINISHED, |message| *message.last_mut().expect("a hash") ^= 1);
    let _ = world.connect_with(Side::Client, spoil);
    world.rows() != rows
}

/// An attacker takes the client's last flight away. The next handshake costs more for it.
fn lost_last_flight(world: &mut World) -> bool {
    world.connect_until(Until::ClientFlight).unwrap();
    is_full_again(world)
}

/// Returns whether the client must send its Certificate again.
fn is_full_again(world: &mut World) -> bool {
    !world.connect().unwrap().server.cached.contains(&CachedObject::ClientCertificate)
}

/// A client with a certificate of its own shows a ticket that somebody else has used: in vain, but that the owner's newer one
/// might go for it.
fn thief_of_a_used_ticket(victim: &mut World, without: Option<CacheDefence>) -> bool {
    let used = victim.connect().unwrap().offer.ticket().expect("a ticket");
    let mut thief = World::beside(victim);
    go_without(&mut thief, without);
    thief.client.credentials(vec![issue(&leaf("thief.plant.example", Usage::Client))]);
    thief.client.send_server_name(false); // so that it is not taken for the owner, whose key it does not have
    for _ in 0..2 {
        thief.connect().unwrap();
    }
    let (link, result) = thief.connect_with(Side::Client, show(thief.setting(), used));
    result.unwrap();
    let server = link.pair.server.summary();
    assert!(server.cached.contains(&CachedObject::ServerCertificate), "the server did take up the ticket");
    is_full_again(victim)
}

/// An observer sees that two connections are of one client.
fn parallel_connections(world: &mut World) -> bool {
    let mut links = [world.begin(), world.begin()];
    let [first, second] = links.each_mut().map(|link| {
        link.pair.transmit(Side::Client);
        link.offer().ticket()
    });
    first.is_some() && first == second
}

/// An observer sees that two connections, one after the other, are of one client.
fn watched_twice(world: &mut World) -> bool {
    let [first, second] = [0; 2].map(|_| world.connect().unwrap().offer.ticket());
    first.is_some() && first == second
}

/// A server that fails whenever something is cached: the next connection should not fail for the same reason.
fn broken_server(world: &mut World) -> bool {
    let kind = match world.version() {
        TLS12 => HandshakeType::SERVER_KEY_EXCHANGE,
        _ => HandshakeType::CERTIFICATE_VERIFY,
    };
    let spoil = fault::first(kind, |message| *message.last_mut().expect("a signature") ^= 1);
    let (_, result) = world.connect_with(Side::Server, spoil);
    assert_eq!(result.unwrap_err().side, Side::Client);
    world.next_offer().ticket().is_some()
}

/// A network that lets no ClientHello with a ticket through.
fn network_that_swallows_offers(world: &mut World) -> bool {
    (0..6).all(|_| {
        let mut link = world.begin();
        link.pair.transmit(Side::Client);
        let is_swallowed = link.offer().ticket().is_some();
        link.time_out();
        is_swallowed
    })
}

/// The client's CA is removed, and its client comes back.
fn authority_that_is_believed_no_more(world: &mut World) -> bool {
    world.server_trust(other_pki().trust());
    world.connect().is_ok()
}

/// Another virtual host, with the same store.
fn ticket_at_another_host(world: &mut World) -> bool {
    world.client.fault(Some(fault::first(HandshakeType::CLIENT_HELLO, |message| {
        let name = b"second.plant.example";
        let len = name.len() as u8;
        fault::set_extension(message, ExtensionType::SERVER_NAME, &[&[0, len + 3, 0, 0, len], &name[..]].concat());
    })));
    !is_full_again(world)
}

/// The client's certificate expires, and the client comes back.
fn expired_certificate(setting: Setting, without: Option<CacheDefence>) -> bool {
    let (authority, client) = issued::short_lived(false, client_leaf());
    let mut world = World::new(setting);
    go_without(&mut world, without);
    world.server_trust(Trust::new(&[authority.root().clone()]).unwrap());
    world.client.credentials(vec![client]);
    for _ in 0..2 {
        world.connect().unwrap();
    }
    world.server_clock = at(10 * DAY + 1);
    world.connect().is_ok()
}

/// The client's certificate is revoked, and the client comes back.
fn revoked_certificate(setting: Setting, without: Option<CacheDefence>) -> bool {
    let mut world = World::new(setting);
    go_without(&mut world, without);
    let pki = Pki::shared(CHAIN);
    let trust = pki.trust().with_crls(&[crl(&[], 7)]).unwrap();
    world.server_trust(trust.clone());
    for _ in 0..2 {
        world.connect().unwrap();
    }
    trust.revocation().unwrap().replace(&[crl(&[&pki.client], 8)]).unwrap();
    world.connect().is_ok()
}

/// Another server on the same host hears what the client knows of the first one.
fn another_port(world: &mut World) -> bool {
    world.address.port += 1;
    !world.next_offer().is_first_contact()
}

/// The server's certificate was renewed: to leave it out would end in an error.
fn renewed_server(world: &mut World) -> bool {
    world.server.credentials(vec![renew(&Pki::shared(CHAIN).server, &server_leaf())]);
    world.connect().is_err()
}

/// A server says more than the client understands: a bit that is none, the second of one ticket, one object twice.
fn reply_of_no_meaning(world: &mut World) -> bool {
    let (kind, reply): (_, &[u8]) = match world.setting().schemes {
        Schemes::COMPACT => (ExtensionType::COMPACT_CACHE, &[0b1000_0111]),
        Schemes::BITHAC => (ExtensionType::CLIENT_CACHED_INFO, &[0, 3, 1, 0, 1]),
        _ => (ExtensionType::CACHED_INFO, &[0, 2, 1, 1]),
    };
    let reply = fault::first(reply_of(world.version()), move |message| fault::set_extension(message, kind, reply));
    world.connect_with(Side::Server, reply).1.is_ok()
}

/// Who sits between two sides without the extended master secret can have two connections with one master secret (RFC 7627,
/// 1), and with it one ticket, and signatures that fit both.
fn without_the_session_hash(world: &mut World) -> bool {
    for common in [world.client.common_mut(), world.server.common_mut()] {
        common.set_require_extended_master_secret(false);
    }
    let kind = ExtensionType::EXTENDED_MASTER_SECRET;
    world
        .client
        .fault(Some(fault::first(HandshakeType::CLIENT_HELLO, move |message| fault::remove_extension(message, kind))));
    let done = world.connect().unwrap();
    assert_eq!(done.client.cached, done.server.cached);
    !done.client.cached.is_empty()
}

/// A program is a client of some servers, and a server for others, and keeps both in one place. One of those servers, whose
/// certificate is for nothing else, comes as a client.
fn server_that_comes_as_a_client(setting: Setting, without: Option<CacheDefence>) -> bool {
    let mut outward = World::new(setting);
    outward.client.without(without);
    outward.connect().unwrap();
    let records = outward.client_store.memory.records();
    let entry = records[0].1.server_entry().cloned().map(Arc::new);

    let mut inward = World::new(setting);
    inward.server.without(without);
    let mixed = Mixed { is_compact: setting.schemes == Schemes::COMPACT, entry };
    inward.server.edit_cache(|cache| cache.as_mut().expect("caching is on").store = Arc::new(mixed));
    inward.client.credentials(vec![Pki::shared(CHAIN).server(PROVIDER)]);
    inward.client.without(Some(CacheDefence::Selection)); // of a ticket that it never had
    let (link, result) = inward.connect_with(Side::Client, show(setting, [7; 8]));
    assert_eq!(result.is_ok(), link.pair.server.summary().cached.contains(&CachedObject::ClientCertificate));
    result.is_ok()
}

/// A store that has the same under each ticket.
struct Mixed {
    is_compact: bool,
    entry: Option<Arc<PeerEntry>>,
}

impl ServerStore for Mixed {
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>> {
        let seen = ServerObjects::new(Fingerprint([0; 32]), None);
        let row = |entry| Row::new(Some(entry), self.is_compact.then_some(seen), None);
        Poll::Ready(self.entry.clone().map(row).filter(|_| ticket.0 == [7; 8]))
    }

    fn commit(&self, _: &Commit) -> Poll<Result<(), NotSaved>> {
        Poll::Ready(Ok(()))
    }

    fn spend(&self, _: &Ticket, _: AddressId) -> Result<bool, NotSaved> {
        Ok(false)
    }

    fn remove(&self, _: &Ticket) -> Result<(), NotSaved> {
        Ok(())
    }
}

/// A store of as many rows that knows neither lineages nor who had no certificate.
struct Plain {
    rows: Mutex<Vec<(Ticket, Row)>>,
}

impl ServerStore for Plain {
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>> {
        let rows = self.rows.lock().unwrap();
        Poll::Ready(rows.iter().find(|(kept, _)| kept == ticket).map(|(_, row)| row.clone()))
    }

    fn commit(&self, commit: &Commit) -> Poll<Result<(), NotSaved>> {
        let mut rows = self.rows.lock().unwrap();
        if rows.len() == CAPACITY {
            rows.remove(0);
        }
        rows.push((commit.ticket, commit.row.clone()));
        Poll::Ready(Ok(()))
    }

    fn spend(&self, _: &Ticket, _: AddressId) -> Result<bool, NotSaved> {
        Ok(false)
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        self.rows.lock().unwrap().retain(|(kept, _)| kept != ticket);
        Ok(())
    }
}

const CAPACITY: usize = 8;

/// Whether somebody who connects again and again pushes out another client, by the store of the server.
fn is_pushed_out(setting: Setting, store: Arc<dyn ServerStore>, as_somebody: bool) -> bool {
    let mut worlds = [World::new(setting), World::new(setting)];
    for world in &mut worlds {
        world.server.edit_cache(|cache| cache.as_mut().expect("caching is on").store = store.clone());
        let trust = Pki::shared(CHAIN).trust();
        world.server.client_authentication(ClientAuthentication::Optional(trust));
    }
    let [mut victim, mut other] = worlds;
    other.set_seed(1_000);
    victim.connect().unwrap();
    victim.connect().unwrap();
    if !as_somebody {
        other.client.credentials(Vec::new());
    }
    for _ in 0..2 * CAPACITY {
        other.connect().unwrap();
    }
    is_full_again(&mut victim)
}

/// Old tickets go when their successors are used, so one client has two rows, however often it connects.
#[test]
fn lineages_keep_a_client_from_pushing_out_others() {
    for setting in SETTINGS {
        assert!(!is_pushed_out(setting, Arc::new(MemoryServerStore::new(CAPACITY)), true));
        assert!(is_pushed_out(setting, Arc::new(Plain { rows: Mutex::default() }), true));
    }
}

/// Whoever has no certificate has rows of `compact` as well, and they have a quota of their own.
#[test]
fn a_quota_keeps_nobodies_from_pushing_out_others() {
    for setting in COMPACT {
        assert!(!is_pushed_out(setting, Arc::new(MemoryServerStore::new(CAPACITY)), false));
        assert!(is_pushed_out(setting, Arc::new(Plain { rows: Mutex::default() }), false));
    }
}
