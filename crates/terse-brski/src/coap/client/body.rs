//! The body of a response, as its blocks come (RFC 7959, 2.4).

use super::Failure;
use crate::coap::block::Block;
use crate::coap::message::Message;
use crate::coap::{BlockSize, ETag, Response, option, payload};

/// A response, as far as it is there.
pub(super) struct Body {
    response: Response,
    size: BlockSize,
}

impl Body {
    /// Returns the response whose first message this is, without its payload.
    pub(super) fn of(message: &Message) -> Self {
        let response = Response {
            content_format: content_format(message),
            etag: etag(message),
            max_age: message.uint(option::MAX_AGE, 4),
            ..Response::new(message.code())
        };
        Self { response, size: BlockSize::MAX }
    }

    /// Returns an error that came in place of a block, with what its message says.
    pub(super) fn of_error(message: &Message, max_len: usize) -> Result<Response, Failure> {
        let mut error = Self::of(message);
        if message.payload().len() > max_len {
            return Err(Failure::TooLong(max_len));
        }
        payload::append(&mut error.response.payload, message.payload());
        Ok(error.response)
    }

    /// Whether a message has a block of the same representation.
    pub(super) fn is_same(&self, message: &Message) -> bool {
        let response = &self.response;
        (response.code, response.content_format, response.etag)
            == (message.code(), content_format(message), etag(message))
    }

    /// Appends the block that a message has. Returns whether there are more.
    pub(super) fn append(&mut self, message: &Message, max_len: usize) -> Result<bool, Failure> {
        let (block, more) = (message.values(option::BLOCK2).next(), message.payload());
        let taken = self.response.payload.len();
        let is_too_long = |size| message.uint(option::SIZE2, 4).is_some_and(|said| said as usize > size);
        if is_too_long(max_len) || more.len() > max_len - taken {
            return Err(Failure::TooLong(max_len));
        }
        let Some(value) = block else {
            return match taken {
                0 => {
                    payload::append(&mut self.response.payload, more);
                    Ok(false)
                }
                _ => Err(Failure::Misbehaved("Block2 is missing")),
            };
        };
        let block = Block::parse(value).ok_or(Failure::Misbehaved("Block2 is malformed"))?;
        if block.offset() != taken || !block.fits(more) {
            return Err(Failure::Misbehaved("a block is not the one that is due"));
        }
        payload::append(&mut self.response.payload, more);
        self.size = block.size;
        Ok(block.more)
    }

    /// Returns the size of the last block.
    pub(super) const fn size(&self) -> BlockSize {
        self.size
    }

    /// Returns the Block2 of the request for the next block.
    pub(super) fn next(&self, size: BlockSize) -> Block {
        Block::at(self.response.payload.len(), false, size)
    }

    pub(super) fn into_response(self) -> Response {
        self.response
    }
}

fn content_format(message: &Message) -> Option<u16> {
    message.uint(option::CONTENT_FORMAT, 2).and_then(|number| u16::try_from(number).ok())
}

fn etag(message: &Message) -> Option<ETag> {
    message.values(option::ETAG).next().and_then(ETag::new)
}
