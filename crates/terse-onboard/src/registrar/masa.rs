//! The registrar as the client of a MASA (RFC 8995, 5.4 to 5.6 and 5.8).
//!
//! What must always hold: a connection goes to an address that was permitted just then, and the name of the server is
//! checked; nothing is followed that leads elsewhere; connections are bounded in number, and in time as a whole.

use core::fmt;

use terse_brski::artefact::Format;
use terse_brski::http::JSON;
use terse_brski::registrar::{MasaUrl, Registrar};
use tokio::sync::OwnedSemaphorePermit;

use super::https::{HttpsClient, HttpsError, Target};
use crate::client::{ClientError, HttpsConnection, Incoming, Outgoing, ResponseLimits};

/// A client of the MASA of one manufacturer.
pub(super) struct MasaClient {
    https: HttpsClient,
}

/// Why a MASA gave no response.
#[derive(Debug)]
pub(super) enum MasaError {
    /// The server gave none.
    Https(HttpsError),
    /// The redirection of an audit log leads elsewhere.
    Elsewhere,
}

impl MasaClient {
    pub(super) const fn new(https: HttpsClient) -> Self {
        Self { https }
    }

    /// Takes a place for a connection, if one is free.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.https.place()
    }

    /// Posts a registrar's voucher request, and returns the response.
    pub(super) async fn request_voucher(
        &self,
        registrar: &Registrar,
        url: &MasaUrl,
        request: &[u8],
        accept: Option<&str>,
    ) -> Result<Incoming, MasaError> {
        let exchange = async {
            let (mut connection, path) = self.connect(registrar, url).await?;
            let path = format!("{path}/requestvoucher");
            // One byte more than a pledge reads, to see that there is more.
            let limits = ResponseLimits { body: terse_brski::voucher::MAX_LEN + 1, time: self.https.time() };
            let outgoing = self.post(&path, request, accept.or(Some(Format::of_artefact(request).media_type())));
            connection.send(outgoing, limits).await.map_err(MasaError::from)
        };
        self.https.in_time(exchange).await
    }

    /// Posts the same request for the audit log, and returns the response: of the MASA, or of the place on the same server
    /// where it says that the log is (RFC 8995, 5.8).
    pub(super) async fn request_audit_log(
        &self,
        registrar: &Registrar,
        url: &MasaUrl,
        request: &[u8],
    ) -> Result<Incoming, MasaError> {
        let exchange = async {
            let (mut connection, path) = self.connect(registrar, url).await?;
            let path = format!("{path}/requestauditlog");
            let limits = ResponseLimits { body: MAX_AUDIT_LOG_LEN, time: self.https.time() };
            let response = connection.send(self.post(&path, request, Some(JSON)), limits).await?;
            if response.status != 201 {
                return Ok(response);
            }
            let location = response.location.as_deref().and_then(|location| on_same_server(url.base(), location));
            let path = location.ok_or(MasaError::Elsewhere)?;
            let authorization = self.https.authorization();
            let outgoing = Outgoing { path, accept: Some(JSON), authorization, ..Outgoing::default() };
            connection.send(outgoing, limits).await.map_err(MasaError::from)
        };
        self.https.in_time(exchange).await
    }

    fn post<'a>(&'a self, path: &'a str, request: &[u8], accept: Option<&'a str>) -> Outgoing<'a> {
        let (body, content_type) = (Some(request.into()), Some(Format::of_artefact(request).media_type()));
        Outgoing { body, path, content_type, accept, authorization: self.https.authorization() }
    }

    /// Connects to the host of a URL. Returns the connection and the path of the URL.
    async fn connect<'a>(
        &self,
        registrar: &Registrar,
        url: &'a MasaUrl,
    ) -> Result<(HttpsConnection, &'a str), HttpsError> {
        let target = Target::of(url.base()).ok_or(HttpsError::Unresolved)?;
        Ok((self.https.connect(&target, |address| registrar.permits(url, address)).await?, target.path))
    }
}

/// Returns the path of a Location that is on the server of `base`.
fn on_same_server<'a>(base: &str, location: &'a str) -> Option<&'a str> {
    if location.starts_with('/') && !location.starts_with("//") {
        return Some(location);
    }
    let (own, other) = (Target::of(base)?, Target::of(location)?);
    own.is_on_server_of(&other).then_some(other.path)
}

impl From<HttpsError> for MasaError {
    fn from(error: HttpsError) -> Self {
        Self::Https(error)
    }
}

impl From<ClientError> for MasaError {
    fn from(error: ClientError) -> Self {
        Self::Https(HttpsError::Client(error))
    }
}

impl MasaError {
    /// Whether the MASA could not be reached, or went away: then it is asked again soon. Otherwise it has answered, and what
    /// it says cannot be used.
    pub(super) const fn is_outage(&self) -> bool {
        match self {
            Self::Https(HttpsError::Client(error)) => {
                matches!(error, ClientError::Net(_) | ClientError::Http(_) | ClientError::TimedOut)
            }
            Self::Https(HttpsError::Unresolved | HttpsError::Unreachable | HttpsError::TimedOut) => true,
            Self::Https(HttpsError::NotPermitted) | Self::Elsewhere => false,
        }
    }

    /// Whether this registrar has not asked because it may not: waiting does not help.
    pub(super) const fn is_own(&self) -> bool {
        matches!(self, Self::Https(HttpsError::NotPermitted))
    }
}

impl fmt::Display for MasaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Https(error) => error.fmt(f),
            Self::Elsewhere => f.write_str("the MASA says that the audit log is on another server"),
        }
    }
}

/// The longest audit log that is read: 1,024 events of 250 bytes.
pub(super) const MAX_AUDIT_LOG_LEN: usize = 256_000;

#[cfg(test)]
mod tests;
