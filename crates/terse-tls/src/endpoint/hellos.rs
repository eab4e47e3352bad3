//! First messages: ClientHellos, put together if they come in fragments, and their cookies.
//!
//! A ClientHello in one piece costs no memory. Of fragments, a bounded number of clients have a place, each for one message
//! of a bounded length; the one that was not heard of for longest makes room.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::counters::EndpointCounters;
use super::limits::EndpointLimits;
use crate::config::Common;
use crate::crypto::{Hash, Rng};
use crate::error::Error;
use crate::link::datagram::FirstMessage;
use crate::link::datagram::cookie::CookieSecrets;
use crate::link::datagram::fragment::{self, FragmentHeader, Reassembler};
use crate::record::datagram12::{self, Header, WriteEpoch};
use crate::time::Instant;
use crate::wire::{
    ClientHello, ContentType, Encode, HandshakeType, HelloVerifyRequest, Protocol, ProtocolVersion, Random,
};

/// The longest ClientHello that is put together, in bytes: room for a hybrid key share and a large ticket.
const MAX_HELLO: usize = 4_096;

/// Numbers of ClientHellos: the first one has 0, and each HelloVerifyRequest is followed by another one.
const MAX_SEQ: u16 = 3;

/// A ClientHello that is there as a whole.
pub(super) struct Hello {
    pub(super) first: FirstMessage,
    pub(super) random: Random,
}

pub(super) struct Hellos {
    secrets: CookieSecrets,
    hash: &'static dyn Hash,
    require_cookie: bool,
    takes_any: bool,
    max_clients: usize,
    max_message: usize,
    partial: BTreeMap<SocketAddr, Partial>,
    /// Grows with each fragment.
    clock: u64,
}

/// A ClientHello of which something came.
struct Partial {
    message_seq: u16,
    messages: Reassembler,
    /// When it was heard of.
    touched: u64,
    /// As in [`FirstMessage`].
    datagrams: u32,
    bytes: usize,
}

/// Whether a datagram begins with a ClientHello, or a part of one, that nothing protects.
pub(super) fn is_client_hello(header: &Header, datagram: &[u8]) -> bool {
    let body = datagram.get(header.header_len()..header.record_len()).unwrap_or_default();
    header.epoch == 0
        && header.content_type == ContentType::HANDSHAKE
        && body.first() == Some(&HandshakeType::CLIENT_HELLO.0)
}

impl Hellos {
    pub(super) fn new(common: &Common, limits: &EndpointLimits, rng: &mut dyn Rng) -> Result<Self, Error> {
        Ok(Self {
            secrets: CookieSecrets::new(rng)?,
            hash: common.provider.sha256,
            require_cookie: limits.require_cookie,
            takes_any: limits.takes_any_cookie(),
            max_clients: limits.max_first_messages,
            max_message: common.max_handshake_message.min(MAX_HELLO),
            partial: BTreeMap::new(),
            clock: 0,
        })
    }

