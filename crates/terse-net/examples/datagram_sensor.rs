//! A sensor that wakes up, sends a measurement in a datagram, and waits for the answer. Messages may be lost, so it asks
//! again.
//!
//! ```text
//! terse server --dtls --listen 127.0.0.1:5684 --cert broker.plant.example.pem --key broker.plant.example.key --echo
//! cargo run --example datagram_sensor -- 127.0.0.1:5684 broker.plant.example ca.pem
//! ```

use core::net::SocketAddr;
use core::time::Duration;
use std::error::Error;
use std::net::UdpSocket;
use std::sync::Arc;

use terse_net::files::read_certificates;
use terse_net::{Clock, DatagramClient, OsRng, max_datagram};
use terse_tls::{ClientConfig, Connection, Datagrams, ServerAddress, Trust};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, name, ca] = &arguments[..] else {
        return Err("usage: datagram_sensor ADDRESS:PORT NAME CA-FILE".into());
    };
    let address: SocketAddr = address.parse()?;

    let provider = &terse_aws_lc::PROVIDER;
    let config = ClientConfig::builder(provider)
        .trust(Trust::new(&read_certificates(ca)?)?)
        .datagrams(Datagrams::constrained().max_datagram(max_datagram(1280, address.ip())))
        .build()?;

    let socket = UdpSocket::bind(if address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" })?;
    socket.connect(address)?;
    let server = ServerAddress::new(name.clone().try_into()?, address.port());
    let clock = Clock::new();
    let connection = Connection::client(Arc::new(config), server, clock.now(), &mut OsRng)?;
    let mut client = DatagramClient::new(connection, socket, clock);
    client.handshake()?;
    let mut answer = [0; 64];
    let len = loop {
        client.send(b"22.5 C")?;
        client.set_limit(Duration::from_secs(5));
        match client.receive(&mut answer) {
            Err(error) if error.is_timeout() => println!("{error}; asking again"),
            received => break received?,
        }
    };
    client.close()?;
    let summary = client.connection().summary();
    println!("got {len} B back; {} datagrams and {} B sent", summary.sent.datagrams, summary.sent.record_bytes);
    Ok(())
}
