//! Identities on a server.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::early_data::{EarlyDataClaim, EarlyTerms};
use super::{PublicValues, report, split_key_exchange};
use crate::config::{ServerConfig, ServerIdentity, check_epoch};
use crate::crypto::{IdentityKey, IdentityPeer, IdentityRole, Rng, SharedSecret, StaticTerms, Tls13Suite};
use crate::error::{Error, IdentityRefused};
use crate::handshake::Output;
use crate::identity::{Identity, IdentityType};
use crate::identity_early_data::{SecretTicketRecord, TicketBinding, TicketContext};
use crate::proof::FinishedProof;
use crate::resume::seconds;
use crate::schedule::tls13::EarlySecret;
use crate::time::Now;
use crate::wire::{
    EncodeError, ExtensionsBuilder, IdentityShareClientHello, IdentityShareNewSessionTicket, IdentityShareServerHello,
    MaxEarlyDataSize, NewSessionTicket, Transport,
};

/// A client's identity, and the key of the server that belongs to the same authority and epoch.
pub(crate) struct IdentityAgreement {
    key: Arc<dyn IdentityKey>,
    client: Identity,
    ephemeral: Vec<u8>,
    /// The public part of the client's key; `None` if a HelloRetryRequest must ask for it.
    public_part: Option<Vec<u8>>,
    /// Whether the server names itself, since the client may expect another one.
    is_named: bool,
    /// Whether the client needs the public part of the server's key.
    sends_own: bool,
    time_unchecked: bool,
    /// Whether the client asks for an ephemeral secret ticket.
    wants_ticket: bool,
    /// The early data that the server could take.
    early_data: Option<OfferedEarlyData>,
}

/// Early data that a client offers, and that this server could take.
enum OfferedEarlyData {
    Ticket(EarlyDataClaim, Box<SecretTicketRecord>),
    FirstContact(EarlyDataClaim),
}

/// Early data that the server takes.
pub(crate) struct AcceptedEarlyData {
    pub(crate) claim: EarlyDataClaim,
    pub(crate) early_secret: EarlySecret,
    /// The terms that the handshake need not compute again.
    pub(crate) known: StaticTerms,
}

/// The server's answer to an `identity_share`.
pub(crate) struct IdentityAnswer {
    identity: Vec<u8>,
    key_exchange: Vec<u8>,
}

/// The identity that a client claims until its Finished proves it.
pub(crate) struct ClaimedIdentity {
    key: Arc<dyn IdentityKey>,
    client: Identity,
    public_part: Vec<u8>,
    time_unchecked: bool,
    wants_ticket: bool,
}

/// Returns the agreement with a client that offers `share`. The inner error is a reason to fall back to certificates, if
/// that is allowed.
pub(crate) fn select(
    identity: &ServerIdentity,
    share: &IdentityShareClientHello<'_>,
    server_name: Option<&str>,
    has_psk: bool,
    now: Now,
) -> Result<Result<IdentityAgreement, IdentityRefused>, Error> {
    if has_psk {
        return Err(IdentityRefused::WithPreSharedKey.into());
    }
    let client = Identity::decode(share.identity).map_err(|_| IdentityRefused::IllegalLength)?;
    if identity.denied.as_ref().is_some_and(|denied| denied.contains(&client)) {
        return Err(IdentityRefused::Denied.into());
    }
    let fits = |key: &&Arc<dyn IdentityKey>| {
        let parameters = key.parameters();
        parameters.algorithm().code() == share.code() && parameters.authority() == share.authority
    };
    let keys = || identity.keys.iter().filter(fits);
    let Some(first) = keys().next() else { return Ok(Err(IdentityRefused::UnknownAuthority)) };
    let asked = server_name.and_then(|name| keys().find(|key| has_name(key.identity(), name)));
    let key = asked.unwrap_or(first);
    let time_unchecked = match check_epoch(key.parameters(), now, identity.without_clock) {
        Ok(unchecked) => unchecked,
        Err(refused) => return Ok(Err(refused)),
    };
    if client == *key.identity() {
        return Err(IdentityRefused::OwnIdentity.into());
    }
    let algorithm = key.parameters().algorithm();
    let (ephemeral, sent) = split_key_exchange(algorithm, share.key_exchange).ok_or(IdentityRefused::IllegalLength)?;
    let public_part = match sent {
        [] if algorithm.public_part_len() > 0 => identity.known_peers.find(share.authority, &client),
        sent => Some(sent.into()),
    };
    // A client without a server name expects the only identity, if there is only one.
    let is_only = keys().count() == 1;
    let is_other_name = server_name.is_some() && key.identity().kind() == IdentityType::DNS_NAME;
    Ok(Ok(IdentityAgreement {
        key: key.clone(),
        client,
        ephemeral: ephemeral.into(),
        public_part,
        is_named: asked.is_none() && (!is_only || is_other_name),
        sends_own: !share.holds_public_part(),
        time_unchecked,
        wants_ticket: share.wants_ticket(),
        early_data: None,
    }))
}

