//! A machine is one connection, to which operations are applied; its invariants must hold after each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use terse_testkit::forge;
use terse_testkit::pair::at;
use terse_testkit::pki::server_address;
use terse_testkit::rng::SeededRng;
use terse_tls::cache::Scheme;
use terse_tls::crypto::{CryptoError, CryptoProvider, Tls12Nonce};
use terse_tls::summary::{AuthenticatedBy, Mode, Peer};
use terse_tls::{
    ApiMisuse, ClientAuthentication, ClientConfig, ConfigBuilder, Connection, ContentType, Error, Event, Now,
    ProtocolVersion, ServerConfig, Trace, TraceEvent,
};

use crate::input::{BYTE_BY_BYTE, Operation, Shape};
use crate::modes::Tweaks;
use crate::provider::{SIGNATURE, TAG};

/// A connection under test.
pub struct Machine {
    /// The connection itself.
    pub connection: Connection,
    /// The bytes that it sent and that were not taken yet.
    pub output: Vec<u8>,
    /// The application data that it accepted to send.
    pub sent: Vec<u8>,
    /// The application data that it received.
    pub received: Vec<u8>,
    /// Whether it reported that it is connected.
    pub connected: bool,
    provider: CryptoProvider,
    rng: SeededRng,
    now: Now,
    /// The bytes that it did not read yet.
    waiting: Vec<u8>,
    failure: Option<Error>,
    peer_closed: bool,
    closed: bool,
    /// Whether the transport takes no output.
    is_blocked: bool,
    signs_at_once: bool,
    /// Whether unauthenticated peers must be refused.
    must_know_peer: bool,
    requires_extended_master_secret: bool,
    max_output: usize,
    alert_counter: Arc<AlertCounter>,
}

impl Machine {
    /// Creates a client, which has sent its ClientHello.
    pub fn client(mut config: ConfigBuilder<ClientConfig>, tweaks: Tweaks) -> Self {
        let alert_counter = Arc::new(AlertCounter::default());
        config.trace(alert_counter.clone());
        let (provider, max_output) =
            (*config.config().common().provider(), config.config().common().max_send_buffer() + MAX_FLIGHT);
        let (now, mut rng) = (tweaks.now(), SeededRng::new(1));
        let connection =
            Connection::client(Arc::new(config.build().expect("a configuration")), server_address(), now, &mut rng)
                .expect("a client");
        Self::new(connection, provider, max_output, tweaks, rng, alert_counter)
    }

    /// A server.
    pub fn server(mut config: ConfigBuilder<ServerConfig>, tweaks: Tweaks) -> Self {
        let alert_counter = Arc::new(AlertCounter::default());
        config.trace(alert_counter.clone());
        let (provider, max_output) =
            (*config.config().common().provider(), config.config().common().max_send_buffer() + MAX_FLIGHT);
        let must_know_peer = matches!(config.config().client_authentication(), ClientAuthentication::Required(_))
            || config.config().identity().is_some();
        let connection =
            Connection::server(Arc::new(config.build().expect("a configuration")), tweaks.now()).expect("a server");
        Self { must_know_peer, ..Self::new(connection, provider, max_output, tweaks, SeededRng::new(2), alert_counter) }
    }

    fn new(
        connection: Connection,
        provider: CryptoProvider,
        max_output: usize,
        tweaks: Tweaks,
        rng: SeededRng,
        alert_counter: Arc<AlertCounter>,
    ) -> Self {
        let mut machine = Self {
            connection,
            output: Vec::new(),
            sent: Vec::new(),
            received: Vec::new(),
            connected: false,
            provider,
            rng,
            now: tweaks.now(),
            waiting: Vec::new(),
            failure: None,
            peer_closed: false,
            closed: false,
            is_blocked: false,
            signs_at_once: tweaks.signs_at_once(),
            must_know_peer: true,
            requires_extended_master_secret: tweaks.requires_extended_master_secret(),
            max_output,
            alert_counter,
        };
        machine.settle();
        machine
    }

