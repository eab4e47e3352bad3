//! Identities on a client.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::early_data::EarlyTerms;
use super::offer::{AgreedIdentity, DeclinedIdentity, OfferedIdentity};
use super::{PublicValues, report, split_key_exchange};
use crate::config::{ClientConfig, ClientIdentity, Common, ServerAddress, check_epoch};
use crate::crypto::{EphemeralKey, IdentityPeer, IdentityRole, Rng, SharedSecret, StaticTerms};
use crate::error::{Error, IdentityRefused};
use crate::handshake::client::OfferedEarlyData;
use crate::handshake::{Output, Tickets};
use crate::identity::{Authority, Identity, KnownPeers, SecretTicket};
use crate::proof::FinishedProof;
use crate::resume::{MAX_LIFETIME, seconds};
use crate::schedule::tls13::EarlySecret;
use crate::summary::EarlyDataProtection;
use crate::time::Now;
use crate::wire::{
    EncodeError, ExtensionsBuilder, IdentityShareClientHello, IdentityShareNewSessionTicket, IdentityShareServerHello,
    MaxEarlyDataSize, NewSessionTicket, Random, Transport,
};

/// The identity that a client offers, and the one that it expects.
struct Offer {
    config: ClientIdentity,
    server: Identity,
    ephemeral: EphemeralKey,
    /// The public part of the server's key, if the client holds it.
    held: Option<Vec<u8>>,
    /// Whether the ClientHello has the public part of the client's key.
    sends_own: bool,
    time_unchecked: bool,
    /// The early data, in a box because most connections have none.
    early: Option<Box<Early>>,
}

/// Early data, and what the ClientHello says about it.
struct Early {
    /// The field `ticket` and its flag, which a second ClientHello repeats.
    ticket: OfferedTicket,
    /// The offer, until a HelloRetryRequest ends it.
    data: Option<OfferedEarlyData>,
    /// The secret, until the keys are installed.
    secret: Option<EarlySecret>,
    /// The terms that were needed, with the held public part.
    known: StaticTerms,
}

/// What a ClientHello says about early data.
enum OfferedTicket {
    Secret(Vec<u8>),
    /// The time at first contact.
    FirstContact([u8; 4]),
}

/// The result of a key agreement. The server has not proven yet that it has the key of its identity.
struct Agreement {
    config: ClientIdentity,
    server: Identity,
    /// The public part of the server's key.
    public_part: Vec<u8>,
    time_unchecked: bool,
    early_data: Option<Box<OfferedEarlyData>>,
}

/// What keeps the tickets of a server.
struct TicketKeeper {
    known_peers: Arc<KnownPeers>,
    authority: Authority,
    server: Identity,
    /// The length of the ephemeral key in a ticket.
    ephemeral_len: usize,
    record_limit: u16,
}

/// The longest ticket that is kept, in bytes: several times as long as those of this implementation.
const MAX_TICKET_LEN: usize = 512;

/// The longest content of a record with its type, which a server takes unless it has said something else.
const MAX_INNER: u16 = 0x4001;

/// A server that uses certificates although the client has offered an identity.
struct Decline {
    known_peers: Arc<KnownPeers>,
    authority: Authority,
    server: Identity,
}

