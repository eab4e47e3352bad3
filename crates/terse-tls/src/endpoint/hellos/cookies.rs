//! The validation of a client's path by a cookie, without any state: HelloVerifyRequest in DTLS 1.2 (RFC 6347,
//! 4.2.1), HelloRetryRequest in DTLS 1.3 (RFC 9147, 5.1).
//!
//! A cookie of DTLS 1.3 also contains the values of the first exchange that the transcript needs:
//!
//! ```text
//! CipherSuite; NamedGroup, 0xffff for the public part of an identity key, or 0; Hash(first ClientHello); cookie for the path and all of these
//! ```

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::super::Path;
use super::Hellos;
use crate::cache::AddressId;
use crate::connection::AcceptedClientHello;
use crate::crypto::Rng;
use crate::error::Error;
use crate::handshake::server::{Negotiation, ReceivedClientHello};
use crate::handshake::tls13::server::{FirstClientHello, Requested, Retried};
use crate::link::datagram::FirstMessage;
use crate::link::datagram::cookie::COOKIE_LEN;
use crate::link::datagram::fragment::{FragmentHeader, HEADER_LEN};
use crate::record::datagram12;
use crate::time::Now;
use crate::wire::{
    Alert, AlertDescription, CipherSuite, ClientHello, ContentType, Cookie, Encode, HandshakeType, HelloVerifyRequest,
    ProtocolVersion,
};

/// What is to be done with a ClientHello.
pub(in crate::endpoint) enum Verdict<'a> {
    /// The client has shown where it is, as far as it must.
    Accept(AddressEvidence, AcceptedClientHello<'a>),
    /// These datagrams are to be sent there, and nothing kept.
    Reply(Vec<Vec<u8>>),
}

/// How a client has proven that it is reached on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) enum AddressEvidence {
    /// That it gets what is sent there.
    Cookie,
    /// Something of the client's that nobody has shown before: it may be somebody else who has seen it.
    SpentProof,
    Nothing,
}

/// Where a ClientHello came from.
pub(super) struct HelloOrigin {
    /// The path, as bytes that no other path has.
    path: Vec<u8>,
    id: AddressId,
    pub(super) may_spend: bool,
}

impl Hellos {
    /// Whether the client showed that it is reached on `from`, without a cookie only if it `may_spend` a proof. `received` is what its
    /// ClientHello says.
    pub(in crate::endpoint) fn judge<'a>(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        from: &Path,
        (first, received): (&'a FirstMessage, &'a ReceivedClientHello<'a>),
        may_spend: bool,
    ) -> Result<Verdict<'a>, Error> {
        let origin = HelloOrigin { path: from.bytes(), id: self.address_id(from), may_spend };
        match received.version {
            Ok(ProtocolVersion::TLS_1_3) => self.judge13(now, rng, &origin, first, received),
            // Who offers nothing that fits is told so once it has shown where it is, as in DTLS 1.2.
            _ => self.judge12(now, rng, &origin, first, received),
        }
    }

    fn judge12<'a>(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        origin: &HelloOrigin,
        first: &'a FirstMessage,
        received: &'a ReceivedClientHello<'a>,
    ) -> Result<Verdict<'a>, Error> {
        let accept = |evidence| Ok(accept(evidence, first, received, Negotiation::Due));
        if !self.limits.require_cookie {
            return accept(AddressEvidence::Nothing);
        }
        let hello = &received.hello;
        let cookie = hello.cookie.unwrap_or_default();
        // RFC 6347, 4.2.1, but for session_id: Mbed TLS chooses another one when it resumes with a ticket.
        let suites = hello.cipher_suites.to_vec()?;
        let bound: [&[u8]; 4] =
            [&hello.legacy_version.0.to_be_bytes(), &hello.random, &suites, hello.legacy_compression_methods];
        if !cookie.is_empty() {
            let is_good = self.secrets.verify(now.monotonic, rng, self.hash(), &origin.path, &bound, cookie)?;
            if self.limits.take_cookie(is_good) {
                return accept(AddressEvidence::Cookie);
            }
        }
        if cookie.is_empty() && received.version.is_ok() && self.spend_proof(hello, origin) {
            return accept(AddressEvidence::SpentProof);
        }
        let cookie = self.secrets.make(now.monotonic, rng, self.hash(), &origin.path, &bound)?;
        // DTLS 1.0, whatever will be negotiated (RFC 6347, 4.2.1).
        let body = HelloVerifyRequest { server_version: ProtocolVersion(0xfeff), cookie: &cookie }.to_vec()?;
        self.reply(first, Reply::Message(HandshakeType::HELLO_VERIFY_REQUEST, body))
    }

    /// Judges a ClientHello of DTLS 1.3. Who has to come again for another group gets a cookie in any case, so that
    /// nothing is kept meanwhile.
    fn judge13<'a>(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        origin: &HelloOrigin,
        first: &'a FirstMessage,
        received: &'a ReceivedClientHello<'a>,
    ) -> Result<Verdict<'a>, Error> {
        if let Some(Cookie(cookie)) = received.hello.extensions.get()? {
            return match self.read_cookie(now, rng, origin, cookie)? {
                Some(retried) => {
                    let negotiation = Negotiation::Retried(retried, cookie);
                    Ok(accept(AddressEvidence::Cookie, first, received, negotiation))
                }
                None => self.reply(first, Reply::Alert(AlertDescription::ILLEGAL_PARAMETER)), // RFC 9147, 5.1
            };
        }
        let accept = |evidence, chosen| Ok(accept(evidence, first, received, Negotiation::Done(chosen)));
        let chosen = match FirstClientHello::new(&self.config, received, now).map(Box::new) {
            // The client has to come again, with a cookie, by which alone it is judged then: nothing is spent.
            Ok(chosen) if chosen.must_retry() => chosen,
            chosen if !self.limits.require_cookie => return accept(AddressEvidence::Nothing, chosen),
            Ok(chosen) if self.spend_proof(&received.hello, origin) => {
                return accept(AddressEvidence::SpentProof, Ok(chosen));
            }
            Ok(chosen) if self.first_contacts.admits(now.monotonic, &received.hello, origin) => {
                return accept(AddressEvidence::Nothing, Ok(chosen));
            }
            Ok(chosen) => chosen,
            // What is wrong with it is told once.
            Err(error) => {
                let description = error.alert().unwrap_or(AlertDescription::HANDSHAKE_FAILURE);
                return self.reply(first, Reply::Alert(description));
            }
        };
        let retried = chosen.retried();
        let cookie = self.make_cookie(now, rng, origin, &retried)?;
        self.reply(first, Reply::Message(HandshakeType::SERVER_HELLO, retried.request(&cookie)?))
    }

    /// Whether the ClientHello has something that stands for a cookie. If so, it is spent.
    fn spend_proof(&self, hello: &ClientHello<'_>, origin: &HelloOrigin) -> bool {
        origin.may_spend && self.proofs.iter().any(|proof| proof.spend(hello, origin.id))
    }

    /// The cookie of a HelloRetryRequest.
    fn make_cookie(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        origin: &HelloOrigin,
        retried: &Retried,
    ) -> Result<Vec<u8>, Error> {
        let mut cookie = Vec::from(retried.suite.0.to_be_bytes());
        cookie.extend_from_slice(&Requested::to_cookie(retried.requested));
        cookie.extend_from_slice(&retried.hash);
        let mac = self.secrets.make(now.monotonic, rng, self.hash(), &origin.path, &[&cookie])?;
        cookie.extend_from_slice(&mac);
        Ok(cookie)
    }

    /// What a cookie that [`Self::make_cookie`] made says; `None`: it made another one, or for somebody else.
    fn read_cookie(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        origin: &HelloOrigin,
        cookie: &[u8],
    ) -> Result<Option<Retried>, Error> {
        let Some((said, mac)) = cookie.split_last_chunk::<COOKIE_LEN>() else { return Ok(None) };
        let is_good = self.secrets.verify(now.monotonic, rng, self.hash(), &origin.path, &[said], mac)?;
        Ok(parse(said).filter(|_| self.limits.take_cookie(is_good)))
    }

    fn reply<'a>(&self, first: &FirstMessage, reply: Reply) -> Result<Verdict<'a>, Error> {
        let settings = self.config.common.datagrams.unwrap_or_default(); // there are some: a ClientHello came in them
        reply.datagrams(first, settings.max_datagram).map(Verdict::Reply)
    }
}