    /// Applies `operation`.
    pub fn apply(&mut self, operation: &Operation) {
        let Operation { shape, kind, body } = operation;
        let content_type = ContentType(*kind);
        let bytes = match Shape::of(*shape) {
            Shape::Raw => body.clone(),
            Shape::Record => forge::plaintext(content_type, body),
            Shape::Sealed => self.sealed(content_type, body, TAG),
            Shape::Message => forge::plaintext(ContentType::HANDSHAKE, &message(*kind, body)),
            Shape::SealedMessage => self.sealed(ContentType::HANDSHAKE, &message(*kind, body), TAG),
            Shape::Forged => self.sealed(content_type, body, !TAG),
            Shape::Call => return self.call(*kind, body),
        };
        let stretch = if shape & BYTE_BY_BYTE == 0 { usize::MAX } else { 1 };
        bytes.chunks(stretch).for_each(|part| self.receive(part));
    }

    /// Receives `bytes` from the transport.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        self.settle();
    }

    /// Makes a call that an application could make.
    pub fn call(&mut self, kind: u8, body: &[u8]) {
        let now = self.now;
        match kind % 16 {
            0 => self.send(body),
            1 => {
                let mut out = vec![0; body.len()];
                let len = self.connection.recv(&mut out);
                self.received.extend_from_slice(&out[..len]);
            }
            2 => self.close(),
            3 => self.misused(|connection| connection.update_keys(!body.is_empty())),
            4 => {
                let mut out = [0; 40];
                let context = body.get(1..);
                self.misused(|connection| connection.export_keying_material(body, context, &mut out));
            }
            5 => {
                if let Err(error) = self.connection.handle_end_of_input(now) {
                    assert_eq!(error, Error::Truncated);
                    self.fail(error);
                }
            }
            6 => {
                self.connection.give_up(now);
                self.closed = true;
            }
            7 => self.sign(Ok(body)),
            8 => self.sign(Err(CryptoError::SigningFailed)),
            9 => self.misused(|connection| connection.send_early_data(body).map(drop)),
            10 => {
                let mut out = vec![0; body.len()];
                self.connection.recv_early_data(&mut out);
            }
            11 => {
                // It never gets so late that tickets of this process expire.
                let seconds = (self.now.monotonic.0 / 1000 + u64::from(kind)).min(3600);
                self.now = Now::new(at(seconds).monotonic, self.now.unix.and(at(seconds).unix));
            }
            12 => self.is_blocked = !self.is_blocked,
            13 => assert!(!format!("{:?} {:?}", self.connection, self.connection.summary()).is_empty()),
            14 => assert_eq!(self.connection.handle_timeout(now), Ok(())),
            _ => assert_eq!(self.connection.poll_timeout(), None),
        }
        self.settle();
    }

    /// Ends the input: the transport ends.
    pub fn end(mut self) -> Self {
        self.is_blocked = false;
        self.signs_at_once = true;
        self.settle();
        self.call(5, &[]);
        self.call(2, &[]);
        self
    }

    /// Returns the error that ended the connection, if one did.
    pub const fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    fn send(&mut self, data: &[u8]) {
        let was_over = self.closed || self.failure.is_some();
        match self.connection.send(data) {
            Ok(taken) => {
                self.sent.extend_from_slice(&data[..taken]);
                assert!(!was_over && self.connection.may_send());
            }
            Err(error) => assert!(matches!(error, Error::ApiMisuse(_)), "{error:?}"),
        }
    }

    fn close(&mut self) {
        self.connection.close();
        self.closed = true;
    }

    fn sign(&mut self, signature: Result<&[u8], CryptoError>) {
        match self.connection.provide_signature(self.now, &mut self.rng, signature) {
            Err(Error::ApiMisuse(ApiMisuse::NoSignatureDue)) => {}
            Err(error) => self.fail(error),
            Ok(()) => {}
        }
    }

    /// Makes a call that can be misused, but must not break anything.
    fn misused(&mut self, call: impl FnOnce(&mut Connection) -> Result<(), Error>) {
        let was_connected = self.connection.is_connected();
        if let Err(error) = call(&mut self.connection) {
            assert!(matches!(error, Error::ApiMisuse(_) | Error::Crypto(CryptoError::InvalidLength)), "{error:?}");
        }
        assert_eq!(was_connected, self.connection.is_connected());
    }

    /// Lets the connection read its input, send its output, and report events.
    fn settle(&mut self) {
        loop {
            if self.signs_at_once && self.connection.signature_request().is_some() {
                self.sign(Ok(SIGNATURE));
            }
            let mut bytes = core::mem::take(&mut self.waiting);
            match self.connection.handle_input(self.now, &mut self.rng, &mut bytes) {
                Ok(taken) => self.waiting = bytes.split_off(taken),
                Err(error) => self.fail(error),
            }
            self.transmit();
            self.report();
            if self.waiting.is_empty() {
                break;
            }
            let needs_signature = self.connection.signature_request().is_some();
            if self.read() == 0 {
                assert!(needs_signature, "input is not taken, and nothing waits to be read");
                if !self.signs_at_once {
                    break;
                }
            }
        }
        self.check();
    }

    fn read(&mut self) -> usize {
        let mut out = [0; 0x4000];
        let early = self.connection.recv_early_data(&mut out);
        let len = self.connection.recv(&mut out);
        self.received.extend_from_slice(&out[..len]);
        early + len
    }

    fn transmit(&mut self) {
        if self.is_blocked {
            return;
        }
        let before = self.output.len();
        let mut out = [0; 1024];
        while let Some(len) = self.connection.poll_transmit(self.now, &mut out) {
            assert!(len > 0 && len <= out.len());
            self.output.extend_from_slice(&out[..len]);
            assert!(self.output.len() - before <= self.max_output, "more waits to be sent than was promised");
        }
    }

    fn report(&mut self) {
        for _ in 0..MAX_EVENTS {
            match self.connection.poll_event() {
                Some(Event::Connected) => {
                    assert!(!self.connected, "connected twice");
                    self.connected = true;
                    check_peer(&self.connection, self.must_know_peer);
                }
                Some(Event::PeerClosed) => {
                    assert!(!self.peer_closed, "closed twice");
                    self.peer_closed = true;
                }
                Some(_) => {}
                None => return,
            }
        }
        panic!("events do not end");
    }

    fn fail(&mut self, error: Error) {
        let before = self.failure.get_or_insert(error);
        assert_eq!(*before, error, "the connection failed twice");
        assert!(!error.to_string().is_empty());
        let is_told = self.closed || self.alert_counter.alerts() > 0;
        assert!(error.alert().is_none() || is_told, "no alert was sent for {error:?}");
    }

    /// Checks the invariants that hold at any time.
    fn check(&mut self) {
        if self.failure.is_some() {
            assert!(!self.connection.is_connected() && !self.connection.is_handshaking());
            assert!(self.connection.signature_request().is_none());
        }
        check_connection(&self.connection, self.requires_extended_master_secret);
    }

    /// Returns a protected record of the transparent provider, whose tag has the bytes `tag`.
    fn sealed(&self, content_type: ContentType, content: &[u8], tag: u8) -> Vec<u8> {
        let (version, tag_len, explicit) = self.protection();
        let tag = vec![tag; tag_len];
        match version {
            ProtocolVersion::TLS_1_2 => forge::plaintext(content_type, &[&vec![0; explicit], content, &tag].concat()),
            _ => forge::plaintext(ContentType::APPLICATION_DATA, &[content, &[content_type.0], &tag].concat()),
        }
    }

    /// Returns the content and type of a protected record that the transparent provider made.
    pub fn unsealed<'a>(&self, record: &'a [u8]) -> Option<(ContentType, &'a [u8])> {
        let (version, tag_len, explicit) = self.protection();
        let (header, body) = record.split_at_checked(forge::HEADER_LEN)?;
        let content = body.get(..body.len().checked_sub(tag_len)?)?;
        match version {
            ProtocolVersion::TLS_1_2 => Some((ContentType(header[0]), content.get(explicit..)?)),
            _ => content.split_last().map(|(content_type, content)| (ContentType(*content_type), content)),
        }
    }

    /// Returns the negotiated version, and the lengths of tag and explicit nonce.
    fn protection(&self) -> (ProtocolVersion, usize, usize) {
        let summary = self.connection.summary();
        let id = summary.cipher_suite;
        match id.and_then(|id| self.provider.tls12_suite(id)) {
            Some(suite) => {
                let explicit = if suite.nonce == Tls12Nonce::Explicit { 8 } else { 0 };
                (ProtocolVersion::TLS_1_2, suite.aead.tag_len(), explicit)
            }
            None => {
                let tag_len = id.and_then(|id| self.provider.tls13_suite(id)).map_or(16, |suite| suite.aead.tag_len());
                (ProtocolVersion::TLS_1_3, tag_len, 0)
            }
        }
    }
}

