//! A sensor that reports to a broker, each time over a new connection; from the second one on without certificates.
//!
//! ```text
//! cargo run -p terse-net --example sensor -- 127.0.0.1:4433 broker.plant.example ca.pem sensor.pem sensor.key
//! ```

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use terse_net::files::{read_certificates, read_private_key};
use terse_net::{Clock, OsRng, Stream};
use terse_tls::cache::{ClientCache, MemoryClientStore, Schemes};
use terse_tls::{ClientConfig, Connection, Credential, ServerAddress, Trust};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, name, ca, certificate, key] = &arguments[..] else {
        return Err("usage: sensor ADDRESS:PORT NAME CA-FILE CERTIFICATE-FILE KEY-FILE".into());
    };

    let provider = &terse_aws_lc::PROVIDER;
    let key = provider.load_key(&*read_private_key(key, None)?)?;
    let config = ClientConfig::builder(provider)
        .trust(Trust::new(&read_certificates(ca)?)?)
        .credential(Credential::new(read_certificates(certificate)?, key)?)
        .cache(ClientCache::new(Arc::new(MemoryClientStore::new(8)), Schemes::BITHAC))
        .build()?;
    let config = Arc::new(config);

    let clock = Clock::new();
    for reading in ["22.5 C", "22.6 C", "22.4 C"] {
        let transport = TcpStream::connect(address)?;
        let server = ServerAddress::new(name.clone().try_into()?, transport.peer_addr()?.port());
        let connection = Connection::client(config.clone(), server, clock.now(), &mut OsRng)?;
        let mut stream = Stream::new(connection, transport, clock);
        stream.handshake()?;
        stream.write_all(reading.as_bytes())?;
        let mut answer = [0; 64];
        let len = stream.read(&mut answer)?;
        stream.close()?;
        let summary = stream.connection().summary();
        println!("sent {reading}, got {len} B back: {} handshake, {} B sent", summary.mode, summary.sent.record_bytes);
    }
    Ok(())
}
