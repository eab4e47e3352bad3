//! A machine is one connection over datagrams, to which operations are applied; its invariants must hold after each.

use std::collections::VecDeque;
use std::sync::Arc;

use terse_testkit::pair::at;
use terse_testkit::pki::server_address;
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng as _};
use terse_tls::summary::EarlyDataStatus;
use terse_tls::{
    ApiMisuse, ClientAuthentication, ClientConfig, Common, ConfigBuilder, Connection, ConnectionIdUsage, Error, Event,
    Instant, InvalidMessage, Now, ProtocolVersion, ServerConfig,
};

use crate::datagrams::{Forge, Protection, shape_of};
use crate::input::{Operation, Shape};
use crate::machine::{AlertCounter, check_connection, check_peer};
use crate::modes::Tweaks;
use crate::provider::SIGNATURE;
use crate::watch::Watch;

/// A connection under test.
pub struct DatagramMachine {
    /// The connection itself.
    pub connection: Connection,
    /// The datagrams that it sent and that were not taken yet.
    pub output: Vec<Vec<u8>>,
    /// The application data that it received.
    pub received: Vec<Vec<u8>>,
    /// The early data that it received.
    pub early: Vec<Vec<u8>>,
    /// Whether it reported that it is connected.
    pub connected: bool,
    provider: CryptoProvider,
    rng: SeededRng,
    now: Now,
    /// The connection ID in the peer's records.
    cid: Vec<u8>,
    forge: Forge,
    watch: Watch,
    is_client: bool,
    /// The datagrams to be read; of the first one, some may have been read.
    waiting: VecDeque<Vec<u8>>,
    failure: Option<Error>,
    peer_closed: bool,
    closed: bool,
    has_sent: bool,
    signs_at_once: bool,
    must_know_peer: bool,
    requires_extended_master_secret: bool,
    max_datagram: usize,
    max_output: usize,
    alert_counter: Arc<AlertCounter>,
}

impl DatagramMachine {
    /// Creates a client, which has sent its ClientHello.
    pub fn client(mut config: ConfigBuilder<ClientConfig>, tweaks: Tweaks) -> Self {
        let alert_counter = Arc::new(AlertCounter::default());
        config.trace(alert_counter.clone());
        let (now, mut rng, common) = (tweaks.now(), SeededRng::new(1), config.config().common().clone());
        // The connection ID is the first draw of the generator.
        let mut cid = vec![0; common.datagrams().and_then(|settings| settings.connection_id).unwrap_or(0).into()];
        SeededRng::new(1).fill(&mut cid).expect("it never fails");
        let connection =
            Connection::client(Arc::new(config.build().expect("a configuration")), server_address(), now, &mut rng)
                .expect("a client");
        let is_blind = common.datagrams().is_some_and(|settings| settings.connection_id.is_some());
        let mut machine = Self::new(connection, &common, cid, tweaks, rng, alert_counter);
        (machine.is_client, machine.watch.is_blind) = (true, is_blind);
        machine.settle();
        machine
    }

    /// A server.
    pub fn server(mut config: ConfigBuilder<ServerConfig>, tweaks: Tweaks) -> Self {
        let alert_counter = Arc::new(AlertCounter::default());
        config.trace(alert_counter.clone());
        let common = config.config().common().clone();
        let must_know_peer = matches!(config.config().client_authentication(), ClientAuthentication::Required(_));
        let connection =
            Connection::server(Arc::new(config.build().expect("a configuration")), tweaks.now()).expect("a server");
        let machine = Self::new(connection, &common, Vec::new(), tweaks, SeededRng::new(2), alert_counter);
        Self { must_know_peer, ..machine }
    }

    fn new(
        connection: Connection,
        common: &Common,
        cid: Vec<u8>,
        tweaks: Tweaks,
        rng: SeededRng,
        alert_counter: Arc<AlertCounter>,
    ) -> Self {
        let max_datagram = common.datagrams().expect("a connection over datagrams").max_datagram;
        let watch = Watch::new(common.versions().contains(&ProtocolVersion::TLS_1_3));
        Self {
            connection,
            output: Vec::new(),
            received: Vec::new(),
            early: Vec::new(),
            connected: false,
            provider: *common.provider(),
            rng,
            now: tweaks.now(),
            cid,
            forge: Forge::default(),
            watch,
            is_client: false,
            waiting: VecDeque::new(),
            failure: None,
            peer_closed: false,
            closed: false,
            has_sent: false,
            signs_at_once: tweaks.signs_at_once(),
            must_know_peer: true,
            requires_extended_master_secret: tweaks.requires_extended_master_secret(),
            max_datagram,
            max_output: common.max_send_buffer() + MAX_FLIGHT,
            alert_counter,
        }
    }

