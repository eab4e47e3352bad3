//! How often the calling thread has done what should be done once for each ClientHello. Tests compare it: nothing else
//! shows whether work is done twice.

use core::cell::Cell;

/// Work that was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// ClientHellos that were parsed.
    pub client_hellos_parsed: usize,
    /// ClientHellos from which the parameters of a connection were chosen.
    pub client_hellos_negotiated: usize,
}

std::thread_local! {
    static WORK: Cell<Work> = const { Cell::new(Work { client_hellos_parsed: 0, client_hellos_negotiated: 0 }) };
}

impl Work {
    /// What this thread has done.
    pub fn so_far() -> Self {
        WORK.get()
    }

    /// What this thread has done since then.
    pub fn since(before: Self) -> Self {
        let now = Self::so_far();
        Self {
            client_hellos_parsed: now.client_hellos_parsed - before.client_hellos_parsed,
            client_hellos_negotiated: now.client_hellos_negotiated - before.client_hellos_negotiated,
        }
    }

    pub(crate) fn parsed_client_hello() {
        WORK.set(Self { client_hellos_parsed: WORK.get().client_hellos_parsed + 1, ..WORK.get() });
    }

    pub(crate) fn negotiated_client_hello() {
        WORK.set(Self { client_hellos_negotiated: WORK.get().client_hellos_negotiated + 1, ..WORK.get() });
    }
}
