//! A connection is the interface of the engine. It has no sockets, no clock and no randomness of its own: bytes go in and
//! out by calls.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::cache::{self, AddressId, CacheSession, StoreAnswer, StoreRequest};
use crate::cert::PresentedPeer;
use crate::config::{ClientConfig, Common, ServerAddress, ServerConfig};
use crate::crypto::{CryptoError, Rng};
use crate::error::{ApiMisuse, Error};
use crate::handshake::{Agreed, Handshake, SignatureRequest};
use crate::handshake::{client::ExpectServerHello, server::ExpectClientHello};
use crate::link::{Halves, make};
use crate::summary::Summary;
use crate::time::{Instant, Now};
use crate::wire::{Alert, AlertDescription, ContentType};
use begin::client_link;
pub(crate) use begin::{BeginKept, begin_kept};
pub(crate) use datagram::AcceptedClientHello;
use datagram::Arrivals;
pub(crate) use datagram_code::DatagramCode;
use ids::Ids;
pub(crate) use paths::MAX_CHECK;
use paths::Paths;

mod begin;
mod datagram;
mod datagram_code;
mod drive;
mod early_data;
mod ids;
mod keys;
mod paths;

/// A TLS connection, client or server.
///
/// # Order of calls
///
/// 1. Make one with [`Connection::client`] or [`Connection::server`].
/// 2. Hand every byte that the transport receives to [`Connection::handle_input`], in order. Whenever it takes fewer
///    bytes than it was given, application data waits: [`Connection::recv`] it, then give the rest again.
/// 3. After each call, send what [`Connection::poll_transmit`] gives, until it gives `None`, and look at
///    [`Connection::poll_event`], until it gives `None`.
/// 4. On [`Event::NeedSignature`], sign what [`Connection::signature_request`] asks for, and hand the signature to
///    [`Connection::provide_signature`]. Until then no more input is taken. The same on [`Event::NeedStore`], which
///    comes only with a store that answers later: [`Connection::store_request`], [`Connection::provide_store_answer`].
/// 5. From [`Event::Connected`] on, [`Connection::send`] takes application data. Early data goes another way, since it
///    can be replayed: [`Connection::send_early_data`], [`Event::EarlyData`].
/// 6. At the end call [`Connection::close`] and transmit once more. When the transport itself ends, call
///    [`Connection::handle_end_of_input`]: it tells whether the peer was done.
///
/// Any error but [`Error::ApiMisuse`] is the end of the connection; an alert for the peer may wait in `poll_transmit`.
/// Nothing that comes in makes a call panic. Nothing larger than [`Common::max_handshake_message`] and one record is
/// buffered of what comes in, nothing larger than [`Common::max_send_buffer`] and one flight of what goes out:
/// [`crate::Memory`] has the sum.
pub struct Connection {
    link: Box<dyn Halves>,
    /// What is done over datagrams alone; `None` over a stream.
    over_datagrams: Option<&'static DatagramCode>,
    /// `None` once the connection has failed.
    handshake: Option<Handshake>,
    config: Arc<dyn Config>,
    /// The session with a client's cache, in a box because most connections have none.
    cache: Option<Box<dyn CacheSession>>,
    agreed: Agreed,
    client_address: Option<AddressId>,
    summary: Summary,
    started: Instant,
    connected: Progress,
    needs_signature: Progress,
    needs_store: Progress,
    /// Whether the data that waits to be read is early data.
    early_data: Progress,
    peer_closed: Progress,
    closed: bool,
    failure: Option<Error>,
    /// Whether the last input was not taken whole, so that the next input is its rest.
    has_rest: bool,
    /// The facts about received records for the endpoint that the connection belongs to.
    arrivals: Arrivals,
    paths: Paths,
    ids: Ids,
}

/// The configuration of either side. A connection has it behind a vtable, so that a client has nothing of a server's.
trait Config: Send + Sync {
    fn common(&self) -> &Common;

    /// Returns the configuration of a client.
    fn as_client(&self) -> Option<&ClientConfig> {
        None
    }
}

impl Config for ClientConfig {
    fn common(&self) -> &Common {
        &self.common
    }

    fn as_client(&self) -> Option<&ClientConfig> {
        Some(self)
    }
}

