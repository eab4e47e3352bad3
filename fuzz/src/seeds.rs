//! Seeds are recordings of real handshakes in every mode, cut into the operations of an [`Input`], and the inputs of
//! the other targets.
//!
//! What must always hold: a replay of a recording gets as far as the side that was recorded.

use std::collections::BTreeSet;

use terse_testkit::forge;
use terse_tls::cache::{MemoryClientStore, MemoryServerStore, snapshot};
use terse_tls::{ContentType, LearnedIssuers, ProtocolVersion};

use crate::input::{Input, Operation, Shape};
use crate::machine::Machine;
use crate::modes::{Mode, TRANSPARENT, Tweaks};
use crate::{path, pki, records};

mod artefacts;
mod coap;
mod datagrams;
mod identity;
mod jpy;
mod requests;
mod services;
mod staples;

/// A name and an input.
pub type Seed = (String, Vec<u8>);

/// Returns the seeds of all targets.
pub fn all() -> Vec<(&'static str, Vec<Seed>)> {
    let recordings: Vec<_> = TRANSPARENT.iter().enumerate().flat_map(|(number, mode)| record(number, mode)).collect();
    let of = |side: usize| recordings.iter().map(|(name, inputs)| (name.clone(), inputs[side].to_bytes())).collect();
    vec![
        ("client", of(0)),
        ("server", of(1)),
        ("pair", pairs()),
        ("messages", messages(&recordings)),
        ("records", streams(&recordings)),
        ("cache_file", files()),
        ("certificates", certificates()),
        ("path", paths()),
        ("identity", identity::all()),
        ("jpy", jpy::all()),
        ("artefacts", artefacts::all()),
        ("requests", requests::all()),
        ("services", services::all()),
        ("coap", coap::all()),
    ]
    .into_iter()
    .chain(datagrams::all())
    .collect()
}

/// The input of the client and of the server of a mode, and their applications' calls, as inputs for either target.
type Recording = (String, [Input; 2]);

/// Records the mode as it is, and with a few of the tweaks.
fn record(number: usize, mode: &Mode) -> Vec<Recording> {
    let mode_number = u8::try_from(number).expect("fewer than 256 modes");
    let tweaks = [[0, 0], [0x03, 0], [0x10, 0x14], [0xe0, 0]];
    let recordings = tweaks.into_iter().enumerate().filter(|(at, _)| *at == 0 || number % 3 == at % 3);
    recordings
        .map(|(_, tweaks)| {
            let empty = || Input { mode: mode_number, tweaks, operations: Vec::new() };
            let mut recorder = Recorder::new(mode, Tweaks(tweaks), [empty(), empty()]);
            recorder.run();
            (format!("{}-{:02x}{:02x}", mode.name, tweaks[0], tweaks[1]), recorder.inputs)
        })
        .collect()
}

struct Recorder {
    sides: [Machine; 2],
    inputs: [Input; 2],
    /// Whether each side protects its records with keys of TLS 1.2.
    changed: [bool; 2],
}

impl Recorder {
    fn new(mode: &Mode, tweaks: Tweaks, inputs: [Input; 2]) -> Self {
        let sides = [Machine::client(tweaks.client(mode), tweaks), Machine::server(tweaks.server(mode), tweaks)];
        Self { sides, inputs, changed: [false; 2] }
    }

    /// Runs the handshake, and all that an application can do after it.
    fn run(&mut self) {
        self.call(0, 9, b"early");
        self.carry();
        self.call(0, 0, b"request");
        self.carry();
        self.call(1, 0, b"response");
        self.call(1, 3, b"please");
        self.carry();
        self.call(0, 3, b"");
        self.call(0, 0, b"more");
        self.carry();
        self.call(0, 4, b"label");
        self.call(1, 2, b"");
        self.carry();
        self.call(0, 2, b"");
        self.carry();
    }

    fn call(&mut self, side: usize, kind: u8, body: &[u8]) {
        self.apply(side, Operation::new(Shape::Call, kind, body));
    }

