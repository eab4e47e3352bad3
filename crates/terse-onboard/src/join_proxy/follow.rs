//! The registrar of a join proxy, as discovery finds it (RFC 8995, 4.3).

use core::mem;

use tokio::sync::watch;

use crate::discovery::{Change, Discovery, Place};

/// Tells `registrar` which of the registrars that discovery finds the join proxy uses: the first one, until it is gone. Does not
/// end before `registrar` has no receivers any more.
pub async fn follow(mut discovery: impl Discovery, registrar: watch::Sender<Option<Place>>) {
    let mut known: Vec<Place> = Vec::new();
    loop {
        let change = tokio::select! {
            change = discovery.next() => change,
            () = registrar.closed() => return,
        };
        match change {
            Change::Found(place) if known.contains(&place) || known.len() >= MAX_REGISTRARS => {}
            Change::Found(place) => known.push(place),
            Change::Gone(place) => known.retain(|known| *known != place),
        }
        registrar.send_if_modified(|used| {
            let first = known.first().cloned();
            first != mem::replace(used, first.clone())
        });
    }
}

/// The most registrars that are known. A domain has a few.
const MAX_REGISTRARS: usize = 16;
