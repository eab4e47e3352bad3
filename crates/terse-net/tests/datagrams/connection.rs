//! Tests of a client's connection on tokio's sockets.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::net::SocketAddr;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, ErrorKind};

use terse_net::tokio::{AsyncSigner, DatagramConnection, DatagramConnector, DatagramSocket};
use terse_net::{Clock, DatagramEvent, NetError, NoAnswer, OsRng};
use terse_tls::crypto::{CryptoError, SigningKey};
use terse_tls::summary::Transport;
use terse_tls::{
    CertificateType, ClientAuthentication, ClientConfig, ConfigBuilder, Datagrams, Error, ServerAddress, Trust,
};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::signing::Outside;
use super::world::{
    EchoServer, NAME, Patience, Relay, SAFETY_LIMIT, configs, configs_with, datagrams, patient, socket, vacant,
};

fn connector(config: &ConfigBuilder<ClientConfig>) -> DatagramConnector {
    DatagramConnector::new(Arc::new(config.build().unwrap()), Clock::new()).with_handshake_limit(SAFETY_LIMIT)
}

fn name() -> ServerAddress {
    ServerAddress::new(NAME.try_into().unwrap(), 4433)
}

async fn connected(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(address).await.unwrap();
    socket
}

async fn connect(config: &ConfigBuilder<ClientConfig>, address: SocketAddr) -> Result<DatagramConnection, NetError> {
    connector(config).connect(name(), connected(address).await).await
}

/// Sends a message until its echo comes: it may be lost.
async fn exchange<T: DatagramSocket>(connection: &mut DatagramConnection<T>) {
    let patience = Patience::new();
    loop {
        patience.check("no echo");
        connection.send(b"hello").await.unwrap();
        let mut received = [0; 8];
        if let Ok(len) = timeout(Duration::from_millis(300), connection.receive(&mut received)).await {
            return assert_eq!(&received[..len.unwrap()], b"hello");
        }
    }
}

#[tokio::test]
async fn messages_go_both_ways() {
    let (config, server) = configs(datagrams());
    let server = EchoServer::start(server);
    let mut client = connect(&config, server.address).await.unwrap();
    let longest = vec![7; client.connection().max_message()];
    let mut received = vec![0; 2_000];
    for message in [&b"hello"[..], b"x", &longest] {
        client.send(message).await.unwrap();
        let len = client.receive(&mut received).await.unwrap();
        assert_eq!(&received[..len], message);
    }
    // The message is read in parts: the next call returns what did not fit.
    client.send(b"in two parts").await.unwrap();
    assert_eq!(client.receive(&mut received[..6]).await.unwrap(), 6);
    assert_eq!(client.receive(&mut received[6..]).await.unwrap(), 6);
    assert_eq!(&received[..12], b"in two parts");
    assert!(client.send(&vec![7; longest.len() + 1]).await.is_err());
    client.close().await.unwrap();
    assert_eq!(client.receive(&mut received).await.unwrap(), 0);
    assert!(client.peer_closed());
    let summary = client.connection().summary();
    assert_eq!((summary.transport, summary.version_name().as_deref()), (Transport::Datagram, Some("DTLS 1.3")));
    assert_eq!(server.event().0, DatagramEvent::Connected);
    assert_eq!(server.event().0, DatagramEvent::PeerClosed);
}

#[tokio::test]
async fn a_connection_that_is_dropped_says_so() {
    let (config, server) = configs(datagrams());
    let server = EchoServer::start(server);
    let mut client = connect(&config, server.address).await.unwrap();
    exchange(&mut client).await;
    drop(client);
    assert_eq!(server.event().0, DatagramEvent::Connected);
    assert_eq!(server.event().0, DatagramEvent::PeerClosed);
}

/// Every third datagram is lost, every fifth comes twice, every seventh after the one behind it, in both directions.
#[tokio::test]
async fn a_path_that_loses_doubles_and_reorders() {
    for shift in 0..4 {
        let (config, server) = configs(datagrams().max_datagram(300));
        let server = EchoServer::start(server);
        let mut held: [Option<Vec<u8>>; 2] = [None, None];
        let relay = Relay::start(server.address, move |way, number, datagram| {
            assert!(datagram.len() <= 300);
            let held = &mut held[way as usize];
            match number + shift {
                n if n % 3 == 0 => vec![],
                n if n % 7 == 0 => {
                    *held = Some(datagram);
                    vec![]
                }
                n if n % 5 == 0 => vec![datagram.clone(), datagram],
                _ => core::iter::once(datagram).chain(held.take()).collect(),
            }
        });
        let mut client = connect(&config, relay.address).await.unwrap();
        exchange(&mut client).await;
        assert!(client.connection().summary().retransmissions > 0);
        assert_eq!(server.event().0, DatagramEvent::Connected);
    }
}

