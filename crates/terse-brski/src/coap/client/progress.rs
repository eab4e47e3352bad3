//! How far a request has come: which block of it is sent, or which block of the response is fetched (RFC 7959, 2.7).

use core::mem;

use super::body::Body;
use super::{ClientConfig, Failure};
use crate::coap::block::Block;
use crate::coap::message::Message;
use crate::coap::option::{self, is_critical};
use crate::coap::{BlockSize, Code, Method, PathForm, Request, Response};

/// A request and what is done of it.
pub(super) struct Progress {
    request: Request,
    path_form: PathForm,
    size: BlockSize,
    phase: Phase,
    /// How often the request may begin again.
    restarts_left: u8,
}

enum Phase {
    /// The block of the request at this offset is being sent.
    Send(usize),
    /// Blocks of the response are being fetched.
    Fetch(Body),
}

/// What comes next.
pub(super) enum Step {
    /// Another exchange.
    Next,
    /// Nothing: this is the response.
    Done(Response),
}

impl Progress {
    pub(super) fn new(request: Request, path_form: PathForm, config: &ClientConfig) -> Self {
        Self { request, path_form, size: config.block_size, phase: Phase::Send(0), restarts_left: MAX_RESTARTS }
    }

    pub(super) const fn path_form(&self) -> PathForm {
        self.path_form
    }

    pub(super) const fn code(&self) -> Code {
        self.request.method.code()
    }

    /// Writes options and payload.
    pub(super) fn write(&self, message: &mut Message) {
        self.write_path(message);
        let request = &self.request;
        if let Some(query) = request.query.filter(|query| query.len() <= MAX_QUERY) {
            message.push(option::URI_QUERY, query.as_bytes());
        }
        let numbers = [(option::CONTENT_FORMAT, request.content_format), (option::ACCEPT, request.accept)];
        for (number, value) in numbers {
            if let Some(value) = value {
                message.push_uint(number, value.into());
            }
        }
        if let Some(etag) = &request.etag {
            message.push(option::ETAG, etag.as_bytes());
        }
        match &self.phase {
            Phase::Send(offset) => self.write_block(message, *offset),
            Phase::Fetch(body) => message.push_uint(option::BLOCK2, body.next(self.size).value()),
        }
    }

    fn write_path(&self, message: &mut Message) {
        match self.abbreviation() {
            Some(value) => message.push_uint(option::URI_PATH_ABBREV, value.into()),
            None => {
                let segments = self.request.resource.path(self.path_form);
                segments.for_each(|segment| message.push(option::URI_PATH, segment.as_bytes()));
            }
        }
    }

    fn abbreviation(&self) -> Option<u16> {
        self.request.resource.abbreviation().filter(|_| self.path_form == PathForm::Abbreviated)
    }

    fn write_block(&self, message: &mut Message, offset: usize) {
        let (payload, block) = (&self.request.payload, self.block(offset));
        let end = payload.len().min(offset + self.size.bytes());
        if let Some(block) = block {
            message.push_uint(option::BLOCK1, block.value());
            if block.number == 0 {
                message.push_uint(option::SIZE1, u32::try_from(payload.len()).unwrap_or(u32::MAX)); // RFC 7959, 4
            }
        }
        // RFC 7959, 2.4: what fits into one message of any server is not asked for.
        if self.size < BlockSize::MAX && block.is_none_or(|block| !block.more) {
            message.push_uint(option::BLOCK2, Block::at(0, false, self.size).value());
        }
        message.set_payload(payload.get(offset..end).unwrap_or_default());
    }

    /// Returns the Block1 of the request at this offset, if it is sent in blocks.
    fn block(&self, offset: usize) -> Option<Block> {
        let len = self.request.payload.len();
        (len > self.size.bytes() || offset > 0).then(|| Block::at(offset, len > offset + self.size.bytes(), self.size))
    }

