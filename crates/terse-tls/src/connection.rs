//! A connection: the engine's face. No sockets, no clock, no randomness of its own; bytes go in and out by calls.

use alloc::sync::Arc;

use crate::cache::{self, ClientSession, Scope, ServerId};
use crate::cert::PeerRole;
use crate::config::{ClientConfig, Common, ServerAddress, ServerConfig, TraceEvent};
use crate::crypto::Rng;
use crate::error::{ApiMisuse, Error, PeerMisbehaved};
use crate::handshake::{Agreed, Handshake, Message, Output, Receive, client::ExpectServerHello};
use crate::handshake::{server::ExpectClientHello, tls13::traffic::Traffic};
use crate::link::Link as _;
use crate::link::stream::{Received, Receiver, Sender};
use crate::record::stream::RecordKey;
use crate::summary::{Summary, Transport};
use crate::time::{Instant, Now};
use crate::wire::{Alert, AlertDescription, ContentType, ProtocolVersion};

/// A TLS connection, client or server.
///
/// # Order of calls
///
/// 1. Make one with [`Connection::client`] or [`Connection::server`].
/// 2. Hand every byte that the transport receives to [`Connection::handle_input`], in order. Whenever it takes fewer
///    bytes than it was given, application data waits: [`Connection::recv`] it, then give the rest again.
/// 3. After each call, send what [`Connection::poll_transmit`] gives, until it gives `None`, and look at
///    [`Connection::poll_event`], until it gives `None`.
/// 4. From [`Event::Connected`] on, [`Connection::send`] takes application data.
/// 5. At the end call [`Connection::close`] and transmit once more. When the transport itself ends, call
///    [`Connection::handle_end_of_input`]: it tells whether the peer was done.
///
/// Any error but [`Error::ApiMisuse`] is the end of the connection; an alert for the peer may wait in `poll_transmit`.
/// Nothing that comes in makes a call panic. Nothing larger than [`Common::max_handshake_message`] and one record is
/// buffered of what comes in, nothing larger than [`Common::max_send_buffer`] and one flight of what goes out.
pub struct Connection {
    receiver: Receiver,
    sender: Sender,
    /// `None` once the connection has failed.
    handshake: Option<Handshake>,
    config: Config,
    cache: Option<ClientSession>,
    agreed: Agreed,
    summary: Summary,
    started: Instant,
    connected: Progress,
    peer_closed: Progress,
    closed: bool,
    failure: Option<Error>,
}

enum Config {
    Client(Arc<ClientConfig>),
    Server(Arc<ServerConfig>),
}

impl Config {
    fn common(&self) -> &Common {
        match self {
            Self::Client(config) => &config.common,
            Self::Server(config) => &config.common,
        }
    }
}

/// Something that happens once and is reported once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Due,
    Happened,
    Reported,
}

/// What [`Connection::poll_event`] reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete: application data may be sent, and [`Connection::summary`] tells what it took.
    Connected,
    /// The peer sent `close_notify`: it sends nothing more.
    PeerClosed,
}

impl Connection {
    /// A client that connects to `server`. Its ClientHello waits in [`Connection::poll_transmit`].
    pub fn client(
        config: Arc<ClientConfig>,
        server: ServerAddress,
        now: Now,
        rng: &mut dyn Rng,
    ) -> Result<Self, Error> {
        config.check()?;
        let cache = config.cache.as_ref().map(|cache| begin_caching(&config, cache, &server, now));
        let sender = Sender::new(config.compatibility_mode);
        let mut connection = Self::new(Config::Client(config.clone()), sender, now);
        connection.cache = cache;
        let mut output = Output {
            link: &mut connection.sender,
            rng,
            now,
            summary: &mut connection.summary,
            agreed: &mut connection.agreed,
            cache: connection.cache.as_mut(),
            trace: config.common.trace.as_deref(),
            receive: Receive::default(),
        };
        let state = ExpectServerHello::start(config.clone(), server, &mut output)?;
        connection.proceed(Handshake::Client(state), now);
        Ok(connection)
    }

    /// A server that waits for a client.
    pub fn server(config: Arc<ServerConfig>, now: Now) -> Result<Self, Error> {
        config.check()?;
        let mut connection = Self::new(Config::Server(config.clone()), Sender::new(false), now);
        connection.handshake = Some(Handshake::Server(ExpectClientHello::new(config)));
        Ok(connection)
    }

