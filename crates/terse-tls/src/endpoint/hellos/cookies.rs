//! The validation of a client's address by a cookie, without any state: HelloVerifyRequest in DTLS 1.2 (RFC 6347,
//! 4.2.1), HelloRetryRequest in DTLS 1.3 (RFC 9147, 5.1).
//!
//! A cookie of DTLS 1.3 also contains the values of the first exchange that the transcript needs:
//!
//! ```text
//! CipherSuite; NamedGroup or 0; Hash(first ClientHello); cookie for the address and all of these
//! ```

use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::{Hellos, WholeClientHello};
use crate::cache::AddressId;
use crate::config::ServerConfig;
use crate::crypto::Rng;
use crate::error::Error;
use crate::handshake::tls13::server::{Retried, retry};
use crate::handshake::{Message, server::select_version};
use crate::link::datagram::cookie::COOKIE_LEN;
use crate::link::datagram::fragment::{FragmentHeader, HEADER_LEN};
use crate::record::datagram12;
use crate::time::Now;
use crate::wire::{
    Alert, AlertDescription, CipherSuite, ClientHello, ContentType, Cookie, Encode, HandshakeType, HelloVerifyRequest,
    NamedGroup, ProtocolVersion, Transport,
};

/// The decision about a ClientHello.
pub(in crate::endpoint) enum Verdict {
    /// The client's address is validated, as far as the configuration requires.
    Accept(AddressProof),
    /// These datagrams are sent to the client, and no state is kept.
    Reply(Vec<Vec<u8>>),
}

/// How a client has proven its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) enum AddressProof {
    /// The client returned a cookie, so it receives datagrams at the address.
    Cookie,
    /// The client sent an unspent ticket that was made at its IP address. An observer may have sent it first.
    Ticket,
    Nothing,
}

/// The decision about a ClientHello of DTLS 1.3.
enum Verdict13 {
    Accept(AddressProof),
    /// The client repeated its ClientHello with a cookie, whose content this is.
    Again(Retried, Vec<u8>),
    Reply(Reply),
}

/// The origin of a ClientHello.
struct HelloOrigin {
    /// The IP address and port.
    address: Vec<u8>,
    id: AddressId,
    may_show_ticket: bool,
}

impl Hellos {
    /// Decides whether the client has proven that it is at `from`; a ticket is only accepted if it `may_show_ticket`.
    /// If the ClientHello answers a HelloRetryRequest, `hello.retried` is set.
    pub(in crate::endpoint) fn check_cookie(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        config: &ServerConfig,
        from: SocketAddr,
        hello: &mut WholeClientHello,
        may_show_ticket: bool,
    ) -> Result<Verdict, Error> {
        let ip = match from.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let address = [&ip[..], &from.port().to_be_bytes()].concat();
        let origin = HelloOrigin { address, id: self.address_id(from), may_show_ticket };
        let message = Message::new(&hello.first.message, Transport::Datagram)?;
        let parsed = message.client_hello()?;
        // A client without a common version gets the error after it has proven its address, as in DTLS 1.2.
        let version = select_version(&config.common, &parsed);
        if let Ok(ProtocolVersion::TLS_1_3) = version {
            return match self.check13(now, rng, config, &origin, message, &parsed)? {
                Verdict13::Accept(proof) => Ok(Verdict::Accept(proof)),
                Verdict13::Again(retried, cookie) => {
                    hello.retried = Some((retried, cookie));
                    hello.first.number += MAX_DATAGRAMS;
                    Ok(Verdict::Accept(AddressProof::Cookie))
                }
                Verdict13::Reply(reply) => reply.datagrams(hello, self.max_datagram),
            };
        }
        if !self.require_cookie {
            return Ok(Verdict::Accept(AddressProof::Nothing));
        }
        let cookie = parsed.cookie.unwrap_or_default();
        // The fields are those of RFC 6347, 4.2.1, without session_id: Mbed TLS changes it when it resumes with a
        // ticket.
        let suites = parsed.cipher_suites.to_vec()?;
        let bound: [&[u8]; 4] =
            [&parsed.legacy_version.0.to_be_bytes(), &parsed.random, &suites, parsed.legacy_compression_methods];
        if !cookie.is_empty()
            && (self.takes_any
                || self.secrets.verify(now.monotonic, rng, self.hash, &origin.address, &bound, cookie)?)
        {
            return Ok(Verdict::Accept(AddressProof::Cookie));
        }
        let may_show_ticket = origin.may_show_ticket && cookie.is_empty() && version.is_ok();
        if may_show_ticket && self.tickets.prove(config, &parsed, origin.id) {
            return Ok(Verdict::Accept(AddressProof::Ticket));
        }
        let cookie = self.secrets.make(now.monotonic, rng, self.hash, &origin.address, &bound)?;
        // The version is DTLS 1.0, independent of the negotiation (RFC 6347, 4.2.1).
        let body = HelloVerifyRequest { server_version: ProtocolVersion(0xfeff), cookie: &cookie }.to_vec()?;
        Reply::Message(HandshakeType::HELLO_VERIFY_REQUEST, body).datagrams(hello, self.max_datagram)
    }