/// Returns the identity to offer to the server at `address`; `None` if the client has none, or falls back to
/// certificates at once.
#[inline(never)]
pub(crate) fn begin(
    config: &ClientConfig,
    address: &ServerAddress,
    now: Now,
    rng: &mut dyn Rng,
) -> Result<Option<Box<dyn OfferedIdentity>>, Error> {
    let Some(identity) = &config.identity else { return Ok(None) };
    let (parameters, server) = (identity.key.parameters(), identity.expected(address)?);
    if identity.denied.as_ref().is_some_and(|denied| denied.contains(&server)) {
        return Err(IdentityRefused::Denied.into());
    }
    if server == *identity.key.identity() {
        return Err(IdentityRefused::OwnIdentity.into());
    }
    let (authority, algorithm) = (parameters.authority(), parameters.algorithm());
    let seconds = now.unix.map_or(0, |time| time.as_secs());
    if config.trusts_certificates() && identity.known_peers.uses_certificates(authority, &server, seconds) {
        return Ok(None);
    }
    let time_unchecked = match check_epoch(parameters, now, identity.without_clock) {
        Ok(unchecked) => unchecked,
        Err(_) if config.trusts_certificates() => return Ok(None),
        Err(refused) => return Err(refused.into()),
    };
    let (held, sends_own) = if algorithm.public_part_len() == 0 {
        (None, false)
    } else {
        let known = identity.known_peers.begin(authority, &server, identity.key.public_part());
        (known.public_part, known.sends_own)
    };
    let ephemeral = identity.key.ephemeral(rng)?;
    let mut offered =
        Offer { config: (**identity).clone(), server, ephemeral, held, sends_own, time_unchecked, early: None };
    if let Some(early) = identity.early.filter(|_| identity.may_offer_early_data()) {
        (early.offer)(&mut offered, config, now);
    }
    Ok(Some(Box::new(offered)))
}

impl Offer {
    /// Offers early data, if there is a ticket for it, or if it is allowed at first contact. If it is impossible, the
    /// handshake goes on without it.
    #[inline(never)]
    fn offer_early_data(&mut self, config: &ClientConfig, now: Now) {
        let key = &self.config.key;
        let needs_public_part = key.parameters().algorithm().public_part_len() > 0;
        let suite = config.offered_suites().next().and_then(|suite| config.common.provider.tls13_suite(suite));
        let (Some(now), Some(suite)) = (seconds(now), suite) else { return };
        if needs_public_part && self.held.is_none() {
            return; // the server's key is not known
        }
        let public_part = self.held.as_deref().unwrap_or_default();
        let (role, authority) = (IdentityRole::Client, key.parameters().authority());
        let own = IdentityPeer {
            identity: key.identity(),
            public_part: key.public_part(),
            ephemeral: self.ephemeral.public(),
        };
        let peer = |ephemeral| IdentityPeer { identity: &self.server, public_part, ephemeral };
        let values = |ephemeral| PublicValues { parameters: key.parameters(), client: own, server: peer(ephemeral) };
        let transport = config.common.transport();
        let take = || {
            let is_datagram = transport == Transport::Datagram;
            self.config.known_peers.take_ticket(authority, &self.server, is_datagram, now)
        };
        let ticket = self.config.early_data.then(take).flatten();
        let ticket =
            ticket.filter(|ticket| config.common.offers_application_protocol(ticket.application_protocol.as_deref()));
        if let Some(ticket) = ticket {
            let Ok(terms) = key.terms(role, &self.ephemeral, peer(&ticket.key_exchange), None) else { return };
            let secret = values(&ticket.key_exchange).early_secret(&EarlyTerms::Ticket(&terms), suite, transport);
            let protection = EarlyDataProtection::Ticket;
            let SecretTicket { ticket, application_protocol, max_size, record_limit, .. } = ticket;
            let begin = OfferedEarlyData::begin;
            let data =
                Some(OfferedEarlyData { suite, application_protocol, max_size, record_limit, protection, begin });
            let (ticket, known) = (OfferedTicket::Secret(ticket), terms.into_static());
            self.early = Some(Box::new(Early { ticket, data, secret: Some(secret), known }));
        } else if self.config.first_contact > 0 {
            let Ok(known) = key.static_terms(role, Some(&self.ephemeral), peer(&[])) else { return };
            let secret = values(&[]).early_secret(&EarlyTerms::FirstContact(&known), suite, transport);
            let data = Some(OfferedEarlyData {
                suite,
                application_protocol: config.common.alpn_protocols.first().map(|name| name.as_slice().into()),
                max_size: self.config.first_contact,
                record_limit: MAX_INNER,
                protection: EarlyDataProtection::FirstContact,
                begin: OfferedEarlyData::begin,
            });
            let ticket = OfferedTicket::FirstContact((now as u32).to_be_bytes()); // as on the wire, which wraps in 2106
            self.early = Some(Box::new(Early { ticket, data, secret: Some(secret), known }));
        }
    }
}

