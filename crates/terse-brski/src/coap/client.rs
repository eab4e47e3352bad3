//! The client: one request at a time, confirmable, in as many blocks as it takes.
//!
//! ```text
//!   request   -> (Block1)* -> response -> (Block2)* -> poll_response
//!   each block: sent until it is acknowledged (4.2); answered in the acknowledgement, or later by a message of its own (5.2)
//! ```
//!
//! What must always hold: there is a timer while a request is outstanding; a response counts only with the token of the
//! exchange; what is kept of a response has at most the bytes that the configuration allows; a request with all its blocks ends
//! after the time that the configuration allows.

use alloc::collections::VecDeque;
use core::fmt;

use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{Instant, Now};

use super::message::{Kind, Message};
use super::transmission::after;
use super::{BlockSize, Code, PathForm, Request, Response, Transmission};

mod body;
mod exchange;
mod failure;
mod progress;

use exchange::{Exchange, Tokens};
pub use failure::Failure;
pub(super) use progress::check_options;
use progress::{Progress, Step};

/// How a client behaves.
///
/// # Defaults
///
/// Transmission parameters as in the RFC, blocks of 512 bytes, responses of at most 16 kB, Uri-Path-Abbrev, and after an
/// acknowledgement as much patience for the response as for acknowledgements. A request with all its blocks may take five
/// minutes: more than the 186 s after which one exchange is given up at the latest, and more than the 247 s
/// (EXCHANGE_LIFETIME) for which a server keeps what was not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientConfig {
    /// The transmission parameters.
    pub transmission: Transmission,
    /// The size of blocks, which a server may make smaller: requests that are longer are sent in blocks, and responses are
    /// asked for in such. Where records or datagrams are limited, it is [`BlockSize::for_datagram`] of the limit: a block of 512
    /// bytes does not fit into a record of 512.
    pub block_size: BlockSize,
    /// The longest payload of a response that is taken, in bytes.
    pub max_response: usize,
    /// How long an acknowledged request waits for its response, in milliseconds.
    pub response_timeout_ms: u64,
    /// How long a request may take with all its blocks, in milliseconds. Without such a limit a server that answers each block
    /// just before its timeout would hold a client for days.
    pub request_timeout_ms: u64,
    /// How requests name their resource. A client that abbreviates falls back to `PathForm::WellKnown` when the server does
    /// not understand it, and keeps to that.
    pub path_form: PathForm,
}

impl Default for ClientConfig {
    fn default() -> Self {
        let transmission = Transmission::default();
        Self {
            transmission,
            block_size: BlockSize::at_most(512),
            max_response: 16_384,
            response_timeout_ms: transmission.max_transmit_wait_ms(),
            request_timeout_ms: 300_000,
            path_form: PathForm::Abbreviated,
        }
    }
}

/// A client of one server, on one path.
pub struct Client {
    config: ClientConfig,
    path_form: PathForm,
    next_id: u16,
    tokens: Tokens,
    exchange: Option<Exchange>,
    /// When the request that is outstanding is given up.
    deadline: Instant,
    /// Empty messages to send.
    replies: VecDeque<[u8; 4]>,
    outcome: Option<Result<Response, Failure>>,
}

impl Client {
    /// Returns a client without a request.
    pub fn new(config: ClientConfig, rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut random = [0; 6];
        rng.fill(&mut random)?;
        let [high, low, token @ ..] = random;
        Ok(Self {
            config,
            path_form: config.path_form,
            next_id: u16::from_be_bytes([high, low]),
            tokens: Tokens::new(u32::from_be_bytes(token)),
            exchange: None,
            deadline: Instant(u64::MAX),
            replies: VecDeque::new(),
            outcome: None,
        })
    }

    /// Begins a request. One that is outstanding is given up, and so is a response that was not taken.
    pub fn request(&mut self, now: Now, rng: &mut dyn Rng, request: Request) -> Result<(), CryptoError> {
        self.outcome = None;
        self.exchange = None;
        self.deadline = after(now.monotonic, self.config.request_timeout_ms);
        let progress = Progress::new(request, self.path_form, &self.config);
        self.exchange = Some(self.begin(now, rng, progress)?);
        Ok(())
    }

    /// Whether a request is outstanding.
    pub const fn is_busy(&self) -> bool {
        self.exchange.is_some()
    }

    /// Returns the response, or why there is none, once.
    pub fn poll_response(&mut self) -> Option<Result<Response, Failure>> {
        self.outcome.take()
    }

    /// Returns how requests name their resource from now on.
    pub const fn path_form(&self) -> PathForm {
        self.path_form
    }

