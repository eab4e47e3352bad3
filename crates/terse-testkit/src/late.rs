//! A late store is a server's store on the other side of a network: the application gives its answers later.

use alloc::sync::Arc;
use core::task::Poll;
use std::sync::Mutex;

use terse_tls::cache::{AddressId, Commit, NotSaved, Row, ServerStore, StoreAnswer, StoreRequest, Ticket};
use terse_tls::crypto::Rng;
use terse_tls::{Connection, Error, Now};

/// How often a [`LateStore`] is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It answers at once.
    Never,
    /// It is late for about half of the tickets, as a store with some rows in memory.
    Sometimes,
    /// It always answers later.
    Always,
}

/// A store that answers later.
pub struct LateStore {
    rows: Arc<dyn ServerStore>,
    late: Late,
    commits: Mutex<Vec<Ticket>>,
}

impl LateStore {
    /// Creates a store with the contents of `rows`.
    pub fn new(rows: Arc<dyn ServerStore>, late: Late) -> Arc<Self> {
        Arc::new(Self { rows, late, commits: Mutex::default() })
    }

    /// Returns the answer that the application gives in the end.
    pub fn answer(&self, request: &StoreRequest) -> StoreAnswer {
        match request {
            StoreRequest::Find(ticket) => StoreAnswer::Found(done(self.rows.find(ticket))),
            StoreRequest::Commit(commit) => StoreAnswer::Committed(self.write(commit)),
        }
    }

    /// Answers the requests of `connection` until it has no more. Before each answer, it checks that neither `rest`,
    /// the input that was not taken yet, nor time makes the connection go on.
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

    /// Returns all tickets that were committed.
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

/// The number of checks before each answer.
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
