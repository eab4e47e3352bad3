//! The registrars of a join proxy, as discovery finds them (RFC 8995, 4.3).
//!
//! Whoever is on the link can announce what he likes. What must always hold: the registrars that are known are bounded, and so
//! are those that wait; one that cannot be reached gives way to one that waits.

use alloc::collections::VecDeque;

use tokio::sync::{mpsc, watch};

use crate::discovery::mdns::{self, MAX_KNOWN};
use crate::discovery::{Change, Discovery, Place};

/// Tells `registrars` which registrars discovery finds, in the order in which they were found, until they are gone. More than
/// [`MAX_REGISTRARS`] wait until one is gone or cannot be reached, which comes from
/// [`JoinProxy::report_failures`](super::JoinProxy::report_failures) by `failures`. Does not end before `registrars` has no
/// receivers any more.
pub async fn follow(
    mut discovery: impl Discovery,
    registrars: watch::Sender<Vec<Place>>,
    mut failures: mpsc::Receiver<Place>,
) {
    let mut waiting = VecDeque::new();
    loop {
        tokio::select! {
            change = discovery.next() => registrars.send_if_modified(|known| changed(known, &mut waiting, change)),
            Some(place) = failures.recv() => {
                discovery.failed(&place);
                registrars.send_if_modified(|known| failed(known, &mut waiting, &place))
            }
            () = registrars.closed() => return,
        };
    }
}

/// Takes what discovery has found. Returns whether that changes `known`.
fn changed(known: &mut Vec<Place>, waiting: &mut VecDeque<Place>, change: Change) -> bool {
    let before = known.clone();
    match change {
        Change::Found(place) if known.contains(&place) || waiting.contains(&place) => {}
        Change::Found(place) => {
            // As discovery itself has its bounds: what it finds fits, whatever one host announces.
            let of_host = waiting.iter().filter(|waiting| waiting.host() == place.host()).count();
            if waiting.len() < MAX_KNOWN && of_host < mdns::MAX_OF_HOST {
                waiting.push_back(place);
            }
        }
        Change::Gone(place) => {
            known.retain(|known| *known != place);
            waiting.retain(|waiting| *waiting != place);
        }
    }
    let has_room = |known: &[Place], place: &Place| known.len() < MAX_REGISTRARS && has_share(known, place);
    while let Some(next) = waiting.iter().position(|place| has_room(known, place)) {
        known.extend(waiting.remove(next));
    }
    *known != before
}

/// Lets a registrar that cannot be reached give way to one that waits. Returns whether that changes `known`.
fn failed(known: &mut Vec<Place>, waiting: &mut VecDeque<Place>, place: &Place) -> bool {
    let Some(failed) = known.iter().position(|known| known == place) else { return false };
    let is_full = known.len() >= MAX_REGISTRARS;
    let fits = |next: &Place| next.host() == place.host() || (is_full && has_share(known, next));
    let Some(next) = waiting.iter().position(fits) else { return false };
    waiting.push_back(known.remove(failed));
    known.extend(waiting.remove(next));
    true
}

/// Whether the host of a place has fewer places than one may have: a stranger has a link's addresses, and not its hosts.
fn has_share(known: &[Place], place: &Place) -> bool {
    known.iter().filter(|known| known.host() == place.host()).count() < MAX_OF_HOST
}

/// The most registrars of one host.
const MAX_OF_HOST: usize = 4;

/// The most registrars that a join proxy knows and tries. A domain has a few.
pub const MAX_REGISTRARS: usize = 16;
