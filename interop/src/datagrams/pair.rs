//! A pair is a client and a server, both programs, with a relay between them.
//!
//! With `TERSE_INTEROP_STAND_IN=openssl`, or another peer's name, that peer takes our place, and the reports of `terse`
//! are not checked. This tells a failure of ours from one of the peer or of its driver.

use std::{env, thread};

use terse_tls::{AlertDescription, ContentType};

use super::loss::Loss;
use super::passage::Datagram;
use super::relay::Relay;
use super::report::Report;
use super::{PING, PONG};
use crate::case::Case;
use crate::peer::{DatagramCookies, Peer, Remote, Role, Way};
use crate::pki::Side;
use crate::process::exhibit;

/// Two programs that meet over UDP.
pub struct Pair {
    /// The client.
    pub client: Box<dyn Remote>,
    /// The server.
    pub server: Box<dyn Remote>,
    /// The relay between them.
    pub relay: Relay,
    role: Role,
    /// The peer and the case of the clients.
    client_is: (Peer, Case),
}

impl Pair {
    /// Starts both sides. The client begins by itself.
    pub fn new(peer: Peer, role: Role, case: &Case) -> Self {
        Self::with_loss(peer, role, case, Loss::None)
    }

    /// Starts both sides, over a network that loses datagrams.
    pub fn with_loss(peer: Peer, role: Role, case: &Case, loss: Loss) -> Self {
        Self::between(peer, role, case, case, loss)
    }

    /// Starts both sides, each with a case of its own.
    pub fn between(peer: Peer, role: Role, ours: &Case, theirs: &Case, loss: Loss) -> Self {
        Self::with(Peer::TERSE, peer, role, ours, theirs, loss)
    }

    /// Starts both sides, ours in this process.
    pub fn in_process(peer: Peer, role: Role, case: &Case) -> Self {
        Self::with(Peer::TERSE_NET, peer, role, case, case, Loss::None)
    }

    fn with(we: Peer, peer: Peer, role: Role, ours: &Case, theirs: &Case, loss: Loss) -> Self {
        let ours = if stand_in().is_none() { ours.clone() } else { seen_by_the_other(ours) };
        let we = stand_in().unwrap_or(we);
        let (client, client_case, server, server_case) = match role {
            Role::Client => (we, &ours, peer, theirs),
            Role::Server => (peer, theirs, we, &ours),
        };
        let mut pair = Self::of(client, client_case, server, server_case, loss);
        pair.role = role;
        pair
    }

    /// Starts any two implementations.
    pub fn of(client: Peer, client_case: &Case, server: Peer, server_case: &Case, loss: Loss) -> Self {
        let (server, port) = server.server(server_case).expect("a program");
        let relay = Relay::to(port, loss);
        let client_is = (client, client_case.clone());
        let client = client.client(client_case, Way::Datagrams(relay.port())).expect("a program");
        Self { client, server, relay, role: Role::Client, client_is }
    }

    /// Starts a new client in place of the one before, which has ended.
    pub fn another_client(&mut self) {
        let (client, case) = &self.client_is;
        self.client = client.client(case, Way::Datagrams(self.relay.port())).expect("a program");
    }

    /// Returns our side.
    pub fn ours(&mut self) -> &mut dyn Remote {
        if self.role == Role::Client { &mut *self.client } else { &mut *self.server }
    }

    /// Returns the peer.
    pub fn theirs(&mut self) -> &mut dyn Remote {
        if self.role == Role::Client { &mut *self.server } else { &mut *self.client }
    }

    /// Sends a word each way.
    pub fn exchange(&mut self) {
        self.client.send(PING);
        if self.server.echoes() {
            self.client.expect(PING);
        } else {
            self.server.expect(PING);
            self.server.send(PONG);
            self.client.expect(PONG);
        }
    }

    /// Closes the client, and checks that the server understands.
    pub fn close(&mut self) {
        self.client.close();
        self.server.expect_close();
    }

    /// Makes a connection that succeeds from its handshake to its end. Returns our report.
    pub fn complete(&mut self, case: &Case) -> Option<Report> {
        self.exchange();
        self.close();
        let role = self.role;
        let report = self.report();
        report.iter().for_each(|report| report.check(role, case));
        report
    }

    /// Returns our report of a connection that has ended.
    pub fn report(&mut self) -> Option<Report> {
        self.ours().report().map(Report)
    }

    /// Starts the next connection of the same two.
    pub fn next(&mut self) {
        self.server.next();
        self.client.next();
    }

    /// Checks that our side refuses the peer, which receives `alert`.
    pub fn ours_refuses(&mut self, alert: AlertDescription) {
        self.theirs().expect_alert(alert);
        if self.has_begun()
            && let Some(report) = self.ours().report()
        {
            assert!(report["error"].is_string(), "our side did not refuse: {report}");
        }
    }

    /// Checks that our side refuses the peer for `reason`; the peer keeps no state that an alert could end.
    pub fn ours_leaves(&mut self, reason: &str) {
        let report = self.ours().report().expect("terse reports");
        let error = report["error"].as_str().unwrap_or_default();
        assert!(error.contains(reason), "our side did not refuse for {reason}: {report}");
    }

    /// Whether there is a connection to report: there is none if our server has answered with an alert only.
    fn has_begun(&self) -> bool {
        let passed = self.relay.passed();
        let mut answers = passed.iter().filter(|datagram| datagram.side == Side::Server);
        self.role == Role::Client || !answers.all(|datagram| datagram.bytes.first() == Some(&ContentType::ALERT.0))
    }

    /// Checks that the peer refuses our side with `alert`.
    pub fn peer_refuses(&mut self, alert: AlertDescription) {
        self.ours().expect_alert(alert);
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if thread::panicking() {
            let line = |datagram: &Datagram| format!("{datagram}\n");
            exhibit("the relay", self.relay.passed().iter().map(line).collect());
        }
    }
}

/// Returns the peer that takes our place, if one does.
pub fn stand_in() -> Option<Peer> {
    let name = env::var("TERSE_INTEROP_STAND_IN").ok()?;
    let peer = Peer::ALL.iter().copied().find(|peer| peer.name() == name);
    Some(peer.unwrap_or_else(|| panic!("no peer has the name {name}")))
}

/// Returns the case for a peer in our place.
fn seen_by_the_other(case: &Case) -> Case {
    Case {
        datagrams: case.datagrams.as_ref().map(super::Datagrams::seen_by_the_other),
        our_versions: case.peer_versions.clone(),
        peer_versions: case.our_versions.clone(),
        cookie: case.cookie && stand_in().is_none_or(|peer| peer.datagram_cookies() != DatagramCookies::Never),
        ..case.clone()
    }
}
