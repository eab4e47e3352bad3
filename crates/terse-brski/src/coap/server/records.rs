//! The messages that were received lately, and what was answered (RFC 7252, 4.5).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use terse_tls::Instant;

use super::asked::Asked;
use crate::coap::message::{Kind, Message};
use crate::coap::transmission::after;
use crate::coap::{ETag, Payload};

/// Names a request that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(u64);

impl RequestId {
    /// Returns a tag for the response, which that of the next 65,535 has not.
    pub(super) fn tag(self) -> Option<ETag> {
        let [.., high, low] = self.0.to_be_bytes();
        ETag::new(&[high, low])
    }
}

/// A request that waits for its answer, or is being answered.
pub(super) struct Work {
    pub(super) id: u16,
    pub(super) token: Vec<u8>,
    pub(super) is_confirmable: bool,
    pub(super) is_acknowledged: bool,
    pub(super) asked: Asked,
}

impl Work {
    pub(super) fn new(message: &Message, asked: Asked) -> Self {
        Self {
            id: message.id(),
            token: message.token().to_vec(),
            is_confirmable: message.kind() == Kind::Confirmable,
            is_acknowledged: false,
            asked,
        }
    }
}

/// A message that was received.
pub(super) struct Record {
    id: u16,
    received: Instant,
    state: State,
}

enum State {
    /// Until the time it is not acknowledged.
    Working(RequestId, Work, Instant),
    /// It was answered by an empty acknowledgement, and then by a message of its own.
    Acknowledged,
    /// It was answered by this.
    Answered(Payload),
    /// It was answered, and the answer is not kept any more.
    Forgotten,
}

/// The messages, the oldest first.
#[derive(Default)]
pub(super) struct Records {
    records: VecDeque<Record>,
    /// The message IDs of those before, which were answered, and when they came.
    older: VecDeque<(u16, Instant)>,
    next: u64,
}

impl Record {
    /// Returns what is sent when the message comes again. A non-confirmable one is ignored (RFC 7252, 4.5).
    pub(super) fn reply_again(&mut self, kind: Kind, id: u16) -> Option<Payload> {
        if kind != Kind::Confirmable {
            return None;
        }
        match &mut self.state {
            State::Working(_, work, _) => work.is_acknowledged = true,
            State::Acknowledged => {}
            State::Answered(reply) => return Some(reply.clone()),
            State::Forgotten => return None,
        }
        Some(Payload::new(Message::empty(Kind::Acknowledgement, id).to_vec()))
    }
}

impl Records {
    pub(super) fn find(&mut self, id: u16) -> Option<&mut Record> {
        self.records.iter_mut().find(|record| record.id == id)
    }

    /// Whether a message was answered, and what was answered is not kept any more.
    pub(super) fn is_older(&self, id: u16) -> bool {
        self.older.iter().any(|(other, _)| *other == id)
    }

    /// Notes a message that is answered at once.
    pub(super) fn insert(&mut self, now: Instant, id: u16) {
        self.push(Record { id, received: now, state: State::Forgotten });
    }

    /// Notes a request that is to be answered, and acknowledged at `acknowledge_at` if it is not answered before.
    pub(super) fn insert_work(&mut self, now: Instant, work: Work, acknowledge_at: Instant) -> RequestId {
        let request = RequestId(self.next);
        self.next += 1;
        self.push(Record { id: work.id, received: now, state: State::Working(request, work, acknowledge_at) });
        request
    }

    /// Returns how many requests wait for their answer.
    pub(super) fn in_work(&self) -> usize {
        self.records.iter().filter(|record| matches!(record.state, State::Working(..))).count()
    }

    pub(super) fn is_in_work(&self, request: RequestId) -> bool {
        let mut states = self.records.iter().map(|record| &record.state);
        states.any(|state| matches!(state, State::Working(other, ..) if *other == request))
    }

    /// Takes a request to answer it.
    pub(super) fn take_work(&mut self, request: RequestId) -> Option<Work> {
        let is_it = |record: &&mut Record| matches!(&record.state, State::Working(other, ..) if *other == request);
        let record = self.records.iter_mut().find(is_it)?;
        let State::Working(_, work, _) = mem::replace(&mut record.state, State::Forgotten) else { return None };
        if work.is_acknowledged {
            record.state = State::Acknowledged;
        }
        Some(work)
    }

    /// Remembers the answer to a message. Of those before only a few are kept.
    pub(super) fn remember(&mut self, id: u16, reply: &[u8]) {
        let Some(record) = self.find(id) else { return };
        record.state = State::Answered(Payload::new(reply.to_vec()));
        let answered = self.records.iter_mut().rev().filter(|record| matches!(record.state, State::Answered(_)));
        answered.skip(MAX_ANSWERS).for_each(|record| record.state = State::Forgotten);
    }

    /// Returns when a request is to be acknowledged.
    pub(super) fn next_acknowledgement(&self) -> Option<Instant> {
        let at = |record: &Record| match &record.state {
            State::Working(_, work, at) if work.is_confirmable && !work.is_acknowledged => Some(*at),
            _ => None,
        };
        self.records.iter().filter_map(at).min()
    }

    /// Returns the message ID of a request that is to be acknowledged now. It then counts as acknowledged.
    pub(super) fn acknowledge_next(&mut self, now: Instant) -> Option<u16> {
        self.records.iter_mut().find_map(|record| match &mut record.state {
            State::Working(_, work, at) if work.is_confirmable && !work.is_acknowledged && now >= *at => {
                work.is_acknowledged = true;
                Some(record.id)
            }
            _ => None,
        })
    }

    /// Returns when the oldest message is forgotten.
    pub(super) fn next_expiry(&self, lifetime_ms: u64) -> Option<Instant> {
        let older = self.older.front().map(|(_, received)| *received);
        let received = older.into_iter().chain(self.records.front().map(|record| record.received)).min();
        received.map(|received| after(received, lifetime_ms))
    }

    /// Forgets messages that are older than this, also those in work, whose clients do not wait any more.
    pub(super) fn forget(&mut self, now: Instant, lifetime_ms: u64) {
        self.records.retain(|record| now < after(record.received, lifetime_ms));
        while self.older.front().is_some_and(|(_, received)| now >= after(*received, lifetime_ms)) {
            self.older.pop_front();
        }
    }

    fn push(&mut self, record: Record) {
        if self.records.len() >= MAX_RECORDS {
            let oldest = self.records.iter().position(|record| !matches!(record.state, State::Working(..)));
            if let Some(Record { id, received, .. }) = self.records.remove(oldest.unwrap_or_default()) {
                self.older.push_back((id, received));
            }
        }
        if self.older.len() > MAX_OLDER {
            self.older.pop_front();
        }
        self.records.push_back(record);
    }
}

/// The most messages that are remembered with what became of them.
const MAX_RECORDS: usize = 32;

/// The most messages before those whose message IDs are remembered: as many as a request of 16 kB in the smallest blocks takes.
/// Its response takes up to four times as many again, so that the IDs of the request can be forgotten before the response is
/// fetched.
const MAX_OLDER: usize = 1_024;

/// The most answers that are remembered.
const MAX_ANSWERS: usize = 4;
