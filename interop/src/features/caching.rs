//! docs/caching.md, 4.8: a ClientHello with caching extensions works against servers that have never heard of them, and
//! our server, with caching on, works with clients that have not.

use std::sync::Arc;

use terse_net::OsRng;
use terse_tls::cache::Scheme;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::summary::{Mode, Summary};
use terse_tls::{Connection, HandshakeType, NamedGroup};

use super::{Cell, Feature};
use crate::case::{Case, clock};
use crate::meeting::connection;
use crate::peer::Role;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("peer_without_rfc7924", |cell| with_caching(cell, Schemes::RFC7924, Vec::new())),
        Feature::new("peer_without_bithac", |cell| with_caching(cell, Schemes::BITHAC, Vec::new())),
        Feature::new("peer_without_compact", |cell| with_caching(cell, Schemes::COMPACT, Vec::new())),
        Feature::tls13("peer_without_caching_after_hello_retry_request", |cell| {
            with_caching(cell, Schemes::BITHAC, vec![NamedGroup::SECP384R1]);
        }),
    ]
}

/// `cached_info` for Certificate and CertificateRequest: header, list; type, length, SHA-256 of each.
const CACHED_INFO: u32 = 4 + 2 + 2 * (1 + 1 + 32);

/// `client_cached_info` with one ticket.
const CLIENT_CACHED_INFO: u32 = 4 + 2 + 1 + 1 + 8;

/// `compact_cache` with its ticket, and `client_cached_info` without.
const COMPACT_CACHE: u32 = 4 + 8 + 4;

fn with_caching(cell: Cell, schemes: Schemes, server_groups: Vec<NamedGroup>) {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        let case = Case {
            client_groups: vec![NamedGroup::X25519, NamedGroup::SECP384R1, NamedGroup::SECP256R1],
            server_groups: server_groups.clone(),
            ca_names: true, // which make a CertificateRequest worth caching
            client_cache: Some(ClientCache::new(Arc::new(MemoryClientStore::new(4)), schemes)),
            server_cache: Some(ServerCache::new(Arc::new(MemoryServerStore::new(4)), schemes)),
            ..Case::mutual(provider)
        };
        match cell.role {
            Role::Client => client(cell, &case, schemes),
            Role::Server => server(cell, &case),
        }
    }
}

/// The offer is not empty, because our own server has been met before under the same name and certificate.
fn client(cell: Cell, case: &Case, schemes: Schemes) {
    let plain = client_hello(&cell.complete(&Case { client_cache: None, ..case.clone() }));
    let (mode, expected) = match schemes {
        Schemes::COMPACT => (Mode::Cached(Scheme::Compact), COMPACT_CACHE),
        Schemes::BITHAC => (Mode::Cached(Scheme::Bithac), CACHED_INFO + CLIENT_CACHED_INFO),
        _ => (Mode::Cached(Scheme::Rfc7924), CACHED_INFO),
    };
    let hellos = if case.server_groups.is_empty() { 1 } else { 2 };
    assert_eq!(own_server(case).mode, Mode::Full);
    for _ in 0..2 {
        let summary = cell.complete(case);
        assert_eq!((summary.mode, &summary.cached[..]), (Mode::Full, &[][..]));
        assert_eq!(summary.round_trips, if cell.is_tls13() { hellos } else { 2 });
        let offer = client_hello(&summary) - plain;
        assert_eq!(offer, hellos * expected, "bytes of the offer, in {hellos} ClientHellos");
        if schemes == Schemes::COMPACT {
            assert_eq!(own_server(case).mode, Mode::Full, "a ticket is shown once");
        }
        // A server that ignores the offer does not spoil the cache for those that do not.
        assert_eq!(own_server(case).mode, mode);
    }
}

fn server(cell: Cell, case: &Case) {
    for _ in 0..2 {
        let summary = cell.complete(case);
        assert_eq!((summary.mode, &summary.cached[..]), (Mode::Full, &[][..]));
    }
}

fn client_hello(summary: &Summary) -> u32 {
    let hellos = summary.sent.messages.iter().find(|(kind, _)| *kind == HandshakeType::CLIENT_HELLO);
    hellos.expect("a client sends a ClientHello").1
}

/// Our client meets our server, in memory. Returns the client's summary.
fn own_server(case: &Case) -> Summary {
    let mut client = connection(Role::Client, case);
    let mut server = connection(Role::Server, case);
    while pass(&mut client, &mut server) | pass(&mut server, &mut client) {}
    server.close(); // which confirms the ticket
    pass(&mut server, &mut client);
    assert!(client.is_connected() && server.is_connected());
    client.summary().clone()
}

/// Carries what one side has to say to the other. Whether it was anything.
fn pass(from: &mut Connection, to: &mut Connection) -> bool {
    let mut buffer = [0; 0x4000];
    let mut any = false;
    while let Some(len) = from.poll_transmit(clock().now(), &mut buffer) {
        any = true;
        let taken = to.handle_input(clock().now(), &mut OsRng, &mut buffer[..len]).expect("a handshake that succeeds");
        assert_eq!(taken, len);
    }
    any
}
