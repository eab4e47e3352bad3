//! A meeting is a connection of our side with a peer, on a wire.

use terse_net::{NetError, OsRng, Stream};
use terse_tls::summary::{AuthenticatedBy, Summary};
use terse_tls::{AlertDescription, Connection, Error, PeerIdentity};

use crate::case::{Asks, Case, Means, clock};
use crate::peer::{Peer, Remote, Role};
use crate::pki::{CLIENT_NAME, SERVER_NAME, Side};
use crate::tap::{SharedLedger, Tap};

/// A connection of ours with a peer.
pub struct Meeting {
    /// Our side.
    pub ours: Stream<Tap>,
    /// The peer's side.
    pub remote: Box<dyn Remote>,
    /// The records that cross the wire, as our side sees them.
    pub ledger: SharedLedger,
    role: Role,
}

impl Meeting {
    /// Starts both sides. Our side has not sent a ClientHello yet.
    pub fn new(peer: Peer, role: Role, case: &Case) -> Self {
        Self::in_stretches(peer, role, case, usize::MAX)
    }

    /// Starts both sides, over a wire that carries at most `stretch` bytes at a time.
    pub fn in_stretches(peer: Peer, role: Role, case: &Case, stretch: usize) -> Self {
        Self::start(peer, role, case, case, stretch)
    }

    /// Starts both sides, each with a case of its own.
    pub fn between(peer: Peer, role: Role, ours: &Case, theirs: &Case) -> Self {
        Self::start(peer, role, ours, theirs, usize::MAX)
    }

    fn start(peer: Peer, role: Role, case: &Case, theirs: &Case, stretch: usize) -> Self {
        let (remote, wire) = peer.start(role, theirs);
        let ledger = SharedLedger::default();
        let tap = Tap::new(wire, stretch, ledger.clone());
        Self { ours: Stream::new(connection(role, case), tap, clock()), remote, ledger, role }
    }

    /// Starts both sides, and completes a handshake that agrees with the case.
    pub fn connected(peer: Peer, role: Role, case: &Case) -> Self {
        let mut meeting = Self::new(peer, role, case);
        meeting.handshake(case);
        meeting
    }

    /// Makes the next connection of the same two, with its handshake.
    pub fn again(&mut self, case: &Case) {
        self.reconnect(case);
        self.handshake(case);
    }

    /// Starts the next connection of the same two. Our side has not sent anything yet.
    pub fn reconnect(&mut self, case: &Case) {
        self.remote.next();
        let wire = self.remote.wire();
        self.ledger = SharedLedger::default();
        let tap = Tap::new(wire, usize::MAX, self.ledger.clone());
        self.ours = Stream::new(connection(self.role, case), tap, clock());
    }

    /// Makes a connection that succeeds from its handshake to its end. Returns our summary.
    pub fn complete(peer: Peer, role: Role, case: &Case) -> Summary {
        let mut meeting = Self::connected(peer, role, case);
        meeting.exchange("once");
        meeting.close();
        meeting.ours.connection().summary().clone()
    }

    /// Completes the handshake, and checks its result.
    pub fn handshake(&mut self, case: &Case) {
        self.ours.handshake().unwrap_or_else(|error| panic!("our handshake failed: {error}"));
        self.check(case);
    }

    fn check(&self, case: &Case) {
        let summary = self.summary();
        assert_eq!(summary.version, case.version());
        if let [suite] = case.suites[..] {
            assert_eq!(summary.cipher_suite, Some(suite));
        }
        if let [group] = case.server_groups[..] {
            assert_eq!(summary.group, Some(group));
        }
        let (name, by) = expected_peer(self.role, case);
        assert_eq!(summary.peer.authenticated_by, by);
        let identity = summary.peer.identity.as_ref().map(ToString::to_string);
        assert_eq!(identity, name, "the peer's identity");
    }

    /// Sends a line of application data each way, with `word` in it.
    pub fn exchange(&mut self, word: &str) {
        self.carry(format!("{word} from ours\n").as_bytes(), format!("{word} from the peer\n").as_bytes());
    }

    /// Sends `there` to the peer, and receives `back` from it; a peer that only echoes sends `there` back.
    pub fn carry(&mut self, there: &[u8], back: &[u8]) {
        if self.remote.echoes() {
            // The data is sent in parts: the peer reads no more before its echo was read.
            for part in there.chunks(0x2000) {
                self.send(part);
                self.expect(part);
            }
        } else {
            self.send(there);
            self.remote.expect(there);
            self.remote.send(back);
            self.expect(back);
        }
    }

