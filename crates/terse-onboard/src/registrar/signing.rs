//! Certificates whose signature comes from a key that is elsewhere: in an HSM, a smart card, or another process.
//!
//! What must always hold: no task of the runtime waits for a signature, and no device for longer than configured; a bounded
//! number of signatures is under way, however long the key takes, one for each request however often that comes, and a bounded
//! number of requests waits for them; a certificate that came late is stored, and the device gets it when it repeats its request.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use std::sync::{Mutex, PoisonError};

use pki_types::CertificateDer;
use terse_brski::digest::Sha256;
use terse_pki::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

use super::Service;
use super::domain::OwnCa;
use super::pass_on::Errand;
use super::reply::Reply;

/// Who may use the key of a CA.
pub(super) struct Turns {
    /// Places for those who wait or sign.
    places: Arc<Semaphore>,
    signatures: Arc<Semaphore>,
    /// What is signed, or waits for that: a request of a client.
    under_way: Arc<Mutex<BTreeSet<Requested>>>,
}

/// A request, and the certificate that its client has presented: both by their SHA-256.
type Requested = (Sha256, Sha256);

/// Marks a request as under way until this is dropped.
pub(super) struct UnderWay {
    all: Arc<Mutex<BTreeSet<Requested>>>,
    own: Requested,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // Nothing panics while it is locked.
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.own);
    }
}

/// The right to have a thread wait for a signature.
pub(super) struct Turn {
    _place: OwnedSemaphorePermit,
    _signature: OwnedSemaphorePermit,
}

impl Turns {
    /// Marks a request as under way. Returns `None` if it is already: a repetition takes no further signature.
    fn mark(&self, own: Requested) -> Option<UnderWay> {
        let is_new = self.under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(own);
        is_new.then(|| UnderWay { all: self.under_way.clone(), own })
    }

    /// Waits for a turn until this time. Returns `None` if there is none, at once if too many wait.
    pub(super) async fn next(&self, until: Instant) -> Option<Turn> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        let signature = timeout_at(until, self.signatures.clone().acquire_owned()).await.ok()?.ok()?;
        Some(Turn { _place: place, _signature: signature })
    }
}

impl Default for Turns {
    fn default() -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { places: semaphore(PLACES), signatures: semaphore(SIGNATURES), under_way: Arc::default() }
    }
}

impl Service {
    /// Has the own CA issue the certificate for a request that was checked. The device waits until this time at most.
    pub(super) async fn issue_here(&self, ca: &Arc<OwnCa>, errand: Errand, until: Instant) -> Result<Reply, Reply> {
        if !ca.authority.signs_elsewhere() {
            let chain = ca.authority.issue_ldevid(&errand.request, &errand.policy);
            return self.store_issued(ca, &errand, chain).await;
        }
        let Some(under_way) = ca.turns.mark((errand.key.request, errand.key.client)) else { return Err(unavailable()) };
        let Some(turn) = ca.turns.next(until).await else { return Err(late()) };
        let (sender, answer) = oneshot::channel();
        let (service, ca) = (self.clone(), ca.clone());
        tokio::spawn(async move {
            let reply = service.sign_elsewhere(ca, errand, turn).await;
            drop(under_way);
            drop(sender.send(reply)); // the device may have gone
        });
        match timeout_at(until, answer).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => Err(unavailable()),
            Err(_) => Err(late()),
        }
    }

    /// Signs on a thread beside the runtime, which keeps the turn for as long as that takes.
    async fn sign_elsewhere(&self, ca: Arc<OwnCa>, errand: Errand, turn: Turn) -> Result<Reply, Reply> {
        let signed = tokio::task::spawn_blocking(move || {
            let chain = ca.authority.issue_ldevid(&errand.request, &errand.policy);
            drop(turn);
            (ca, errand, chain)
        });
        let (ca, errand, chain) = signed.await.map_err(|_| unavailable())?; // at the end of the runtime it does not run
        self.store_issued(&ca, &errand, chain).await
    }

    async fn store_issued(
        &self,
        ca: &OwnCa,
        errand: &Errand,
        chain: Result<Vec<CertificateDer<'static>>, Error>,
    ) -> Result<Reply, Reply> {
        match chain {
            Ok(chain) => self.store_certificate(ca, errand, &chain).await,
            Err(error) => Err(refused(&error)),
        }
    }
}

/// The answer when the CA does not issue: for what the request is to blame, or for something that is wrong here.
pub(super) fn refused(error: &Error) -> Reply {
    match error {
        Error::Request(_) => Reply::text(400, &format!("the certification request: {error}")),
        Error::Key(_) => {
            tracing::error!(%error, "the key of the CA does not sign");
            unavailable()
        }
        _ => {
            tracing::error!(%error, "the CA does not issue");
            Reply::text(500, "the CA of the domain does not issue; its operator must look into it")
        }
    }
}

/// The answer while the key does not sign. Nothing easier takes the place of its signature.
fn unavailable() -> Reply {
    Reply::text(503, "the CA of the domain cannot sign now; repeat the same request").retry_after(RETRY_SECONDS)
}

/// The answer when the key takes too long, for this request or for those before it.
fn late() -> Reply {
    tracing::error!("the key of the CA does not answer in time; look at its token and module");
    unavailable()
}

/// Retry-After while the key does not sign.
const RETRY_SECONDS: u32 = 10;

/// The most signatures under way, each of which takes a thread.
const SIGNATURES: usize = 4;

/// The most requests that wait for a signature, with those that are under way.
const PLACES: usize = 64;

#[cfg(test)]
mod tests;
