//! Seeds for the targets that run over datagrams: recordings of a client and an endpoint, and scripts for their parts.

use terse_tls::Instant;

use super::Seed;
use crate::datagram_machine::DatagramMachine;
use crate::datagrams;
use crate::endpoint::Server;
use crate::input::{Input, Operation, Shape};
use crate::modes::{DATAGRAMS, Mode, Tweaks};

/// Returns the seeds of these targets.
pub(super) fn all() -> [(&'static str, Vec<Seed>); 5] {
    let [mut clients, mut servers, mut endpoints] = [(); 3].map(|()| Vec::new());
    for (number, mode) in DATAGRAMS.iter().enumerate() {
        for recording in record(number, mode) {
            let Recording { name, client, server, is_endpoint } = recording;
            if is_endpoint {
                clients.push((name.clone(), client));
            }
            if is_endpoint { &mut endpoints } else { &mut servers }.push((name, server));
        }
    }
    let late = |seeds: &mut Vec<(String, Input)>, change: fn(&mut Input)| {
        let mut late: Vec<_> =
            seeds.iter().step_by(4).map(|(name, input)| (format!("{name}-late"), input.clone())).collect();
        late.iter_mut().for_each(|(_, input)| change(input));
        seeds.extend(late);
    };
    late(&mut clients, expire);
    late(&mut servers, expire);
    late(&mut endpoints, again);
    let encoded =
        |seeds: Vec<(String, Input)>| seeds.into_iter().map(|(name, input)| (name, input.to_bytes())).collect();
    [
        ("datagram_client", encoded(clients)),
        ("datagram_server", encoded(servers)),
        ("endpoint", encoded(endpoints)),
        ("reassembler", fragments()),
        ("replay", numbers()),
    ]
}

/// Lets timers expire on the way.
fn expire(input: &mut Input) {
    for at in [input.operations.len() / 2, 1] {
        input.operations.insert(at, Operation::new(Shape::Call, 11, &[]));
    }
}

/// Lets a timer expire, and another connection follow from another address.
fn again(input: &mut Input) {
    let again = input.operations.clone();
    input.operations.extend([Operation::new(Shape::Call, 6, &[]), Operation::new(Shape::Call, 9, &[2])]);
    input.operations.extend(again);
}

/// The inputs and calls of a client and a server.
struct Recording {
    name: String,
    client: Input,
    server: Input,
    /// Whether the server is an endpoint for many clients.
    is_endpoint: bool,
}

/// Records the mode as it is, with a few of the tweaks, and with losses; each with both kinds of server.
fn record(number: usize, mode: &Mode) -> Vec<Recording> {
    let mode_number = u8::try_from(number).expect("fewer than 256 modes");
    let all = [[0, 0], [0x03, 0x40], [0x10, 0x0c], [0, 0x80], [0x20, 0x48], NO_COOKIE];
    let chosen = all.into_iter().enumerate().filter(|(at, tweaks)| match *tweaks {
        NO_COOKIE => is_early(mode),
        _ => *at == 0 || number % 4 == at - 1,
    });
    let mut recordings = Vec::new();
    for (at, tweaks) in chosen {
        // The client would take these tweaks for others, with which early data would fail.
        let of_client = if tweaks == NO_COOKIE { [0, 0] } else { tweaks };
        for is_endpoint in [false, true] {
            for is_lossy in [false, true].into_iter().take(if at == 3 { 2 } else { 1 }) {
                let mut recorder = Recorder::new(mode, [of_client, tweaks].map(Tweaks), is_endpoint, is_lossy);
                recorder.run();
                let input = |tweaks, operations| Input { mode: mode_number, tweaks, operations };
                let name = format!("{}-{:02x}{:02x}", mode.name, tweaks[0], tweaks[1]);
                recordings.push(Recording {
                    name: if is_lossy { format!("{name}-lossy") } else { name },
                    client: input(of_client, recorder.client.1),
                    server: input(tweaks, recorder.server.1),
                    is_endpoint,
                });
            }
        }
    }
    recordings
}

/// The tweaks of an endpoint that asks for no cookie.
const NO_COOKIE: [u8; 2] = [0, 8];

fn is_early(mode: &Mode) -> bool {
    mode.name.starts_with("early-dtls")
}

/// A server of either kind.
enum AnyServer {
    Alone(Box<DatagramMachine>),
    Endpoint(Box<Server>),
}

struct Recorder {
    client: (DatagramMachine, Vec<Operation>),
    server: (AnyServer, Vec<Operation>),
    cid_len: usize,
    is_lossy: bool,
    is_early: bool,
    /// The number of datagrams that were sent.
    sent: usize,
}

impl Recorder {
    fn new(mode: &Mode, [of_client, of_server]: [Tweaks; 2], is_endpoint: bool, is_lossy: bool) -> Self {
        let (client, server) = (of_client.client(mode), of_server.server(mode));
        let cid_len = client.config().common().datagrams().and_then(|settings| settings.connection_id).unwrap_or(0);
        let server = if is_endpoint {
            AnyServer::Endpoint(Box::new(Server::new(server, of_server, 0)))
        } else {
            AnyServer::Alone(Box::new(DatagramMachine::server(server, of_server)))
        };
        Self {
            client: (DatagramMachine::client(client, of_client), Vec::new()),
            server: (server, Vec::new()),
            cid_len: cid_len.into(),
            is_lossy,
            is_early: is_early(mode),
            sent: 0,
        }
    }

    /// Runs the handshake, data both ways, and further calls of an application. Of the server's two kinds of call, the
    /// first is for a single connection, the second for an endpoint.
    fn run(&mut self) {
        if self.is_early {
            self.client_calls(12, b"early");
        }
        self.carry();
        self.client_calls(0, b"request");
        self.carry();
        self.server_calls(0, 0, b"\0response");
        self.carry();
        self.client_calls(3, b"please");
        self.carry();
        self.client_calls(0, b"under other keys");
        self.server_calls(3, 13, b"\0");
        self.carry();
        self.server_calls(0, 0, b"\0likewise");
        self.carry();
        if let AnyServer::Endpoint(_) = self.server.0 {
            self.client_calls(14, &[2 << 2]);
            self.server_calls(14, 14, &[0, 1 << 2 | 1]);
            self.carry();
            self.server(Operation::new(Shape::Call, 9, &[1]));
            self.server(Operation::new(Shape::Call, 11, &[0]));
            self.client_calls(14, &[3]);
            self.server(Operation::new(Shape::Call, 15, &[]));
            self.client_calls(0, b"from elsewhere");
            self.carry();
            self.server(Operation::new(Shape::Call, 3, &[0]));
        }
        self.client_calls(4, b"label");
        self.server_calls(2, 1, &[0]);
        self.carry();
        self.client_calls(2, &[]);
        self.carry();
        if let AnyServer::Endpoint(_) = self.server.0 {
            self.server(Operation::new(Shape::Call, 2, &[0]));
        }
    }

    fn client_calls(&mut self, kind: u8, body: &[u8]) {
        self.client(Operation::new(Shape::Call, kind, body));
    }

    fn server_calls(&mut self, alone: u8, endpoint: u8, body: &[u8]) {
        let kind = if let AnyServer::Endpoint(_) = self.server.0 { endpoint } else { alone };
        self.server(Operation::new(Shape::Call, kind, body));
    }

    fn client(&mut self, operation: Operation) {
        self.client.0.apply(&operation);
        self.client.1.push(operation);
    }

    fn server(&mut self, operation: Operation) {
        match &mut self.server.0 {
            AnyServer::Alone(server) => server.apply(&operation),
            AnyServer::Endpoint(server) => server.apply(&operation),
        }
        self.server.1.push(operation);
    }

    /// Carries datagrams until no more are sent; lost ones are retransmitted when their timers expire.
    fn carry(&mut self) {
        for _ in 0..20 {
            let before = self.sent;
            for datagram in core::mem::take(&mut self.client.0.output) {
                self.deliver(&datagram, false);
            }
            let output = match &mut self.server.0 {
                AnyServer::Alone(server) => core::mem::take(&mut server.output),
                AnyServer::Endpoint(server) => server.take_output(),
            };
            for datagram in output {
                self.deliver(&datagram, true);
            }
            if self.sent == before {
                let (client, server) = (self.client.0.connection.poll_timeout(), self.server_timeout());
                if !self.is_lossy || (client.is_none() && server.is_none()) {
                    break;
                }
                if client.is_some() {
                    self.client_calls(11, &[]);
                }
                if server.is_some() {
                    self.server_calls(11, 6, &[]);
                }
            }
        }
    }

    fn server_timeout(&self) -> Option<Instant> {
        match &self.server.0 {
            AnyServer::Alone(server) => server.connection.poll_timeout(),
            AnyServer::Endpoint(server) => server.timeout(),
        }
    }

    fn deliver(&mut self, datagram: &[u8], to_client: bool) {
        self.sent += 1;
        if self.is_lossy && self.sent % 4 == 3 {
            return;
        }
        let (records, rest) = datagrams::records(datagram, self.cid_len);
        assert!(rest.is_empty(), "a part of a record");
        for record in records {
            let (protection, forge) = match &self.server.0 {
                _ if to_client => (self.client.0.protection(), self.client.0.forge()),
                AnyServer::Alone(server) => (server.protection(), server.forge()),
                AnyServer::Endpoint(server) => (server.protection().clone(), server.forge()),
            };
            for operation in datagrams::operations(&record, &protection, forge) {
                if to_client {
                    self.client(operation);
                } else {
                    self.server(operation);
                }
            }
        }
    }
}

/// Returns messages in two and three fragments: in every order, repeated, early, and contradicting each other.
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

/// Returns numbers in order, backwards, repeated, at the ends of the window and of their range; and records with and
/// without connection IDs, some of them changed.
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
