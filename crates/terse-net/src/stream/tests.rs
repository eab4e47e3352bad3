//! Streams work over sockets that dribble, block, break and end.

use alloc::sync::Arc;
use core::time::Duration;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use pki_types::SubjectPublicKeyInfoDer;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::resume::{ClientResumption, MemoryClientSessions, ServerEarlyData, ServerResumption, TicketKeys};
use terse_tls::summary::EarlyDataStatus;
use terse_tls::{
    AlertDescription, CertificateError, ClientAuthentication, ClientConfig, ConfigBuilder, Credential, ServerAddress,
    ServerConfig, SignatureScheme, Trust,
};

use super::*;
use crate::clock::READINGS;
use crate::{OsRng, Timed};

pub(crate) const NAME: &str = "broker.example";

/// Returns a client, and a server that requires a certificate, which the client has unless `anonymous`.
fn connections(anonymous: bool) -> (Connection, Connection, Clock) {
    connections_with(anonymous, |key| key)
}

/// Returns the connections of [`connections`], whose private keys `wrap` has replaced.
fn connections_with(
    anonymous: bool,
    wrap: impl FnOnce(Arc<dyn SigningKey>) -> Arc<dyn SigningKey>,
) -> (Connection, Connection, Clock) {
    let (client, server, clock) = configs(anonymous, wrap);
    let client = Connection::client(Arc::new(client.build().unwrap()), address(), clock.now(), &mut OsRng).unwrap();
    let server = Connection::server(Arc::new(server.build().unwrap()), clock.now()).unwrap();
    (client, server, clock)
}

fn address() -> ServerAddress {
    ServerAddress::new(NAME.try_into().unwrap(), 443)
}

pub(crate) fn configs(
    anonymous: bool,
    wrap: impl FnOnce(Arc<dyn SigningKey>) -> Arc<dyn SigningKey>,
) -> (ConfigBuilder<ClientConfig>, ConfigBuilder<ServerConfig>, Clock) {
    let provider = &terse_aws_lc::PROVIDER;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let validity = Validity::days(now - 3600, 2);
    let authority = Authority::new(&AuthorityOptions::new("p256x2".parse().unwrap(), validity)).unwrap();
    let issued = authority.issue(&LeafOptions::new(NAME, validity)).unwrap();
    let key = provider.load_key(issued.key()).unwrap();
    let credential = Credential::new(issued.chain().to_vec(), wrap(key)).unwrap();
    let trust = Trust::new(&[authority.root().clone()]).unwrap();
    let mut client = ClientConfig::builder(provider);
    client.trust(trust.clone());
    client.credentials((!anonymous).then(|| credential.clone()).into_iter().collect::<Vec<_>>());
    let mut server = ServerConfig::builder(provider);
    server.credential(credential);
    server.client_authentication(ClientAuthentication::Required(trust));
    (client, server, Clock::new())
}

/// A socket with quirks.
struct Quirky {
    socket: UnixStream,
    /// The most bytes that a call moves, after one call that was interrupted.
    at_most: usize,
    interrupted: bool,
    /// The error with which a write fails, after the next write.
    writes_fail: Option<(bool, ErrorKind)>,
    /// The number of writes that moved anything.
    writes: usize,
    reads: u32,
}

impl Quirky {
    fn pair(at_most: usize) -> (Self, Self) {
        let quirky = |socket: UnixStream| {
            socket.set_read_timeout(Some(Duration::from_secs(300))).unwrap(); // what hangs, fails
            Self { socket, at_most, interrupted: false, writes_fail: None, writes: 0, reads: 0 }
        };
        let (a, b) = UnixStream::pair().unwrap();
        (quirky(a), quirky(b))
    }