/// Checks the invariants that hold for any connection at any time.
pub(crate) fn check_connection(connection: &Connection, requires_extended_master_secret: bool) {
    let summary = connection.summary();
    let Peer { identity, psk_identity, identity_based, authenticated_by, .. } = &summary.peer;
    match authenticated_by {
        AuthenticatedBy::None => {}
        AuthenticatedBy::Certificate => assert!(identity.is_some()),
        AuthenticatedBy::CachedCertificate => {
            assert!(
                identity.is_some()
                    && matches!(
                        summary.mode,
                        Mode::Cached(Scheme::Rfc7924) | Mode::Cached(Scheme::Bithac) | Mode::Cached(Scheme::Compact)
                    )
            );
        }
        AuthenticatedBy::Psk => assert!(psk_identity.is_some()),
        AuthenticatedBy::Identity => {
            assert!(identity_based.is_some() && identity.is_none());
            assert!(summary.mode == Mode::Identity && summary.identity_algorithm.is_some());
        }
        _ => panic!("authenticated in an unknown way"),
    }
    let mut out = [0; 32];
    match connection.export_keying_material(b"label", None, &mut out) {
        Ok(()) => assert!(connection.is_connected()),
        // This is allowed without the extended master secret (RFC 7627, 5.4), where that is not required.
        Err(Error::ApiMisuse(ApiMisuse::NoExporter)) => assert!(!requires_extended_master_secret),
        Err(error) => {
            assert_eq!(error, ApiMisuse::HandshakeNotFinished.into());
            assert!(!connection.is_connected());
        }
    }
}

/// Checks what holds once the handshake is complete. With `must_know`, the peer must be authenticated.
pub(crate) fn check_peer(connection: &Connection, must_know: bool) {
    let summary = connection.summary();
    assert!(summary.version.is_some() && summary.cipher_suite.is_some());
    if must_know {
        assert_ne!(summary.peer.authenticated_by, AuthenticatedBy::None, "an unknown peer");
    }
}

/// Returns a handshake message with its header.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let [_, len @ ..] = (body.len() as u32).to_be_bytes();
    [&[kind], &len[..], body].concat()
}

/// Counts the alerts that were sent.
#[derive(Default)]
pub(crate) struct AlertCounter {
    alerts: AtomicU32,
}

impl AlertCounter {
    pub(crate) fn alerts(&self) -> u32 {
        self.alerts.load(Ordering::Relaxed)
    }
}

impl Trace for AlertCounter {
    fn event(&self, event: TraceEvent<'_>) {
        if let TraceEvent::AlertSent(_) = event {
            self.alerts.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The longest flight, and the record that overfilled the buffer, twice.
const MAX_FLIGHT: usize = 0x1_0000;

/// The most events: more than there are.
const MAX_EVENTS: usize = 8;
