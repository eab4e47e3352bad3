//! Early data on a server (RFC 9846, 4.3.10; docs/identity-format.md, 8): whether it is accepted, its keys, and what is left
//! of it.

use alloc::boxed::Box;

use super::negotiate::{Negotiated, Offer, Proof};
use crate::config::ServerConfig;
use crate::crypto::{Digest, StaticTerms};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::Output;
use crate::handshake::identity::early_data::EarlyDataClaim;
use crate::schedule::EpochKeys;
use crate::schedule::tls13::TrafficSecret;
use crate::summary::{EarlyDataProtection, EarlyDataStatus};
use crate::wire::{ContentType, ProtocolName, ProtocolNameList};

/// Early data that the server accepts.
pub(super) struct AcceptedEarlyData {
    traffic: TrafficSecret,
    max_size: u32,
    /// What is to be taken when the first record was authenticated; `None` for a session, which was taken already.
    claim: Option<EarlyDataClaim>,
    /// The terms of an identity-based handshake that need not be computed again.
    pub(super) known: Option<StaticTerms>,
}

/// What may still come of early data that the server has accepted.
pub(super) struct ExpectedEarlyData {
    /// How many bytes may still come; `None` after EndOfEarlyData.
    left: Option<u32>,
    has_come: bool,
    claim: Option<Box<EarlyDataClaim>>,
}

impl AcceptedEarlyData {
    /// Returns the early data after the first ClientHello, whose hash is `client_hello`, or `None` if the client offers none
    /// or it is rejected.
    pub(super) fn new(
        config: &ServerConfig,
        offer: &Offer<'_>,
        negotiated: &mut Negotiated<'_>,
        client_hello: &Digest,
        output: &Output<'_>,
    ) -> Result<Option<Self>, Error> {
        let (Some(early_data), true) = (config.early_data, offer.early_data) else { return Ok(None) };
        let (suite, max_size, now) = (negotiated.suite, early_data.max_size, output.now);
        if let Proof::Psk(psk) = &negotiated.proof {
            if !psk.accepts_early_data(config, now) {
                return Ok(None);
            }
            let traffic = psk.early_secret.client_traffic(suite, client_hello)?;
            return Ok(Some(Self { traffic, max_size, claim: None, known: None }));
        }
        let (Some(identity), Some(share)) = (negotiated.agreement.identity_mut(), &offer.identity_share) else {
            return Ok(None);
        };
        if offer.hello.cipher_suites.0.iter().next() != Some(suite.id) {
            return Ok(None); // the first suite protects early data
        }
        // At first contact the client expects the protocol that it prefers; a ticket was found for the selected one.
        let offered: Option<ProtocolNameList<'_>> = offer.hello.extensions.get()?;
        let preferred = offered.and_then(|ProtocolNameList(names)| names.iter().next()).map(|ProtocolName(name)| name);
        if preferred == negotiated.application_protocol.as_deref() {
            identity.meet_first(config, share, client_hello.as_ref(), now);
        }
        let Some(accepted) = identity.accept_early_data(suite, output.link.transport())? else { return Ok(None) };
        let traffic = accepted.early_secret.client_traffic(suite, client_hello)?;
        Ok(Some(Self { traffic, max_size, claim: Some(accepted.claim), known: Some(accepted.known) }))
    }

    /// Installs the keys, and reports that early data is accepted.
    pub(super) fn install(
        self,
        config: &ServerConfig,
        offer: &Offer<'_>,
        output: &mut Output<'_>,
    ) -> ExpectedEarlyData {
        let Self { traffic, max_size, claim, .. } = self;
        config.common.log_secret("CLIENT_EARLY_TRAFFIC_SECRET", &offer.hello.random, traffic.expose());
        output.receive.early_data_keys = Some(Box::new(EpochKeys::Tls13(traffic)));
        output.summary.early_data = EarlyDataStatus::Accepted;
        let protection = claim.as_ref().map_or(EarlyDataProtection::Session, EarlyDataClaim::protection);
        output.summary.early_data_protection = Some(protection);
        output.summary.round_trips = 0;
        ExpectedEarlyData { left: Some(max_size), has_come: false, claim: claim.map(Box::new) }
    }
}

impl ExpectedEarlyData {
    /// Counts `len` bytes of a record that was authenticated, and takes what makes it the only delivery.
    pub(super) fn receive(&mut self, len: usize) -> Result<(), Error> {
        let left = self.left.ok_or_else(unexpected)?;
        self.take()?;
        let left = u32::try_from(len).ok().and_then(|len| left.checked_sub(len));
        self.left = Some(left.ok_or(PeerMisbehaved::TooMuchEarlyData)?);
        self.has_come = true;
        Ok(())
    }

    /// Returns whether a record has come, which the client has authenticated.
    pub(super) const fn has_come(&self) -> bool {
        self.has_come
    }

    /// Takes the ticket, if no record did.
    pub(super) fn take(&mut self) -> Result<(), Error> {
        self.claim.take().map_or(Ok(()), |claim| claim.take())
    }

    /// Handles the end of early data: no more may come.
    pub(super) const fn end(&mut self) {
        self.left = None;
    }
}

/// Returns an error for application data that is not expected.
pub(super) fn unexpected() -> Error {
    PeerMisbehaved::UnexpectedRecord(ContentType::APPLICATION_DATA).into()
}