#[track_caller]
fn no_answer<T>(result: Result<T, NetError>) -> NoAnswer {
    match result.map(|_| ()) {
        Err(NetError::NoAnswer(no_answer)) => no_answer,
        other => panic!("{other:?}"),
    }
}

/// Returns a client's configuration that gives up after three attempts.
fn impatient() -> ConfigBuilder<ClientConfig> {
    configs(Datagrams::default().initial_timeout(20).min_timeout(20).max_retransmissions(2)).0
}

#[tokio::test]
async fn a_server_that_says_nothing_is_asked_again() {
    let silent = socket();
    let no_answer = no_answer(connect(&impatient(), silent.local_addr().unwrap()).await);
    let NoAnswer { in_handshake, heard, asked, alert, network, waited, .. } = no_answer;
    assert_eq!((in_handshake, heard, asked, alert, network), (true, false, 3, None, None));
    assert!(waited >= Duration::from_millis(20 + 40 + 80)); // the timers' own
}

#[tokio::test]
async fn a_time_limit_ends_a_handshake_that_would_go_on() {
    let silent = socket();
    let connector = connector(&configs(patient()).0).with_handshake_limit(Duration::from_millis(50));
    let socket = connected(silent.local_addr().unwrap()).await;
    let no_answer = no_answer(connector.connect(name(), socket).await);
    assert_eq!((no_answer.asked, no_answer.heard), (1, false));
}

/// A host without a server refuses each datagram (ICMP). The error reports that, and the client believes it only in the end.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_closed_port_is_asked_as_often_as_any() {
    let (_nobody, closed) = vacant();
    let no_answer = no_answer(connect(&impatient(), closed).await);
    assert_eq!((no_answer.asked, no_answer.network), (3, Some(ErrorKind::ConnectionRefused)));
}

/// A socket that takes only each third datagram at once, and reports an error of the network in between.
struct Reluctant(UdpSocket, RefCell<usize>);

impl DatagramSocket for Reluctant {
    fn poll_recv(&self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.0.poll_recv(cx, buffer)
    }

    fn poll_send(&self, cx: &mut Context<'_>, datagram: &[u8]) -> Poll<io::Result<usize>> {
        let mut turn = self.1.borrow_mut();
        *turn += 1;
        match *turn % 3 {
            1 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            2 => Poll::Ready(Err(ErrorKind::HostUnreachable.into())),
            _ => self.0.poll_send(cx, datagram),
        }
    }
}

#[tokio::test]
async fn what_the_socket_does_not_take_at_once_goes_later() {
    let (config, server) = configs(patient());
    let server = EchoServer::start(server);
    let socket = Reluctant(connected(server.address).await, RefCell::default());
    let mut client = connector(&config).connect(name(), socket).await.unwrap();
    exchange(&mut client).await;
    assert_eq!(client.connection().summary().retransmissions, 0);
    assert_eq!(server.event().0, DatagramEvent::Connected);
}

/// A signer that lets others go on before it answers.
fn signer(key: Arc<dyn SigningKey>) -> AsyncSigner {
    Arc::new(move |request| {
        let key = key.clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            key.sign(request.scheme(), request.message(), &mut OsRng)?.done().ok_or(CryptoError::SigningFailed)
        })
    })
}

#[tokio::test]
async fn a_key_that_answers_later_signs() {
    let mut inside = None;
    let (mut config, mut server) = configs(datagrams());
    let (outside, _) = configs_with("Plant CA", datagrams(), |key| {
        inside = Some(key.clone());
        Arc::new(Outside(key))
    });
    config.credentials(outside.config().credentials().to_vec());
    let anybody = Trust::unverified(&[CertificateType::X509]).unwrap();
    server.client_authentication(ClientAuthentication::Required(anybody));
    let server = EchoServer::start(server);
    let connector = connector(&config);
    let with_signer = connector.clone().with_signer(signer(inside.unwrap()));
    let mut client = with_signer.connect(name(), connected(server.address).await).await.unwrap();
    exchange(&mut client).await;
    // Nobody is there to sign.
    let error = connector.connect(name(), connected(server.address).await).await.unwrap_err();
    assert!(matches!(error, NetError::Tls(Error::Crypto(CryptoError::SigningFailed))), "{error}");
}
