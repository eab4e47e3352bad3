//! A response, block by block (RFC 7959, 2.4).

use terse_tls::Instant;

use super::asked::{Asked, Key};
use crate::coap::block::Block;
use crate::coap::message::Message;
use crate::coap::{BlockSize, Code, ETag, Response, option};

/// A response, and the requests that it belongs to.
pub(super) struct Body {
    key: Key,
    response: Response,
    /// The tag of its blocks, if the response has none: blocks of two responses are told apart (RFC 7959, 2.4).
    tag: Option<ETag>,
    /// When it is forgotten.
    pub(super) deadline: Option<Instant>,
}

/// A part of a response that is sent in one message.
pub(super) struct Served {
    header: Response,
    block: Option<Block>,
    /// The length of the whole body, with its first block.
    size: Option<u32>,
    /// The longest request that the server takes, if this one is longer.
    pub(super) size1: Option<u32>,
    /// The body, if there is more of it to send. That of a POST request, which is not carried out again, stays after its last
    /// block, because a late message of an earlier request can have asked for that.
    pub(super) rest: Option<Body>,
}

impl Body {
    pub(super) const fn new(key: Key, response: Response, tag: Option<ETag>) -> Self {
        Self { key, response, tag, deadline: None }
    }

    pub(super) fn is_of(&self, asked: &Asked) -> bool {
        asked.is_of(&self.key)
    }

    /// Returns the part that is asked for: all of it if it fits into one block.
    pub(super) fn serve(self, asked: &Asked, largest: BlockSize) -> Served {
        let response = &self.response;
        if response.code == Code::CONTENT && response.etag.is_some_and(|etag| asked.etags.contains(&etag)) {
            // RFC 7252, 5.10.6.2
            let valid = Response { etag: response.etag, max_age: response.max_age, ..Response::new(Code::VALID) };
            return Served::whole(valid);
        }
        let len = response.payload.len();
        let size = asked.block2.map_or(largest, |block| block.size.min(largest));
        let offset = asked.block2.map_or(0, Block::offset);
        if offset > 0 && offset >= len {
            let header = Response::error(Code::BAD_REQUEST, "there is no such block");
            return Served { rest: asked.is_post().then_some(self), ..Served::whole(header) };
        }
        if offset == 0 && len <= size.bytes() {
            return Served::whole(self.response);
        }
        let end = len.min(offset + size.bytes());
        let (block, mut header) = (Block::at(offset, end < len, size), Response { ..self.header() });
        header.payload.extend_from_slice(&response.payload[offset..end]);
        let size = (offset == 0).then_some(u32::try_from(len).unwrap_or(u32::MAX));
        Served { header, block: Some(block), size, size1: None, rest: (block.more || asked.is_post()).then_some(self) }
    }

    fn header(&self) -> Response {
        let Response { code, content_format, etag, max_age, .. } = self.response;
        Response { content_format, etag: etag.or(self.tag), max_age, ..Response::new(code) }
    }
}

impl Served {
    /// Returns a response that is sent whole.
    pub(super) const fn whole(header: Response) -> Self {
        Self { header, block: None, size: None, size1: None, rest: None }
    }

    pub(super) const fn code(&self) -> Code {
        self.header.code
    }

    /// Writes options and payload.
    pub(super) fn write(&self, message: &mut Message, block1: Option<Block>) {
        let header = &self.header;
        if let Some(etag) = &header.etag {
            message.push(option::ETAG, etag.as_bytes());
        }
        let numbers = [
            (option::CONTENT_FORMAT, header.content_format.map(u32::from)),
            (option::MAX_AGE, header.max_age),
            (option::BLOCK2, self.block.map(Block::value)),
            (option::BLOCK1, block1.map(Block::value)),
            (option::SIZE2, self.size),
            (option::SIZE1, self.size1),
        ];
        for (number, value) in numbers {
            if let Some(value) = value {
                message.push_uint(number, value);
            }
        }
        message.set_payload(&header.payload);
    }
}
