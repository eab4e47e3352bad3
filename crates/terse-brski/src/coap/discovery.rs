//! Discovery by datagrams (RFC 6690; RFC 7252, 8): the question to whoever is on a link, and the answer to one, both without
//! anything that is kept for a peer.
//!
//! ```text
//!   Question: next_datagram, again and again -> ff02::fd;   read <- each datagram that comes, from anybody
//!   answer: a datagram that came -> the datagram that goes back, if any
//! ```
//!
//! What must always hold: an answer counts only with the token of its question, and when it is a whole list of links; a question
//! that came by multicast, or that asks for no acknowledgement, is answered only when there is something to say.

use core::fmt;

use terse_tls::crypto::{CryptoError, Rng};

use super::block::Block;
use super::client::check_options;
use super::message::{Kind, Message};
use super::{Code, PathForm, Payload, Resource, content_format, option};

#[cfg(feature = "services")]
mod answer;

#[cfg(feature = "services")]
pub use answer::{Arrival, answer};

/// A question for links, which is asked again and again by messages that ask for no acknowledgement.
pub struct Question {
    query: &'static str,
    token: [u8; 8],
    next_id: u16,
}

/// An answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The links, as they came: for the readers of [`link_format`](super::link_format).
    pub links: Payload,
    /// What is to be sent back, if the answer asks for an acknowledgement.
    pub acknowledgement: Option<[u8; 4]>,
}

impl Question {
    /// Creates the question for links with this attribute, of at most 255 bytes: `rt=brski`.
    pub fn new(query: &'static str, rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let (mut token, mut id) = ([0; 8], [0; 2]);
        rng.fill(&mut token)?;
        rng.fill(&mut id)?;
        Ok(Self { query, token, next_id: u16::from_be_bytes(id) })
    }

    /// Returns the query.
    pub const fn query(&self) -> &'static str {
        self.query
    }

    /// Returns the datagram to send next: the same question with another message ID, by which nobody takes it for a duplicate.
    pub fn next_datagram(&mut self) -> Payload {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let mut message = Message::new(Kind::NonConfirmable, Code::GET, id, &self.token);
        let path = Resource::Core.path(PathForm::WellKnown);
        path.for_each(|segment| message.push(option::URI_PATH, segment.as_bytes()));
        message.push(option::URI_QUERY, self.query.as_bytes());
        message.encode()
    }

    /// Reads a datagram that came, from whomever: RFC 7252, 8.2, has the token alone tell whether it is an answer. Returns
    /// `None` for anything but a whole answer with links.
    pub fn read(&self, datagram: &[u8]) -> Option<Answer> {
        let message = Message::parse(datagram).ok()?;
        let acknowledgement = match message.kind() {
            Kind::NonConfirmable => None,
            Kind::Confirmable => Some(Message::empty(Kind::Acknowledgement, message.id())),
            Kind::Acknowledgement | Kind::Reset => return None, // nothing of ours asks for one
        };
        let is_ours = message.token() == self.token && message.code() == Code::CONTENT;
        let has_links = message.uint(option::CONTENT_FORMAT, 2) == Some(content_format::LINK_FORMAT.into());
        let is_usable = is_ours && has_links && check_options(&message).is_ok() && is_whole(&message);
        is_usable.then(|| Answer { links: Payload::new(message.payload().to_vec()), acknowledgement })
    }
}

/// The token is secret: whoever knows it can answer from off the link.
impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("query", &self.query).finish_non_exhaustive()
    }
}

/// Whether a response has all of its body, and not a block of it.
fn is_whole(message: &Message) -> bool {
    let mut block = message.values(option::BLOCK2).map(Block::parse);
    block.next().is_none_or(|block| block.is_some_and(|block| block.number == 0 && !block.more))
}

#[cfg(test)]
mod tests;