/// The code of early data, which only a configuration names that has some.
pub(crate) struct EarlyCode {
    offer: fn(&mut Offer, &ClientConfig, Now),
    tickets: fn(&Agreement, &mut Output<'_>) -> Box<dyn Tickets>,
}

impl EarlyCode {
    /// The code of all early data.
    pub(crate) const CODE: &'static Self = &Self { offer: Offer::offer_early_data, tickets: Agreement::keep_tickets };
}

impl OfferedIdentity for Offer {
    fn early_data(&self) -> Option<&OfferedEarlyData> {
        self.early.as_ref()?.data.as_ref()
    }

    fn begin_early_data(
        &mut self,
        client: (&Common, &Random),
        client_hello: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let Some(early) = &mut self.early else { return Ok(()) };
        match (early.secret.take(), &early.data) {
            (Some(secret), Some(data)) => (data.begin)(data, &secret, client, client_hello, output),
            _ => Ok(()),
        }
    }

    fn abandon_early_data(&mut self) -> bool {
        self.early.as_mut().is_some_and(|early| early.data.take().is_some())
    }

    fn has_hedge(&self) -> bool {
        self.config.hedge
    }

    fn is_hybrid(&self) -> bool {
        self.config.hybrid
    }

    fn offer(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let key = &self.config.key;
        let parameters = key.parameters();
        let mut flags = if self.held.is_some() { IdentityShareClientHello::HOLDS_PUBLIC_PART } else { 0 };
        if self.config.early_data {
            flags |= IdentityShareClientHello::WANTS_TICKET;
        }
        let ticket = match self.early.as_ref().map(|early| &early.ticket) {
            None => &[][..],
            Some(OfferedTicket::Secret(ticket)) => ticket,
            Some(OfferedTicket::FirstContact(time)) => {
                flags |= IdentityShareClientHello::FIRST_CONTACT;
                time
            }
        };
        let mut key_exchange = Vec::from(self.ephemeral.public());
        if self.sends_own {
            key_exchange.extend_from_slice(key.public_part());
        }
        extensions.push(&IdentityShareClientHello {
            algorithm: parameters.algorithm().code() | flags,
            authority: parameters.authority(),
            identity: key.identity().encoded(),
            key_exchange: &key_exchange,
            ticket,
        })
    }

    fn retry(&mut self) -> bool {
        let has_public_part = !self.config.key.public_part().is_empty();
        has_public_part && !core::mem::replace(&mut self.sends_own, true)
    }

    fn complete(
        self: Box<Self>,
        answer: &IdentityShareServerHello<'_>,
        hybrid: Option<&SharedSecret>,
    ) -> Result<(SharedSecret, Box<dyn AgreedIdentity>), Error> {
        let Self { config, server, ephemeral, held, time_unchecked, early, .. } = *self;
        let (early_data, known) = early.map(|early| (early.data.map(Box::new), early.known)).unzip();
        let early_data = early_data.flatten();
        if !answer.identity.is_empty() && answer.identity != server.encoded() {
            return Err(IdentityRefused::OtherIdentity.into());
        }
        let key = &config.key;
        let algorithm = key.parameters().algorithm();
        let (server_ephemeral, sent) =
            split_key_exchange(algorithm, answer.key_exchange).ok_or(IdentityRefused::IllegalLength)?;
        // Terms with a public part that turns out to be another one are of no use.
        let known = known.filter(|_| sent.is_empty() || held.as_deref() == Some(sent));
        let public_part = match held {
            _ if !sent.is_empty() => sent.into(),
            Some(held) => held,
            None if algorithm.public_part_len() > 0 => return Err(IdentityRefused::IllegalLength.into()),
            None => Vec::new(),
        };
        let peer = IdentityPeer { identity: &server, public_part: &public_part, ephemeral: server_ephemeral };
        let terms = key.terms(IdentityRole::Client, &ephemeral, peer, known)?;
        let own =
            IdentityPeer { identity: key.identity(), public_part: key.public_part(), ephemeral: ephemeral.public() };
        let values = PublicValues { parameters: key.parameters(), client: own, server: peer };
        let secret = values.secret(&terms, hybrid);
        Ok((secret, Box::new(Agreement { config, server, public_part, time_unchecked, early_data })))
    }

