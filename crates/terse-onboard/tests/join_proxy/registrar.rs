//! A registrar, as far as a join proxy knows one: a server for DTLS that returns what it receives.

use core::net::SocketAddr;
use core::time::Duration;
use std::net::UdpSocket;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use alloc::sync::Arc;
use terse_net::tokio::{DatagramEndpoint, Framing};
use terse_net::{Clock, DatagramClient, DatagramEvent};
use terse_tls::{ConfigBuilder, ConnectionHandle, EndpointLimits, Path, ServerConfig};
use tokio::sync::mpsc as tokio_mpsc;

use super::world::exchange;
use crate::deadline::{Deadline, SAFETY_LIMIT};

/// A message to send, and who waits for that.
type Command = (Vec<u8>, Sender<()>);

/// A registrar in a thread, which ends with this.
pub(crate) struct Registrar {
    pub(crate) address: SocketAddr,
    events: Receiver<(DatagramEvent, Option<Path>)>,
    commands: Option<tokio_mpsc::UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Registrar {
    /// Starts a registrar at this address.
    pub(crate) fn start<F: Framing + 'static>(listen: &str, config: ConfigBuilder<ServerConfig>, framing: F) -> Self {
        Self::on(UdpSocket::bind(listen).unwrap(), config, framing)
    }

    /// Starts a registrar on this socket.
    pub(crate) fn on<F: Framing + 'static>(socket: UdpSocket, config: ConfigBuilder<ServerConfig>, framing: F) -> Self {
        socket.set_nonblocking(true).unwrap();
        let address = socket.local_addr().unwrap();
        let config = Arc::new(config.build().unwrap());
        let (sender, events) = mpsc::channel();
        let (commands, commanded) = tokio_mpsc::unbounded_channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let socket = tokio::net::UdpSocket::from_std(socket).unwrap();
                let limits = EndpointLimits::default();
                let endpoint = DatagramEndpoint::with_framing(config, limits, socket, Clock::new(), framing).unwrap();
                serve(endpoint, commanded, sender).await;
            });
        });
        Self { address, events, commands: Some(commands), thread: Some(thread) }
    }

    /// Returns the next event other than data, with its path.
    #[track_caller]
    pub(crate) fn event(&self) -> (DatagramEvent, Option<Path>) {
        self.events.recv_timeout(SAFETY_LIMIT).expect("an event")
    }

    /// Waits for the path of a pledge that has connected.
    #[track_caller]
    pub(crate) fn connected(&self) -> Path {
        let (event, path) = self.event();
        assert_eq!(event, DatagramEvent::Connected);
        path.unwrap()
    }

    /// Lets a pledge send until the registrar has noticed that it has moved, which takes an answer to a check of the new path.
    /// Returns from where to where.
    #[track_caller]
    pub(crate) fn moved(&self, client: &mut DatagramClient) -> (Path, Path) {
        let deadline = Deadline::new();
        loop {
            exchange(client, b"goes on");
            match self.events.recv_timeout(Duration::from_millis(50)) {
                Ok((DatagramEvent::AddressChanged { from, to }, _)) => return (from, to),
                Ok(other) => panic!("{other:?}"),
                Err(_) => deadline.check("the pledge has not moved"),
            }
        }
    }

    /// Sends a message to all pledges, and returns when that was done.
    pub(crate) fn say(&self, message: &[u8]) {
        let (sender, done) = mpsc::channel();
        self.commands.as_ref().unwrap().send((message.into(), sender)).unwrap();
        done.recv_timeout(SAFETY_LIMIT).expect("the message was sent");
    }
}

impl Drop for Registrar {
    fn drop(&mut self) {
        drop(self.commands.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()) || std::thread::panicking());
    }
}

async fn serve<F: Framing>(
    mut endpoint: DatagramEndpoint<F>,
    mut commands: tokio_mpsc::UnboundedReceiver<Command>,
    events: Sender<(DatagramEvent, Option<Path>)>,
) {
    let mut connected: Vec<ConnectionHandle> = Vec::new();
    loop {
        let (handle, event) = tokio::select! {
            next = endpoint.next_event() => next.unwrap(),
            command = commands.recv() => match command {
                Some((message, done)) => {
                    connected.iter().for_each(|handle| endpoint.send(*handle, &message).unwrap());
                    done.send(()).unwrap();
                    continue;
                }
                None => return,
            },
        };
        let path = endpoint.path(handle).cloned();
        match event {
            DatagramEvent::Data(data) => endpoint.send(handle, &data).unwrap(),
            DatagramEvent::PeerClosed | DatagramEvent::Failed(_) | DatagramEvent::Idle => {
                connected.retain(|other| *other != handle);
                endpoint.end(handle);
            }
            event => {
                if event == DatagramEvent::Connected {
                    connected.push(handle);
                }
                let _ = events.send((event, path)); // to a test that has not failed
            }
        }
    }
}