    fn apply(&mut self, side: usize, operation: Operation) {
        self.sides[side].apply(&operation);
        self.inputs[side].operations.push(operation);
    }

    fn carry(&mut self) {
        for _ in 0..20 {
            for from in [0, 1] {
                let stream = core::mem::take(&mut self.sides[from].output);
                for record in forge::records(&stream) {
                    for operation in self.operations(from, &record) {
                        self.apply(1 - from, operation);
                    }
                }
            }
        }
    }

    /// Returns the operations of a side's record: one for each message in it.
    fn operations(&mut self, from: usize, record: &[u8]) -> Vec<Operation> {
        let to = &self.sides[1 - from];
        let outer = record[0];
        let is_tls12 = to.connection.summary().version == Some(ProtocolVersion::TLS_1_2);
        if outer == ContentType::CHANGE_CIPHER_SPEC.0 {
            self.changed[from] = is_tls12;
        } else if self.changed[from] || outer == ContentType::APPLICATION_DATA.0 {
            let (inner, content) = to.unsealed(record).expect("a record of the transparent provider");
            return in_messages(Shape::Sealed, Shape::SealedMessage, inner.0, content);
        }
        in_messages(Shape::Record, Shape::Message, outer, &record[forge::HEADER_LEN..])
    }
}

fn in_messages(record: Shape, message: Shape, content_type: u8, content: &[u8]) -> Vec<Operation> {
    let whole = || vec![Operation::new(record, content_type, content)];
    if content_type != ContentType::HANDSHAKE.0 {
        return whole();
    }
    let (mut operations, mut rest) = (Vec::new(), content);
    while let Some(([kind, len @ ..], body)) = rest.split_first_chunk::<4>() {
        let len = len.iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
        let Some((body, next)) = body.split_at_checked(len) else { return whole() };
        operations.push(Operation::new(message, *kind, body));
        rest = next;
    }
    if rest.is_empty() { operations } else { whole() }
}

/// Returns each mode with no interference, and with each way to interfere.
fn pairs() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (number, mode) in TRANSPARENT.iter().enumerate() {
        let mode_number = u8::try_from(number).expect("fewer than 256 modes");
        for who in [0, 2, 6] {
            let operations = (0..4).map(|at| Operation {
                shape: (number + at) as u8,
                kind: 4 * (number % 16) as u8 + 3,
                body: vec![0, 9 + at as u8, 1],
            });
            let operations = operations.take(number % 4).collect();
            let input = Input { mode: mode_number, tweaks: [0; 2], operations };
            seeds.push((format!("{}-{who}", mode.name), [&[who], &input.to_bytes()[..]].concat()));
        }
    }
    seeds
}

/// Returns every message that was sent, for its parser, and its extensions for theirs.
fn messages(recordings: &[Recording]) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, inputs) in recordings {
        for (side, input) in inputs.iter().enumerate() {
            let messages =
                input.operations.iter().enumerate().filter(|(_, operation)| {
                    matches!(Shape::of(operation.shape), Shape::Message | Shape::SealedMessage)
                });
            for (at, Operation { kind, body, .. }) in messages {
                for which in 0..terse_tls::fuzzing::MESSAGES {
                    if terse_tls::fuzzing::message(which, body) {
                        seeds
                            .push((format!("{name}-{side}-{at}-{kind}-{which}"), [&[which as u8], &body[..]].concat()));
                    }
                }
            }
        }
    }
    seeds.extend(parts(&seeds));
    let mut seen = BTreeSet::new();
    seeds.retain(|(_, bytes)| seen.insert(bytes.clone()));
    seeds
}

