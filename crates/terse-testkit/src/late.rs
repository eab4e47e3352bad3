//! A server's store on the other side of a network: it answers later, and who answers in its place.

use alloc::sync::Arc;
use core::task::Poll;
use std::sync::Mutex;

use terse_tls::cache::{AddressId, Commit, NotSaved, Row, ServerStore, StoreAnswer, StoreRequest, Ticket};
use terse_tls::crypto::Rng;
use terse_tls::{Connection, Error, Now};

/// When a [`LateStore`] answers at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// Always.
    Never,
    /// About half of the tickets, as with what is also in memory.
    Sometimes,
    /// Never.
    Always,
}

/// A store that answers later.
pub struct LateStore {
    rows: Arc<dyn ServerStore>,
    late: Late,
    commits: Mutex<Vec<Ticket>>,
}

impl LateStore {
    /// What `rows` has.
    pub fn new(rows: Arc<dyn ServerStore>, late: Late) -> Arc<Self> {
        Arc::new(Self { rows, late, commits: Mutex::default() })
    }

    /// What the application answers in the end.
    pub fn answer(&self, request: &StoreRequest) -> StoreAnswer {
        match request {
            StoreRequest::Find(ticket) => StoreAnswer::Found(done(self.rows.find(ticket))),
            StoreRequest::Commit(commit) => StoreAnswer::Committed(self.write(commit)),
        }
    }

    /// Answers what `connection` asks, for as long as it does. Before each answer it is shown that nothing else moves
    /// it, neither `rest`, which it did not take yet, nor time.
    pub fn serve(&self, connection: &mut Connection, now: Now, rng: &mut dyn Rng, rest: &[u8]) -> Result<(), Error> {
        while let Some(request) = connection.store_request().cloned() {
            for _ in 0..PATIENCE {
                assert_eq!(connection.handle_input(now, rng, &mut rest.to_vec()), Ok(0), "it takes nothing");
                assert_eq!(connection.poll_transmit(now, &mut [0; 2048]), None, "it says nothing");
                assert_eq!(connection.poll_timeout(), None, "it has time");
            }
            connection.provide_store_answer(now, rng, self.answer(&request))?;
        }
        Ok(())
    }

    /// All tickets that were committed.
    pub fn commits(&self) -> Vec<Ticket> {
        self.commits.lock().expect("nobody panicked").clone()
    }

    fn write(&self, commit: &Commit) -> Result<(), NotSaved> {
        self.commits.lock().expect("nobody panicked").push(commit.ticket);
        done(self.rows.commit(commit))
    }

    fn is_late(&self, ticket: &Ticket) -> bool {
        match self.late {
            Late::Never => false,
            Late::Sometimes => ticket.0[0] & 1 == 1,
            Late::Always => true,
        }
    }
}

/// How often one looks in vain.
const PATIENCE: usize = 3;

fn done<T>(answer: Poll<T>) -> T {
    match answer {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the store behind answers at once"),
    }
}

impl ServerStore for LateStore {
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>> {
        if self.is_late(ticket) { Poll::Pending } else { self.rows.find(ticket) }
    }

    fn commit(&self, commit: &Commit) -> Poll<Result<(), NotSaved>> {
        if self.is_late(&commit.ticket) { Poll::Pending } else { Poll::Ready(self.write(commit)) }
    }

    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved> {
        if self.is_late(ticket) { Ok(false) } else { self.rows.spend(ticket, address) }
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        self.rows.remove(ticket)
    }
}
