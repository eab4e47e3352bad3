//! Our side has an identity key, and the peer has none: both fall back to certificates.
//!
//! What must always hold: no peer is disturbed by `identity_share`, or by a ClientHello without a key share; and a client
//! that fell back once offers no identity to that server for a day.

use std::sync::Arc;

use terse_ibc::Generator;
use terse_net::OsRng;
use terse_tls::crypto::IdentityKey;
use terse_tls::identity::{Identity, IdentityAlgorithm};
use terse_tls::summary::{AuthenticatedBy, Mode};
use terse_tls::{ClientIdentity, ServerIdentity, Summary};

use super::{Carrier, Cell, Feature, VERSIONS};
use crate::case::{Case, clock};
use crate::datagrams::pair::Pair;
use crate::meeting::Meeting;
use crate::peer::Role;
use crate::pki::{CLIENT_NAME, SERVER_NAME};

pub(super) fn features() -> Vec<Feature> {
    vec![Feature::new("fall_back_from_identity", fall_back).and_dtls()]
}

/// As a client with each algorithm, with and without a key share in the first ClientHello; as a server that requires
/// certificates of clients without an identity.
fn fall_back(cell: Cell) {
    for algorithm in IdentityAlgorithm::ALL {
        match cell.role {
            Role::Client => [false, true].into_iter().for_each(|hedge| client(cell, algorithm, hedge)),
            Role::Server => server(cell, algorithm),
        }
    }
}

fn client(cell: Cell, algorithm: IdentityAlgorithm, hedge: bool) {
    let client_identity = ClientIdentity::new(key(algorithm, CLIENT_NAME)).hedge(hedge);
    let case = cell.case(&Case { client_identity: Some(client_identity), connections: 2, ..mutual() });
    if cell.carrier == Carrier::Udp {
        return over_datagrams(cell, &Case { connections: 1, ..case });
    }
    let mut meeting = Meeting::connected(cell.peer, cell.role, &case);
    meeting.exchange("once");
    check(meeting.summary());
    // Without a hedge a server of TLS 1.3 asks for a key share.
    let first = meeting.summary().round_trips;
    assert!(!cell.is_tls13() || first == if hedge { 1 } else { 2 }, "{first} round trips");
    meeting.close();
    meeting.again(&case);
    check(meeting.summary());
    let later = meeting.summary().round_trips;
    assert!(!cell.is_tls13() || later == 1, "{later} round trips of a client that offers no identity any more");
    meeting.exchange("twice");
    meeting.close();
}

fn server(cell: Cell, algorithm: IdentityAlgorithm) {
    let server_identity = ServerIdentity::new([key(algorithm, SERVER_NAME)]);
    let case = cell.case(&Case { server_identity: Some(server_identity), ..mutual() });
    match cell.carrier {
        Carrier::Tcp => check(&Meeting::complete(cell.peer, cell.role, &case)),
        Carrier::Udp => over_datagrams(cell, &case),
    }
}

fn over_datagrams(cell: Cell, case: &Case) {
    let report = Pair::in_process(cell.peer, cell.role, case).complete(case);
    assert!(report.is_some(), "our side reports");
}

/// Both sides have certificates, as both must without an identity of the peer.
fn mutual() -> Case {
    // An identity is offered in TLS 1.3: our side offers both versions, whatever the peer has.
    Case { our_versions: VERSIONS.into(), ..Case::mutual(&terse_aws_lc::PROVIDER) }
}

fn check(summary: &Summary) {
    assert_eq!((summary.mode, summary.identity_algorithm), (Mode::Full, None));
    assert_eq!(summary.peer.authenticated_by, AuthenticatedBy::Certificate);
    assert!(summary.peer.identity_based.is_none());
}

/// Returns an identity key of a new authority.
fn key(algorithm: IdentityAlgorithm, name: &str) -> Arc<dyn IdentityKey> {
    let identity: Identity = format!("dns:{name}").parse().expect("a DNS name");
    let now = clock().now().unix.expect("a clock").as_secs();
    let generator = Generator::new(algorithm, 1, now + 3600, &mut OsRng).expect("a generator");
    generator.issue(&identity).expect("a key")
}
