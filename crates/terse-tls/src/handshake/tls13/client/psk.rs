//! A pre-shared key in place of certificates, and early data, from the ServerHello on (RFC 9846, 4.3.10 and 4.3.11).
//!
//! What must always hold: nothing is cached in such a handshake (docs/caching.md, 4.6); the application sees the same
//! server as in the handshake with certificates that the session began with.

use alloc::boxed::Box;

use super::{ExpectCertificate, ExpectEncryptedExtensions, ExpectFinished, Proof, State};
use crate::cache::{self, Selection};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::certificate_types::CertificateTypes;
use crate::handshake::client::{OfferedEarlyData, PskSource};
use crate::handshake::{Message, Output};
use crate::schedule::EpochKeys;
use crate::summary::EarlyDataStatus;
use crate::wire::{EarlyData, Extensions};

/// The key that the server selected.
pub(super) struct Selected {
    /// The early data that was offered under this key.
    pub(super) early_data: Option<OfferedEarlyData>,
    pub(super) source: PskSource,
}

impl ExpectEncryptedExtensions {
    /// Before anything else can fail: if the server does not take early data, an alert goes under the keys of the
    /// handshake.
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

    /// RFC 9846, 4.3.10: under the first key, and with what belongs to it. To be asked when ALPN is settled.
    pub(super) fn early_data_accepted(&self, output: &mut Output<'_>) -> Result<(), Error> {
        let offered = self.psk.as_ref().and_then(|selected| selected.early_data.as_ref());
        let suite = self.secrets.client.suite().id;
        let protocol = output.agreed.application_protocol.as_deref();
        if !offered.is_some_and(|offered| offered.belongs_to(suite, protocol)) {
            return Err(PeerMisbehaved::IllegalEarlyData.into());
        }
        output.summary.early_data = EarlyDataStatus::Accepted;
        output.summary.round_trips = 0;
        Ok(())
    }

    /// There is no Certificate to wait for.
    pub(super) fn finished_follows(
        self,
        source: PskSource,
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
        let state = Box::new(ExpectCertificate { hello, secrets, types, selection, request: None });
        Ok(State::Finished(Box::new(ExpectFinished { state, proof: Proof::Psk(source), early_data })))
    }
}

/// Whether the server takes early data.
pub(super) fn takes_early_data(extensions: Extensions<'_>) -> Result<bool, Error> {
    Ok(extensions.get::<EarlyData>()?.is_some())
}