/// Returns the bodies of extensions in ClientHellos, each for every parser that accepts it.
fn parts(messages: &[Seed]) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, message) in messages.iter().filter(|(_, message)| message.first() == Some(&0)) {
        for start in 1..message.len().saturating_sub(4) {
            let len = usize::from(u16::from_be_bytes([message[start + 2], message[start + 3]]));
            // These bytes look like an extension of a known type.
            let Some(body) = message
                .get(start + 4..start + 4 + len)
                .filter(|_| matches!(message[start..], [0, ..] | [0xff, 0x49, ..]) && len < 300)
            else {
                continue;
            };
            for which in 27..terse_tls::fuzzing::MESSAGES {
                if terse_tls::fuzzing::message(which, body) {
                    seeds.push((format!("{name}-{start}-{which}"), [&[which as u8], body].concat()));
                }
            }
        }
    }
    seeds
}

/// Returns streams of records as they were received, and scripts for records to send.
fn streams(recordings: &[Recording]) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for suite in 0..records::SUITES.len() as u8 {
        for options in 0..16 {
            for what in [0, 4] {
                let mut seed = vec![what, suite, options, 0, 1, 4, 0, 30, 2, 200, 7, 5];
                for record in [&forge::plaintext(ContentType::HANDSHAKE, &[20, 0, 0, 2, 1, 2])[..]]
                    .into_iter()
                    .chain((suite > 1).then_some(&[20, 3, 3, 0, 1, 1][..]))
                {
                    seed.extend(record);
                }
                seed.extend(sealed(suite, ContentType::HANDSHAKE, &[4, 0, 0, 3, 1, 2, 3]));
                seed.extend(sealed(suite, ContentType::APPLICATION_DATA, b"data"));
                seed.extend(sealed(suite, ContentType::ALERT, &[1, 0]));
                seeds.push((format!("stream-{suite}-{options}-{what}"), seed));
            }
        }
        for what in [2, 3, 6, 7] {
            let script = [0, 0, 9, 1, 1, 0, 2, 0, 70, 1, 0, 200, 3, 0, 0, 4, 0, 100, 0, 3, 0];
            let seed = [&[what, suite, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0][..], &script].concat();
            seeds.push((format!("loopback-{suite}-{what}"), seed));
        }
    }
    for (name, inputs) in recordings {
        let messages = inputs[0].operations.iter().filter(|operation| Shape::of(operation.shape) == Shape::Message);
        let stream = messages.flat_map(|Operation { kind, body, .. }| {
            forge::plaintext(ContentType::HANDSHAKE, &crate::machine::message(*kind, body))
        });
        let stream: Vec<u8> = stream.collect();
        seeds.push((name.clone(), [&[4, 0, 0, 0, 9, 99, 1, 3, 50, 4, 20, 6][..], &stream].concat()));
    }
    seeds
}

/// Returns a record of the transparent provider.
fn sealed(suite: u8, content_type: ContentType, content: &[u8]) -> Vec<u8> {
    let tag = vec![crate::provider::TAG; if matches!(suite, 1 | 4) { 8 } else { 16 }];
    match suite {
        0 | 1 => forge::plaintext(ContentType::APPLICATION_DATA, &[content, &[content_type.0], &tag].concat()),
        3 => forge::plaintext(content_type, &[content, &tag].concat()),
        _ => forge::plaintext(content_type, &[&[0; 8], content, &tag].concat()),
    }
}

/// Returns what clients and servers of the modes keep, in each of its forms.
fn files() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, contents) in crate::modes::saved() {
        let [client, server, sessions, session, record] = &contents;
        for (what, bytes) in [(0, client), (16, server), (2, sessions), (3, session), (4, record)] {
            if !bytes.is_empty() {
                seeds.push((format!("{name}-{what}"), [&[what], &bytes[..]].concat()));
            }
        }
        seeds.push((format!("{name}-6"), [&[6], &client[..]].concat()));
        seeds.push((format!("{name}-7"), [&[7], &sessions[..]].concat()));
    }
    let empty = snapshot::encode(&MemoryClientStore::new(1), &MemoryServerStore::new(1), &LearnedIssuers::new())
        .expect("less than 4 GiB");
    // The CA is filed under a name that is not its own.
    let issuer = [&[1][..], &[7; 8], &[1], &[0, 2, 0x30, 0], &[0, 3, 0x30, 1, 0]].concat();
    let with_issuer = [&empty[..empty.len() - 1], &issuer].concat();
    seeds.push(("issuer-0".into(), [&[0], &with_issuer[..]].concat()));
    seeds.push(("issuer-6".into(), [&[6], &with_issuer[..]].concat()));
    seeds.push(("empty".into(), [&[0], &empty[..]].concat()));
    seeds.push(("file".into(), [&[5], &b"terse$c\n\0\x02"[..], &[0; 32]].concat()));
    let changes = [
        ("spend", [&[2], &[7; 8][..], &[192, 0, 2, 1]].concat()),
        ("remove", [&[3], &[7; 8][..]].concat()),
        ("issuers", [&[5], &with_issuer[..]].concat()),
    ];
    seeds.extend(changes.map(|(name, change)| (format!("journal-{name}"), [&[22], &change[..]].concat())));
    seeds
}