    /// Decides about a ClientHello of DTLS 1.3. A client that must repeat it for another group gets a cookie in any
    /// case, so that no state is kept in between.
    fn check13(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        config: &ServerConfig,
        origin: &HelloOrigin,
        message: Message<'_>,
        hello: &ClientHello<'_>,
    ) -> Result<Verdict13, Error> {
        if let Some(Cookie(cookie)) = hello.extensions.get()? {
            let retried = match cookie.split_last_chunk::<COOKIE_LEN>() {
                Some((said, mac)) => {
                    let is_good = self.secrets.verify(now.monotonic, rng, self.hash, &origin.address, &[said], mac)?;
                    parse(said).filter(|_| is_good || self.takes_any)
                }
                None => None,
            };
            return Ok(match retried {
                Some(retried) => Verdict13::Again(retried, cookie.into()),
                None => Verdict13::Reply(Reply::Alert(AlertDescription::ILLEGAL_PARAMETER)), // RFC 9147, 5.1
            });
        }
        let retried = match retry(config, hello, message, Transport::Datagram, now) {
            // The client must repeat its ClientHello with a cookie, so no ticket is spent.
            Ok(retried) if retried.group.is_some() => retried,
            Ok(_) | Err(_) if !self.require_cookie => return Ok(Verdict13::Accept(AddressProof::Nothing)),
            Ok(_) if origin.may_show_ticket && self.tickets.prove(config, hello, origin.id) => {
                return Ok(Verdict13::Accept(AddressProof::Ticket));
            }
            Ok(retried) => retried,
            // The error is sent as an alert, and no state is kept.
            Err(error) => {
                let description = error.alert().unwrap_or(AlertDescription::HANDSHAKE_FAILURE);
                return Ok(Verdict13::Reply(Reply::Alert(description)));
            }
        };
        let mut cookie = Vec::from(retried.suite.0.to_be_bytes());
        cookie.extend_from_slice(&retried.group.map_or(0, |group| group.0).to_be_bytes());
        cookie.extend_from_slice(&retried.hash);
        let mac = self.secrets.make(now.monotonic, rng, self.hash, &origin.address, &[&cookie])?;
        cookie.extend_from_slice(&mac);
        Ok(Verdict13::Reply(Reply::Message(HandshakeType::SERVER_HELLO, retried.request(&cookie)?)))
    }
}

/// Parses the content of a cookie.
fn parse(said: &[u8]) -> Option<Retried> {
    let (&[s0, s1, g0, g1], hash) = said.split_first_chunk()?;
    let group = match u16::from_be_bytes([g0, g1]) {
        0 => None,
        group => Some(NamedGroup(group)),
    };
    Some(Retried { suite: CipherSuite(u16::from_be_bytes([s0, s1])), group, hash: hash.into() })
}

/// A reply to a client for which no state is kept.
enum Reply {
    Message(HandshakeType, Vec<u8>),
    Alert(AlertDescription),
}

impl Reply {
    /// Makes datagrams of at most `max_datagram` bytes. Their numbers begin with those of the ClientHello (RFC 6347,
    /// 4.2.1 and 4.2.2).
    fn datagrams(self, hello: &WholeClientHello, max_datagram: usize) -> Result<Verdict, Error> {
        let mut epoch = datagram12::WriteEpoch::unprotected(hello.first.number);
        let mut record = |content_type, parts: &[&[u8]]| {
            let mut record = vec![0; datagram12::HEADER_LEN];
            record.extend(parts.iter().copied().flatten());
            epoch.seal(content_type, &[], &mut record).map(|()| record)
        };
        let (kind, body) = match self {
            Self::Message(kind, body) => (kind, body),
            Self::Alert(description) => {
                let alert = Alert { level: Alert::FATAL, description }.to_vec()?;
                return Ok(Verdict::Reply(vec![record(ContentType::ALERT, &[&alert])?]));
            }
        };
        let whole = FragmentHeader::whole(kind, hello.first.message_seq, body.len());
        let room = max_datagram.saturating_sub(datagram12::HEADER_LEN + HEADER_LEN).max(LEAST_PART);
        let fragments = body.chunks(room).enumerate().map(|(index, part)| {
            let (fragment_offset, fragment_length) = (index * room, part.len());
            let header = FragmentHeader { fragment_offset, fragment_length, ..whole };
            record(ContentType::HANDSHAKE, &[&header.bytes(), part])
        });
        Ok(Verdict::Reply(fragments.collect::<Result<_, _>>()?))
    }
}

/// The fewest bytes of a message that a datagram has: see [`MAX_DATAGRAMS`].
const LEAST_PART: usize = 25;

/// The most datagrams of a HelloRetryRequest, even with the smallest size that can be configured.
const MAX_DATAGRAMS: u64 = 5;