    /// Handles a datagram from the server. What is no message, or concerns nothing of this client, is ignored.
    pub fn handle_input(&mut self, now: Now, rng: &mut dyn Rng, datagram: &[u8]) {
        let Ok(message) = Message::parse(datagram) else { return };
        match (message.kind(), message.code().is_response()) {
            (Kind::Acknowledgement, _) => self.handle_acknowledgement(now, rng, &message),
            (Kind::Reset, _) => self.handle_reset(&message),
            (kind, true) => self.handle_separate(now, rng, &message, kind == Kind::Confirmable),
            // RFC 7252, 4.2 and 4.3: a ping, or a request to a client.
            (Kind::Confirmable, false) => self.reply(Kind::Reset, message.id()),
            (_, false) => {}
        }
    }

    /// Writes the next datagram to send, and returns its length; `None` if there is none, or if `out` is too short for it, in
    /// which case it stays: a message has at most 512 bytes more than the size of a block.
    pub fn poll_transmit(&mut self, _now: Now, out: &mut [u8]) -> Option<usize> {
        if let Some(reply) = self.replies.front() {
            out.get_mut(..reply.len())?.copy_from_slice(reply);
            return self.replies.pop_front().map(|reply| reply.len());
        }
        let exchange = self.exchange.as_mut().filter(|exchange| exchange.is_due())?;
        let datagram = exchange.message().encode();
        out.get_mut(..datagram.len())?.copy_from_slice(&datagram);
        exchange.sent();
        Some(datagram.len())
    }

    /// Returns when [`Self::handle_timeout`] is to be called; `None` if no request is outstanding.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.exchange.as_ref().map(|exchange| exchange.deadline().min(self.deadline))
    }

    /// Handles that time has passed: retransmits, or gives the request up.
    pub fn handle_timeout(&mut self, now: Now) {
        let Some(exchange) = &mut self.exchange else { return };
        let failure = match now.monotonic >= self.deadline {
            true => Some(Failure::TimedOut),
            false => exchange.handle_timeout(now.monotonic),
        };
        if let Some(failure) = failure {
            self.finish(Err(failure));
        }
    }

    /// RFC 7252, 4.2 and 5.2.1.
    fn handle_acknowledgement(&mut self, now: Now, rng: &mut dyn Rng, message: &Message) {
        let Some(exchange) = self.exchange.as_mut().filter(|exchange| exchange.id == message.id()) else { return };
        if message.code() == Code::EMPTY {
            exchange.acknowledged(now.monotonic, self.config.response_timeout_ms);
        } else if message.code().is_response() && exchange.token() == message.token() {
            self.advance(now, rng, message);
        }
    }

    /// RFC 7252, 4.2: a reset is an empty message.
    fn handle_reset(&mut self, message: &Message) {
        let is_current = self.exchange.as_ref().is_some_and(|exchange| exchange.id == message.id());
        if is_current && message.code() == Code::EMPTY {
            self.finish(Err(Failure::Reset));
        }
    }

    /// RFC 7252, 5.2.2. A response that comes before the acknowledgement acknowledges the request.
    fn handle_separate(&mut self, now: Now, rng: &mut dyn Rng, message: &Message, is_confirmable: bool) {
        let is_current = self.exchange.as_ref().is_some_and(|exchange| exchange.token() == message.token());
        if is_confirmable {
            // That of an earlier exchange was taken before, and its acknowledgement was lost.
            // One with an option that is not understood is rejected (RFC 7252, 5.4.1 and 4.2).
            let is_taken = self.tokens.was_issued(message.token()) && check_options(message).is_ok();
            self.reply(if is_taken { Kind::Acknowledgement } else { Kind::Reset }, message.id());
        }
        if is_current {
            self.advance(now, rng, message);
        }
    }

    /// Takes a response that belongs to the exchange.
    fn advance(&mut self, now: Now, rng: &mut dyn Rng, message: &Message) {
        let Some(exchange) = self.exchange.take() else { return };
        let mut progress = exchange.progress;
        match progress.handle(message, &self.config) {
            Ok(Step::Next) => {
                self.path_form = progress.path_form();
                match self.begin(now, rng, progress) {
                    Ok(exchange) => self.exchange = Some(exchange),
                    Err(error) => self.finish(Err(Failure::Crypto(error))),
                }
            }
            Ok(Step::Done(response)) => self.finish(Ok(response)),
            Err(failure) => self.finish(Err(failure)),
        }
    }

    fn begin(&mut self, now: Now, rng: &mut dyn Rng, progress: Progress) -> Result<Exchange, CryptoError> {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        Exchange::begin(now.monotonic, rng, &self.config.transmission, id, self.tokens.issue(), progress)
    }

    fn finish(&mut self, outcome: Result<Response, Failure>) {
        self.exchange = None;
        self.outcome = Some(outcome);
    }

    fn reply(&mut self, kind: Kind, id: u16) {
        if self.replies.len() < MAX_REPLIES {
            self.replies.push_back(Message::empty(kind, id));
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("config", &self.config)
            .field("path_form", &self.path_form)
            .field("is_busy", &self.is_busy())
            .finish_non_exhaustive()
    }
}

/// The most empty messages that wait to be sent. The peer sends again what was not answered.
const MAX_REPLIES: usize = 8;
