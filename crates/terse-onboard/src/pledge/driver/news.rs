//! What happens around the machine: discovery finds places, and attempts end.

use terse_brski::pledge::{AttemptFailed, Event};

use super::answer::Answer;
use super::{Driver, End};
use crate::discovery::{Change, Place};
use crate::pledge::places::News;
use crate::pledge::signer::LateSigner;
use crate::pledge::{GaveUp, Progress, SocketForm};

impl<F: SocketForm, O: FnMut(Progress) + Send> Driver<'_, F, O> {
    /// Takes what discovery has found.
    pub(super) fn changed(&mut self, change: Change) {
        match change {
            Change::Found(place) => {
                (self.observe)(Progress::Found(place.clone()));
                let news = self.places.add(place, self.clock.now().monotonic);
                self.tell(news);
            }
            Change::Gone(place) => {
                let Some(news) = self.places.remove(&place) else { return };
                (self.observe)(Progress::Gone(place));
                self.tell(news);
            }
        }
    }

    /// Tells the machine which places are gone and found, before anything else.
    fn tell(&mut self, News { gone, found }: News) {
        self.answers.extend(gone.map(Answer::Gone));
        self.answers.extend(found.map(Answer::Found));
    }

    /// Takes what the machine tells. Returns how the onboarding ends, if it does.
    pub(super) fn inform(&mut self, event: Event) -> Option<End> {
        let place = || self.place.clone().unwrap_or_else(|| Place::new("", 0)); // every event follows a connection
        let event = self.with_cause(event);
        let failed = match event {
            Event::Failed(proxy, why) => Some((proxy, place(), why)),
            _ => None,
        };
        if let Some(progress) = Progress::of(event, place) {
            (self.observe)(progress);
        }
        match event {
            Event::Imprinted(assertion) => self.assertion = Some(assertion),
            Event::Enrolled { is_reported } => return Some(End::Enrolled { is_reported }),
            Event::Waiting => self.waiting(),
            _ => {}
        }
        let (proxy, place, why) = failed?;
        self.signing = None; // its failure would be blamed on another attempt
        self.failed = self.places.of(proxy).cloned();
        let news = self.places.failed(proxy, self.clock.now().monotonic);
        self.tell(news);
        (self.enrollment, self.identity, self.assertion) = (None, None, None);
        self.failures = self.failures.saturating_add(1);
        let is_last = self.settings.max_failures.is_some_and(|max| self.failures >= max.get());
        is_last.then_some(End::GaveUp(GaveUp::Failed(place, why)))
    }

    /// Returns the event with what the machine cannot know: a connection that was lost because the key did not sign.
    fn with_cause(&self, event: Event) -> Event {
        let signing_failed = self.device.signer().and_then(LateSigner::failure);
        match (event, signing_failed) {
            (Event::Failed(proxy, AttemptFailed::ConnectionLost), Some(error)) => {
                Event::Failed(proxy, AttemptFailed::Crypto(error))
            }
            (event, _) => event,
        }
    }

    /// Notes that the registrar of the attempt under way is waited for. Another one that gives way has failed for discovery, too.
    fn waiting(&mut self) {
        let Some(proxy) = self.proxy else { return };
        let news = self.places.waits(proxy, self.clock.now().monotonic);
        self.failed = news.gone.and_then(|gone| self.places.of(gone)).cloned();
        self.tell(news);
    }
}
