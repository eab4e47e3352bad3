//! The early data that a client offers, and the values that it depends on (RFC 9846, 4.3.10; docs/identity-format.md, 8).

use alloc::boxed::Box;

use crate::config::{ClientConfig, Common};
use crate::crypto::Tls13Suite;
use crate::error::Error;
use crate::handshake::Output;
use crate::resume::{SessionKind, StoredSession};
use crate::schedule::tls13::EarlySecret;
use crate::schedule::{EpochKeys, Transcript};
use crate::summary::{EarlyDataProtection, EarlyDataStatus};
use crate::wire::{CipherSuite, Random};

/// Early data that a client offers.
pub(crate) struct OfferedEarlyData {
    /// The suite that protects it, which the server must select.
    pub(crate) suite: &'static Tls13Suite,
    /// The application protocol that the server must select; `None` for none.
    pub(crate) application_protocol: Option<Box<[u8]>>,
    /// How many bytes the server takes.
    pub(crate) max_size: u32,
    /// The longest content of a record with its type that the server takes.
    pub(crate) record_limit: u16,
    pub(crate) protection: EarlyDataProtection,
    /// [`Self::begin`], which is only in a program that offers early data.
    pub(crate) begin: Begin,
}

/// [`OfferedEarlyData::begin`].
pub(crate) type Begin =
    fn(&OfferedEarlyData, &EarlySecret, (&Common, &Random), &[u8], &mut Output<'_>) -> Result<(), Error>;

impl OfferedEarlyData {
    /// Returns the early data to offer with a session, if the application wants it, the server has promised it, and the
    /// configuration still has the session's application protocol.
    pub(super) fn of_session(
        config: &ClientConfig,
        session: &StoredSession,
        suite: &'static Tls13Suite,
    ) -> Option<Self> {
        let SessionKind::Tls13 { max_early_data_size, record_limit, .. } = session.kind else { return None };
        let wanted = config.resumption.as_ref().is_some_and(|resumption| resumption.early_data);
        let application_protocol = session.origin.application_protocol.clone();
        let is_offered = config.common.offers_application_protocol(application_protocol.as_deref());
        let possible = wanted && max_early_data_size > 0 && record_limit > 0 && is_offered;
        let protection = EarlyDataProtection::Session;
        possible.then_some(Self {
            suite,
            application_protocol,
            max_size: max_early_data_size,
            record_limit,
            protection,
            begin: Self::begin,
        })
    }

    /// Installs the keys of early data after the first ClientHello, so that the application can send early data.
    pub(crate) fn begin(
        &self,
        early_secret: &EarlySecret,
        (common, random): (&Common, &Random),
        client_hello: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let transcript = Transcript::new13(self.suite.hash, output.link.transport());
        let messages = transcript.current_with(client_hello);
        let secret = early_secret.client_traffic(self.suite, &messages)?;
        common.log_secret("CLIENT_EARLY_TRAFFIC_SECRET", random, secret.expose());
        output.link.compatibility_point()?; // RFC 9846, E.4
        output.link.limits().limit_protected(self.record_limit.into());
        output.link.new_keys(&EpochKeys::Tls13(secret))?;
        output.agreed.early_data = self.max_size;
        Ok(())
    }

    /// Ends early data after a HelloRetryRequest.
    pub(super) fn abandon(output: &mut Output<'_>) {
        output.link.abandon_early_data();
        output.link.limits().limit_protected(usize::MAX); // this handshake negotiates its own limit
        output.agreed.early_data = 0;
        output.summary.early_data = EarlyDataStatus::Rejected;
    }

    /// Returns whether a server that has selected this `suite` and `application_protocol` may accept the early data.
    pub(crate) fn belongs_to(&self, suite: CipherSuite, application_protocol: Option<&[u8]>) -> bool {
        self.suite.id == suite && self.application_protocol.as_deref() == application_protocol
    }
}
