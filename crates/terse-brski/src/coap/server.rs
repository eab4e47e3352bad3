//! The server: the requests of one peer, on one path, and the answers to them.
//!
//! ```text
//!   handle_input -> (Block1: 2.31)* -> poll_request -> respond -> poll_transmit -> (Block2)*
//! ```
//!
//! An answer that is there soon goes into the acknowledgement. Else an empty acknowledgement goes first, and the answer is a
//! confirmable message of its own (RFC 7252, 5.2.2).
//!
//! What must always hold: of one peer there is at most one request in assembly, one body that is fetched, a few requests in
//! work, and a few answers that are remembered. What is not answered within EXCHANGE_LIFETIME is given up. A message that comes
//! twice is not carried out twice as long as its message ID is remembered: within EXCHANGE_LIFETIME, those of the last 1,056
//! messages. It is answered from memory, or, when that was needed for later answers, not at all. What comes again after 1,056
//! others is a new message here.

use alloc::collections::VecDeque;
use core::fmt;

use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{Instant, Now};

use super::message::{Kind, Malformed, Message};
use super::transmission::after;
use super::{BlockSize, Code, Payload, Response};

mod asked;
mod assembly;
mod body;
mod config;
mod records;
mod separate;

use asked::Asked;
pub use asked::IncomingRequest;
use assembly::{Assembly, Taken};
use body::{Body, Served};
pub use config::ServerConfig;
pub use records::RequestId;
use records::{Records, Work};
use separate::Separate;

/// The server's side of one path.
pub struct Server {
    config: ServerConfig,
    /// The largest blocks of responses.
    largest: BlockSize,
    next_id: u16,
    records: Records,
    assembly: Option<Assembly>,
    body: Option<Body>,
    separate: Separate,
    requests: VecDeque<(RequestId, IncomingRequest)>,
    /// Messages to send.
    outbox: VecDeque<Payload>,
}

impl Server {
    /// Returns a server that has received nothing.
    pub fn new(config: ServerConfig, rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut id = [0; 2];
        rng.fill(&mut id)?;
        Ok(Self {
            config,
            largest: config.block_size,
            next_id: u16::from_be_bytes(id),
            records: Records::default(),
            assembly: None,
            body: None,
            separate: Separate::default(),
            requests: VecDeque::new(),
            outbox: VecDeque::new(),
        })
    }

    /// Limits the blocks of responses from now on, beside the configuration, also those of one that is being fetched: for a path
    /// that takes no long datagrams for a time.
    pub fn limit_response_blocks(&mut self, largest: BlockSize) {
        self.largest = largest.min(self.config.block_size);
    }

    /// Handles a datagram from the peer.
    pub fn handle_input(&mut self, now: Now, datagram: &[u8]) {
        self.forget(now.monotonic);
        let message = match Message::parse(datagram) {
            Ok(message) => message,
            Err(Malformed::Confirmable(id)) => return self.reject(id),
            Err(Malformed::Ignored) => return,
        };
        match (message.kind(), message.code().is_request()) {
            (Kind::Confirmable | Kind::NonConfirmable, true) => self.handle_request(now.monotonic, &message),
            (Kind::Confirmable, false) => self.reject(message.id()), // a ping (RFC 7252, 4.3), or no request
            (Kind::Acknowledgement | Kind::Reset, _) if message.code() == Code::EMPTY => {
                self.separate.settle(message.id())
            }
            _ => {}
        }
    }

    /// Returns the next request that is complete. It is to be answered by [`Self::respond`], or given up by [`Self::abandon`].
    pub fn poll_request(&mut self) -> Option<(RequestId, IncomingRequest)> {
        self.requests.pop_front()
    }

    /// Answers a request, once. A response in blocks that has no entity tag gets one, so that a client notices when it has blocks
    /// of two responses. Without effect if the request is not in work, as after EXCHANGE_LIFETIME (RFC 7252, 4.8.2).
    pub fn respond(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        request: RequestId,
        response: Response,
    ) -> Result<(), CryptoError> {
        let Some(work) = self.records.take_work(request) else { return Ok(()) };
        let response = match response.payload.len() > self.config.max_response {
            true => Response::new(Code::INTERNAL_SERVER_ERROR),
            false => response,
        };
        let served = Body::new(work.asked.key(), response, request.tag()).serve(&work.asked, self.largest);
        self.answer(now.monotonic, Some(rng), &work, served)
    }

