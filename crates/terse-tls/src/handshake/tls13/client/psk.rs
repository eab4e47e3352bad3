//! Pre-shared keys and early data on a client, after the ServerHello (RFC 9846, 4.3.10 and 4.3.11).
//!
//! What must always hold: a handshake without certificates caches nothing (docs/caching.md, 4.6); the application sees
//! the same server as in the handshake with certificates that the session began with.

use alloc::boxed::Box;

use super::{ExpectEncryptedExtensions, ExpectFinished, Negotiated, Proof, State};
use crate::cache::{self, Selection};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::certificate_types::CertificateTypes;
use crate::handshake::client::OfferedEarlyData;
use crate::handshake::{Message, Output};
use crate::schedule::EpochKeys;
use crate::summary::EarlyDataStatus;
use crate::wire::{EarlyData, Extensions};

/// The proof of a server that sends no Certificate.
pub(super) struct Selected {
    /// The early data that was offered with it.
    pub(super) early_data: Option<OfferedEarlyData>,
    pub(super) proof: Proof,
}

impl ExpectEncryptedExtensions {
    /// Ends early data, unless the server has accepted it. This must come before anything else can fail, so that an
    /// alert is protected with the handshake keys.
    pub(super) fn early_data_refused(&mut self, accepted: bool, output: &mut Output<'_>) -> Result<(), Error> {
        if accepted || !core::mem::take(&mut self.early_data) {
            return Ok(());
        }
        output.agreed.early_data = 0;
        output.summary.early_data = EarlyDataStatus::Rejected;
        output.note("the server does not take early data");
        output.link.abandon_early_data();
        output.link.new_keys(&EpochKeys::Tls13(self.secrets.client.clone()))
    }

    /// Checks that the server may accept early data: it has selected the first key, and the suite and application
    /// protocol of the session (RFC 9846, 4.3.10). ALPN must be settled before.
    pub(super) fn early_data_accepted(&self, output: &mut Output<'_>) -> Result<(), Error> {
        let offered = self.selected.as_ref().and_then(|selected| selected.early_data.as_ref());
        let suite = self.secrets.client.suite().id;
        let protocol = output.agreed.application_protocol.as_deref();
        let Some(offered) = offered.filter(|offered| offered.belongs_to(suite, protocol)) else {
            return Err(PeerMisbehaved::IllegalEarlyData.into());
        };
        output.summary.early_data_protection = Some(offered.protection);
        output.summary.early_data = EarlyDataStatus::Accepted;
        output.summary.round_trips = 0;
        Ok(())
    }

    /// Continues with the server's Finished, since a handshake with a pre-shared key or an identity has no Certificate.
    pub(super) fn finished_follows(
        self,
        proof: Proof,
        extensions: Extensions<'_>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let Self { mut hello, secrets, early_data, .. } = self;
        if cache::is_answered(extensions, hello.config.common.caching_code_points()) {
            return Err(PeerMisbehaved::IllegalCachingReply.into());
        }
        hello.transcript.add(message.bytes);
        output.summary.fallback = None;
        let types = CertificateTypes::read(&hello.config, extensions)?;
        let selection = Selection::default();
        let state = Box::new(Negotiated { hello, types, selection, request: None });
        Ok(State::Finished(Box::new(ExpectFinished { state, secrets, proof, early_data, certificates: None })))
    }
}

/// Returns whether the server accepts early data.
pub(super) fn takes_early_data(extensions: Extensions<'_>) -> Result<bool, Error> {
    Ok(extensions.get::<EarlyData>()?.is_some())
}