impl Config for ServerConfig {
    fn common(&self) -> &Common {
        &self.common
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
    /// The private key answered [`crate::crypto::Signing::Pending`]: see [`Connection::signature_request`].
    NeedSignature,
    /// On a server: its store answered [`core::task::Poll::Pending`]: see [`Connection::store_request`].
    NeedStore,
    /// On a server: early data waits in [`Connection::recv_early_data`]. Until it is read, no more input is taken.
    EarlyData,
    /// The peer sent `close_notify`: it sends nothing more.
    PeerClosed,
}

impl Connection {
    /// Creates a client that connects to `server`. Its ClientHello waits in [`Connection::poll_transmit`].
    pub fn client(
        config: Arc<ClientConfig>,
        server: ServerAddress,
        now: Now,
        rng: &mut dyn Rng,
    ) -> Result<Self, Error> {
        if let Some(cache) = &config.cache {
            cache.store.seed(rng);
        }
        let identity = match &config.identity {
            Some(identity) => (identity.begin)(&config, &server, now, rng)?,
            None => None,
        };
        // Nothing is kept of a handshake that offers an identity but what the identity needs.
        let begin = config.begin_kept.filter(|_| identity.is_none());
        let (cache, resumption) = begin.map_or((None, None), |begin| begin(&config, &server, now));
        let (link, over_datagrams) = client_link(&config, rng)?;
        let mut connection = Self::new(config.clone(), link, over_datagrams, now);
        connection.cache = cache;
        let (_, mut output) = connection.output(now, rng);
        let state = ExpectServerHello::start(config.clone(), server, resumption, identity, &mut output)?;
        connection.proceed(state, now);
        Ok(connection)
    }

    /// Creates a server that waits for a client. Over datagrams the first client is its only peer: a server that anybody can
    /// reach, or that has connection IDs, needs an [`Endpoint`](crate::Endpoint).
    pub fn server(config: Arc<ServerConfig>, now: Now) -> Result<Self, Error> {
        let over_datagrams = config.common.datagrams.map(|_| DatagramCode::CODE);
        let mut connection = Self::new(config.clone(), make::server(&config), over_datagrams, now);
        connection.handshake = Some(Box::new(ExpectClientHello::new(config)));
        Ok(connection)
    }

    #[inline(never)]
    fn new(
        config: Arc<dyn Config>,
        link: Box<dyn Halves>,
        over_datagrams: Option<&'static DatagramCode>,
        now: Now,
    ) -> Self {
        let transport = config.common().transport();
        Self {
            link,
            over_datagrams,
            handshake: None,
            config,
            cache: None,
            agreed: Agreed::default(),
            client_address: None,
            summary: Summary { transport, ..Summary::default() },
            started: now.monotonic,
            connected: Progress::Due,
            needs_signature: Progress::Due,
            needs_store: Progress::Due,
            early_data: Progress::Due,
            peer_closed: Progress::Due,
            closed: false,
            failure: None,
            has_rest: false,
            arrivals: Arrivals::default(),
            paths: Paths::default(),
            ids: Ids::default(),
        }
    }

    /// Takes received bytes, and decrypts them in place. Returns how many were taken, which is fewer than given only while
    /// application data waits for [`Connection::recv`] or [`Connection::recv_early_data`], or the handshake for
    /// [`Connection::provide_signature`] or [`Connection::provide_store_answer`].
    pub fn handle_input(&mut self, now: Now, rng: &mut dyn Rng, input: &mut [u8]) -> Result<usize, Error> {
        if let Some(error) = &self.failure {
            return Err(*error);
        }
        if !self.has_rest && !input.is_empty() {
            self.summary.received.datagrams += u32::from(self.is_datagram() && self.is_handshaking());
        }
        let taken = self.handle_records(now, rng, input).map_err(|error| self.fail(error, now))?;
        self.has_rest = taken < input.len();
        Ok(taken)
    }

    /// Handles the end of the stream. Returns an error if the peer has not sent close_notify before.
    pub fn handle_end_of_input(&mut self, now: Now) -> Result<(), Error> {
        if self.peer_closed != Progress::Due || self.failure.is_some() {
            return Ok(());
        }
        self.abandon(Error::Truncated, cache::Failure::TimeoutOrClose, now);
        Err(Error::Truncated)
    }

    /// Moves bytes for the transport to `out`: of a stream, or one datagram of at most [`crate::Datagrams::max_datagram`] bytes.
    /// Returns how many, or `None` if there are none.
    pub fn poll_transmit(&mut self, now: Now, out: &mut [u8]) -> Option<usize> {
        if self.store_request().is_some() {
            return None; // docs/caching.md, 4.2: nor is anything acknowledged meanwhile
        }
        if let Some(code) = self.over_datagrams {
            (code.answer_challenges)(self);
        }
        let len = self.link.sender_mut().transmit(now.monotonic, out);
        if let Some(sent) = self.link.datagrams_mut().and_then(|link| link.take_sent())
            && let Some(code) = self.over_datagrams
        {
            (code.count_sent)(self, &sent);
        }
        (len > 0).then_some(len)
    }