    /// Applies `operation`.
    pub fn apply(&mut self, operation: &Operation) {
        if shape_of(operation.shape) == Some(Shape::Call) {
            return self.call(operation.kind, &operation.body);
        }
        let protection = self.protection();
        for datagram in self.forge.datagrams(operation, &protection) {
            self.receive(datagram);
        }
    }

    /// Receives a datagram.
    pub fn receive(&mut self, datagram: Vec<u8>) {
        if self.waiting.len() < MAX_WAITING {
            self.watch.came(&datagram, self.cid.len(), &self.protection());
            self.waiting.push_back(datagram);
        }
        self.settle();
    }

    /// Makes a call that an application could make.
    pub fn call(&mut self, kind: u8, body: &[u8]) {
        match kind % 16 {
            0 => self.send(body),
            1 => {
                let mut out = vec![0; body.len()];
                let len = self.connection.recv(&mut out);
                assert_eq!(len, 0, "what came is read at once");
            }
            2 => {
                self.connection.close();
                self.closed = true;
            }
            3 => self.update_keys(!body.is_empty()),
            4 => {
                let mut out = [0; 40];
                let result = self.connection.export_keying_material(body, body.get(1..), &mut out);
                assert!(result.is_ok() <= self.connection.is_connected());
            }
            5 => {
                self.connection.give_up(self.now);
                self.closed = true;
            }
            6 => self.pass(u64::from(kind) * 250 + body.len() as u64),
            7 => self.sign(Ok(body)),
            8 => self.sign(Err(CryptoError::SigningFailed)),
            9 => assert!(!format!("{:?} {:?}", self.connection, self.connection.summary()).is_empty()),
            10 => self.expire(),
            12 => self.send_early_data(body),
            13 => (0..body.len()).for_each(|_| self.send(body)),
            14 => self.connection_ids(body),
            _ => {
                if let Some(Instant(deadline)) = self.connection.poll_timeout() {
                    self.pass(deadline.saturating_sub(self.now.monotonic.0));
                    self.expire();
                }
            }
        }
        self.settle();
    }

    /// Ends the input: flights are retransmitted until the application gives up.
    pub fn end(mut self) -> Self {
        self.signs_at_once = true;
        self.settle();
        for _ in 0..MAX_EXPIRIES {
            self.call(11, &[]);
        }
        assert_eq!(self.connection.poll_timeout(), None, "a flight is sent again for ever");
        self.call(2, &[]);
        self
    }

    /// Returns the error that ended the connection, if one did.
    pub const fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Returns the observations of input and output.
    pub const fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Returns how records to this side are protected.
    pub fn protection(&self) -> Protection {
        Protection::of(&self.provider, self.connection.summary().cipher_suite, self.cid.clone())
    }

    /// Returns the peer's forge, which has the keys of [`Self::protection`].
    pub const fn forge(&self) -> &Forge {
        &self.forge
    }

    fn update_keys(&mut self, request_peer: bool) {
        match self.connection.update_keys(request_peer) {
            Ok(()) => assert!(self.is_dtls13() && self.connection.is_connected()),
            Err(Error::ApiMisuse(ApiMisuse::KeyUpdateUnderWay)) => {
                assert!(self.connection.poll_timeout().is_some(), "a change of keys waits for ever");
            }
            Err(error) => assert!(matches!(error, Error::ApiMisuse(_)), "{error:?}"),
        }
    }

    /// Requests or provides connection IDs, or uses another one.
    fn connection_ids(&mut self, body: &[u8]) {
        let (count, connection) = (body.first().map_or(0, |first| first >> 2), &mut self.connection);
        let result = match body.first().map_or(0, |first| first & 3) {
            0 => connection.request_connection_ids(count),
            1 => connection.issue_connection_ids(count, ConnectionIdUsage::CidSpare, &mut self.rng),
            2 => connection.issue_connection_ids(count, ConnectionIdUsage::CidImmediate, &mut self.rng),
            _ => {
                let spare = connection.spare_connection_ids();
                assert!(connection.path_changed() <= (spare > 0) && connection.spare_connection_ids() <= spare);
                Ok(())
            }
        };
        match result {
            Ok(()) => {}
            Err(Error::ApiMisuse(ApiMisuse::ConnectionIdsUnderWay)) => assert!(connection.is_connected()),
            Err(error) => assert!(matches!(error, Error::ApiMisuse(_)), "{error:?}"),
        }
    }

