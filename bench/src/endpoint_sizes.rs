//! `terse-bench endpoint-sizes` measures how long a server for datagrams takes to handle a datagram, or to remove a
//! connection, beside many connections, and beside as many events that the application has not polled.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;

use terse_interop::case::{Asks, Case};
use terse_net::OsRng;
use terse_tls::{Connection, ConnectionHandle, Datagrams, Endpoint, EndpointEvent, EndpointLimits, ProtocolVersion};

use crate::clock;
use crate::measure::cpu_seconds;
use crate::table::lay_out;

/// Returns the table: microseconds, each a median.
pub fn measure(sizes: &[u32]) -> Result<String, String> {
    let header = ["microseconds", "datagram", "event", "with events waiting: datagram", "removal", "removal alone"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for size in sizes {
        eprintln!("{size} connections");
        let mut server = Server::new(*size)?;
        let (mut alone, mut polled) = (Vec::new(), Vec::new());
        for client in 0..server.clients.len() {
            alone.push(server.message(client)?);
            polled.push(timed(|| server.endpoint.poll_event()).1);
        }
        let mut waiting: Vec<_> =
            (0..server.clients.len()).map(|client| server.message(client)).collect::<Result<_, _>>()?;
        let late = waiting.split_off(waiting.len() * 3 / 4);
        let handles: Vec<_> = server.clients.iter().map(|client| client.handle).collect();
        let some = |part: &[ConnectionHandle], endpoint: &mut Endpoint| {
            part.iter().map(|handle| timed(|| endpoint.remove(*handle)).1).collect::<Vec<_>>()
        };
        let (first, rest) = handles.split_at(handles.len() / 8);
        let removals = some(first, &mut server.endpoint);
        while server.endpoint.poll_event().is_some() {}
        let removals_alone = some(rest, &mut server.endpoint);
        let times = [alone, polled, late, removals, removals_alone].map(|times| format!("{:.2}", median(times)));
        rows.push([format!("beside {size}")].into_iter().chain(times).collect());
    }
    Ok(lay_out(&rows))
}

struct Server {
    endpoint: Endpoint,
    clients: Vec<Client>,
}

struct Client {
    connection: Connection,
    address: SocketAddr,
    handle: ConnectionHandle,
}

impl Server {
    fn new(size: u32) -> Result<Self, String> {
        let case =
            Case { asks: Asks::No, our_versions: vec![ProtocolVersion::TLS_1_2], ..Case::new(&terse_aws_lc::PROVIDER) };
        let client = case.client_config().to_builder().datagrams(Datagrams::default()).build();
        let server = case.server_config().to_builder().datagrams(Datagrams::default()).build();
        let client = Arc::new(client.map_err(|error| error.to_string())?);
        let server = Arc::new(server.map_err(|error| error.to_string())?);
        let limits = EndpointLimits::default().max_connections(size as usize + 1).max_received(1 << 24);
        let mut endpoint = Endpoint::new(server, limits, &mut OsRng).map_err(|error| error.to_string())?;
        let mut clients = Vec::new();
        for number in 0..size {
            let address = SocketAddr::new(Ipv6Addr::from_bits(number.into()).into(), 5683);
            let connection = Connection::client(client.clone(), case.address(), clock::now(), &mut OsRng);
            let mut connection = connection.map_err(|error| error.to_string())?;
            let mut handle = None;
            for _ in 0..8 {
                carry(&mut endpoint, &mut connection, address)?;
                while let Some((of, event)) = endpoint.poll_event() {
                    handle = (event == EndpointEvent::Connected).then_some(of).or(handle);
                }
            }
            let handle = handle.ok_or("a client is not connected")?;
            clients.push(Client { connection, address, handle });
        }
        fastrand::shuffle(&mut clients); // so that no table is visited in order
        Ok(Self { endpoint, clients })
    }

    /// Measures the time of a datagram with a message of a client.
    fn message(&mut self, client: usize) -> Result<f64, String> {
        let Client { connection, address, .. } = &mut self.clients[client];
        connection.send(&[7; 64]).map_err(|error| error.to_string())?;
        let mut datagram = [0; 1500];
        let len = connection.poll_transmit(clock::now(), &mut datagram).ok_or("nothing is sent")?;
        let now = clock::now();
        let mut out = [0; 1500];
        let endpoint = &mut self.endpoint;
        let ((), time) = timed(|| {
            endpoint.handle_datagram(now, &mut OsRng, *address, &mut datagram[..len]);
            while endpoint.poll_transmit(now, &mut out).is_some() {}
        });
        Ok(time)
    }
}

fn carry(endpoint: &mut Endpoint, connection: &mut Connection, address: SocketAddr) -> Result<(), String> {
    let mut datagram = [0; 1500];
    while let Some(len) = connection.poll_transmit(clock::now(), &mut datagram) {
        endpoint.handle_datagram(clock::now(), &mut OsRng, address, &mut datagram[..len]);
    }
    while let Some((_, len)) = endpoint.poll_transmit(clock::now(), &mut datagram) {
        let result = connection.handle_input(clock::now(), &mut OsRng, &mut datagram[..len]);
        result.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let start = cpu_seconds();
    let result = run();
    (result, (cpu_seconds() - start) * 1e6)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
