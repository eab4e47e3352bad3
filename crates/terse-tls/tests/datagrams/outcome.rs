//! This module says what must hold of a connection whatever the network did to it.
//!
//! Both sides are connected, agree on everything, and are as connected as if nothing had happened: data flows both ways,
//! and the summary says the same. Or both know that they are not. Who sends the last words alone may be connected when its
//! peer is not: nobody tells it whether they arrived, and it cannot be told (two generals). It knows that its peer is there
//! and has proven itself; its peer has given up, and any data that is sent finds nobody. In DTLS 1.2 that is the sender of
//! the last flight. In DTLS 1.3 it is the server, which acknowledges that flight; a client that hears nothing of it has
//! been connected for a while, and gives up then.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terse_testkit::datagrams::{Datagram, DatagramPair, Fate};
use terse_testkit::pair::Side;
use terse_tls::FallbackReason;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::summary::{AuthenticatedBy, CachedObject, EarlyDataStatus, Mode};
use terse_tls::{CipherSuite, Error, Event, NamedGroup, ProtocolVersion, SignatureScheme};

use super::modes::Scenario;

/// The seed of all handshakes that a rule disturbs.
pub(crate) const SEED: u64 = 7;

/// What a side reports that losses must not change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    version: Option<ProtocolVersion>,
    suite: Option<CipherSuite>,
    group: Option<NamedGroup>,
    mode: Mode,
    cached: Vec<CachedObject>,
    peer: Option<String>,
    identity_algorithm: Option<IdentityAlgorithm>,
    authenticated_by: AuthenticatedBy,
    signature_scheme: Option<SignatureScheme>,
    signatures: (u32, u32),
    /// With early data it depends on how late the ClientHello comes.
    round_trips: Option<u32>,
    fallback: Option<FallbackReason>,
}

pub(crate) fn facts(pair: &mut DatagramPair, side: Side) -> Facts {
    let summary = pair.side(side).0.summary().clone();
    Facts {
        version: summary.version,
        suite: summary.cipher_suite,
        group: summary.group,
        mode: summary.mode,
        cached: summary.cached,
        peer: summary.peer.name(),
        identity_algorithm: summary.identity_algorithm,
        authenticated_by: summary.peer.authenticated_by,
        signature_scheme: summary.peer.signature_scheme,
        signatures: (summary.signatures_verified, summary.signatures_saved),
        round_trips: (summary.early_data == EarlyDataStatus::None).then_some(summary.round_trips),
        fallback: summary.fallback,
    }
}

/// What became of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Connected,
    Failed,
    /// The side that had the last word believes that it is connected.
    HalfConnected,
}

impl Scenario {
    /// Runs the handshake over a network with this `fate`, and checks what must hold. `what` is shown if it does not.
    pub(crate) fn run(&self, what: &str, seed: u64, fate: impl FnMut(&Datagram) -> Fate) -> Outcome {
        self.run_counting(what, seed, fate).0
    }

    /// Runs a handshake that must succeed with this `fate`. Returns how many datagrams were retransmitted.
    pub(crate) fn survives(&self, what: &str, fate: impl FnMut(&Datagram) -> Fate) -> usize {
        let (outcome, again) = self.run_counting(what, SEED, fate);
        assert_eq!(outcome, Outcome::Connected, "{}: {what}", self.name);
        again as usize
    }

    fn run_counting(&self, what: &str, seed: u64, fate: impl FnMut(&Datagram) -> Fate) -> (Outcome, u32) {
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut pair = self.setup.datagram_pair(seed);
            let _ = pair.run(fate);
            let again = pair.client.summary().retransmissions + pair.server.summary().retransmissions;
            (self.check(&mut pair), again)
        }));
        result.unwrap_or_else(|_| panic!("{}: {what}, seed {seed}", self.name))
    }

    fn check(&self, pair: &mut DatagramPair) -> Outcome {
        let connected = Side::BOTH.map(|side| pair.side(side).0.is_connected());
        for side in Side::BOTH {
            let told = core::iter::from_fn(|| pair.side(side).0.poll_event()).any(|event| event == Event::Connected);
            // Who is connected may hear later that its peer is not, or, where that is due, hear nothing.
            let gives_up = side == Side::Client && self.version == ProtocolVersion::TLS_1_3;
            let is_over = match pair.failure(side) {
                Some(Error::AlertReceived(_)) => true,
                Some(Error::TimedOut) => gives_up,
                _ => false,
            };
            assert!(told == connected[side as usize] || (told && is_over), "{side:?} was told the truth");
            if !told {
                self.check_failed(pair, side);
            }
        }
        match connected {
            [true, true] => self.check_connected(pair),
            [false, false] => return Outcome::Failed,
            _ => {
                assert!(connected[self.last as usize], "only who has the last word may be alone");
                return Outcome::HalfConnected;
            }
        }
        Outcome::Connected
    }

    /// Checks the failure of a side whose peer is gone, refused, or never sent anything.
    fn check_failed(&self, pair: &mut DatagramPair, side: Side) {
        let heard_nothing = pair.side(side).0.summary().received.messages.is_empty();
        match pair.failure(side) {
            None => assert!(side == Side::Server && heard_nothing, "{side:?} waits for ever"),
            Some(Error::ApiMisuse(misuse)) => panic!("{side:?}: {misuse:?} is nobody's misuse"),
            Some(_) => {}
        }
    }

    /// Checks that early data arrives once at most, and only if both sides say that the server accepted it.
    fn check_early_data(&self, pair: &DatagramPair) {
        let [client, server] = [&pair.client, &pair.server].map(|connection| connection.summary().early_data);
        assert_eq!(client, server);
        let is_taken = client == EarlyDataStatus::Accepted;
        match &pair.early_data[..] {
            [] => {}
            [early_data] => assert!(is_taken && *early_data == self.setup.early_data),
            more => panic!("{more:?}"),
        }
    }

    fn check_connected(&self, pair: &mut DatagramPair) {
        let exported = Side::BOTH.map(|side| {
            let mut secret = [0; 32];
            pair.side(side).0.export_keying_material(b"EXPORTER-test", None, &mut secret).unwrap();
            secret
        });
        assert_eq!(exported[0], exported[1]);
        for side in Side::BOTH {
            assert_eq!(pair.failure(side), None);
            assert_eq!(facts(pair, side), self.facts[side as usize], "{side:?}");
        }
        assert!(pair.received.iter().all(Vec::is_empty), "data out of nothing");
        self.check_early_data(pair);
        for (side, data) in [(Side::Client, &b"to the server"[..]), (Side::Server, b"to the client")] {
            pair.send(side, data).unwrap();
        }
        pair.run_well().unwrap();
        assert_eq!(pair.received, [[b"to the client".to_vec()], [b"to the server".to_vec()]]);
        for side in Side::BOTH {
            assert_eq!(pair.side(side).0.poll_timeout(), None, "{side:?} still waits for something");
        }
    }
}