/// Returns valid chains, lists and keys.
fn certificates() -> Vec<Seed> {
    let raw = pki::public_key(pki::SERVER);
    let (by_issuer, by_delegate) = (staples::response(None), staples::response(Some(pki::SERVER)));
    let lists: [(&str, u8, &[&[u8]]); 12] = [
        ("staple", 0x80, &[&by_issuer]),
        ("staple-delegated", 0x80, &[&by_delegate]),
        ("staple-client", 0x90, &[&by_issuer, pki::CLIENT, pki::INTERMEDIATE]),
        ("server", 0, &[pki::SERVER, pki::INTERMEDIATE]),
        ("client", 0x10, &[pki::CLIENT, pki::INTERMEDIATE]),
        ("revoked", 0x11, &[pki::CLIENT, pki::INTERMEDIATE]),
        ("not-revoked", 1, &[pki::SERVER, pki::INTERMEDIATE]),
        ("anchor", 2, &[pki::ROOT, pki::CRL, pki::SERVER, pki::INTERMEDIATE]),
        ("anchor-client", 0x12, &[pki::ROOT, pki::CRL, pki::CLIENT, pki::INTERMEDIATE]),
        ("raw", 3, &[&raw]),
        ("credential", 4, &[pki::SERVER, pki::INTERMEDIATE]),
        ("raw-credential", 5, &[&raw]),
    ];
    in_time(&lists)
}

/// Returns chains in order and out of it, with trust anchors.
fn paths() -> Vec<Seed> {
    let lists: [(&str, u8, &[&[u8]]); 8] = [
        ("server", 0, &[pki::SERVER, pki::INTERMEDIATE]),
        ("server-with-root", 0, &[pki::SERVER, pki::INTERMEDIATE, pki::ROOT]),
        ("server-out-of-order", 0, &[pki::SERVER, pki::ROOT, pki::INTERMEDIATE]),
        ("client", 1, &[pki::CLIENT, pki::INTERMEDIATE]),
        ("usage", 2, &[pki::SERVER, pki::INTERMEDIATE]),
        ("any-usage", 3, &[pki::CLIENT, pki::INTERMEDIATE]),
        ("anchor", path::ANCHOR, &[pki::ROOT, pki::SERVER, pki::INTERMEDIATE]),
        ("near-anchor", path::ANCHOR, &[pki::INTERMEDIATE, pki::SERVER]),
    ];
    in_time(&lists)
}

/// Returns lists of items at several times, without a clock as well.
fn in_time(lists: &[(&str, u8, &[&[u8]])]) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, what, items) in lists {
        for time in [0, 255, 200] {
            seeds.push((format!("{name}-{time}"), [&[*what, time], &framed(items)[..]].concat()));
        }
    }
    seeds
}

/// Returns items as inputs have them, each after its length.
fn framed(items: &[&[u8]]) -> Vec<u8> {
    items.iter().flat_map(|item| [&(item.len() as u16).to_be_bytes()[..], item].concat()).collect()
}

/// Returns the seeds of the target `artefacts`.
pub fn artefacts() -> Vec<Seed> {
    artefacts::all()
}