    fn interrupt(&mut self) -> io::Result<()> {
        self.interrupted = !self.interrupted;
        if self.interrupted { Err(ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}

impl Read for Quirky {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.interrupt()?;
        let len = out.len().min(self.at_most);
        self.reads += 1;
        self.socket.read(&mut out[..len])
    }
}

impl Write for Quirky {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match &mut self.writes_fail {
            Some((true, kind)) => return Err((*kind).into()),
            Some((once, _)) => *once = true,
            None => self.interrupt()?,
        }
        self.writes += 1;
        self.socket.write(&data[..data.len().min(self.at_most)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns two streams after their handshake.
fn connected(at_most: usize) -> (Stream<Quirky>, Stream<Quirky>) {
    let (client, server, clock) = connections(false);
    let (a, b) = Quirky::pair(at_most);
    let (mut client, mut server) = (Stream::new(client, a, clock), Stream::new(server, b, clock));
    let server = thread::scope(|scope| {
        let server = scope.spawn(move || server.handshake().map(|()| server));
        client.handshake().unwrap();
        server.join().unwrap().unwrap()
    });
    (client, server)
}

#[test]
fn bytes_one_at_a_time_and_interruptions() {
    let (mut client, mut server) = connected(1);
    client.write_all(b"hello").unwrap();
    let mut received = [0; 5];
    server.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"hello");
}

#[test]
fn the_clock_is_read_once_for_each_read_and_for_no_write() {
    const MESSAGES: u32 = 100;
    let (mut client, mut server) = connected(100_000);
    READINGS.set(0);
    for _ in 0..MESSAGES {
        client.send(&[7; 128]).unwrap();
    }
    assert_eq!(READINGS.get(), 0);
    let reads = server.transport.reads;
    let mut received = [0; 128];
    for _ in 0..MESSAGES {
        server.read_exact(&mut received).unwrap();
    }
    let reads = server.transport.reads - reads;
    assert_eq!(READINGS.get(), reads);
    assert!(reads < MESSAGES, "several messages come with one read");
}

#[test]
fn a_message_leaves_with_the_last_flight() {
    let (client, server, clock) = connections(false);
    let (a, b) = Quirky::pair(100_000);
    let (mut client, mut server) = (Stream::new(client, a, clock), Stream::new(server, b, clock));
    let mut received = [0; 5];
    thread::scope(|scope| {
        scope.spawn(|| {
            server.handshake_sending(b"ready").unwrap();
            server.read_exact(&mut received).unwrap();
        });
        client.handshake_sending(b"hello").unwrap();
        assert_eq!(client.transport.writes, 2, "the ClientHello, and everything else");
        let mut answer = [0; 5];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"ready", "the last flight was not the server's");
    });
    assert_eq!(&received, b"hello");
    assert_eq!(connected(100_000).0.transport.writes, 2, "nothing is sent after the last flight");
}

#[test]
fn long_data_is_received_in_small_pieces() {
    let (mut client, mut server) = connected(10_000);
    let data: Vec<u8> = (0..200_000_u32).map(|i| i as u8).collect();
    let received = thread::scope(|scope| {
        let received = scope.spawn(|| {
            let mut received = Vec::new();
            let mut chunk = [0; 777];
            loop {
                match server.receive(&mut chunk).unwrap() {
                    0 => return received,
                    len => received.extend_from_slice(&chunk[..len]),
                }
            }
        });
        client.send(&data).unwrap();
        client.close().unwrap();
        received.join().unwrap()
    });
    assert!(received == data);
}

#[test]
fn after_close_the_peer_may_go_on() {
    let (mut client, mut server) = connected(10_000);
    client.close().unwrap();
    assert_eq!(server.receive(&mut [0; 8]).unwrap(), 0);
    assert!(server.peer_closed());
    server.send(b"goodbye").unwrap();
    server.close().unwrap();
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"goodbye");
    assert!(client.send(b"more").is_err());
}

#[test]
fn a_transport_that_ends_early_is_never_a_proper_end() {
    let (mut client, server) = connected(10_000);
    drop(server);
    for _ in 0..2 {
        assert!(matches!(client.receive(&mut [0; 8]), Err(NetError::Tls(Error::Truncated))));
    }
    assert_eq!(client.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_peer_that_leaves_during_the_handshake() {
    let (client, _, clock) = connections(false);
    let (a, b) = Quirky::pair(10_000);
    let mut client = Stream::new(client, a, clock);
    let mut gone = b.socket;
    let leaves = thread::spawn(move || gone.read(&mut [0; 100]).map(drop));
    assert!(matches!(client.handshake(), Err(NetError::ClosedInHandshake)));
    leaves.join().unwrap().unwrap();
}

#[test]
fn a_record_that_was_cut_by_a_time_limit_is_finished_later() {
    let (mut client, mut server) = connected(7);
    client.transport_mut().writes_fail = Some((false, ErrorKind::WouldBlock));
    assert!(matches!(client.send(b"hello"), Err(NetError::TimedOut { in_handshake: false })));
    client.transport_mut().writes_fail = None;
    client.send(b", world").unwrap();
    client.close().unwrap();
    let mut received = String::new();
    server.read_to_string(&mut received).unwrap();
    assert_eq!(received, "hello, world");
}

#[test]
fn the_alert_of_a_peer_that_hung_up_is_found() {
    let (client, server, clock) = connections(true);
    let (a, b) = Quirky::pair(10_000);
    let (mut client, mut server) = (Stream::new(client, a, clock), Stream::new(server, b, clock));
    let refused = thread::spawn(move || server.handshake());
    client.handshake().unwrap(); // a client is done before the server has seen its Certificate
    let required = Error::Certificate(CertificateError::Required);
    assert!(matches!(refused.join().unwrap(), Err(NetError::Tls(error)) if error == required));
    let Err(NetError::Tls(error)) = client.send(b"hello") else { panic!("the socket is closed") };
    assert_eq!(error, Error::AlertReceived(AlertDescription::CERTIFICATE_REQUIRED));
}

#[test]
fn a_peer_that_dribbles_meets_the_deadline() {
    let (_, server, clock) = connections(false);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut transport = Timed::new(listener.accept().unwrap().0).unwrap();
    transport.set_limit(Duration::from_millis(300));
    // A record of 16 KiB comes byte by byte, every 20 ms: no single read ever waits for long.
    slow.write_all(&[22, 3, 1, 0x40, 0, 1]).unwrap();
    let dribble = thread::spawn(move || {
        while slow.write_all(&[0]).is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let mut server = Stream::new(server, transport, clock);
    assert!(matches!(server.handshake(), Err(NetError::TimedOut { in_handshake: true })));
    drop(server);
    dribble.join().unwrap();
}

#[test]
fn an_alert_arrives_although_unread_data_waits() {
    let (_, server, clock) = connections(false);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    // The input is not TLS, and longer than one read takes: closing at once would reset the connection.
    peer.write_all(&[b'x'; 50_000]).unwrap();
    let transport = Timed::new(listener.accept().unwrap().0).unwrap();
    let mut server = Stream::new(server, transport, clock);
    let serving = thread::spawn(move || {
        let result = server.handshake();
        server.transport_mut().linger(Duration::from_secs(60));
        result
    });
    let mut received = Vec::new();
    peer.read_to_end(&mut received).unwrap();
    drop(peer);
    assert!(matches!(serving.join().unwrap(), Err(NetError::Tls(Error::InvalidMessage(_)))));
    let unexpected_message = AlertDescription::UNEXPECTED_MESSAGE.0;
    assert_eq!(received, [21, 3, 3, 0, 2, 2, unexpected_message]);
}

/// Returns a function that gives a connection between a client that resumes with early data, and a server that accepts
/// it.
fn resuming() -> impl Fn() -> (Stream<Quirky>, Stream<Quirky>) {
    let provider = &terse_aws_lc::PROVIDER;
    let (mut client, mut server, clock) = configs(true, |key| key);
    let store = Arc::new(MemoryClientSessions::new(1));
    client.resumption(ClientResumption::new(store).early_data(true));
    server.client_authentication(ClientAuthentication::None);
    let keys = TicketKeys::new(provider.tls13_suites[0].aead, 3600, 8).unwrap();
    server.resumption(Some(ServerResumption::Stateless(Arc::new(keys))));
    server.early_data(Some(ServerEarlyData::new(1000)));
    let (client, server) = (Arc::new(client.build().unwrap()), Arc::new(server.build().unwrap()));
    move || {
        let (a, b) = Quirky::pair(100);
        let client = Connection::client(client.clone(), address(), clock.now(), &mut OsRng).unwrap();
        let server = Connection::server(server.clone(), clock.now()).unwrap();
        (Stream::new(client, a, clock), Stream::new(server, b, clock))
    }
}

/// Sends as much of `text` as early data as it can, and waits for the server's answer and its tickets. Returns how much
/// was early data.
fn client_with_early_data(client: &mut Stream<Quirky>, text: &[u8]) -> (usize, EarlyDataStatus) {
    let taken = client.send_early_data(text).unwrap();
    client.handshake().unwrap();
    let mut answer = [0; 2];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"ok");
    (taken, client.connection().summary().early_data)
}

#[test]
fn early_data_is_received_apart() {
    let connect = resuming();
    for (expected, status) in
        [(0, EarlyDataStatus::None), (700, EarlyDataStatus::Accepted), (700, EarlyDataStatus::Accepted)]
    {
        let (mut client, mut server) = connect();
        let text = [b'e'; 700];
        thread::scope(|scope| {
            let client = scope.spawn(move || client_with_early_data(&mut client, &text));
            let (mut received, mut chunk) = (Vec::new(), [0; 64]);
            loop {
                match server.receive_early_data(&mut chunk).unwrap() {
                    0 => break,
                    len => received.extend_from_slice(&chunk[..len]),
                }
            }
            assert_eq!(received, text[..expected]);
            server.handshake().unwrap();
            server.send(b"ok").unwrap();
            assert_eq!(server.connection().summary().early_data, status);
            assert_eq!(client.join().unwrap(), (expected, status));
        });
    }
}

#[test]
fn early_data_waits_for_a_server_that_shakes_hands_first() {
    let connect = resuming();
    for expected in [&b""[..], b"early"] {
        let (mut client, mut server) = connect();
        thread::scope(|scope| {
            scope.spawn(move || client_with_early_data(&mut client, b"early"));
            server.handshake().unwrap();
            server.send(b"ok").unwrap();
            let mut received = [0; 10];
            let len = server.receive_early_data(&mut received).unwrap();
            assert_eq!(&received[..len], expected);
            assert_eq!(server.receive_early_data(&mut received).unwrap(), 0);
        });
    }
}

#[test]
fn early_data_needs_a_configuration() {
    let (client, _, clock) = connections(true);
    let mut client = Stream::new(client, Quirky::pair(100).0, clock);
    let error = client.send_early_data(b"early").unwrap_err();
    assert!(matches!(error, NetError::Tls(Error::ApiMisuse(_))), "{error}");
}

/// A key in a secure element, for which `signer` is asked.
struct Outside(Arc<dyn SigningKey>);

impl SigningKey for Outside {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(Signing::Pending)
    }
}

#[test]
fn a_key_outside_is_asked_for_its_signature() {
    let mut inside = None;
    let (client, server, clock) = connections_with(false, |key| {
        inside = Some(key.clone());
        Arc::new(Outside(key))
    });
    let key = inside.unwrap();
    let signer = || -> Signer {
        let key = key.clone();
        Box::new(move |request| {
            Ok(key.sign(request.scheme(), request.message(), &mut OsRng)?.done().expect("it is in memory"))
        })
    };
    let (a, b) = Quirky::pair(10_000);
    let mut client = Stream::new(client, a, clock).with_signer(signer());
    let mut server = Stream::new(server, b, clock).with_signer(signer());
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            server.handshake().unwrap();
            server.send(b"hello").unwrap();
        });
        let mut received = [0; 5];
        client.handshake().unwrap();
        client.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"hello");
        server.join().unwrap();
    });
}

#[test]
fn a_key_outside_that_nobody_asks_is_an_error() {
    let (client, server, clock) = connections_with(false, |key| Arc::new(Outside(key)));
    let (a, b) = Quirky::pair(10_000);
    let (mut client, mut server) = (Stream::new(client, a, clock), Stream::new(server, b, clock));
    thread::scope(|scope| {
        let server = scope.spawn(move || server.handshake());
        let told = NetError::Tls(Error::AlertReceived(AlertDescription::INTERNAL_ERROR));
        assert_eq!(client.handshake().unwrap_err().to_string(), told.to_string());
        let error = server.join().unwrap().unwrap_err();
        assert!(matches!(error, NetError::Tls(Error::Crypto(CryptoError::SigningFailed))), "{error}");
    });
}
