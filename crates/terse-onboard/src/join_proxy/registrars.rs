//! The registrars of a join proxy: which one a connection goes to, and which one is next.
//!
//! What must always hold: a pledge that arrives makes this proxy try at most [`MAX_REGISTRARS`] registrars, for a bounded time;
//! one that failed is tried again only after the others, however many of them are silent.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::Limits;
use super::follow::MAX_REGISTRARS;
use crate::discovery::Place;

/// Where the registrars are, as far as is known at the moment.
pub(super) enum Source {
    One(watch::Receiver<Option<Place>>),
    /// The preferred one first.
    Several(watch::Receiver<Vec<Place>>),
}

/// The registrars, and which of them is tried first: the one that was reached last, or the one whose turn is next.
pub(super) struct Registrars {
    source: Source,
    first: Mutex<Option<Place>>,
    /// Takes those that cannot be reached.
    failures: Option<mpsc::Sender<Place>>,
    /// Whether the last connection reached none. A change of that is logged, and not each connection of a stranger.
    is_unreachable: AtomicBool,
}

impl Registrars {
    pub(super) fn new(source: Source, failures: Option<mpsc::Sender<Place>>) -> Self {
        Self { source, first: Mutex::default(), failures, is_unreachable: AtomicBool::new(false) }
    }

    /// Connects to the first registrar that can be reached. If the time ends before all were tried, the next pledge's turn begins
    /// behind the last one.
    pub(super) async fn connect(&self, limits: Limits) -> Option<TcpStream> {
        let first = self.lock().clone();
        let places = self.in_order(first.as_ref());
        let end = Instant::now() + limits.connect;
        let (mut problem, mut tried) = ("no registrar is known".to_owned(), 0);
        // The last one has the time that is left.
        while let Some(place) = places.get(tried).filter(|_| tried == 0 || Instant::now() < end) {
            tried += 1;
            let one = if tried == places.len() { end } else { end.min(Instant::now() + limits.connect_one) };
            problem = match timeout_at(one, connect(place)).await {
                Ok(Ok(stream)) => return Some(self.reached(place, stream)),
                Ok(Err(error)) => format!("the registrar {place} cannot be reached: {error}"),
                Err(_) => format!("the registrar {place} does not answer"),
            };
            tracing::debug!("{problem}");
            // If there are more failures than anybody takes, some are as good as all.
            self.failures.as_ref().map(|failures| failures.try_send(place.clone()));
        }
        let mut begin = self.lock();
        if *begin == first {
            *begin = places.get(tried).or(places.first()).cloned();
        }
        drop(begin);
        match tried {
            0 | 1 => self.failed(&problem),
            _ => self.failed(&format_args!("{problem}; nor can the {} before it be reached", tried - 1)),
        }
        None
    }

    /// Returns the registrars in the order in which they are tried: from `first` on.
    fn in_order(&self, first: Option<&Place>) -> Vec<Place> {
        let mut places = match &self.source {
            Source::One(place) => place.borrow().iter().cloned().collect(),
            Source::Several(places) => places.borrow().iter().take(MAX_REGISTRARS).cloned().collect::<Vec<_>>(),
        };
        if let Some(first) = first.and_then(|first| places.iter().position(|place| place == first)) {
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
        self.first.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

async fn connect(place: &Place) -> std::io::Result<TcpStream> {
    TcpStream::connect((place.host(), place.port())).await
}
