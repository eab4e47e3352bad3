//! CRLs of registrars' domains, from where their certificates say that they are (RFC 8995, 5.5.3; RFC 5280, 4.2.1.13).
//!
//! Strangers have written these URLs. What must always hold: only a request that would get a voucher makes this service
//! connect to one; only to an address of the public Internet, unless the configuration says otherwise; a look-up is bounded in
//! time as a whole; a response is bounded in length, and so are the CRLs that are kept.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use pki_types::{CertificateRevocationListDer, UnixTime};
use terse_brski::address::is_public;
use terse_brski::masa::{RegistrarPath, RevocationStatus};
use terse_tls::crypto::CryptoProvider;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use x509_cert::crl::CertificateList;
use x509_cert::der::Decode;

use super::config::RevocationConfig;

/// The CRLs that were fetched.
pub(super) struct Revocations {
    config: RevocationConfig,
    kept: Mutex<HashMap<String, Kept>>,
    fetches: Semaphore,
}

/// What was fetched from a URL; no CRL if that failed.
#[derive(Clone)]
struct Kept {
    crl: Option<Crl>,
    /// Until when it is not fetched again, in seconds since 1970.
    until: u64,
}

#[derive(Clone)]
struct Crl {
    der: CertificateRevocationListDer<'static>,
    next_update: Option<UnixTime>,
}

/// What was learned about the certificates of a registrar.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Learned {
    pub(super) status: RevocationStatus,
    /// When that must be learned anew.
    pub(super) next_update: Option<UnixTime>,
}

impl Revocations {
    pub(super) fn new(config: RevocationConfig) -> Self {
        Self { config, kept: Mutex::default(), fetches: Semaphore::new(FETCHES) }
    }

    /// Fetches the CRLs of a registrar's certificates, and checks them.
    pub(super) async fn look_up(&self, provider: &CryptoProvider, path: &RegistrarPath, time: UnixTime) -> Learned {
        let crls = self.crls(path.revocation_urls().filter(|_| self.config.look_up), time).await;
        if crls.is_empty() {
            return Learned::default();
        }
        let next_update = crls.iter().filter_map(|crl| crl.next_update).min();
        let crls: Vec<_> = crls.into_iter().map(|crl| crl.der).collect();
        Learned { status: path.check_crls(provider, &crls, time), next_update }
    }

    /// Returns the CRLs at these URLs that come in time.
    async fn crls(&self, urls: impl Iterator<Item = &str>, time: UnixTime) -> Vec<Crl> {
        let mut crls = Vec::new();
        let look_up = async {
            for url in urls.take(MAX_URLS) {
                crls.extend(self.crl(url, time).await);
            }
        };
        let _ = tokio::time::timeout(TIME, look_up).await; // what has come by then is used
        crls
    }

    /// Returns the CRL at a URL, as it was fetched before or is now.
    async fn crl(&self, url: &str, time: UnixTime) -> Option<Crl> {
        let now = time.as_secs();
        if let Some(kept) = self.kept(url, now) {
            return kept.crl;
        }
        let _place = self.fetches.acquire().await.ok()?; // the semaphore is never closed
        if let Some(kept) = self.kept(url, now) {
            return kept.crl; // somebody else has fetched it meanwhile
        }
        let crl = tokio::time::timeout(FETCH_TIME, self.fetch(url)).await.ok().flatten();
        let age = if crl.is_some() { HOUR } else { MINUTE };
        let next_update = crl.as_ref().and_then(|crl| crl.next_update).map_or(u64::MAX, |time| time.as_secs());
        let kept =
            Kept { crl: crl.clone(), until: now.saturating_add(age).min(next_update.max(now.saturating_add(MINUTE))) };
        let mut all = self.lock();
        if all.len() >= MAX_KEPT {
            all.retain(|_, kept| now < kept.until);
        }
        // One that failed ends sooner than a CRL, so that URLs that lead nowhere push out one another.
        let first = all.iter().min_by_key(|(_, kept)| kept.until).map(|(url, _)| url.clone());
        if let Some(first) = first.filter(|_| all.len() >= MAX_KEPT) {
            all.remove(&first);
        }
        all.insert(url.into(), kept);
        crl
    }

    /// Fetches a CRL in DER (RFC 5280, 4.2.1.13). What is none, such as the response of an OCSP responder, is ignored.
    async fn fetch(&self, url: &str) -> Option<Crl> {
        let url: Uri = url.parse().ok()?;
        let authority = url.authority().filter(|authority| !authority.as_str().contains('@'))?;
        if url.scheme_str() != Some("http") {
            return None;
        }
        let host = url.host()?.trim_start_matches('[').trim_end_matches(']');
        let is_allowed = |address: &SocketAddr| self.config.private_addresses || is_public(address.ip());
        let addresses = tokio::net::lookup_host((host, url.port_u16().unwrap_or(80))).await.ok()?;
        // The address that was looked at is the one that is connected to.
        let addresses: Vec<_> = addresses.filter(is_allowed).take(MAX_ADDRESSES).collect();
        let transport = TcpStream::connect(&*addresses).await.ok()?;
        let (mut sender, connection) =
            http1::Builder::new().max_buf_size(16_384).handshake(TokioIo::new(transport)).await.ok()?;
        let request = Request::get(url.path_and_query().map_or("/", |path| path.as_str()))
            .header(header::HOST, authority.as_str())
            .body(Empty::<Bytes>::new())
            .ok()?;
        // The connection ends with this future, however it ends.
        let response =
            async { Limited::new(sender.send_request(request).await.ok()?.into_body(), MAX_LEN).collect().await.ok() };
        let body = tokio::select! {
            body = response => body?,
            _ = connection => return None,
        };
        let der = body.to_bytes();
        let next_update =
            CertificateList::<x509_cert::certificate::Rfc5280>::from_der(&der).ok()?.tbs_cert_list.next_update;
        let next_update = next_update.map(|time| UnixTime::since_unix_epoch(time.to_unix_duration()));
        Some(Crl { der: der.to_vec().into(), next_update })
    }

    fn kept(&self, url: &str, now: u64) -> Option<Kept> {
        self.lock().get(url).filter(|kept| now < kept.until).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        // Whatever is in the map can be used.
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The most URLs of a request that are looked at, of all its certificates.
const MAX_URLS: usize = 4;

/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 2;

/// The most bytes of a CRL.
const MAX_LEN: usize = 256 << 10;

/// The most URLs of which something is kept.
const MAX_KEPT: usize = 64;

/// The most CRLs that are fetched at a time.
const FETCHES: usize = 8;

/// How long a look-up may take, the wait for others included.
const TIME: Duration = Duration::from_secs(5);

/// How long the fetch of one CRL may take. It is shorter than a look-up, so that a failure is kept.
const FETCH_TIME: Duration = Duration::from_secs(3);

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;

#[cfg(test)]
mod tests;
