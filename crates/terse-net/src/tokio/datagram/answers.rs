//! The answers that connections wait for: signatures and stores that are elsewhere, each awaited in a task of its own.
//!
//! What must always hold: a connection waits for one answer at most, and only the answer to its last question is handed
//! on; there are no more tasks than connections, but for those that end at once because their connection is gone; a task
//! that panics counts as a failure; with the endpoint all its tasks end.

use alloc::collections::BTreeMap;
use core::task::{Context, Poll};

use terse_tls::cache::{StoreAnswer, StoreRequest};
use terse_tls::crypto::CryptoError;
use terse_tls::{ConnectionHandle, Endpoint, EndpointLimits, SignatureRequest};
use tokio::task::{AbortHandle, JoinSet};

use super::{AsyncSigner, AsyncStore};

/// An answer.
#[derive(Debug)]
pub(super) enum Answered {
    Signature(Result<Vec<u8>, CryptoError>),
    Store(StoreAnswer),
}

/// The answers that are awaited.
pub(super) struct Answers {
    pub(super) signer: Option<AsyncSigner>,
    pub(super) store: Option<AsyncStore>,
    tasks: JoinSet<(ConnectionHandle, Answered)>,
    waiting: BTreeMap<ConnectionHandle, Waiting>,
    /// When so many wait, those whose connections are gone are forgotten.
    many: usize,
}

/// A task that a connection waits for.
struct Waiting {
    task: AbortHandle,
    /// The answer that it counts for if it panics.
    failure: Answered,
}

impl Answers {
    pub(super) fn new(limits: &EndpointLimits) -> Self {
        let many = limits.max_half_open;
        Self { signer: None, store: None, tasks: JoinSet::new(), waiting: BTreeMap::new(), many }
    }

    /// Begins to wait for a signature. Returns the answer if there is nobody to wait for.
    pub(super) fn sign(
        &mut self,
        handle: ConnectionHandle,
        request: SignatureRequest,
        endpoint: &Endpoint,
    ) -> Option<Answered> {
        let failure = Answered::Signature(Err(CryptoError::SigningFailed));
        let Some(signer) = self.signer.clone() else { return Some(failure) };
        self.begin(handle, async move { Answered::Signature(signer(request).await) }, failure, endpoint);
        None
    }

    /// Begins to wait for a store. Returns the answer if there is nobody to wait for.
    pub(super) fn ask_store(
        &mut self,
        handle: ConnectionHandle,
        request: StoreRequest,
        endpoint: &Endpoint,
    ) -> Option<Answered> {
        let failure = Answered::Store(StoreAnswer::unavailable(&request));
        let Some(store) = self.store.clone() else { return Some(failure) };
        self.begin(handle, async move { Answered::Store(store(request).await) }, failure, endpoint);
        None
    }

    fn begin(
        &mut self,
        handle: ConnectionHandle,
        answer: impl Future<Output = Answered> + Send + 'static,
        failure: Answered,
        endpoint: &Endpoint,
    ) {
        self.forget(handle);
        // The endpoint reports the end of few connections whose handshake was not complete.
        if self.waiting.len() >= self.many {
            let gone = self.waiting.extract_if(.., |handle, _| endpoint.path(*handle).is_none());
            gone.for_each(|(_, waiting)| waiting.task.abort());
        }
        let task = self.tasks.spawn(async move { (handle, answer.await) });
        self.waiting.insert(handle, Waiting { task, failure });
    }

    /// Returns the next answer. It is pending also if nobody waits.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(ConnectionHandle, Answered)> {
        while let Poll::Ready(Some(joined)) = self.tasks.poll_join_next_with_id(cx) {
            match joined {
                Ok((id, (handle, answered))) => {
                    // Another one may be awaited meanwhile, for a question that came later.
                    if self.waiting.get(&handle).is_some_and(|waiting| waiting.task.id() == id) {
                        self.waiting.remove(&handle);
                        return Poll::Ready((handle, answered));
                    }
                }
                Err(error) => {
                    let handle = self.waiting.iter().find(|(_, waiting)| waiting.task.id() == error.id());
                    let handle = handle.map(|(handle, _)| *handle);
                    if let Some((handle, waiting)) = handle.and_then(|handle| self.waiting.remove_entry(&handle)) {
                        return Poll::Ready((handle, waiting.failure));
                    }
                }
            }
        }
        Poll::Pending
    }

    /// Waits no longer for the answer to a connection.
    pub(super) fn forget(&mut self, handle: ConnectionHandle) {
        if let Some(waiting) = self.waiting.remove(&handle) {
            waiting.task.abort();
        }
    }

    /// Returns how many answers are awaited.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