/// The facts about a ClientHello on which early data depends.
pub(crate) struct EarlyDataContext<'a> {
    pub(crate) transport: Transport,
    pub(crate) application_protocol: Option<&'a [u8]>,
    pub(crate) now: Now,
}

fn has_name(identity: &Identity, name: &str) -> bool {
    identity.kind() == IdentityType::DNS_NAME && identity.bytes().eq_ignore_ascii_case(name.as_bytes())
}

impl IdentityAgreement {
    /// Returns whether a HelloRetryRequest must ask for the public part of the client's key.
    pub(crate) const fn must_retry(&self) -> bool {
        self.public_part.is_none()
    }

    /// Finds the ticket of a client that offers early data. Its record also has the public part of the client's key, which
    /// need not be asked for then. Nothing is taken, and nothing computed in a group.
    pub(crate) fn find_ticket(
        &mut self,
        config: &ServerConfig,
        share: &IdentityShareClientHello<'_>,
        context: &EarlyDataContext<'_>,
    ) {
        let tickets = config.identity.as_ref().and_then(|identity| identity.tickets.as_ref());
        let (Some(tickets), Some(ticket), Some(now)) = (tickets, share.secret_ticket(), seconds(context.now)) else {
            return;
        };
        let Some(binding) = ticket_binding(config, &*self.key, context.transport, context.application_protocol) else {
            return;
        };
        let Some(record) = tickets.find(ticket, binding, &self.client, now) else { return };
        let public_part = self.public_part.get_or_insert_with(|| record.public_part.clone());
        if *public_part != record.public_part {
            return; // the client has another key since then
        }
        let (tickets, ticket, expires) = (tickets.clone(), ticket.into(), record.expires());
        let claim = EarlyDataClaim::Ticket { tickets, ticket, expires, now };
        self.early_data = Some(OfferedEarlyData::Ticket(claim, Box::new(record)));
    }

    /// Decides on early data at first contact, after the ClientHello with this hash. Nothing is recorded.
    pub(crate) fn meet_first(
        &mut self,
        config: &ServerConfig,
        share: &IdentityShareClientHello<'_>,
        client_hello: &[u8],
        now: Now,
    ) {
        let memory = config.identity.as_ref().and_then(|identity| identity.first_contact.as_ref());
        let (Some(memory), Some(sent), Some(now), Some(early_data)) =
            (memory, share.first_contact(), seconds(now), config.early_data)
        else {
            return;
        };
        if let Some(contact) = memory.may_accept(client_hello, sent, early_data.window_seconds, now) {
            let claim = EarlyDataClaim::FirstContact { memory: memory.clone(), contact, now };
            self.early_data = Some(OfferedEarlyData::FirstContact(claim));
        }
    }

    /// Computes the keys of the early data that the server could take. Returns `None` if there is none.
    #[inline(never)]
    pub(crate) fn accept_early_data(
        &mut self,
        suite: &'static Tls13Suite,
        transport: Transport,
    ) -> Result<Option<AcceptedEarlyData>, Error> {
        let (Some(offered), Some(public_part)) = (self.early_data.take(), self.public_part.as_deref()) else {
            return Ok(None);
        };
        let (key, role) = (&self.key, IdentityRole::Server);
        let client = IdentityPeer { identity: &self.client, public_part, ephemeral: &self.ephemeral };
        let server = |ephemeral| IdentityPeer { identity: key.identity(), public_part: key.public_part(), ephemeral };
        let values = |ephemeral| PublicValues { parameters: key.parameters(), client, server: server(ephemeral) };
        Ok(Some(match offered {
            OfferedEarlyData::Ticket(claim, record) => {
                let ephemeral = key.ephemeral_from(&record.secret)?;
                let terms = key.terms(role, &ephemeral, client, None)?;
                let early_terms = EarlyTerms::Ticket(&terms);
                let early_secret = values(ephemeral.public()).early_secret(&early_terms, suite, transport);
                AcceptedEarlyData { claim, early_secret, known: terms.into_static() }
            }
            OfferedEarlyData::FirstContact(claim) => {
                let known = key.static_terms(role, None, client)?;
                let early_secret = values(&[]).early_secret(&EarlyTerms::FirstContact(&known), suite, transport);
                AcceptedEarlyData { claim, early_secret, known }
            }
        }))
    }

