//! A relay between a pledge and its registrar, with faults that are the same in each run.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use terse_onboard::discovery::Place;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// The direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToRegistrar,
    ToPledge,
}

/// Returns what becomes of a datagram, of which this is the number in its direction.
pub(crate) type Fault = Box<dyn FnMut(Way, usize, Vec<u8>) -> Vec<Vec<u8>> + Send>;

/// A relay that runs until it is dropped.
pub(crate) struct Relay {
    port: u16,
    lengths: Arc<Mutex<Vec<(Way, usize)>>>,
    task: JoinHandle<()>,
}

impl Relay {
    pub(crate) async fn start(registrar: u16, fault: Fault) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let lengths = Arc::<Mutex<Vec<_>>>::default();
        let task = tokio::spawn(pass(socket, registrar, fault, lengths.clone()));
        Self { port, lengths, task }
    }

    pub(crate) fn place(&self) -> Place {
        Place::new("127.0.0.1", self.port)
    }

    /// Returns the lengths of all datagrams that came.
    pub(crate) fn lengths(&self) -> Vec<(Way, usize)> {
        self.lengths.lock().unwrap().clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Passes datagrams on. Each port of the pledge has one towards the registrar.
async fn pass(front: UdpSocket, registrar: u16, mut fault: Fault, lengths: Arc<Mutex<Vec<(Way, usize)>>>) {
    let mut backs: Vec<(SocketAddr, UdpSocket)> = Vec::new();
    let mut counts = [0; 2];
    let (mut input, mut output) = (vec![0; 2_000], vec![0; 2_000]);
    loop {
        tokio::select! {
            received = front.recv_from(&mut input) => {
                let Ok((len, from)) = received else { continue };
                lengths.lock().unwrap().push((Way::ToRegistrar, len));
                if !backs.iter().any(|(pledge, _)| *pledge == from) {
                    let back = UdpSocket::bind("127.0.0.1:0").await.unwrap();
                    back.connect(("127.0.0.1", registrar)).await.unwrap();
                    backs.push((from, back));
                }
                let (_, back) = backs.iter().find(|(pledge, _)| *pledge == from).unwrap();
                for datagram in fault(Way::ToRegistrar, counts[0], input[..len].to_vec()) {
                    let _ = back.send(&datagram).await;
                }
                counts[0] += 1;
            }
            (pledge, received) = any(&backs, &mut output) => {
                let Ok(len) = received else { continue };
                lengths.lock().unwrap().push((Way::ToPledge, len));
                for datagram in fault(Way::ToPledge, counts[1], output[..len].to_vec()) {
                    let _ = front.send_to(&datagram, pledge).await;
                }
                counts[1] += 1;
            }
        }
    }
}

/// Receives on any of the sockets.
async fn any(backs: &[(SocketAddr, UdpSocket)], output: &mut [u8]) -> (SocketAddr, std::io::Result<usize>) {
    std::future::poll_fn(|cx| {
        for (pledge, back) in backs {
            let mut buffer = tokio::io::ReadBuf::new(output);
            if let std::task::Poll::Ready(received) = back.poll_recv(cx, &mut buffer) {
                return std::task::Poll::Ready((*pledge, received.map(|()| buffer.filled().len())));
            }
        }
        std::task::Poll::Pending
    })
    .await
}
