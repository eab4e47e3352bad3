//! The registrars of a join proxy: which one a connection goes to, and which one is next.
//!
//! What must always hold: a pledge that arrives makes this proxy try at most [`MAX_REGISTRARS`] registrars, for a bounded time;
//! one that failed is tried again only after the others.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::Limits;
use super::follow::MAX_REGISTRARS;
use crate::discovery::Place;

/// Where the registrars are, as far as is known at the moment.
pub(super) enum Source {
    One(watch::Receiver<Option<Place>>),
    /// The preferred one first.
    Several(watch::Receiver<Vec<Place>>),
}

/// The registrars, and which of them was reached last.
pub(super) struct Registrars {
    source: Source,
    last: Mutex<Option<Place>>,
    /// Whether the last connection reached none. A change of that is logged, and not each connection of a stranger.
    is_unreachable: AtomicBool,
}

impl Registrars {
    pub(super) fn new(source: Source) -> Self {
        Self { source, last: Mutex::default(), is_unreachable: AtomicBool::new(false) }
    }

    /// Connects to the first registrar that can be reached.
    pub(super) async fn connect(&self, limits: Limits) -> Option<TcpStream> {
        let places = self.in_order();
        let end = Instant::now() + limits.connect;
        let Some((last, others)) = places.split_last() else {
            self.failed(&"no registrar is known");
            return None;
        };
        for place in others {
            // No try is longer than what all may take.
            let connecting = timeout(limits.connect_one, connect(place));
            match timeout_at(end, connecting).await.and_then(|tried| tried) {
                Ok(Ok(stream)) => return Some(self.reached(place, stream)),
                Ok(Err(error)) => {
                    tracing::debug!(%place, %error, "the registrar cannot be reached; the next one is tried")
                }
                Err(_) => tracing::debug!(%place, "the registrar does not answer; the next one is tried"),
            }
        }
        let problem = match timeout_at(end, connect(last)).await {
            Ok(Ok(stream)) => return Some(self.reached(last, stream)),
            Ok(Err(error)) => format!("the registrar {last} cannot be reached: {error}"),
            Err(_) => format!("the registrar {last} does not answer"),
        };
        match others {
            [] => self.failed(&problem),
            _ => self.failed(&format_args!("{problem}; nor can the {} others", others.len())),
        }
        None
    }

    /// Returns the registrars in the order in which they are tried: the one that was reached last, and the others after it.
    fn in_order(&self) -> Vec<Place> {
        let mut places = match &self.source {
            Source::One(place) => place.borrow().iter().cloned().collect(),
            Source::Several(places) => places.borrow().iter().take(MAX_REGISTRARS).cloned().collect::<Vec<_>>(),
        };
        let last = self.lock().clone();
        if let Some(first) = last.and_then(|last| places.iter().position(|place| *place == last)) {
            places.rotate_left(first);
        }
        places
    }

    fn reached(&self, place: &Place, stream: TcpStream) -> TcpStream {
        let before = self.lock().replace(place.clone());
        if self.is_unreachable.swap(false, Relaxed) {
            tracing::info!(%place, "a registrar can be reached again");
        } else if before.is_some_and(|before| before != *place) {
            tracing::info!(%place, "another registrar is used from here on");
        }
        stream
    }

    fn failed(&self, problem: &dyn fmt::Display) {
        match self.is_unreachable.swap(true, Relaxed) {
            true => tracing::debug!("{problem}"),
            false => tracing::warn!("{problem}"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Place>> {
        // Nobody panics with the lock; and whatever is there can be used.
        self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

async fn connect(place: &Place) -> std::io::Result<TcpStream> {
    TcpStream::connect((place.host(), place.port())).await
}
