//! Selects a pre-shared key as a server, verifies that the client has it, and decides on early data (RFC 9846, 4.3.9 to
//! 4.3.11 and 8).
//!
//! What must always hold: no session is used up, and no client is accepted, before its binder was verified; only the
//! binder of the selected key is verified.

use super::negotiate::Offer;
use crate::cache::FallbackReason;
use crate::config::ServerConfig;
use crate::crypto::{Digest, Tls13Suite};
use crate::error::Error;
use crate::handshake::sessions::Lineage;
use crate::handshake::{Output, sessions};
use crate::resume::{Binding, ExternalPsk, PskHash, PskStore, Session, seconds};
use crate::schedule::tls13::EarlySecret;
use crate::schedule::tls13::PskKind;
use crate::time::Now;
use crate::wire::{PskBinder, PskIdentity, Transport};

/// How many identities of one ClientHello are looked up. Clients usually send one or two.
const MAX_IDENTITIES: usize = 8;

/// A key that the client offers and the server knows.
pub(super) struct Candidate<'a> {
    pub(super) index: u16,
    pub(super) suite: &'static Tls13Suite,
    kind: PskKind,
    source: Source,
    pub(super) early_secret: EarlySecret,
    identity: PskIdentity<'a>,
    binder: PskBinder<'a>,
}

/// The source of a key.
enum Source {
    Session(Session),
    External(ExternalPsk),
}

impl<'a> Candidate<'a> {
    /// Returns the first offered key that fits one of `suites`, which are in the server's order of preference. A
    /// session must belong to `binding`. `reason` is set to why the last session that was found cannot be used.
    pub(super) fn find(
        config: &ServerConfig,
        offer: &Offer<'a>,
        suites: &[&'static Tls13Suite],
        binding: Option<&Binding>,
        now: Now,
        transport: Transport,
        reason: &mut Option<FallbackReason>,
    ) -> Option<Self> {
        let psks = offer.pre_shared_key.as_ref().filter(|_| offer.takes_psks)?;
        let mut offered = (0..).zip(psks.identities.iter()).zip(psks.binders.iter()).take(MAX_IDENTITIES);
        offered.find_map(|((index, identity), binder)| {
            let candidate = |suite: &'static Tls13Suite, kind, psk: &[u8], source| {
                let early_secret = EarlySecret::new(suite.hash, transport.label_prefix(), Some(psk));
                Self { index, suite, kind, source, early_secret, identity, binder }
            };
            match sessions::find(config, identity.identity, binding, now) {
                Ok(session) => {
                    let suite = suite_for_session(config, &session, suites)?;
                    let psk = session.secret.clone();
                    return Some(candidate(suite, PskKind::Resumption, psk.as_ref(), Source::Session(session)));
                }
                Err(unusable) => *reason = unusable.or(*reason),
            }
            let store: &dyn PskStore = config.psks.as_deref()?;
            let (external, psk) = store.resolve(identity.identity, &config.common.provider, transport)?;
            let suite = *suites.iter().find(|suite| PskHash::of(suite.hash) == psk.hash)?;
            Some(candidate(suite, psk.kind, &psk.key, Source::External(external)))
        })
    }

    /// Verifies the binder. `messages` end with the ClientHello without its binders.
    pub(super) fn verify(&self, messages: &Digest) -> Result<(), Error> {
        self.early_secret.verify_binder(self.kind, self.binder.0, messages)
    }

    /// Returns whether the key is an external one, by which the client proves an identity of its own.
    pub(super) const fn is_external(&self) -> bool {
        matches!(self.source, Source::External(_))
    }

    /// Uses up a session that can be used only once. Returns false if another connection has used it first.
    pub(super) fn claim(&self, config: &ServerConfig) -> bool {
        match (&self.source, &config.resumption) {
            (Source::Session(_), Some(resumption)) => resumption.claim(self.identity.identity),
            _ => true,
        }
    }

    /// Returns whether early data after the first ClientHello is accepted. [`Self::claim`] must come before. Version
    /// and application protocol are those of the session, since it was found under its binding.
    pub(super) fn accepts_early_data(&self, config: &ServerConfig, now: Now) -> bool {
        let (Source::Session(session), Some(resumption), Some(early_data), Some(now)) =
            (&self.source, &config.resumption, config.early_data, seconds(now))
        else {
            return false;
        };
        let ticket_age_add = session.ticket_age_add(self.early_secret.hash());
        let ticket_age = self.identity.obfuscated_ticket_age.wrapping_sub(ticket_age_add);
        self.index == 0
            && session.suite == self.suite.id
            && resumption.accepts_early_data(early_data, session, ticket_age, self.binder.0, now)
    }

    /// Returns the data that sessions which descend from this one keep, or `None` for an external key.
    pub(super) fn lineage(&self) -> Option<Lineage> {
        match &self.source {
            Source::Session(session) => Some(Lineage { client: session.client.clone(), end: session.end }),
            Source::External(_) => None,
        }
    }

    /// Reports the identity of the client. The binder proves it, and the client's Finished proves it for this
    /// handshake.
    pub(super) fn report(&self, output: &mut Output<'_>) {
        match &self.source {
            Source::Session(session) => sessions::resumed_client(session.client.as_ref(), output),
            Source::External(psk) => sessions::psk_peer(psk.identity(), output),
        }
    }
}

/// Returns the suite of the session, or else one with the same hash (RFC 9846, 4.7.1).
fn suite_for_session(
    config: &ServerConfig,
    session: &Session,
    suites: &[&'static Tls13Suite],
) -> Option<&'static Tls13Suite> {
    let hash = PskHash::of(config.common.provider.tls13_suite(session.suite)?.hash);
    let mut fitting = suites.iter().copied().filter(|suite| PskHash::of(suite.hash) == hash);
    fitting.clone().find(|suite| suite.id == session.suite).or_else(|| fitting.next())
}