    /// Returns the server's answer, the shared secret, and the identity that the client must prove. The terms that early
    /// data has needed are `known`.
    #[inline(never)]
    pub(crate) fn respond(
        &self,
        rng: &mut dyn Rng,
        hybrid: Option<&SharedSecret>,
        known: Option<StaticTerms>,
    ) -> Result<(IdentityAnswer, SharedSecret), Error> {
        let Self { key, client, ephemeral, public_part, .. } = self;
        let public_part = public_part.as_deref().ok_or(IdentityRefused::IllegalLength)?;
        let client = IdentityPeer { identity: client, public_part, ephemeral };
        let own_ephemeral = key.ephemeral(rng)?;
        let terms = key.terms(IdentityRole::Server, &own_ephemeral, client, known)?;
        let server = IdentityPeer {
            identity: key.identity(),
            public_part: key.public_part(),
            ephemeral: own_ephemeral.public(),
        };
        let secret = PublicValues { parameters: key.parameters(), client, server }.secret(&terms, hybrid);
        let own_part = if self.sends_own { key.public_part() } else { &[] };
        let identity = if self.is_named { key.identity().encoded() } else { &[] };
        let answer =
            IdentityAnswer { identity: identity.into(), key_exchange: [own_ephemeral.public(), own_part].concat() };
        Ok((answer, secret))
    }

    /// Returns the identity that the client must prove.
    pub(crate) fn claimed(&self) -> ClaimedIdentity {
        ClaimedIdentity {
            key: self.key.clone(),
            client: self.client.clone(),
            public_part: self.public_part.clone().unwrap_or_default(),
            time_unchecked: self.time_unchecked,
            wants_ticket: self.wants_ticket,
        }
    }
}

impl IdentityAnswer {
    /// Adds the extension `identity_share` of the ServerHello.
    pub(crate) fn push(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let Self { identity, key_exchange } = self;
        extensions.push(&IdentityShareServerHello { identity, key_exchange })
    }
}

impl ClaimedIdentity {
    /// Reports the client, and keeps the public part of its key, after its Finished was verified.
    pub(crate) fn prove(&self, proof: &FinishedProof, config: &ServerConfig, output: &mut Output<'_>) {
        let Self { key, client, public_part, time_unchecked, .. } = self;
        let parameters = key.parameters();
        let authority = parameters.authority();
        if let Some(identity) = config.identity.as_ref().filter(|_| !public_part.is_empty()) {
            identity.known_peers.keep(proof, authority, client, public_part);
        }
        report(authority, client, parameters.algorithm(), *time_unchecked, output);
    }

    /// Issues an ephemeral secret ticket after the client's Finished, if the client has asked for one and the server keeps
    /// tickets.
    #[inline(never)]
    pub(crate) fn issue_ticket(
        &self,
        _: &FinishedProof,
        config: &ServerConfig,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let tickets = config.identity.as_ref().and_then(|identity| identity.tickets.as_ref());
        let (Some(tickets), Some(now), Some(early_data), true) =
            (tickets, seconds(output.now), config.early_data, self.wants_ticket)
        else {
            return Ok(());
        };
        let (transport, protocol) = (output.link.transport(), output.agreed.application_protocol.as_deref());
        let Some(binding) = ticket_binding(config, &*self.key, transport, protocol) else { return Ok(()) };
        let ephemeral = self.key.ephemeral(output.rng)?;
        let record = SecretTicketRecord {
            binding,
            expires: 0, // set when it is kept
            client: self.client.clone(),
            public_part: self.public_part.clone(),
            secret: Zeroizing::new(ephemeral.secret().into()),
            address: output.client_address,
        };
        let Some(new) = tickets.issue(record, now, output.rng)? else {
            output.note("no ephemeral secret ticket: it could not be kept");
            return Ok(());
        };
        let mut extensions = ExtensionsBuilder::default();
        extensions.push(&MaxEarlyDataSize(early_data.max_size))?;
        extensions.push(&IdentityShareNewSessionTicket { key_exchange: ephemeral.public() })?;
        let message = NewSessionTicket {
            ticket_lifetime: new.lifetime,
            ticket_age_add: 0, // the client never sends the age
            ticket_nonce: &[],
            ticket: &new.ticket,
            extensions: extensions.extensions(),
        };
        output.push_ticket(&message)
    }
}

/// Returns the context that tickets of `key` are bound to; `None` if the server takes no early data.
fn ticket_binding(
    config: &ServerConfig,
    key: &dyn IdentityKey,
    transport: Transport,
    application_protocol: Option<&[u8]>,
) -> Option<TicketBinding> {
    let max_size = config.early_data?.max_size;
    let (parameters, server) = (key.parameters(), key.identity());
    let context = TicketContext { parameters, server, transport, application_protocol, max_size };
    Some(TicketBinding::new(config.common.provider.sha256, &context))
}