    /// Returns the next event since the last call. Each event is returned once.
    pub fn poll_event(&mut self) -> Option<Event> {
        for (progress, event) in [
            (&mut self.needs_signature, Event::NeedSignature),
            (&mut self.needs_store, Event::NeedStore),
            (&mut self.early_data, Event::EarlyData),
            (&mut self.connected, Event::Connected),
            (&mut self.peer_closed, Event::PeerClosed),
        ] {
            if *progress == Progress::Happened {
                *progress = Progress::Reported;
                return Some(event);
            }
        }
        None
    }

    /// Returns whether [`Self::send`] takes data: once the handshake is complete, and on a server also from the first early
    /// data on. The answer to early data need not wait for the client's Finished (RFC 9846, 4.5.3); only the client can read
    /// it. But there is no proof yet that the client is there now: what is answered may be a replay that the server did not
    /// recognize.
    pub fn may_send(&self) -> bool {
        self.is_connected() || self.handshake.as_ref().is_some_and(|state| state.has_early_data())
    }

    /// Takes application data to send, if [`Self::may_send`]. Returns how many bytes were taken: fewer than given while more than
    /// [`Common::max_send_buffer`] bytes wait in [`Connection::poll_transmit`]. Over datagrams it makes one datagram of
    /// them, of at most [`Self::max_message`] bytes, and takes all or none.
    pub fn send(&mut self, data: &[u8]) -> Result<usize, Error> {
        if self.closed || self.failure.is_some() {
            return Err(ApiMisuse::Closed.into());
        }
        if !self.may_send() {
            return Err(ApiMisuse::HandshakeNotFinished.into());
        }
        let produced = self.link.sender().produced();
        let taken = self.send_records(data)?;
        if !self.is_connected() {
            self.summary.sent.early_data_bytes += self.link.sender().produced() - produced;
        }
        Ok(taken)
    }

    fn send_records(&mut self, data: &[u8]) -> Result<usize, Error> {
        let max_fragment = self.link.sender().max_fragment();
        if self.is_datagram() && data.len() > max_fragment {
            return Err(ApiMisuse::MessageTooLong.into());
        }
        let mut taken = 0;
        for fragment in data.chunks(max_fragment.max(1)) {
            let sender = self.link.sender();
            if sender.pending() >= self.config.common().max_send_buffer {
                break;
            }
            let wants_update = self.owes_key_update() || (self.can_update_keys() && sender.key_nears_limit());
            if wants_update && sender.can_update_keys() {
                self.update_keys(false)?; // RFC 9846, 5.5 and 4.7.3
            }
            if self.link.sender().key_is_exhausted() {
                return if taken > 0 { Ok(taken) } else { Err(ApiMisuse::KeyExhausted.into()) };
            }
            self.link.sender_mut().record(ContentType::APPLICATION_DATA, fragment)?;
            taken += fragment.len();
        }
        Ok(taken)
    }

    /// Returns how many bytes of application data fit into one record, and over datagrams into one [`Self::send`]. Over
    /// datagrams it becomes less when flights are lost again and again, since the path may have a smaller MTU than was
    /// configured.
    pub fn max_message(&self) -> usize {
        self.link.sender().max_fragment()
    }

    /// Moves received application data to `out`, but no early data. Returns how many bytes; 0 when there are none. Over
    /// datagrams they are of one datagram; of one that is longer than `out`, the next call gives more.
    pub fn recv(&mut self, out: &mut [u8]) -> usize {
        if self.early_data == Progress::Due { self.link.receiver_mut().plaintext_mut().read(out) } else { 0 }
    }

    /// Closes this side: `close_notify` waits in [`Connection::poll_transmit`], or `user_canceled` if the handshake is not
    /// complete. Data that the peer still sends can be received.
    pub fn close(&mut self) {
        if self.closed || self.failure.is_some() {
            return;
        }
        self.closed = true;
        let warning = |description| Alert { level: Alert::WARNING, description };
        if self.is_connected() {
            if let Some(session) = &mut self.cache {
                session.closed();
            }
            return self.send_alert(warning(AlertDescription::CLOSE_NOTIFY));
        }
        // RFC 9846, 6.1: user_canceled, then close_notify. But that of a server would tell the client that its Finished
        // was verified (docs/caching.md, 4.2).
        match self.is_client() {
            false => self.send_alert(warning(AlertDescription::USER_CANCELED)),
            true => {
                if self.link.sender_mut().alert(warning(AlertDescription::USER_CANCELED)).is_ok() {
                    self.send_alert(warning(AlertDescription::CLOSE_NOTIFY));
                }
            }
        }
        self.handshake = None;
        self.failure = Some(ApiMisuse::Closed.into());
    }

