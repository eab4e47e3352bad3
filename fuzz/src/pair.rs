//! The fuzz target `pair` runs a client and a server in any mode, with an attacker in between who drops, repeats,
//! changes, swaps and forges records; or with a hostile side that changes its messages before it hashes and encrypts
//! them.
//!
//! What must always hold: if both are connected, they agree on all parameters, whatever happened in between; and
//! application data that arrives was sent. Only the other side of a hostile one must keep its promises.

use std::collections::VecDeque;
use std::sync::Arc;

use terse_testkit::fault::fault;
use terse_testkit::forge;
use terse_tls::Fault;

use crate::input::{Input, Operation, Shape};
use crate::machine::Machine;
use crate::modes::{BINDING, TRANSPARENT, Tweaks, choose};

/// Runs one input: a byte that chooses who interferes, and an [`Input`] whose operations say how. The `kind` of an
/// operation is the number of records or messages between it and the operation before; see `Between::pass` and
/// `change`.
pub fn run(data: &[u8]) {
    let Some((who, data)) = data.split_first() else { return };
    replay(*who, &Input::parse(data));
}

/// Returns both sides after `input`.
pub fn replay(who: u8, input: &Input) -> [Machine; 2] {
    let modes = if who & 1 == 0 { &BINDING } else { &TRANSPARENT };
    let (mode, tweaks) = (choose(modes, input.mode), Tweaks(input.tweaks));
    let (mut client, mut server) = (tweaks.client(mode), tweaks.server(mode));
    let mut between = Between::new(&input.operations);
    let is_hostile = who & 2 != 0;
    if is_hostile {
        between.operations.clear();
        let hostile = Some(hostile(input.operations.clone()));
        if who & 4 == 0 {
            client.fault(hostile);
        } else {
            server.fault(hostile);
        }
    }
    let mut sides = [Machine::client(client, tweaks), Machine::server(server, tweaks)];
    for round in 0..MAX_ROUNDS {
        if round == 3 {
            sides.iter_mut().for_each(|side| side.call(0, b"data"));
            sides[usize::from(who & 8 != 0)].call(3, b"request");
        }
        if round == 6 {
            sides.iter_mut().for_each(|side| side.call(2, &[]));
        }
        let mut is_quiet = round > 6;
        for from in [0, 1] {
            let stream = core::mem::take(&mut sides[from].output);
            is_quiet &= stream.is_empty();
            for record in forge::records(&stream) {
                between.pass(record, from, &mut sides);
            }
        }
        if is_quiet {
            break;
        }
    }
    let [client, server] = &sides;
    // With the transparent provider a Finished proves nothing.
    if !is_hostile && who & 1 == 0 && client.connected && server.connected {
        agree(client, server);
    }
    sides.map(Machine::end)
}

/// Checks that two connected sides agree.
fn agree(client: &Machine, server: &Machine) {
    let [ours, theirs] = [client, server].map(|side| side.connection.summary());
    assert_eq!(ours.version, theirs.version);
    assert_eq!(ours.cipher_suite, theirs.cipher_suite);
    assert_eq!(ours.group, theirs.group);
    assert_eq!(ours.mode, theirs.mode);
    assert_eq!(ours.cached, theirs.cached);
    assert_eq!(ours.early_data, theirs.early_data);
    assert_eq!(client.connection.alpn_protocol(), server.connection.alpn_protocol());
    let [mut ours, mut theirs] = [[0; 32]; 2];
    let exported = [(client, &mut ours), (server, &mut theirs)]
        .map(|(side, out)| side.connection.export_keying_material(b"label", Some(b"context"), out).is_ok());
    assert!(exported != [true, true] || ours == theirs);
    assert!(client.sent.starts_with(&server.received), "the server received what was not sent");
    assert!(server.sent.starts_with(&client.received), "the client received what was not sent");
}

/// The attacker between the two sides.
struct Between {
    operations: VecDeque<Operation>,
    /// The number of records that pass before the first operation.
    gap: usize,
    /// A record that is held back, and its receiver.
    kept: Option<(usize, Vec<u8>)>,
}

impl Between {
    fn new(operations: &[Operation]) -> Self {
        let operations: VecDeque<_> = operations.iter().cloned().collect();
        Self { gap: operations.front().map_or(0, gap), operations, kept: None }
    }

    /// Passes a record on from side `from`.
    fn pass(&mut self, mut record: Vec<u8>, from: usize, sides: &mut [Machine; 2]) {
        let to = 1 - from;
        while self.gap == 0
            && let Some(operation) = self.operations.pop_front()
        {
            self.gap = self.operations.front().map_or(0, gap);
            let body = &operation.body;
            match operation.shape % 10 {
                0 => record.clear(),
                1 => sides[to].receive(&record),
                2 => change(1, body, &mut record),
                3 => change(4, body, &mut record),
                4 => record.truncate(body.first().map_or(0, |len| usize::from(*len))),
                5 => self.kept = Some((to, core::mem::take(&mut record))),
                6 => {
                    if let Some((to, kept)) = self.kept.take() {
                        sides[to].receive(&kept);
                    }
                }
                7 => sides[to].receive(&forge::plaintext(terse_tls::ContentType(operation.kind >> 2), body)),
                8 => sides[to].apply(&Operation {
                    shape: Shape::Sealed as u8,
                    kind: 21 + operation.kind / 86,
                    ..operation
                }),
                _ => {
                    // The operation is for this side: a call of its application, or input.
                    sides[from].apply(&Operation { shape: Shape::Call as u8, kind: operation.kind >> 2, ..operation });
                }
            }
        }
        self.gap = self.gap.saturating_sub(1);
        sides[to].receive(&record);
    }
}

fn gap(operation: &Operation) -> usize {
    usize::from(operation.kind & 3)
}

/// Returns a side that changes the messages that the operations select.
fn hostile(operations: Vec<Operation>) -> Arc<dyn Fault> {
    let mut operations = VecDeque::from(operations);
    let mut passed = 0;
    fault(move |_, _, message| {
        if operations.front().is_some_and(|operation| usize::from(operation.kind % 8) <= passed)
            && let Some(operation) = operations.pop_front()
        {
            passed = 0;
            change(operation.shape, &operation.body, message);
            if let Some((header, body)) = message.split_first_chunk_mut::<4>() {
                header[1..].copy_from_slice(&(body.len() as u32).to_be_bytes()[1..]);
            }
        } else {
            passed += 1;
        }
    })
}

/// Changes `bytes`: the first two bytes of `body` are the place, the rest is the new content.
fn change(how: u8, body: &[u8], bytes: &mut Vec<u8>) {
    let Some((place, with)) = body.split_first_chunk() else { return };
    let place = usize::from(u16::from_be_bytes(*place)) % (bytes.len() + 1);
    match how % 5 {
        0 => drop(bytes.splice(place..place, with.iter().copied())),
        1 => bytes[place..].iter_mut().zip(with).for_each(|(byte, with)| *byte ^= with),
        2 => drop(bytes.drain(place..(place + with.len()).min(bytes.len()))),
        3 => bytes.truncate(place),
        _ => bytes[place..].iter_mut().zip(with).for_each(|(byte, with)| *byte = *with),
    }
}

/// The most rounds: more than two sides and their alerts take.
const MAX_ROUNDS: usize = 40;