    fn send_early_data(&mut self, data: &[u8]) {
        match self.connection.send_early_data(data) {
            Ok(taken) => assert!(self.is_client && (taken == 0 || taken == data.len()), "a part of a datagram is sent"),
            Err(error) => assert!(matches!(error, Error::ApiMisuse(_)), "{error:?}"),
        }
    }

    fn send(&mut self, data: &[u8]) {
        let (was_over, max) = (self.closed || self.failure.is_some(), self.connection.max_message());
        match self.connection.send(data) {
            Ok(taken) => {
                assert!(taken == 0 || taken == data.len(), "a part of a datagram is sent");
                assert!(!was_over && self.connection.may_send() && data.len() <= max);
            }
            Err(error) => assert!(matches!(error, Error::ApiMisuse(_)), "{error:?}"),
        }
    }

    fn sign(&mut self, signature: Result<&[u8], CryptoError>) {
        match self.connection.provide_signature(self.now, &mut self.rng, signature) {
            Err(Error::ApiMisuse(ApiMisuse::NoSignatureDue)) | Ok(()) => {}
            Err(error) => self.fail(error),
        }
    }

    fn pass(&mut self, milliseconds: u64) {
        let Instant(now) = self.now.monotonic;
        let time = now.saturating_add(milliseconds);
        let unix = at((time / 1000).min(3_600)).unix; // never so far that what a mode begins with is over
        self.now = Now::new(Instant(time), self.now.unix.and(unix));
    }

    /// Lets a timer expire: an expired timer sends something, or ends the connection; any other does nothing.
    fn expire(&mut self) {
        let deadline = self.connection.poll_timeout();
        let is_due = deadline.is_some_and(|deadline| deadline <= self.now.monotonic);
        let result = self.connection.handle_timeout(self.now);
        if let Err(error) = &result {
            let is_too_long = *error == InvalidMessage::HandshakeTooLarge.into();
            assert!(is_too_long || matches!(error, Error::TimedOut | Error::AlertReceived(_)), "{error:?}");
            self.fail(*error);
        }
        assert!(result.is_ok() || is_due, "ended before it was time");
        let sent = self.transmit();
        if is_due && result.is_ok() {
            let next = self.connection.poll_timeout();
            // An expired timer sends nothing if all arrived but the answer, and when messages after the handshake are
            // given up.
            let was_heard = self.watch.was_acknowledged || self.watch.was_answered;
            let is_complete = self.connection.is_handshaking() && was_heard && next.is_some();
            let is_given_up = self.connection.is_connected() && next.is_none();
            let is_silent = self.is_dtls13() && (is_complete || is_given_up || self.watch.is_worn());
            assert!(sent > 0 || is_silent, "the timer expired, and nothing is sent");
            assert!(next.is_none_or(|next| next > self.now.monotonic));
        } else if !is_due {
            assert_eq!((sent, self.connection.poll_timeout()), (0, deadline));
        }
    }

    /// Lets the connection read its input, send its output, and report events.
    fn settle(&mut self) {
        loop {
            if self.signs_at_once && self.connection.signature_request().is_some() {
                self.sign(Ok(SIGNATURE));
            }
            let next = self.waiting.pop_front();
            let is_last = next.is_none();
            if let Some(datagram) = next {
                self.take(datagram);
            }
            let needs_signature = self.connection.signature_request().is_some();
            let has_rest = self.waiting.front().is_some();
            self.transmit();
            self.report();
            let has_read = self.read();
            if needs_signature && !self.signs_at_once {
                break;
            }
            if is_last && !has_read && !has_rest && self.connection.signature_request().is_none() {
                break;
            }
        }
        self.check();
    }