    /// Sends application data from our side.
    pub fn send(&mut self, data: &[u8]) {
        self.ours.send(data).unwrap_or_else(|error| panic!("our side cannot send: {error}"));
    }

    /// Waits for application data on our side.
    pub fn expect(&mut self, data: &[u8]) {
        let mut received = vec![0; data.len()];
        let mut len = 0;
        while len < data.len() {
            match self.ours.receive(&mut received[len..]) {
                Ok(0) => panic!("the peer closed after {len} of {} bytes", data.len()),
                Ok(more) => len += more,
                Err(error) => panic!("our side cannot receive: {error}"),
            }
        }
        assert!(received == data, "something else was received");
    }

    /// Closes our side, and checks that the peer understands.
    pub fn close(&mut self) {
        self.ours.close().unwrap_or_else(|error| panic!("our side cannot close: {error}"));
        self.ours.transport_mut().end(); // OpenSSL's programs wait half a second for this before they end
        self.remote.expect_close();
    }

    /// Waits until the peer closes properly, whatever it sends before.
    pub fn expect_close(&mut self) {
        let mut ignored = [0; 1000];
        while self.ours.receive(&mut ignored).unwrap_or_else(|error| panic!("no proper end: {error}")) > 0 {}
        assert!(self.ours.peer_closed());
    }

    /// Waits until the connection ends, without data. Returns how it ended.
    pub fn receive_nothing(&mut self) -> Result<usize, NetError> {
        self.ours.receive(&mut [0; 100])
    }

    /// Checks that our side refuses the peer in its handshake with `alert`, and that the peer receives it. Returns the
    /// error.
    pub fn ours_refuses(&mut self, alert: AlertDescription) -> Error {
        let error = self.ours_fails();
        assert_eq!(error.alert(), Some(alert), "{error}");
        self.remote.expect_alert(alert);
        error
    }

    /// Checks that our side refuses the peer in its handshake. Returns the error.
    pub fn ours_fails(&mut self) -> Error {
        match self.ours.handshake() {
            Err(NetError::Tls(error)) => error,
            other => panic!("our side did not refuse: {other:?}"),
        }
    }

    /// Checks that the peer refuses our side with `alert`, in the handshake or after our side has completed it.
    pub fn peer_refuses(&mut self, alert: AlertDescription) {
        let outcome = self.ours.handshake().and_then(|()| self.receive_nothing());
        match outcome {
            Err(NetError::Tls(Error::AlertReceived(received))) => assert_eq!(received, alert),
            other => panic!("the peer did not refuse: {other:?}"),
        }
    }

    /// Checks that the peer ends the handshake without an alert.
    pub fn peer_leaves(&mut self) {
        match self.ours.handshake() {
            Err(NetError::ClosedInHandshake) => {}
            other => panic!("the peer did not leave: {other:?}"),
        }
    }

    /// Returns our side's summary of the connection.
    pub fn summary(&self) -> &Summary {
        self.ours.connection().summary()
    }
}

/// Returns the peer's expected name and means of authentication. `role` is ours.
pub fn expected_peer(role: Role, case: &Case) -> (Option<String>, AuthenticatedBy) {
    let name = match (role, case.asks, case.client) {
        (Role::Client, ..) => Some(SERVER_NAME),
        (Role::Server, Asks::Optional | Asks::Required, Some(_)) => Some(CLIENT_NAME),
        (Role::Server, ..) => None,
    };
    match (case.means, name) {
        (Means::PreSharedKey, _) => (None, AuthenticatedBy::Psk),
        (_, None) => (None, AuthenticatedBy::None),
        (Means::Certificates, Some(name)) => (Some(name.into()), AuthenticatedBy::Certificate),
        (Means::RawPublicKeys, Some(_)) => {
            let side = if role == Role::Client { Side::Server } else { Side::Client };
            let key = case.pki().raw_key(case.provider, side);
            (Some(PeerIdentity::RawPublicKey(key.as_ref().into()).to_string()), AuthenticatedBy::Certificate)
        }
    }
}

/// Creates our side of a connection.
pub fn connection(role: Role, case: &Case) -> Connection {
    match role {
        Role::Client => Connection::client(case.client_config(), case.address(), clock().now(), &mut OsRng),
        Role::Server => Connection::server(case.server_config(), clock().now()),
    }
    .expect("a valid configuration")
}
