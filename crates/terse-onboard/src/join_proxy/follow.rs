//! The registrars of a join proxy, as discovery finds them (RFC 8995, 4.3).

use tokio::sync::watch;

use crate::discovery::{Change, Discovery, Place};

/// Tells `registrars` which registrars discovery finds, in the order in which they were found, until they are gone. Does not
/// end before `registrars` has no receivers any more.
pub async fn follow(mut discovery: impl Discovery, registrars: watch::Sender<Vec<Place>>) {
    loop {
        let change = tokio::select! {
            change = discovery.next() => change,
            () = registrars.closed() => return,
        };
        registrars.send_if_modified(|known| {
            let before = known.len();
            match change {
                Change::Found(place) if known.contains(&place) || before >= MAX_REGISTRARS => {}
                Change::Found(place) if has_its_share(known, &place) => {}
                Change::Found(place) => known.push(place),
                Change::Gone(place) => known.retain(|known| *known != place),
            }
            known.len() != before
        });
    }
}

/// Whether the host of a place has as many places as one may have: a stranger has a link's addresses, and not its hosts.
fn has_its_share(known: &[Place], place: &Place) -> bool {
    known.iter().filter(|known| known.host() == place.host()).count() >= MAX_OF_HOST
}

/// The most registrars of one host.
const MAX_OF_HOST: usize = 4;

/// The most registrars that a join proxy knows and tries. A domain has a few.
pub const MAX_REGISTRARS: usize = 16;
