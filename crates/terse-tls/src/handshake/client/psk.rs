//! The pre-shared keys that a ClientHello offers, with their binders (RFC 9846, 4.3.9 and 4.3.11).
//!
//! What must always hold: `pre_shared_key` is the last extension; the session, if there is one, is the first key; early
//! data is only sent with the first key, and only in the first flight.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::OfferedEarlyData;
use crate::config::{ClientConfig, Common};
use crate::crypto::Tls13Suite;
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::Output;
use crate::resume::{PskHash, StoredSession};
use crate::schedule::Transcript;
use crate::schedule::tls13::EarlySecret;
use crate::schedule::tls13::PskKind;
use crate::time::Now;
use crate::wire::{
    EarlyData, EncodeError, ExtensionsBuilder, HandshakeType, List, PreSharedKeyClientHello, ProtocolVersion,
    PskBinder, PskIdentity, PskKeyExchangeMode, PskKeyExchangeModes, Random, Transport,
};

/// The pre-shared keys that a ClientHello offers. The handshake reaches them by a vtable, which only the settings for
/// pre-shared keys and sessions name.
pub(crate) trait PskOffer: Send + Sync {
    /// Adds the extensions for pre-shared keys other than `pre_shared_key`.
    fn offer(&self, config: &ClientConfig, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError>;

    /// Adds `pre_shared_key`, with binders that [`Self::bind`] fills in.
    fn offer_last(&self, extensions: &mut ExtensionsBuilder, now: Now) -> Result<(), EncodeError>;

    /// Fills the binders into the body of a ClientHello, which follows `transcript` (RFC 9846, 4.3.11.2).
    fn bind(&self, client_hello: &mut [u8], transcript: Option<&Transcript>, transport: Transport)
    -> Result<(), Error>;

    /// Installs the keys of early data after the first ClientHello, so that the application can send early data.
    fn begin_early_data(
        &self,
        client: (&Common, &Random),
        client_hello: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(), Error>;

    /// Returns whether early data is offered.
    fn has_early_data(&self) -> bool;

    /// Handles a HelloRetryRequest: ends early data, and keeps only the keys that fit the suite (RFC 9846, 4.2.2 and
    /// 4.2.4).
    fn retry(&mut self, suite: &Tls13Suite, output: &mut Output<'_>);

    /// Takes the key that the server has selected by its index (RFC 9846, 4.3.11).
    fn select(self: Box<Self>, index: u16, suite: &Tls13Suite) -> Result<SelectedPsk, Error>;

    /// Returns whether no key is offered.
    fn is_empty(&self) -> bool;
}

/// [`offer_psks`], to which a configuration points that has pre-shared keys or keeps sessions.
pub(crate) type OfferPsks =
    fn(&ClientConfig, Option<StoredSession>, Transport) -> Result<Option<Box<dyn PskOffer>>, Error>;

/// Offers `session`, and all external keys for which there is a cipher suite.
pub(crate) fn offer_psks(
    config: &ClientConfig,
    session: Option<StoredSession>,
    transport: Transport,
) -> Result<Option<Box<dyn PskOffer>>, Error> {
    Ok(Some(Box::new(OfferedPsks::new(config, session, transport)?)))
}

/// [`offer_session`], to which a configuration points that keeps sessions.
pub(crate) type OfferSession = fn(&ClientConfig, StoredSession, Transport, &mut OfferedPsks);

/// The pre-shared keys, in the order in which they are offered.
pub(crate) struct OfferedPsks {
    psks: Vec<OfferedPsk>,
    early_data: Option<OfferedEarlyData>,
}

struct OfferedPsk {
    kind: PskKind,
    identity: Vec<u8>,
    early_secret: EarlySecret,
    source: PskSource,
}

/// The source of a pre-shared key.
pub(crate) enum PskSource {
    Session(StoredSession),
    /// The identity of an external key.
    External(Vec<u8>),
}

/// The key that the server selected.
pub(crate) struct SelectedPsk {
    /// The early data that was offered with this key.
    pub(crate) early_data: Option<OfferedEarlyData>,
    pub(crate) early_secret: EarlySecret,
    pub(crate) source: PskSource,
}

impl OfferedPsks {
    fn new(config: &ClientConfig, session: Option<StoredSession>, transport: Transport) -> Result<Self, Error> {
        let common = &config.common;
        let mut offered = Self { psks: Vec::new(), early_data: None };
        if !common.enables(ProtocolVersion::TLS_1_3) {
            return Ok(offered);
        }
        if let (Some(session), Some(offer)) = (session, config.offer_session) {
            offer(config, session, transport, &mut offered);
        }
        let has = |hash: &PskHash| common.enabled_tls13_suites().any(|suite| PskHash::of(suite.hash) == *hash);
        let hashes: Vec<_> = [PskHash::Sha256, PskHash::Sha384].into_iter().filter(has).collect();
        for external in &config.psks {
            for psk in external.offers(&common.provider, &hashes, transport)? {
                let Some(hash) = psk.hash.find(&common.provider) else { continue };
                offered.psks.push(OfferedPsk {
                    kind: psk.kind,
                    identity: psk.identity,
                    early_secret: EarlySecret::new(hash, transport.label_prefix(), Some(&psk.key)),
                    source: PskSource::External(external.identity().to_vec()),
                });
            }
        }
        Ok(offered)
    }
}

/// Offers a session, with early data if it may be.
pub(crate) fn offer_session(
    config: &ClientConfig,
    session: StoredSession,
    transport: Transport,
    offered: &mut OfferedPsks,
) {
    let Some(suite) = config.common.provider.tls13_suite(session.suite) else { return };
    offered.early_data = OfferedEarlyData::of_session(config, &session, suite);
    offered.psks.push(OfferedPsk {
        kind: PskKind::Resumption,
        identity: session.ticket.to_vec(),
        early_secret: EarlySecret::new(suite.hash, transport.label_prefix(), Some(session.secret.as_ref())),
        source: PskSource::Session(session),
    });
}

impl PskOffer for OfferedPsks {
    fn offer(&self, config: &ClientConfig, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let resumes = config.resumption.is_some() && config.common.enables(ProtocolVersion::TLS_1_3);
        if resumes || !self.psks.is_empty() {
            // RFC 9846, 4.3.9: psk_ke is not offered, since it is not forward secret.
            extensions.push(&PskKeyExchangeModes(List::Items(&[PskKeyExchangeMode::PSK_DHE_KE])))?;
        }
        if self.early_data.is_some() {
            extensions.push(&EarlyData)?;
        }
        Ok(())
    }

    fn offer_last(&self, extensions: &mut ExtensionsBuilder, now: Now) -> Result<(), EncodeError> {
        if self.psks.is_empty() {
            return Ok(());
        }
        let identities: Vec<_> = self.psks.iter().map(|psk| psk.identity(now)).collect();
        let zeros: Vec<_> = self.psks.iter().map(|psk| vec![0; psk.early_secret.hash().output_len()]).collect();
        let binders: Vec<_> = zeros.iter().map(|zeros| PskBinder(zeros)).collect();
        extensions
            .push(&PreSharedKeyClientHello { identities: List::Items(&identities), binders: List::Items(&binders) })
    }

    fn bind(
        &self,
        client_hello: &mut [u8],
        transcript: Option<&Transcript>,
        transport: Transport,
    ) -> Result<(), Error> {
        if self.psks.is_empty() {
            return Ok(());
        }
        let lens = self.psks.iter().map(|psk| 1 + psk.early_secret.hash().output_len());
        let truncated_len = client_hello.len().checked_sub(2 + lens.sum::<usize>()).ok_or(EncodeError)?;
        let [_, len @ ..] = u32::try_from(client_hello.len()).map_err(|_| EncodeError)?.to_be_bytes();
        let mut header = [&[HandshakeType::CLIENT_HELLO.0], &len[..]].concat();
        header.resize(transport.message_header_len(), 0); // the transcript uses no other field
        let truncated = [&header[..], &client_hello[..truncated_len]].concat();
        let mut binders = Vec::new();
        for psk in &self.psks {
            let messages = match transcript {
                None => Transcript::new13(psk.early_secret.hash(), transport).current_with(&truncated),
                Some(transcript) => transcript.current_with(&truncated),
            };
            binders.push(psk.early_secret.binder(psk.kind, &messages)?);
        }
        let binders: Vec<_> = binders.iter().map(|binder| PskBinder(binder.as_ref())).collect();
        let bound = PreSharedKeyClientHello { identities: List::Items(&[]), binders: List::Items(&binders) };
        Ok(bound.patch_binders(client_hello)?)
    }

    fn begin_early_data(
        &self,
        client: (&Common, &Random),
        client_hello: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let (Some(early_data), Some(psk)) = (&self.early_data, self.psks.first()) else { return Ok(()) };
        (early_data.begin)(early_data, &psk.early_secret, client, client_hello, output)
    }

    fn has_early_data(&self) -> bool {
        self.early_data.is_some()
    }

    fn retry(&mut self, suite: &Tls13Suite, output: &mut Output<'_>) {
        if self.early_data.take().is_some() {
            OfferedEarlyData::abandon(output);
        }
        self.psks.retain(|psk| PskHash::of(psk.early_secret.hash()) == PskHash::of(suite.hash));
    }

    fn select(mut self: Box<Self>, index: u16, suite: &Tls13Suite) -> Result<SelectedPsk, Error> {
        let index = usize::from(index);
        if self.psks.len() <= index {
            return Err(PeerMisbehaved::IllegalPskSelection.into());
        }
        let OfferedPsk { early_secret, source, .. } = self.psks.swap_remove(index);
        if PskHash::of(early_secret.hash()) != PskHash::of(suite.hash) {
            return Err(PeerMisbehaved::IllegalPskSelection.into());
        }
        Ok(SelectedPsk { early_data: self.early_data.filter(|_| index == 0), early_secret, source })
    }

    fn is_empty(&self) -> bool {
        self.psks.is_empty()
    }
}

impl OfferedPsk {
    fn identity(&self, now: Now) -> PskIdentity<'_> {
        let obfuscated_ticket_age = match &self.source {
            PskSource::Session(session) => session.obfuscated_ticket_age(now),
            PskSource::External(_) => 0,
        };
        PskIdentity { identity: &self.identity, obfuscated_ticket_age }
    }
}
