//! A request in blocks (RFC 7959, 2.5), taken whole.

use terse_tls::Instant;

use super::ServerConfig;
use super::asked::{Asked, Key};
use crate::coap::{Code, Payload, Response, payload};

/// The blocks of a request, as far as they are there.
pub(super) struct Assembly {
    key: Key,
    content_format: Option<u16>,
    payload: Payload,
    pub(super) deadline: Instant,
}

/// What a message has added.
pub(super) enum Taken {
    /// The payload is complete.
    Whole(Payload),
    /// More blocks are to come.
    Block(Assembly),
}

impl Assembly {
    /// Takes what a message has, and what is there of its request. The error is the answer.
    pub(super) fn take(
        kept: &mut Option<Self>,
        asked: &Asked,
        block: &[u8],
        config: &ServerConfig,
    ) -> Result<Taken, Response> {
        let Some(block1) = asked.block1 else {
            return match block.len() > config.max_request {
                true => Err(too_large()),
                false => Ok(Taken::Whole(Payload::new(block.to_vec()))),
            };
        };
        // A first block begins anew (RFC 7959, 2.5). One out of order may be late, and leaves what is there as it is.
        let is_next = |assembly: &mut Self| assembly.is_of(asked) && assembly.payload.len() == block1.offset();
        let mut assembly = match block1.number {
            0 => Self::new(asked),
            _ => kept
                .take_if(is_next)
                .ok_or_else(|| Response::error(Code::REQUEST_ENTITY_INCOMPLETE, "blocks are missing: begin again"))?,
        };
        if !block1.fits(block) {
            return Err(Response::error(Code::BAD_REQUEST, "the length of a block"));
        }
        let is_too_large = |len: usize| len > config.max_request;
        if is_too_large(assembly.payload.len() + block.len())
            || asked.size1.is_some_and(|len| is_too_large(len as usize))
        {
            return Err(too_large());
        }
        payload::append(&mut assembly.payload, block);
        Ok(match block1.more {
            true => Taken::Block(assembly),
            false => Taken::Whole(assembly.payload),
        })
    }

    fn new(asked: &Asked) -> Self {
        let (key, content_format) = (asked.key(), asked.content_format);
        Self { key, content_format, payload: Payload::default(), deadline: Instant(u64::MAX) }
    }

    fn is_of(&self, asked: &Asked) -> bool {
        asked.is_of(&self.key) && asked.content_format == self.content_format
    }
}

/// RFC 7959, 2.9.3. The limit goes with it as Size1.
fn too_large() -> Response {
    Response::error(Code::REQUEST_ENTITY_TOO_LARGE, "the request is too long")
}