    /// Closes this side because the application has waited long enough for the peer. The cache remembers the failure
    /// (docs/caching.md, 4.2), unless the peer has confirmed the handshake.
    pub fn give_up(&mut self, now: Now) {
        self.close();
        if let Some(session) = &mut self.cache {
            session.failed(cache::Failure::TimeoutOrClose, now);
        }
    }

    /// Returns what an external private key must sign, after [`Event::NeedSignature`].
    pub fn signature_request(&self) -> Option<&SignatureRequest> {
        self.handshake.as_ref().and_then(|state| state.signature_request())
    }

    /// Takes the answer to [`Connection::signature_request`]. The handshake continues, or fails with the signer's error.
    pub fn provide_signature(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        signature: Result<&[u8], CryptoError>,
    ) -> Result<(), Error> {
        if self.signature_request().is_none() {
            return Err(ApiMisuse::NoSignatureDue.into());
        }
        match signature {
            Ok(signature) => self.handle_signature(now, rng, signature).map_err(|error| self.fail(error, now)),
            Err(error) => Err(self.fail(error.into(), now)),
        }
    }

    /// Returns the request to a server's store, after [`Event::NeedStore`]. The application asks the store in its own way, and
    /// may take any time. Meanwhile no input is taken, nothing is sent and no timer runs; datagrams that arrive are lost, and
    /// retransmitted by the peer. [`Connection::close`] and [`Connection::give_up`] end the wait.
    pub fn store_request(&self) -> Option<&StoreRequest> {
        self.handshake.as_ref().and_then(|state| state.store_request())
    }

    /// Takes the answer to [`Connection::store_request`]. The handshake continues, and may ask again: for another ticket, or
    /// to commit.
    ///
    /// Whoever has an [`Endpoint`](crate::Endpoint) calls
    /// [`Endpoint::provide_store_answer`](crate::Endpoint::provide_store_answer).
    pub fn provide_store_answer(&mut self, now: Now, rng: &mut dyn Rng, answer: StoreAnswer) -> Result<(), Error> {
        if !self.store_request().is_some_and(|request| answer.answers(request)) {
            return Err(ApiMisuse::NoStoreAnswerDue.into());
        }
        self.handle_store_answer(now, rng, answer).map_err(|error| self.fail(error, now))
    }

    /// Returns whether the handshake waits for the application.
    pub(crate) fn is_waiting(&self) -> bool {
        self.signature_request().is_some() || self.store_request().is_some()
    }

    /// Returns whether this side is the client.
    pub fn is_client(&self) -> bool {
        self.config.as_client().is_some()
    }

    /// Returns whether the handshake is complete and the connection has not failed.
    pub fn is_connected(&self) -> bool {
        self.handshake.as_ref().is_some_and(|state| state.is_finished())
    }

    /// Returns whether the handshake is not complete yet.
    pub fn is_handshaking(&self) -> bool {
        self.handshake.as_ref().is_some_and(|state| !state.is_finished())
    }

    /// Returns the summary of what the connection did.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the chain or raw public key of a peer that was taken unverified ([`Trust::unverified`](crate::Trust::unverified)),
    /// once the handshake is complete; `None` if the peer was verified, or has presented nothing. The peer has the private
    /// key, and may be anybody.
    pub fn presented(&self) -> Option<&PresentedPeer> {
        self.agreed.presented.as_deref().filter(|_| self.connected != Progress::Due)
    }

    /// Returns the negotiated application protocol (ALPN, RFC 7301).
    pub fn alpn_protocol(&self) -> Option<&[u8]> {
        self.agreed.application_protocol.as_deref()
    }

    /// Returns the server name that the client sent (SNI, RFC 6066, 3), on a server.
    pub fn server_name(&self) -> Option<&str> {
        self.agreed.server_name.as_deref()
    }
}

impl core::fmt::Debug for Connection {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Connection")
            .field("is_client", &self.is_client())
            .field("connected", &self.is_connected())
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}