    /// Handles the response to what was sent.
    pub(super) fn handle(&mut self, message: &Message, config: &ClientConfig) -> Result<Step, Failure> {
        check_options(message)?;
        if self.is_abbreviation_refused(message) {
            self.path_form = PathForm::WellKnown;
            self.phase = Phase::Send(0);
            return Ok(Step::Next);
        }
        if let Some(smaller) = self.smaller_size(message) {
            return self.restart(smaller);
        }
        match &self.phase {
            Phase::Send(offset) => match self.block(*offset) {
                Some(block) if message.code() == Code::REQUEST_ENTITY_INCOMPLETE && block.number > 0 => {
                    self.restart(self.size)
                }
                Some(block) if block.more && message.code().is_success() => self.send_next(block, message),
                _ if message.code() == Code::CONTINUE => {
                    Err(Failure::Misbehaved("2.31 where there is nothing to continue"))
                }
                _ => self.collect(message, config),
            },
            Phase::Fetch(_) => self.collect(message, config),
        }
    }

    /// Whether the server has refused the request because it does not know the abbreviation. While a response is fetched it
    /// knows it: the request was carried out, and is not sent again.
    fn is_abbreviation_refused(&self, message: &Message) -> bool {
        let is_sent = matches!(self.phase, Phase::Send(_)) && self.abbreviation().is_some();
        is_sent && message.code() == Code::BAD_OPTION
    }

    /// Returns the size that the server wants for Block1 instead (RFC 7959, 2.9.3).
    fn smaller_size(&self, message: &Message) -> Option<BlockSize> {
        let block = message.values(option::BLOCK1).next().and_then(Block::parse)?;
        let is_hint = message.code() == Code::REQUEST_ENTITY_TOO_LARGE && matches!(self.phase, Phase::Send(_));
        (is_hint && block.size < self.size).then_some(block.size)
    }

    fn restart(&mut self, size: BlockSize) -> Result<Step, Failure> {
        self.restarts_left = self.restarts_left.checked_sub(1).ok_or(Failure::Changed)?;
        (self.phase, self.size) = (Phase::Send(0), size);
        Ok(Step::Next)
    }

    /// Goes on to the next block of the request, in a smaller size if the server prefers that (RFC 7959, 2.5).
    fn send_next(&mut self, sent: Block, message: &Message) -> Result<Step, Failure> {
        let acknowledged = message.values(option::BLOCK1).next().and_then(Block::parse);
        let Some(acknowledged) = acknowledged.filter(|_| message.code() == Code::CONTINUE) else {
            return Err(Failure::Misbehaved("a request is to be taken whole"));
        };
        if acknowledged.number != sent.number {
            return Err(Failure::Misbehaved("another block is acknowledged than was sent"));
        }
        self.phase = Phase::Send(sent.offset() + self.size.bytes());
        self.size = self.size.min(acknowledged.size);
        Ok(Step::Next)
    }

    /// Takes a response, or a block of it.
    fn collect(&mut self, message: &Message, config: &ClientConfig) -> Result<Step, Failure> {
        if let Phase::Fetch(body) = &self.phase
            && !body.is_same(message)
        {
            return match self.request.method {
                _ if !message.code().is_success() => Ok(Step::Done(Body::of_error(message, config.max_response)?)),
                Method::Get => self.restart(self.size),
                Method::Post => Err(Failure::Changed), // it must not be carried out twice
            };
        }
        let body = match mem::replace(&mut self.phase, Phase::Send(0)) {
            Phase::Fetch(body) => body,
            Phase::Send(_) => Body::of(message),
        };
        self.fetch(body, message, config)
    }

    fn fetch(&mut self, mut body: Body, message: &Message, config: &ClientConfig) -> Result<Step, Failure> {
        match body.append(message, config.max_response)? {
            true => {
                self.size = self.size.min(body.size());
                self.phase = Phase::Fetch(body);
                Ok(Step::Next)
            }
            false => Ok(Step::Done(body.into_response())),
        }
    }
}

/// RFC 7252, 5.4.1: a response with a critical option that is not understood is rejected. One that is there twice is not
/// understood either (5.4.5).
pub(in crate::coap) fn check_options(message: &Message) -> Result<(), Failure> {
    for (number, mut values) in message.options() {
        let is_known = matches!(number, option::BLOCK1 | option::BLOCK2);
        if is_critical(number) && !(is_known && values.next().is_some() && values.next().is_none()) {
            return Err(Failure::CriticalOption(number));
        }
    }
    Ok(())
}

/// How often a request begins again because the server has lost it, wants smaller blocks, or has changed the response.
const MAX_RESTARTS: u8 = 8;

/// The longest Uri-Query (RFC 7252, 5.10), in bytes.
const MAX_QUERY: usize = 255;
