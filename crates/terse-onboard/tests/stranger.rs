//! Strangers, and what they cost a service in memory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use terse_net::Clock;
use terse_net::tokio::{Connector, TlsStream};
use terse_tls::{CertificateType, ClientConfig, Credential, ServerAddress, Trust};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;

use crate::deadline::soon;

/// A stranger's connection.
pub(crate) type Stranger = TlsStream<TcpStream>;

/// Connects from this address, which is one of this machine, and shows this certificate if there is one.
pub(crate) async fn connect(from: &str, to: SocketAddr, credential: Option<&Credential>) -> Stranger {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    let transport = soon(socket.connect(to)).await.unwrap();
    transport.set_nodelay(true).unwrap();
    let mut config = ClientConfig::builder(&terse_aws_lc::PROVIDER);
    config.trust(Trust::unverified(&[CertificateType::X509]).unwrap()).send_server_name(false);
    config.credentials(Vec::from_iter(credential.cloned()));
    let connector = Connector::new(Arc::new(config.build().unwrap()), Clock::new());
    soon(connector.connect(ServerAddress::new(to.ip().into(), to.port()), transport)).await.unwrap()
}

/// Takes all of 20 connections from two addresses, asks something on each of them, and comes again for each that has ended, without
/// end.
pub(crate) async fn besiege(to: SocketAddr, credential: Option<&Credential>, all_are_taken: oneshot::Sender<()>) {
    let (mut held, mut all_are_taken) = (Vec::new(), Some(all_are_taken));
    for number in 0.. {
        let mut stranger = connect(["127.0.0.2", "127.0.0.3"][number % 2], to, credential).await;
        let _ = stranger.write_all(b"GET /health HTTP/1.1\r\nHost: service\r\n\r\n").await; // it may have ended already
        let _ = soon(stranger.read(&mut [0; 512])).await;
        held.push(stranger);
        if held.len() > 22 {
            held.remove(0);
            if let Some(sender) = all_are_taken.take() {
                let _ = sender.send(());
            }
        }
    }
}

/// Returns the heap of a service, in bytes, that each of `count` strangers costs who send a head of so many bytes, and no end of
/// it. `serve` starts the service on the runtime of this thread, and returns its address with what keeps it alive.
pub(crate) async fn heap_of_each<F, A>(
    count: usize,
    head: usize,
    credential: Option<&Credential>,
    serve: impl Fn() -> F,
) -> i64
where
    F: Future<Output = (SocketAddr, A)> + Send + 'static,
{
    let mut heaps = [0; 2];
    for (strangers, heap) in [0, count].into_iter().zip(&mut heaps) {
        let (send_address, address) = oneshot::channel();
        let (send_done, done) = oneshot::channel::<()>();
        let future = serve();
        let server = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let run = async {
                let (address, alive) = future.await;
                send_address.send(address).unwrap();
                done.await.unwrap();
                for _ in 0..20 {
                    tokio::time::sleep(Duration::from_millis(10)).await; // what has arrived is read
                }
                alive
            };
            terse_heap::measure(|| runtime.block_on(run)).1.kept
        });
        let address = soon(address).await.unwrap();
        let mut held = Vec::new();
        for number in 0..strangers {
            let mut stranger = connect(["127.0.0.1", "127.0.0.2"][number % 2], address, credential).await;
            let start = b"GET / HTTP/1.1\r\nX: ";
            let head = [&start[..], &vec![b'x'; head - start.len()]].concat();
            let _ = soon(stranger.write_all(&head)).await; // it may be refused before its end
            held.push(stranger);
        }
        send_done.send(()).unwrap();
        *heap = tokio::task::spawn_blocking(|| server.join().unwrap()).await.unwrap();
    }
    (heaps[1] - heaps[0]) / count as i64
}

/// The most bytes of heap that such a connection costs, which docs/onboarding.md names.
pub(crate) const MAX_HEAP: i64 = 48_000;