    /// Takes a datagram with a ClientHello, or a part of one. Returns the message if it is there as a whole.
    pub(super) fn put_together(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        counters: &mut EndpointCounters,
    ) -> Option<Hello> {
        if let Some(partial) = self.partial.get_mut(&from) {
            partial.datagrams = partial.datagrams.saturating_add(1);
            partial.bytes = partial.bytes.saturating_add(datagram.len());
        }
        let mut rest = datagram;
        let mut first = None;
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
            if body.len() == fragment.length {
                let message = [&fragment.bytes()[..], body].concat();
                let FragmentHeader { message_seq, length, .. } = fragment;
                let whole =
                    FirstMessage { message, message_seq, number: header.number, datagrams: 1, bytes: datagram.len() };
                first = (length <= self.max_message).then_some(whole);
            } else {
                first = self.insert(from, header.number, fragment, body, datagram.len(), counters).or(first);
            }
        }
        let first = first?;
        let Ok(hello) = ClientHello::read(&first.message[fragment::HEADER_LEN..], Protocol::Dtls) else {
            counters.malformed += 1;
            return None;
        };
        let random = hello.random;
        Some(Hello { first, random })
    }

    /// Keeps a fragment, of a datagram of `len` bytes.
    fn insert(
        &mut self,
        from: SocketAddr,
        number: u64,
        fragment: FragmentHeader,
        body: &[u8],
        len: usize,
        counters: &mut EndpointCounters,
    ) -> Option<FirstMessage> {
        self.clock += 1;
        let message_seq = fragment.message_seq;
        if self.partial.get(&from).is_some_and(|partial| partial.message_seq != message_seq) {
            self.partial.remove(&from); // the client is at another one
        }
        if !self.partial.contains_key(&from) {
            if self.partial.len() >= self.max_clients {
                let oldest = self.partial.iter().min_by_key(|(_, partial)| partial.touched).map(|(from, _)| *from);
                self.partial.remove(&oldest?);
                counters.hellos_dropped += 1;
            }
            let messages = Reassembler::new(self.max_message, message_seq);
            self.partial.insert(from, Partial { message_seq, messages, touched: 0, datagrams: 1, bytes: len });
        }
        let partial = self.partial.get_mut(&from)?;
        partial.touched = self.clock;
        if let fragment::Inserted::Dropped(_) = partial.messages.insert(fragment, body) {
            counters.malformed += 1;
            self.partial.remove(&from); // it is at odds with what came before: that, or this, was not the client
            return None;
        }
        let message = partial.messages.message().map(<[u8]>::to_vec)?;
        let Partial { datagrams, bytes, .. } = self.partial.remove(&from)?;
        Some(FirstMessage { message, message_seq, number, datagrams, bytes })
    }

    /// Whether the client showed that it is at `from`. If not, a HelloVerifyRequest for it.
    pub(super) fn check_cookie(
        &mut self,
        now: Instant,
        rng: &mut dyn Rng,
        from: SocketAddr,
        hello: &Hello,
    ) -> Result<Option<Vec<u8>>, Error> {
        if !self.require_cookie {
            return Ok(None);
        }
        let parsed = ClientHello::read(&hello.first.message[fragment::HEADER_LEN..], Protocol::Dtls)?;
        let cookie = parsed.cookie.unwrap_or_default();
        // RFC 6347, 4.2.1, but for session_id: Mbed TLS chooses another one when it resumes with a ticket.
        let ip = match from.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let address = [&ip[..], &from.port().to_be_bytes()].concat();
        let suites = parsed.cipher_suites.to_vec()?;
        let bound: [&[u8]; 4] =
            [&parsed.legacy_version.0.to_be_bytes(), &parsed.random, &suites, parsed.legacy_compression_methods];
        if !cookie.is_empty()
            && (self.takes_any || self.secrets.verify(now, rng, self.hash, &address, &bound, cookie)?)
        {
            return Ok(None);
        }
        let cookie = self.secrets.make(now, rng, self.hash, &address, &bound)?;
        Ok(Some(hello_verify_request(hello, &cookie)?))
    }
}

/// A record with the HelloVerifyRequest, under the numbers of the ClientHello that it answers (RFC 6347, 4.2.1 and 4.2.2).
fn hello_verify_request(hello: &Hello, cookie: &[u8]) -> Result<Vec<u8>, Error> {
    // DTLS 1.0, whatever will be negotiated (RFC 6347, 4.2.1).
    let body = HelloVerifyRequest { server_version: ProtocolVersion(0xfeff), cookie }.to_vec()?;
    let header = FragmentHeader::whole(HandshakeType::HELLO_VERIFY_REQUEST, hello.first.message_seq, body.len());
    let mut record = vec![0; datagram12::HEADER_LEN];
    record.extend_from_slice(&header.bytes());
    record.extend_from_slice(&body);
    WriteEpoch::unprotected(hello.first.number).seal(ContentType::HANDSHAKE, &[], &mut record)?;
    Ok(record)
}
