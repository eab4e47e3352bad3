//! What happens in a run, as far as the counts are about it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::step::Step;
use crate::Time;
use crate::direction::Direction;

/// What both hosts of a run write down.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The step that the pledge took at each time.
    pub(super) begun: Vec<(Time, Step)>,
    /// The datagrams, in the order in which they were sent.
    pub(super) datagrams: Vec<Datagram>,
    /// The bytes that each side gave to TCP, in their order.
    pub(super) streams: [Vec<Piece>; 2],
    /// The step of each datagram by its bytes, of which no two have the same: records have numbers.
    steps: BTreeMap<Vec<u8>, Step>,
    /// The steps of the datagrams that a join proxy has passed on in each direction, in their order.
    pub(super) passed: [Vec<Step>; 2],
    /// When the pledge was done, and whether the registrar knows.
    pub(super) enrolled: Option<(Time, bool)>,
    /// What failed on the way: attempts are repeated.
    pub(super) failures: Vec<String>,
    /// Why the run cannot go on.
    pub(super) broken: Option<String>,
}

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagram {
    /// Who has sent it: the pledge sends up.
    pub(super) direction: Direction,
    /// The step that it belongs to.
    pub(super) step: Step,
    /// How many of its bytes are headers and tags of records.
    pub(super) records: usize,
    /// Its length.
    pub(super) len: usize,
}

/// Bytes of a stream that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The step that they belong to.
    pub(super) step: Step,
    /// Whether they are the header of a record, or its content type and tag.
    pub(super) is_of_record: bool,
    /// How many they are.
    pub(super) len: usize,
}

/// The journal of a run, which both hosts have.
pub(super) type Shared = Rc<RefCell<Journal>>;

impl Journal {
    /// Notes that the pledge begins a step.
    pub(super) fn begin(&mut self, now: Time, step: Step) {
        self.begun.push((now, step));
    }

    /// Returns the step that the pledge takes.
    pub(super) fn step(&self) -> Step {
        self.begun.last().map_or(Step::Handshake, |(_, step)| *step)
    }

    /// Returns the step that the pledge took at this time.
    pub(super) fn step_at(&self, at: Time) -> Step {
        let after = self.begun.partition_point(|(begun, _)| *begun <= at);
        after.checked_sub(1).and_then(|place| self.begun.get(place)).map_or(Step::Handshake, |(_, step)| *step)
    }

    /// Notes a datagram, so many bytes of which are headers and tags of records. One that has neither a message of CoAP nor the
    /// end of a connection belongs to the `handshake` of its connection; all others, to the step that the pledge takes.
    pub(super) fn note(&mut self, direction: Direction, handshake: Option<Step>, records: usize, datagram: &[u8]) {
        let step = handshake.unwrap_or_else(|| self.step());
        self.datagrams.push(Datagram { direction, step, records, len: datagram.len() });
        self.steps.insert(datagram.to_vec(), step);
    }

    /// Notes that a join proxy passes a datagram on.
    pub(super) fn note_passed(&mut self, direction: Direction, datagram: &[u8]) {
        let step = self.steps.get(datagram).copied().unwrap_or_else(|| self.step());
        self.passed[direction.index()].push(step);
    }

    /// Notes whole records of TLS 1.3 that are given to TCP. They belong to the step that the pledge takes.
    pub(super) fn note_records(&mut self, direction: Direction, mut records: &[u8]) {
        let step = self.step();
        let stream = &mut self.streams[direction.index()];
        let mut note = |is_of_record, len| stream.push(Piece { step, is_of_record, len });
        while let Some(([content_type, _, _, high, low], rest)) = records.split_first_chunk() {
            let len = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
            let protection = if *content_type == APPLICATION_DATA { PROTECTION_LEN.min(len) } else { 0 };
            note(true, RECORD_HEADER_LEN);
            note(false, len - protection);
            note(true, protection);
            records = &rest[len..];
        }
        note(true, records.len());
    }

    /// Notes why the run cannot go on.
    pub(super) fn fail(&mut self, cause: impl core::fmt::Display) {
        self.broken.get_or_insert_with(|| cause.to_string());
    }
}

/// The content type of protected records (RFC 9846, 5.2).
const APPLICATION_DATA: u8 = 23;

/// The header of a record (RFC 9846, 5.1).
const RECORD_HEADER_LEN: usize = 5;

/// The true content type, and the tag of AES-CCM.
const PROTECTION_LEN: usize = 1 + 16;