    fn new(config: Config, sender: Sender, now: Now) -> Self {
        #[cfg(feature = "testing")]
        let sender = sender.with_fault(config.common().fault.clone());
        Self {
            receiver: Receiver::new(config.common().max_handshake_message),
            sender,
            handshake: None,
            config,
            cache: None,
            agreed: Agreed::default(),
            summary: Summary { transport: Transport::Stream, ..Summary::default() },
            started: now.monotonic,
            connected: Progress::Due,
            peer_closed: Progress::Due,
            closed: false,
            failure: None,
        }
    }

    /// Takes bytes of the stream; they are decrypted in place. Returns how many were taken: fewer than given only while
    /// application data waits for [`Connection::recv`].
    pub fn handle_input(&mut self, now: Now, rng: &mut dyn Rng, input: &mut [u8]) -> Result<usize, Error> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let mut taken = 0;
        while taken < input.len() && !self.receiver.has_plaintext() {
            if self.peer_closed != Progress::Due {
                return Ok(input.len()); // RFC 9846, 6.1: what follows close_notify is ignored
            }
            match self.handle_record(now, rng, &mut input[taken..]) {
                Ok(len) => taken += len,
                Err(error) => return Err(self.fail(error, now)),
            }
        }
        Ok(taken)
    }

    /// The transport came to its end. An error if the peer had not said so before.
    pub fn handle_end_of_input(&mut self, now: Now) -> Result<(), Error> {
        if self.peer_closed != Progress::Due || self.failure.is_some() {
            return Ok(());
        }
        self.abandon(Error::Truncated, cache::Failure::TimeoutOrClose, now);
        Err(Error::Truncated)
    }

    /// Moves bytes for the transport to `out`. Returns how many, or `None` when there are none.
    pub fn poll_transmit(&mut self, _now: Now, out: &mut [u8]) -> Option<usize> {
        match self.sender.transmit(out) {
            0 => None,
            len => Some(len),
        }
    }

    /// What happened since the last call, each thing once.
    pub fn poll_event(&mut self) -> Option<Event> {
        for (progress, event) in [(&mut self.connected, Event::Connected), (&mut self.peer_closed, Event::PeerClosed)] {
            if *progress == Progress::Happened {
                *progress = Progress::Reported;
                return Some(event);
            }
        }
        None
    }

    /// When [`Connection::handle_timeout`] wants to be called: never on a stream.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, _now: Now) -> Result<(), Error> {
        Ok(())
    }

    /// Takes application data to send. Returns how many bytes were taken: fewer than given while more than
    /// [`Common::max_send_buffer`] bytes wait in [`Connection::poll_transmit`].
    pub fn send(&mut self, data: &[u8]) -> Result<usize, Error> {
        if self.closed || self.failure.is_some() {
            return Err(ApiMisuse::Closed.into());
        }
        if !self.is_connected() {
            return Err(ApiMisuse::HandshakeNotFinished.into());
        }
        let mut taken = 0;
        for fragment in data.chunks(self.sender.max_fragment()) {
            if self.sender.pending() >= self.config.common().max_send_buffer {
                break;
            }
            if self.sender.key_is_worn() || self.owes_key_update() {
                self.update_keys(false)?; // RFC 9846, 5.5 and 4.7.3
            }
            self.sender.record(ContentType::APPLICATION_DATA, fragment)?;
            taken += fragment.len();
        }
        Ok(taken)
    }

    /// Moves received application data to `out`. Returns how many bytes; 0 when there are none.
    pub fn recv(&mut self, out: &mut [u8]) -> usize {
        self.receiver.read(out)
    }

    /// Says goodbye: `close_notify` waits in [`Connection::poll_transmit`], or `user_canceled` while the
    /// handshake is not complete. What the peer still sends can be received.
    pub fn close(&mut self) {
        if self.closed || self.failure.is_some() {
            return;
        }
        self.closed = true;
        let warning = |description| Alert { level: Alert::WARNING, description };
        if self.is_connected() {
            return self.send_alert(warning(AlertDescription::CLOSE_NOTIFY));
        }
        // RFC 9846, 6.1: user_canceled, then close_notify. But that of a server would tell the client that its Finished
        // was verified (`caching`, rule 2).
        match &self.config {
            Config::Server(_) => self.send_alert(warning(AlertDescription::USER_CANCELED)),
            Config::Client(_) => {
                if self.sender.warn(warning(AlertDescription::USER_CANCELED)).is_ok() {
                    self.send_alert(warning(AlertDescription::CLOSE_NOTIFY));
                }
            }
        }
        self.handshake = None;
        self.failure = Some(ApiMisuse::Closed.into());
    }

    /// The application has waited long enough for the peer. Says goodbye, and remembers the failure for the cache
    /// (`caching`, rule 2), unless the peer had confirmed the handshake.
    pub fn give_up(&mut self, now: Now) {
        self.close();
        if let Some(session) = &mut self.cache {
            session.failed(cache::Failure::TimeoutOrClose, now);
        }
    }

    /// Whether the handshake is complete and the connection has not failed.
    pub fn is_connected(&self) -> bool {
        self.handshake.as_ref().is_some_and(Handshake::is_finished)
    }

    /// Whether the handshake is still going on.
    pub fn is_handshaking(&self) -> bool {
        self.handshake.as_ref().is_some_and(|handshake| !handshake.is_finished())
    }

    /// What the connection did.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The application protocol that was agreed on (ALPN, RFC 7301).
    pub fn alpn_protocol(&self) -> Option<&[u8]> {
        self.agreed.application_protocol.as_deref()
    }

    /// On a server, the name that the client asked for (SNI, RFC 6066, 3).
    pub fn server_name(&self) -> Option<&str> {
        self.agreed.server_name.as_deref()
    }

    /// Changes the key that this side sends with, and asks the peer to do the same (RFC 9846, 4.7.3).
    pub fn update_keys(&mut self, request_peer: bool) -> Result<(), Error> {
        let Some(Handshake::Tls13Traffic(traffic)) = &mut self.handshake else {
            return Err(ApiMisuse::HandshakeNotFinished.into());
        };
        let before = self.sender.produced();
        let mut output = Output {
            link: &mut self.sender,
            rng: &mut NoRandomness,
            now: Now { monotonic: self.started, unix: None },
            summary: &mut self.summary,
            agreed: &mut self.agreed,
            cache: None,
            trace: self.config.common().trace.as_deref(),
            receive: Receive::default(),
        };
        traffic.update_keys(request_peer, &mut output)?;
        self.summary.sent.post_handshake_bytes += self.sender.produced() - before;
        Ok(())
    }

    /// Fills `out` with a secret that both sides share, for `label` and `context` (RFC 9846, 7.5).
    pub fn export_keying_material(&self, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let Some(Handshake::Tls13Traffic(traffic)) = &self.handshake else {
            return Err(ApiMisuse::HandshakeNotFinished.into());
        };
        Ok(traffic.exporter().export(label, context, out)?)
    }

    fn owes_key_update(&self) -> bool {
        matches!(&self.handshake, Some(Handshake::Tls13Traffic(traffic)) if traffic.owes_update())
    }

    /// Takes up to the end of one record.
    fn handle_record(&mut self, now: Now, rng: &mut dyn Rng, input: &mut [u8]) -> Result<usize, Error> {
        let was_connected = self.is_connected();
        let (taken, received) = self.receiver.receive(input)?;
        if !was_connected {
            self.summary.received.record_bytes += taken as u64;
        }
        match received {
            Received::Nothing => {}
            Received::Handshake => {
                if was_connected {
                    self.summary.received.post_handshake_bytes += self.receiver.last_record_len() as u64;
                }
                self.handle_messages(now, rng)?;
            }
            Received::ApplicationData => self.handle_application_data()?,
            Received::Alert(alert) => self.handle_alert(alert)?,
        }
        Ok(taken)
    }

    fn handle_messages(&mut self, now: Now, rng: &mut dyn Rng) -> Result<(), Error> {
        while let Some(bytes) = self.receiver.message()? {
            let len = bytes.len();
            let message = Message::new(bytes)?;
            let handshake = self.handshake.take().ok_or(ApiMisuse::Closed)?;
            self.summary.received.count_message(message.kind, len);
            let common = self.config.common();
            if let Some(trace) = &common.trace {
                trace.event(TraceEvent::Received(message.kind, len));
            }
            let produced = self.sender.produced();
            let was_finished = handshake.is_finished();
            let mut output = Output {
                link: &mut self.sender,
                rng,
                now,
                summary: &mut self.summary,
                agreed: &mut self.agreed,
                cache: self.cache.as_mut(),
                trace: common.trace.as_deref(),
                receive: Receive::default(),
            };
            let handshake = handshake.handle(message, &mut output)?;
            let receive = output.receive;
            if was_finished {
                self.summary.sent.post_handshake_bytes += self.sender.produced() - produced;
            }
            self.receiver.consume(len);
            if let Some(secret) = receive.keys {
                self.receiver.new_key(RecordKey::new(&secret)?)?;
            }
            if let Some(skip) = receive.skip_early_data {
                self.receiver.skip_early_data(skip);
            }
            if let Some(max_inner) = receive.max_inner {
                self.receiver.limit_records(max_inner);
            }
            self.proceed(handshake, now);
        }
        Ok(())
    }

    /// Enters the next state.
    fn proceed(&mut self, handshake: Handshake, now: Now) {
        self.receiver.ignore_change_cipher_spec(handshake.ignores_change_cipher_spec());
        if handshake.is_finished() && self.connected == Progress::Due {
            self.connected = Progress::Happened;
            self.summary.handshake_ms = now.monotonic.since(self.started);
            self.summary.sent.record_bytes = self.sender.produced();
        }
        self.handshake = Some(handshake);
    }

    fn handle_application_data(&mut self) -> Result<(), Error> {
        let Some(Handshake::Tls13Traffic(traffic)) = &mut self.handshake else {
            return Err(PeerMisbehaved::UnexpectedRecord(ContentType::APPLICATION_DATA).into());
        };
        if self.receiver.has_plaintext() {
            Traffic::received_data(traffic);
        }
        if let Some(session) = &mut self.cache {
            session.confirmed();
        }
        Ok(())
    }

    /// RFC 9846, 6
    fn handle_alert(&mut self, alert: Alert) -> Result<(), Error> {
        if let Some(trace) = &self.config.common().trace {
            trace.event(TraceEvent::AlertReceived(alert.description));
        }
        match alert.description {
            AlertDescription::CLOSE_NOTIFY if self.is_connected() => {
                self.peer_closed = Progress::Happened;
                if let Some(session) = &mut self.cache {
                    session.confirmed();
                    session.release();
                }
                Ok(())
            }
            AlertDescription::USER_CANCELED => Ok(self.receiver.ignored()?), // close_notify follows
            description => Err(Error::AlertReceived(description)),
        }
    }

    /// The connection is over: tells the peer and the cache.
    fn fail(&mut self, error: Error, now: Now) -> Error {
        self.receiver.discard();
        if let Some(description) = error.alert().filter(|_| !self.closed) {
            self.send_alert(Alert { level: Alert::FATAL, description });
        }
        let failure = match error {
            Error::AlertReceived(AlertDescription::CLOSE_NOTIFY) => cache::Failure::TimeoutOrClose,
            _ => cache::Failure::AlertOrFailedCheck,
        };
        self.abandon(error.clone(), failure, now);
        error
    }

    fn abandon(&mut self, error: Error, failure: cache::Failure, now: Now) {
        if let Some(session) = &mut self.cache {
            session.failed(failure, now);
        }
        if self.connected == Progress::Due {
            self.summary.sent.record_bytes = self.sender.produced();
        }
        self.handshake = None;
        self.failure = Some(error);
    }

    fn send_alert(&mut self, alert: Alert) {
        // If even this fails, the transport's end will have to tell the peer.
        if self.sender.alert(alert).is_ok()
            && let Some(trace) = &self.config.common().trace
        {
            trace.event(TraceEvent::AlertSent(alert.description));
        }
    }
}

impl core::fmt::Debug for Connection {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Connection")
            .field("is_client", &matches!(self.config, Config::Client(_)))
            .field("connected", &self.is_connected())
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

/// What a client offers from its cache to `server`.
fn begin_caching(
    config: &ClientConfig,
    cache: &crate::cache::ClientCache,
    server: &ServerAddress,
    now: Now,
) -> ClientSession {
    let common = &config.common;
    let own_certificate = config.credential.as_ref().map(|credential| credential.fingerprint());
    let scope = Scope {
        server: ServerId::new(&server.name),
        port: server.port,
        transport: Transport::Stream,
        credential: own_certificate,
    };
    let role = PeerRole::Server(&server.name);
    let context = cache::Context {
        now,
        trust_id: config.trust.id(common.provider.sha256, role, &common.signature_schemes, now.unix),
        own_certificate,
        without_clock: config.trust.accepts_without_clock(),
        version: ProtocolVersion::TLS_1_3,
    };
    ClientSession::begin(cache, scope, context)
}

/// For calls that need none.
struct NoRandomness;

impl Rng for NoRandomness {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), crate::crypto::CryptoError> {
        Err(crate::crypto::CryptoError::RandomFailed)
    }
}
