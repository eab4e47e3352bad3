//! What a message asks: its options, checked (RFC 7252, 5.4 and 5.8; RFC 7959, 2).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::coap::block::Block;
use crate::coap::message::Message;
use crate::coap::option::{self, is_critical};
use crate::coap::{BlockSize, Code, ETag, Method, Payload, Resource, Response};

/// A whole request, as a server has received it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncomingRequest {
    /// The method, which is that of the resource.
    pub method: Method,
    /// What is asked.
    pub resource: Resource,
    /// The arguments.
    pub query: Vec<String>,
    /// The content format of the payload.
    pub content_format: Option<u16>,
    /// The content format that the client wants.
    pub accept: Option<u16>,
    /// The payload.
    pub payload: Payload,
}

/// Prints the length of the payload, and not the payload.
impl fmt::Debug for IncomingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingRequest")
            .field("method", &self.method)
            .field("resource", &self.resource)
            .field("query", &self.query)
            .field("content_format", &self.content_format)
            .field("accept", &self.accept)
            .field("payload_len", &self.payload.len())
            .finish()
    }
}

/// What tells apart requests whose blocks do not belong together (RFC 7959, 2.4 and 2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    resource: Resource,
    query: Vec<String>,
    accept: Option<u16>,
}

/// What a message asks.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    key: Key,
    pub(super) content_format: Option<u16>,
    pub(super) etags: Vec<ETag>,
    pub(super) block1: Option<Block>,
    pub(super) block2: Option<Block>,
    pub(super) size1: Option<u32>,
}

/// What a message asks that is not understood: nothing.
impl Default for Asked {
    fn default() -> Self {
        let key = Key { resource: Resource::Core, query: Vec::new(), accept: None };
        Self { key, content_format: None, etags: Vec::new(), block1: None, block2: None, size1: None }
    }
}

impl Asked {
    /// Reads the options. The error is the answer.
    pub(super) fn parse(message: &Message) -> Result<Self, Response> {
        if [option::PROXY_URI, option::PROXY_SCHEME].into_iter().any(|number| message.values(number).next().is_some()) {
            return Err(Response::new(Code::PROXYING_NOT_SUPPORTED)); // RFC 7252, 5.7.2
        }
        check_options(message)?;
        let resource = resource(message)?;
        if message.code() != resource.method().code() {
            return Err(Response::new(Code::METHOD_NOT_ALLOWED));
        }
        let number = |number| message.uint(number, 2).and_then(|value| u16::try_from(value).ok());
        Ok(Self {
            key: Key { resource, query: query(message)?, accept: number(option::ACCEPT) },
            content_format: number(option::CONTENT_FORMAT),
            etags: message.values(option::ETAG).take(MAX_ETAGS).filter_map(ETag::new).collect(),
            block1: block(message, option::BLOCK1)?,
            block2: block(message, option::BLOCK2)?,
            size1: message.uint(option::SIZE1, 4),
        })
    }

    pub(super) fn key(&self) -> Key {
        self.key.clone()
    }

    pub(super) fn is_of(&self, key: &Key) -> bool {
        self.key == *key
    }

    pub(super) fn is_post(&self) -> bool {
        self.key.resource.method() == Method::Post
    }

    /// Returns the block of the response that is asked for, if it is not the first.
    pub(super) fn next_block(&self) -> Option<Block> {
        self.block2.filter(|block| block.number > 0)
    }

    /// Returns the Block1 of an answer: of the block that was sent, with the size that is preferred (RFC 7959, 2.3). With an
    /// error that ends the transfer early it would be taken for a hint that smaller blocks help (2.9.3).
    pub(super) fn acknowledged_block(&self, code: Code, preferred: BlockSize) -> Option<Block> {
        let is_early = matches!(code, Code::REQUEST_ENTITY_INCOMPLETE | Code::REQUEST_ENTITY_TOO_LARGE);
        let block = self.block1.filter(|block| !is_early && (code == Code::CONTINUE || !block.more));
        block.map(|block| Block { size: block.size.min(preferred), ..block })
    }

    pub(super) fn request(&self, payload: Payload) -> IncomingRequest {
        let Key { resource, query, accept } = self.key.clone();
        let content_format = self.content_format;
        IncomingRequest { method: resource.method(), resource, query, content_format, accept, payload }
    }
}

/// RFC 7252, 5.4.1 and 5.4.5: an option that is critical and not understood, or there more often than it may be, is answered
/// by 4.02. Its value counts too (5.4.3).
fn check_options(message: &Message) -> Result<(), Response> {
    for (number, mut values) in message.options() {
        let (Some(value), is_repeated) = (values.next(), values.next().is_some()) else { continue };
        let is_understood = match number {
            option::URI_HOST => !is_repeated && (1..=255).contains(&value.len()),
            option::URI_PATH | option::URI_QUERY => true,
            option::URI_PORT | option::ACCEPT => !is_repeated && value.len() <= 2,
            option::URI_PATH_ABBREV => !is_repeated && value.len() <= 4,
            option::BLOCK1 | option::BLOCK2 => !is_repeated && value.len() <= 3,
            _ => !is_critical(number),
        };
        if !is_understood {
            return Err(Response::error(Code::BAD_OPTION, &alloc::format!("option {number}")));
        }
    }
    Ok(())
}

/// Returns the resource that the path, or its abbreviation, names.
fn resource(message: &Message) -> Result<Resource, Response> {
    let Some(abbreviation) = message.values(option::URI_PATH_ABBREV).next() else {
        let segments: Vec<_> = message.values(option::URI_PATH).collect();
        let resource = Resource::from_path(segments.iter().copied());
        return resource.ok_or(Response::new(Code::NOT_FOUND));
    };
    let is_alone = message.values(option::URI_PATH).next().is_none();
    let value = option::read_uint(abbreviation, 4).filter(|_| is_alone);
    let bad = || Response::error(Code::BAD_OPTION, "Uri-Path-Abbrev");
    value.and_then(Resource::from_abbreviation).ok_or_else(bad)
}

fn query(message: &Message) -> Result<Vec<String>, Response> {
    let arguments = message.values(option::URI_QUERY).map(|value| core::str::from_utf8(value).map(String::from));
    arguments.collect::<Result<_, _>>().map_err(|_| Response::error(Code::BAD_REQUEST, "Uri-Query is not UTF-8"))
}

/// RFC 7959, 2.2: the reserved size is answered by 4.00.
fn block(message: &Message, number: u16) -> Result<Option<Block>, Response> {
    let parse = |value| Block::parse(value).ok_or(Response::error(Code::BAD_REQUEST, "the size of a block"));
    message.values(number).next().map(parse).transpose()
}

/// The most tags of a request that are compared.
const MAX_ETAGS: usize = 4;