    /// Gives a request up, which is answered by 5.03. Without effect if the request is not in work.
    pub fn abandon(&mut self, now: Now, rng: &mut dyn Rng, request: RequestId) -> Result<(), CryptoError> {
        self.respond(now, rng, request, busy())
    }

    /// Writes the next datagram to send, and returns its length; `None` if there is none, or if `out` is too short for it, in
    /// which case it stays: a message has at most 512 bytes more than the size of a block.
    pub fn poll_transmit(&mut self, _now: Now, out: &mut [u8]) -> Option<usize> {
        let next = self.outbox.front().or_else(|| self.separate.due())?;
        let len = next.len();
        out.get_mut(..len)?.copy_from_slice(next);
        if self.outbox.pop_front().is_none() {
            self.separate.sent();
        }
        Some(len)
    }

    /// Returns when [`Self::handle_timeout`] is to be called; `None` if nothing waits for a time.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let kept =
            [self.assembly.as_ref().map(|kept| kept.deadline), self.body.as_ref().and_then(|kept| kept.deadline)];
        let lifetime = self.config.transmission.exchange_lifetime_ms();
        let others =
            [self.records.next_acknowledgement(), self.records.next_expiry(lifetime), self.separate.deadline()];
        kept.into_iter().chain(others).flatten().min()
    }

    /// Handles that time has passed: acknowledges requests that take longer, retransmits, and forgets what is too old.
    pub fn handle_timeout(&mut self, now: Now) {
        self.forget(now.monotonic);
        while let Some(id) = self.records.acknowledge_next(now.monotonic) {
            self.send(Payload::new(Message::empty(Kind::Acknowledgement, id).to_vec()));
        }
        self.separate.handle_timeout(now.monotonic);
    }

    fn handle_request(&mut self, now: Instant, message: &Message) {
        if let Some(duplicate) = self.records.find(message.id()) {
            if let Some(reply) = duplicate.reply_again(message.kind(), message.id()) {
                self.send(reply);
            }
            return;
        }
        if self.records.is_older(message.id()) {
            return;
        }
        match Asked::parse(message) {
            Ok(asked) => self.handle_asked(now, message, asked),
            Err(response) => self.answer_at_once(now, message, None, response),
        }
    }

    fn handle_asked(&mut self, now: Instant, message: &Message, asked: Asked) {
        let payload = match self.assemble(now, &asked, message.payload()) {
            Ok(payload) => payload,
            Err(response) => return self.answer_at_once(now, message, Some(asked), response),
        };
        if asked.next_block().is_some() {
            if let Some(served) = self.serve_kept(&asked) {
                let work = Work::new(message, asked);
                self.records.insert(now, message.id());
                self.answer_in_place(now, &work, served);
                return;
            }
            if asked.is_post() {
                let gone = Response::error(Code::REQUEST_ENTITY_INCOMPLETE, "the response is not kept any more");
                return self.answer_at_once(now, message, Some(asked), gone);
            }
        }
        if self.records.in_work() >= MAX_IN_WORK {
            return self.answer_at_once(now, message, Some(asked), busy());
        }
        self.body.take_if(|body| body.is_of(&asked)); // what is asked anew is not fetched further
        let request = asked.request(payload);
        let acknowledge_at = after(now, self.config.acknowledge_after_ms);
        let id = self.records.insert_work(now, Work::new(message, asked), acknowledge_at);
        self.requests.push_back((id, request));
    }

    /// Returns the whole payload of a request, or the answer to a block of it.
    fn assemble(&mut self, now: Instant, asked: &Asked, payload: &[u8]) -> Result<Payload, Response> {
        match Assembly::take(&mut self.assembly, asked, payload, &self.config)? {
            Taken::Whole(payload) => Ok(payload),
            Taken::Block(mut assembly) => {
                assembly.deadline = after(now, self.config.transmission.exchange_lifetime_ms());
                self.assembly = Some(assembly);
                Err(Response::new(Code::CONTINUE))
            }
        }
    }

    /// Returns the block that is asked for, of the body that is kept.
    fn serve_kept(&mut self, asked: &Asked) -> Option<Served> {
        let body = self.body.take_if(|body| body.is_of(asked))?;
        Some(body.serve(asked, self.largest))
    }

    /// Answers a message that is not passed on.
    fn answer_at_once(&mut self, now: Instant, message: &Message, asked: Option<Asked>, response: Response) {
        let asked = asked.unwrap_or_default();
        let (work, mut served) = (Work::new(message, asked), Served::whole(response));
        if served.code() == Code::REQUEST_ENTITY_TOO_LARGE {
            served.size1 = Some(u32::try_from(self.config.max_request).unwrap_or(u32::MAX)); // RFC 7252, 5.9.2.9
        }
        self.records.insert(now, message.id());
        self.answer_in_place(now, &work, served);
    }

    fn answer_in_place(&mut self, now: Instant, work: &Work, served: Served) {
        // Without a separate answer nothing random is needed.
        let _ = self.answer(now, None, work, served);
    }

    /// Sends an answer, and keeps what is left of its body.
    fn answer(
        &mut self,
        now: Instant,
        rng: Option<&mut dyn Rng>,
        work: &Work,
        served: Served,
    ) -> Result<(), CryptoError> {
        let (kind, id) = match (work.is_confirmable, work.is_acknowledged) {
            (true, false) => (Kind::Acknowledgement, work.id),
            (true, true) => (Kind::Confirmable, self.new_id()),
            (false, _) => (Kind::NonConfirmable, self.new_id()),
        };
        let mut message = Message::new(kind, served.code(), id, &work.token);
        served.write(&mut message, work.asked.acknowledged_block(served.code(), self.config.block_size));
        if let Some(mut rest) = served.rest {
            rest.deadline = Some(after(now, self.config.transmission.exchange_lifetime_ms()));
            self.body = Some(rest);
        }
        let datagram = message.encode();
        match (kind, rng) {
            (Kind::Confirmable, Some(rng)) => {
                self.separate.push(now, &self.config.transmission, rng, id, datagram)?;
            }
            _ => {
                self.records.remember(work.id, &datagram);
                self.send(datagram);
            }
        }
        Ok(())
    }

    fn reject(&mut self, id: u16) {
        self.send(Payload::new(Message::empty(Kind::Reset, id).to_vec()));
    }

    fn send(&mut self, datagram: Payload) {
        if self.outbox.len() < MAX_OUTBOX {
            self.outbox.push_back(datagram);
        }
    }

    const fn new_id(&mut self) -> u16 {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        id
    }

    /// Forgets what is older than EXCHANGE_LIFETIME (RFC 7252, 4.5; RFC 7959, 2.4 and 2.5).
    fn forget(&mut self, now: Instant) {
        self.records.forget(now, self.config.transmission.exchange_lifetime_ms());
        self.requests.retain(|(request, _)| self.records.is_in_work(*request));
        self.assembly.take_if(|kept| now >= kept.deadline);
        self.body.take_if(|kept| kept.deadline.is_some_and(|deadline| now >= deadline));
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("config", &self.config)
            .field("in_work", &self.records.in_work())
            .field("is_assembling", &self.assembly.is_some())
            .field("is_serving", &self.body.is_some())
            .finish_non_exhaustive()
    }
}

/// Returns what a client is told that is to ask again later, as late as it may be told.
fn busy() -> Response {
    Response { max_age: Some(Response::MAX_RETRY_AFTER_S), ..Response::new(Code::SERVICE_UNAVAILABLE) }
}

/// The most requests of one peer that are in work. A client has one outstanding (RFC 7252, 4.7: NSTART).
const MAX_IN_WORK: usize = 4;

/// The most datagrams that wait to be sent. The peer asks again for what was not sent.
const MAX_OUTBOX: usize = 8;
