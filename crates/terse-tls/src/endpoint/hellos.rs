//! First messages: ClientHellos, put together if they come in fragments, their cookies (`cookies`), and what may stand for
//! one (`proof`).
//!
//! A ClientHello in one fragment takes no memory. A bounded number of clients have a place for fragments, each for one
//! message of bounded length. The client that was silent for longest makes room for a new one.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Path;
use super::counters::EndpointCounters;
use super::limits::EndpointLimits;
use crate::cache::AddressId;
use crate::config::ServerConfig;
use crate::crypto::{Hash, Rng};
use crate::error::Error;
use crate::link::datagram::FirstMessage;
use crate::link::datagram::cookie::CookieSecrets;
use crate::link::datagram::fragment::{self, FragmentHeader, Reassembler};
use crate::record::datagram12::Header;
use crate::time::Instant;
use crate::wire::{ContentType, HandshakeType};

mod cookies;
mod first_contact;
mod proof;
mod tickets;

pub(super) use cookies::{AddressEvidence, Verdict};
use first_contact::FirstContacts;
use proof::AddressProof;

/// The longest ClientHello that is accepted, in bytes: enough for a hybrid key share and a large ticket.
const MAX_HELLO: usize = 4_096;

/// How far apart fragments of one ClientHello may be, in multiples of the initial retransmission timeout. Fragments of
/// the first four attempts belong together; a client that starts anew takes longer.
const FRAGMENT_TIMEOUTS: u64 = 8;

/// The highest message_seq of a ClientHello: the first one has 0, and each HelloVerifyRequest is followed by another
/// one.
const MAX_SEQ: u16 = 3;

pub(super) struct Hellos {
    config: Arc<ServerConfig>,
    secrets: CookieSecrets,
    limits: EndpointLimits,
    /// What may stand for a cookie.
    proofs: Vec<Box<dyn AddressProof>>,
    first_contacts: FirstContacts,
    max_message: usize,
    /// After so many milliseconds without a fragment, the client is another one.
    fragment_timeout: u64,
    partial: BTreeMap<Path, Partial>,
    /// Counts all fragments.
    clock: u64,
}

/// An incomplete ClientHello.
struct Partial {
    message_seq: u16,
    messages: Reassembler,
    /// When the last fragment came: by the count of all fragments, and by time.
    touched: (u64, Instant),
    /// How many datagrams carried something new, as in [`FirstMessage`].
    datagrams: u32,
    bytes: usize,
}

/// A fragment of a ClientHello, in its record.
#[derive(Clone, Copy)]
struct Part<'a> {
    header: &'a Header,
    fragment: FragmentHeader,
    body: &'a [u8],
}

/// Whether a datagram begins with an unprotected ClientHello, or a fragment of one.
pub(super) fn is_client_hello(header: &Header, datagram: &[u8]) -> bool {
    let body = datagram.get(header.header_len()..header.record_len()).unwrap_or_default();
    header.epoch == 0
        && header.content_type == ContentType::HANDSHAKE
        && body.first() == Some(&HandshakeType::CLIENT_HELLO.0)
}

impl Hellos {
    pub(super) fn new(config: Arc<ServerConfig>, limits: &EndpointLimits, rng: &mut dyn Rng) -> Result<Self, Error> {
        let common = &config.common;
        let settings = common.datagrams.unwrap_or_default();
        Ok(Self {
            secrets: CookieSecrets::new(rng)?,
            limits: *limits,
            proofs: proof::kinds(&config, limits),
            first_contacts: FirstContacts::new(limits.first_contacts_per_second),
            max_message: common.max_handshake_message.min(MAX_HELLO),
            fragment_timeout: settings.initial_timeout.saturating_mul(FRAGMENT_TIMEOUTS),
            partial: BTreeMap::new(),
            clock: 0,
            config,
        })
    }