    fn declined(self: Box<Self>) -> Box<dyn DeclinedIdentity> {
        let authority = self.config.key.parameters().authority();
        Box::new(Decline { known_peers: self.config.known_peers, authority, server: self.server })
    }
}

impl AgreedIdentity for Agreement {
    fn take_early_data(&mut self) -> Option<OfferedEarlyData> {
        self.early_data.take().map(|early_data| *early_data)
    }

    fn prove(&self, proof: &FinishedProof, output: &mut Output<'_>) {
        let Self { config, server, public_part, time_unchecked, .. } = self;
        let parameters = config.key.parameters();
        let authority = parameters.authority();
        config.known_peers.confirm(proof, authority, server, public_part, config.key.public_part());
        report(authority, server, parameters.algorithm(), *time_unchecked, output);
    }

    fn tickets(&self, output: &mut Output<'_>) -> Option<Box<dyn Tickets>> {
        let early = self.config.early.filter(|_| self.config.early_data)?;
        Some((early.tickets)(self, output))
    }
}

impl Agreement {
    /// Returns what keeps the server's tickets.
    fn keep_tickets(&self, output: &mut Output<'_>) -> Box<dyn Tickets> {
        let Self { config, server, .. } = self;
        Box::new(TicketKeeper {
            known_peers: config.known_peers.clone(),
            authority: config.key.parameters().authority(),
            server: server.clone(),
            ephemeral_len: config.key.parameters().algorithm().ephemeral_len(),
            record_limit: u16::try_from(output.link.limits().of(true)).unwrap_or(u16::MAX),
        })
    }
}

/// A ticket that is no ephemeral secret ticket is ignored.
impl Tickets for TicketKeeper {
    fn receive(&mut self, new: &NewSessionTicket<'_>, output: &Output<'_>) -> Result<(), Error> {
        let share: Option<IdentityShareNewSessionTicket<'_>> = new.extensions.get()?;
        let max_size = new.extensions.get()?.map_or(0, |MaxEarlyDataSize(size)| size);
        let (Some(share), Some(now)) = (share, seconds(output.now)) else { return Ok(()) };
        if share.key_exchange.len() != self.ephemeral_len || max_size == 0 || new.ticket.len() > MAX_TICKET_LEN {
            output.note("an ephemeral secret ticket that cannot be used: not kept");
            return Ok(());
        }
        let ticket = SecretTicket {
            ticket: new.ticket.into(),
            key_exchange: share.key_exchange.into(),
            is_datagram: output.link.transport() == Transport::Datagram,
            application_protocol: output.agreed.application_protocol.as_deref().map(Into::into),
            max_size,
            record_limit: self.record_limit,
            expires: now.saturating_add(u64::from(new.ticket_lifetime.min(MAX_LIFETIME))),
        };
        self.known_peers.keep_ticket(self.authority, &self.server, ticket);
        Ok(())
    }
}

impl DeclinedIdentity for Decline {
    fn used_certificates(&self, proof: &FinishedProof, now: Now) {
        if let Some(now) = now.unix {
            self.known_peers.used_certificates(proof, self.authority, &self.server, now.as_secs());
        }
    }
}
