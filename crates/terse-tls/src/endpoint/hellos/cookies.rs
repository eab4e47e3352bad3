//! Whether a client is where it says: HelloVerifyRequest in DTLS 1.2 (RFC 6347, 4.2.1), HelloRetryRequest in DTLS 1.3
//! (RFC 9147, 5.1), and nothing kept in between.
//!
//! A cookie of DTLS 1.3 also says what the transcript needs of the first exchange:
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

/// What is to be done with a ClientHello.
pub(in crate::endpoint) enum Verdict {
    /// The client has shown where it is, as far as it must.
    Accept(AddressProof),
    /// These datagrams are to be sent there, and nothing kept.
    Reply(Vec<Vec<u8>>),
}

/// What a client has shown of where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) enum AddressProof {
    /// That it gets what is sent there.
    Cookie,
    /// A ticket that was made at its IP address, and not shown before: maybe by somebody else.
    Ticket,
    Nothing,
}

/// The same of DTLS 1.3.
enum Verdict13 {
    Accept(AddressProof),
    /// The client came again with a cookie, which says this.
    Again(Retried, Vec<u8>),
    Reply(Reply),
}

/// Where a ClientHello came from.
struct HelloOrigin {
    /// IP address and port.
    address: Vec<u8>,
    id: AddressId,
    may_show_ticket: bool,
}

impl Hellos {
    /// Whether the client showed that it is at `from`, with a ticket only if it `may_show_ticket`. If it came again
    /// after a HelloRetryRequest, `hello` says so then.
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
        // Who offers nothing that fits is told so once it has shown where it is, as in DTLS 1.2.
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
        // RFC 6347, 4.2.1, but for session_id: Mbed TLS chooses another one when it resumes with a ticket.
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
        // DTLS 1.0, whatever will be negotiated (RFC 6347, 4.2.1).
        let body = HelloVerifyRequest { server_version: ProtocolVersion(0xfeff), cookie: &cookie }.to_vec()?;
        Reply::Message(HandshakeType::HELLO_VERIFY_REQUEST, body).datagrams(hello, self.max_datagram)
    }

    /// The same in DTLS 1.3. Who has to come again for another group gets a cookie in any case, so that nothing is kept
    /// meanwhile.
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
            // The client has to come again, with a cookie, by which alone it is judged then: no ticket is spent.
            Ok(retried) if retried.group.is_some() => retried,
            Ok(_) | Err(_) if !self.require_cookie => return Ok(Verdict13::Accept(AddressProof::Nothing)),
            Ok(_) if origin.may_show_ticket && self.tickets.prove(config, hello, origin.id) => {
                return Ok(Verdict13::Accept(AddressProof::Ticket));
            }
            Ok(retried) => retried,
            // What is wrong with it is told once.
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

/// What a cookie says.
fn parse(said: &[u8]) -> Option<Retried> {
    let (&[s0, s1, g0, g1], hash) = said.split_first_chunk()?;
    let group = match u16::from_be_bytes([g0, g1]) {
        0 => None,
        group => Some(NamedGroup(group)),
    };
    Some(Retried { suite: CipherSuite(u16::from_be_bytes([s0, s1])), group, hash: hash.into() })
}

/// What goes to a client of which nothing is kept.
enum Reply {
    Message(HandshakeType, Vec<u8>),
    Alert(AlertDescription),
}

impl Reply {
    /// As datagrams that fit the path, under the numbers of the ClientHello that this answers (RFC 6347, 4.2.1 and
    /// 4.2.2) and those that follow.
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

/// No path is so narrow that datagrams have less of a message: see [`MAX_DATAGRAMS`].
const LEAST_PART: usize = 25;

/// A HelloRetryRequest takes no more datagrams than these, also of the least size that can be configured.
const MAX_DATAGRAMS: u64 = 5;