    /// Handles a datagram with a ClientHello, or fragments of one. Returns the message if it is complete.
    pub(super) fn put_together(
        &mut self,
        now: Instant,
        from: &Path,
        datagram: &[u8],
        counters: &mut EndpointCounters,
    ) -> Option<FirstMessage> {
        let mut rest = datagram;
        let mut first = None;
        let mut datagrams = 1; // 0 once it was counted
        while let Some(header) = Header::parse(rest, 0).filter(|header| is_client_hello(header, rest)) {
            let (record, next) = rest.split_at(header.record_len());
            rest = next;
            let (fragment, body) = record[header.header_len()..].split_first_chunk::<{ fragment::HEADER_LEN }>()?;
            let fragment = FragmentHeader::parse(fragment);
            let is_within = fragment.fragment_offset + fragment.fragment_length <= fragment.length;
            let body = body.get(..fragment.fragment_length).filter(|_| is_within && fragment.message_seq <= MAX_SEQ);
            let Some(body) = body else {
                counters.malformed += 1;
                return None;
            };
            if fragment.length > self.max_message {
                counters.hellos_too_long += 1;
                return None;
            }
            if body.len() == fragment.length {
                let message = [&fragment.bytes()[..], body].concat();
                first = Some(FirstMessage {
                    message,
                    message_seq: fragment.message_seq,
                    number: header.number,
                    datagrams: core::mem::take(&mut datagrams),
                    bytes: header.header_len() + fragment::HEADER_LEN + body.len(),
                });
            } else {
                let part = Part { header: &header, fragment, body };
                first = self.insert((now, from), &part, &mut datagrams, counters).or(first);
            }
        }
        first
    }

    /// The hash of cookies and addresses.
    fn hash(&self) -> &'static dyn Hash {
        self.config.common.provider.sha256
    }

    /// What a proof knows a path by: its IP address and its header, without the port, which a NAT changes.
    pub(super) fn address_id(&self, path: &Path) -> AddressId {
        AddressId::new(path.address().ip(), path.header(), self.hash())
    }

    /// Forgets the fragments of a client that has finished its handshake, or was removed, so that they are not mixed
    /// with its next ClientHello.
    pub(super) fn forget(&mut self, from: &Path) {
        self.partial.remove(from);
    }

    /// Keeps a fragment, and returns the message if it is complete. The bytes of the fragment count as received only if
    /// some are new; so does its datagram, unless another fragment in it was counted (`datagrams` is 0 then).
    fn insert(
        &mut self,
        (now, from): (Instant, &Path),
        part: &Part<'_>,
        datagrams: &mut u32,
        counters: &mut EndpointCounters,
    ) -> Option<FirstMessage> {
        self.clock += 1;
        let Part { header, fragment, body } = *part;
        let message_seq = fragment.message_seq;
        // A first fragment long after later ones may belong to another client: their fragments must not be mixed.
        let begins = fragment.fragment_offset == 0;
        let is_left =
            |partial: &Partial| !partial.messages.has_begun() && now.since(partial.touched.1) >= self.fragment_timeout;
        let is_other = |partial: &Partial| partial.message_seq != message_seq || (begins && is_left(partial));
        if self.partial.get(from).is_some_and(is_other) {
            self.partial.remove(from); // the client has begun another message
        }
        if !self.partial.contains_key(from) {
            if self.partial.len() >= self.limits.max_first_messages {
                let oldest =
                    self.partial.iter().min_by_key(|(_, partial)| partial.touched).map(|(from, _)| from.clone());
                self.partial.remove(&oldest?);
                counters.hellos_dropped += 1;
            }
            let messages = Reassembler::new(self.max_message, message_seq);
            self.partial
                .insert(from.clone(), Partial { message_seq, messages, touched: (0, now), datagrams: 0, bytes: 0 });
        }
        let partial = self.partial.get_mut(from)?;
        partial.touched = (self.clock, now);
        let known = partial.messages.body_bytes();
        if let fragment::Inserted::Dropped(_) = partial.messages.insert(fragment, body) {
            counters.malformed += 1;
            self.partial.remove(from); // it contradicts earlier fragments: one of them is forged
            return None;
        }
        if partial.messages.body_bytes() > known {
            partial.datagrams += core::mem::take(datagrams); // each has a byte of a message of 4,096, so no overflow
            partial.bytes += header.header_len() + fragment::HEADER_LEN + body.len();
        }
        let message = partial.messages.message().map(<[u8]>::to_vec)?;
        let Partial { datagrams, bytes, .. } = self.partial.remove(from)?;
        Some(FirstMessage { message, message_seq, number: header.number, datagrams, bytes })
    }
}