    /// Lets the connection read as much of a datagram as it can.
    fn take(&mut self, mut datagram: Vec<u8>) {
        let dropped = self.connection.summary().dropped;
        match self.connection.handle_input(self.now, &mut self.rng, &mut datagram) {
            Ok(taken) => {
                let rest = datagram.split_off(taken);
                if self.connection.summary().dropped == dropped {
                    self.watch.taken(&datagram, self.cid.len(), &self.protection());
                }
                if !rest.is_empty() {
                    self.waiting.push_front(rest);
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// Reads the application data of one datagram.
    fn read(&mut self) -> bool {
        let mut out = [0; 0x4000];
        let early = self.connection.recv_early_data(&mut out);
        if early > 0 {
            self.early.push(out[..early].to_vec());
            assert!(!self.connected && self.connection.summary().early_data == EarlyDataStatus::Accepted);
            assert!(self.early.concat().len() <= MAX_EARLY_DATA);
        }
        let len = self.connection.recv(&mut out);
        if len > 0 {
            self.received.push(out[..len].to_vec());
        }
        let more = self.connection.recv_early_data(&mut out) + self.connection.recv(&mut out);
        assert!(more == 0 && (early == 0 || len == 0), "more than one datagram was kept");
        early + len > 0
    }

    /// Sends the output. Returns how many datagrams that is.
    fn transmit(&mut self) -> usize {
        let (mut out, mut count, mut bytes) = ([0; 0x1000], 0, 0);
        while let Some(len) = self.connection.poll_transmit(self.now, &mut out) {
            assert!(len > 0 && len <= self.max_datagram, "a datagram of {len} bytes");
            self.watch.sent(&out[..len], &self.protection(), self.connection.summary().version);
            self.output.push(out[..len].to_vec());
            (count, bytes) = (count + 1, bytes + len);
            assert!(bytes <= self.max_output, "more waits to be sent than was promised");
        }
        self.has_sent |= count > 0;
        count
    }

    fn report(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => {
                    assert!(!self.connected, "connected twice");
                    self.connected = true;
                    check_peer(&self.connection, self.must_know_peer);
                }
                Event::PeerClosed => {
                    assert!(!self.peer_closed, "closed twice");
                    self.peer_closed = true;
                }
                Event::EarlyData => assert!(!self.is_client),
                Event::NeedSignature => {}
                event => panic!("an unknown event: {event:?}"),
            }
        }
    }

    fn fail(&mut self, error: Error) {
        let before = self.failure.get_or_insert(error);
        assert_eq!(*before, error, "the connection failed twice");
        assert!(
            error.alert().is_none() || self.closed || self.alert_counter.alerts() > 0,
            "no alert was sent for {error:?}"
        );
    }

    /// Checks the invariants that hold at any time.
    fn check(&self) {
        if self.failure.is_some() {
            assert!(!self.connection.is_connected() && !self.connection.is_handshaking());
            assert!(self.connection.signature_request().is_none());
        }
        check_connection(&self.connection, self.requires_extended_master_secret);
        let timer = self.connection.poll_timeout();
        let is_handshaking = self.connection.is_handshaking();
        let is_waiting = is_handshaking && self.connection.signature_request().is_none() && self.has_sent;
        // Without a timer, a loss would never be repaired.
        assert!(timer.is_some() || !is_waiting, "{:?}", self.connection);
        if !self.may_be_dtls13() {
            assert!(timer.is_none() || is_waiting, "{timer:?} {:?}", self.connection); // no answer is awaited
        } else if self.connection.is_connected() && !self.watch.is_blind {
            // The client's last flight, tickets and KeyUpdates are acknowledged.
            assert!(timer.is_none() || self.watch.lacks_ack(), "{timer:?}");
            assert!(timer.is_some() || !self.is_client || self.watch.was_acknowledged, "the last flight may be lost");
        }
    }

    fn is_dtls13(&self) -> bool {
        self.connection.summary().version == Some(ProtocolVersion::TLS_1_3)
    }

    fn may_be_dtls13(&self) -> bool {
        self.connection.summary().version.map_or(self.watch.has_dtls13, |version| version == ProtocolVersion::TLS_1_3)
    }
}

/// The longest flight twice, in datagrams of 50 bytes, and the datagram that overfilled the buffer.
const MAX_FLIGHT: usize = 0x1_0000;

/// The most datagrams that are kept for a connection that waits for a signature.
const MAX_WAITING: usize = 8;

/// The most expiries: more than the retransmissions of a flight, and the ACKs between.
const MAX_EXPIRIES: usize = 12;

/// The early data that a server of [`crate::modes`] accepts.
const MAX_EARLY_DATA: usize = 0x1000;
