//! Seeds for the targets that run over datagrams: recordings of a client and an endpoint, and scripts for their parts.

use super::Seed;
use crate::datagram_machine::DatagramMachine;
use crate::datagrams::{self, WITH_CID};
use crate::endpoint::Server;
use crate::input::{Input, Operation, Shape};
use crate::modes::{DATAGRAMS, Mode, Tweaks};

/// The seeds of these targets.
pub(super) fn all() -> [(&'static str, Vec<Seed>); 5] {
    let mut recordings: Vec<_> = DATAGRAMS.iter().enumerate().flat_map(|(number, mode)| record(number, mode)).collect();
    let late: Vec<_> = recordings.iter().step_by(4).map(late).collect();
    recordings.extend(late);
    let of = |side: usize| recordings.iter().map(|(name, inputs)| (name.clone(), inputs[side].to_bytes())).collect();
    [
        ("datagram_client", of(0)),
        ("datagram_server", of(1)),
        ("endpoint", of(2)),
        ("reassembler", fragments()),
        ("replay", numbers()),
    ]
}

/// As inputs for a client, a server alone, and an endpoint.
type Recording = (String, [Input; 3]);

/// The same, but timers expire on the way; and on the endpoint another connection follows, from another address.
fn late((name, inputs): &Recording) -> Recording {
    let [mut client, mut server, mut endpoint] = inputs.clone();
    for input in [&mut client, &mut server] {
        let calls = [1, input.operations.len() / 2].map(|at| (at, Operation::new(Shape::Call, 11, &[])));
        calls.into_iter().rev().for_each(|(at, call)| input.operations.insert(at, call));
    }
    let again = endpoint.operations.clone();
    endpoint.operations.extend([Operation::new(Shape::Call, 6, &[]), Operation::new(Shape::Call, 9, &[2])]);
    endpoint.operations.extend(again);
    (format!("{name}-late"), [client, server, endpoint])
}

/// The mode as it is, and with a few of the tweaks.
fn record(number: usize, mode: &Mode) -> Vec<Recording> {
    let mode_number = u8::try_from(number).expect("fewer than 256 modes");
    let tweaks = [[0, 0], [0x03, 0x40], [0x10, 0x04], [0, 0x80], [0, 0x48]];
    let recordings = tweaks.into_iter().enumerate().filter(|(at, _)| *at == 0 || number % 4 == at - 1);
    recordings
        .map(|(_, tweaks)| {
            let mut recorder = Recorder::new(mode, Tweaks(tweaks));
            recorder.run();
            let Recorder { client: (_, for_client), server: (_, for_server), .. } = recorder;
            let input = |operations| Input { mode: mode_number, tweaks, operations };
            let inputs = [input(for_client), input(alone(&for_server)), input(for_server)];
            (format!("{}-{:02x}{:02x}", mode.name, tweaks[0], tweaks[1]), inputs)
        })
        .collect()
}

/// For a server that asks for no cookie, and has no connection ID.
fn alone(operations: &[Operation]) -> Vec<Operation> {
    let is_hello = |operation: &&Operation| operation.kind == 1 && operation.shape == Shape::Message as u8;
    let first = operations.iter().filter(is_hello).count().saturating_sub(1);
    let without_cid = |operation: &Operation| Operation { shape: operation.shape & !WITH_CID, ..operation.clone() };
    operations.iter().skip(first).map(without_cid).collect()
}

struct Recorder {
    client: (DatagramMachine, Vec<Operation>),
    server: (Server, Vec<Operation>),
    cid_len: usize,
}

impl Recorder {
    fn new(mode: &Mode, tweaks: Tweaks) -> Self {
        let (client, server) = (tweaks.client(mode), tweaks.server(mode));
        let cid_len = client.common.datagrams.and_then(|settings| settings.connection_id).unwrap_or(0);
        Self {
            client: (DatagramMachine::client(client, tweaks), Vec::new()),
            server: (Server::new(server, tweaks), Vec::new()),
            cid_len: cid_len.into(),
        }
    }

    /// The handshake, data both ways, and what an application does besides.
    fn run(&mut self) {
        self.carry();
        self.client(Operation::new(Shape::Call, 0, b"request"));
        self.carry();
        self.server(Operation::new(Shape::Call, 0, b"\0response"));
        self.carry();
        self.server(Operation::new(Shape::Call, 9, &[1]));
        self.server(Operation::new(Shape::Call, 11, &[0]));
        self.client(Operation::new(Shape::Call, 0, b"from elsewhere"));
        self.carry();
        self.server(Operation::new(Shape::Call, 3, &[0]));
        self.client(Operation::new(Shape::Call, 4, b"label"));
        self.server(Operation::new(Shape::Call, 1, &[0]));
        self.carry();
        self.client(Operation::new(Shape::Call, 2, &[]));
        self.carry();
        self.server(Operation::new(Shape::Call, 2, &[0]));
    }

    fn client(&mut self, operation: Operation) {
        self.client.0.apply(&operation);
        self.client.1.push(operation);
    }

    fn server(&mut self, operation: Operation) {
        self.server.0.apply(&operation);
        self.server.1.push(operation);
    }

    fn carry(&mut self) {
        for _ in 0..10 {
            for datagram in core::mem::take(&mut self.client.0.output) {
                for operation in self.operations(&datagram, false) {
                    self.server(operation);
                }
            }
            for datagram in self.server.0.take_output() {
                for operation in self.operations(&datagram, true) {
                    self.client(operation);
                }
            }
        }
    }

    /// What a datagram is in operations.
    fn operations(&self, datagram: &[u8], to_client: bool) -> Vec<Operation> {
        let protection = if to_client { self.client.0.protection() } else { self.server.0.protection().clone() };
        let records = datagrams::records(datagram, self.cid_len);
        let in_operations = records.iter().flat_map(|record| {
            if record[3..5] == [0, 0] {
                return datagrams::operations(record);
            }
            let (kind, content, has_cid) = protection.open(record, self.cid_len).expect("of the transparent provider");
            datagrams::sealed_operations(kind, &content, has_cid)
        });
        in_operations.collect()
    }
}

/// Messages in two and three fragments, in every order, repeated, ahead and at odds with each other.
fn fragments() -> Vec<Seed> {
    let part = |seq: u8, length, offset, len| [2, seq.wrapping_add(3), 1, length, offset, len];
    let consume = [0; 6];
    let thirds = |order: [u8; 3]| order.map(|at| part(0, 30, 10 * at, 10));
    let mut scripts = vec![
        vec![part(0, 20, 0, 20), consume, part(0, 0, 0, 0), consume],
        vec![part(0, 20, 10, 10), part(0, 20, 0, 10), consume, part(0, 20, 0, 20), consume],
        vec![part(2, 20, 0, 20), part(1, 20, 0, 20), part(0, 20, 0, 20), consume, consume, consume],
        vec![part(0, 20, 0, 15), part(0, 20, 5, 15), part(0, 20, 0, 20), consume, part(255, 20, 0, 20)],
        vec![part(0, 20, 0, 10), part(0, 21, 10, 10), part(0, 20, 15, 10), part(0, 20, 10, 10), consume],
        vec![part(9, 20, 0, 20), part(1, 90, 0, 90), part(2, 90, 0, 90), part(3, 90, 80, 10), consume],
        vec![part(0, 255, 0, 10), [0x82, 3, 1, 9, 0, 9], [0x42, 3, 1, 20, 0, 20], [1, 9, 0, 0, 0, 0], part(0, 9, 0, 9)],
        (0..70).map(|at| part(0, 200, 2 * at, 1)).chain((0..100).map(|at| part(0, 200, 2 * at, 2))).collect(),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        scripts.push(thirds(order).into_iter().chain([consume, part(0, 8, 0, 8), consume]).collect());
    }
    let headers = [[47, 0, 0], [47, 0xff, 0xfc], [250, 0, 9]];
    let seed = |(number, script): (usize, &Vec<[u8; 6]>)| {
        headers.map(|header| {
            (format!("{number}-{:02x}{:02x}", header[0], header[1]), [&header, &script.concat()[..]].concat())
        })
    };
    scripts.iter().enumerate().flat_map(seed).collect()
}

/// Numbers in order, backwards, repeated, at the ends of the window and of their range; and records with and without
/// connection IDs, some of them changed.
fn numbers() -> Vec<Seed> {
    let deltas = |deltas: &[i16]| deltas.iter().flat_map(|delta| delta.to_be_bytes()).collect::<Vec<u8>>();
    let mut seeds: Vec<Seed> = [
        deltas(&[0, 1, 1, 1, 0, -1, -2, -3]),
        deltas(&[70, -63, -64, -65, -1, -62, 1, -63, 64, -63]),
        deltas(&[10, 63, -63, 64, -64, 65, -65, 1000, -63, 0]),
        [&[0x7f, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..], &deltas(&[1, 0, -1, -63, -64])].concat(),
        [&deltas(&[5, 5]), &[0x7f, 0, 0, 0, 0, 0, 0, 1][..], &deltas(&[-1, 1])].concat(),
    ]
    .into_iter()
    .enumerate()
    .map(|(number, script)| (format!("window-{number}"), [&[0], &script[..]].concat()))
    .collect();
    let steps: Vec<u8> = (0..90).flat_map(|number: u8| [number, 0, 0]).collect();
    let script = [&steps[..], &[3, 0, 0, 80, 1, 0, 81, 1, 10, 82, 4, 12, 83, 1, 30, 89, 0, 0, 89, 0, 0]].concat();
    for what in [1, 3, 5, 9, 11, 13, 0x21, 0xf9] {
        seeds.push((format!("records-{what:02x}"), [&[what], &script[..]].concat()));
        let few = [&[what][..], &[2, 0, 0, 1, 0, 0, 0, 7, 5, 0, 0, 0, 2, 0, 0]].concat();
        seeds.push((format!("few-{what:02x}"), few));
    }
    seeds
}