/// The client begins a connection. After a HelloRetryRequest the server has sent records under the numbers before.
const fn accept<'a>(
    evidence: AddressEvidence,
    first: &'a FirstMessage,
    received: &'a ReceivedClientHello<'a>,
    negotiation: Negotiation<'a>,
) -> Verdict<'a> {
    let number = match negotiation {
        Negotiation::Retried(..) => first.number + MAX_DATAGRAMS, // of 48 bits
        Negotiation::Due | Negotiation::Done(_) => first.number,
    };
    Verdict::Accept(evidence, AcceptedClientHello { first, received, negotiation, number })
}

/// Parses the content of a cookie.
fn parse(said: &[u8]) -> Option<Retried> {
    let (&[s0, s1, r0, r1], hash) = said.split_first_chunk()?;
    let requested = Requested::from_cookie([r0, r1]);
    Some(Retried { suite: CipherSuite(u16::from_be_bytes([s0, s1])), requested, hash: hash.into() })
}

/// A reply to a client for which no state is kept.
enum Reply {
    Message(HandshakeType, Vec<u8>),
    Alert(AlertDescription),
}

impl Reply {
    /// As datagrams that fit the path, under the numbers of the ClientHello that this answers (RFC 6347, 4.2.1 and
    /// 4.2.2) and those that follow.
    fn datagrams(self, first: &FirstMessage, max_datagram: usize) -> Result<Vec<Vec<u8>>, Error> {
        let mut epoch = datagram12::WriteEpoch::unprotected(first.number);
        let mut record = |content_type, parts: &[&[u8]]| {
            let mut record = vec![0; datagram12::HEADER_LEN];
            record.extend(parts.iter().copied().flatten());
            epoch.seal(content_type, &[], &mut record).map(|()| record)
        };
        let (kind, body) = match self {
            Self::Message(kind, body) => (kind, body),
            Self::Alert(description) => {
                let alert = Alert { level: Alert::FATAL, description }.to_vec()?;
                return Ok(vec![record(ContentType::ALERT, &[&alert])?]);
            }
        };
        let whole = FragmentHeader::whole(kind, first.message_seq, body.len());
        let room = max_datagram.saturating_sub(datagram12::HEADER_LEN + HEADER_LEN).max(LEAST_PART);
        let fragments = body.chunks(room).enumerate().map(|(index, part)| {
            let (fragment_offset, fragment_length) = (index * room, part.len());
            let header = FragmentHeader { fragment_offset, fragment_length, ..whole };
            record(ContentType::HANDSHAKE, &[&header.bytes(), part])
        });
        Ok(fragments.collect::<Result<_, _>>()?)
    }
}

/// The fewest bytes of a message that a datagram has: see [`MAX_DATAGRAMS`].
const LEAST_PART: usize = 25;

/// The most datagrams of a HelloRetryRequest, even with the smallest size that can be configured.
const MAX_DATAGRAMS: u64 = 5;
