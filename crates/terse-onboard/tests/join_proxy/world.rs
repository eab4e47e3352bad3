//! What the tests share: certificates, clients, and a join proxy in a thread whose clock can be advanced.

use alloc::sync::Arc;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::net::UdpSocket;
use std::sync::mpsc as std_mpsc;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use terse_brski::join_proxy::OnLink;
use terse_net::{Clock, DatagramClient, OsRng};
use terse_onboard::discovery::Place;
use terse_onboard::join_proxy::{Mode, UdpCounters, UdpLimits, UdpProxy};
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_tls::{ClientConfig, ConfigBuilder, Connection, Credential, Datagrams, ServerAddress, ServerConfig, Trust};
use tokio::sync::{mpsc, watch};

use crate::deadline::{Deadline, SAFETY_LIMIT};

pub(crate) const NAME: &str = "registrar.example";

/// Returns settings that are quick enough for tests, and patient enough for a busy machine.
pub(crate) fn datagrams() -> Datagrams {
    let datagrams = Datagrams::default().initial_timeout(100).min_timeout(100).max_timeout(800);
    datagrams.max_retransmissions(60).max_datagram(400)
}

/// Returns the configurations of a pledge and of a registrar, with these connection IDs.
pub(crate) fn configs(datagrams: Datagrams) -> (Arc<ClientConfig>, ConfigBuilder<ServerConfig>) {
    let provider = &terse_aws_lc::PROVIDER;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let validity = Validity::days(now - 3_600, 2);
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), validity);
    let authority = Authority::new(&options).unwrap();
    let issued = authority.issue(&LeafOptions::new(NAME, validity)).unwrap();
    let credential = Credential::new(issued.chain().to_vec(), provider.load_key(issued.key()).unwrap()).unwrap();
    let mut client = ClientConfig::builder(provider);
    client.trust(Trust::new(&[authority.root().clone()]).unwrap());
    client.datagrams(Some(datagrams));
    let mut server = ServerConfig::builder(provider);
    server.credential(credential);
    server.datagrams(Some(datagrams));
    (Arc::new(client.build().unwrap()), server)
}

/// Returns a socket of this address that sends to `to`.
pub(crate) fn socket(ip: IpAddr, to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((ip, 0)).unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
    socket
}

/// Returns a pledge that connects to a join proxy.
pub(crate) fn pledge(config: &Arc<ClientConfig>, proxy: SocketAddr) -> DatagramClient {
    pledge_on(config, socket(proxy.ip(), proxy))
}

/// Returns a pledge on a socket that is connected to a join proxy.
pub(crate) fn pledge_on(config: &Arc<ClientConfig>, socket: UdpSocket) -> DatagramClient {
    socket.set_read_timeout(None).unwrap();
    let clock = Clock::new();
    let name = ServerAddress::new(NAME.try_into().unwrap(), 5684);
    let connection = Connection::client(config.clone(), name, clock.now(), &mut OsRng).unwrap();
    DatagramClient::new(connection, socket, clock)
}

/// Sends a message, again and again, until its echo comes.
pub(crate) fn exchange(client: &mut DatagramClient, message: &[u8]) {
    let mut received = [0; 256];
    let deadline = Deadline::new();
    loop {
        client.set_limit(Duration::from_millis(300));
        client.send(message).unwrap();
        match client.receive(&mut received) {
            Ok(len) => return assert_eq!(&received[..len], message),
            Err(error) => assert!(error.is_timeout(), "{error}"),
        }
        deadline.check("no echo");
    }
}

/// A join proxy in a thread.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    advance: mpsc::UnboundedSender<(Duration, std_mpsc::Sender<()>)>,
    stop: watch::Sender<bool>,
    thread: JoinHandle<UdpCounters>,
}

/// Returns the addresses of loopback.
pub(crate) fn loopback() -> OnLink {
    OnLink::new(vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]).unwrap()
}

impl Proxy {
    /// Starts a join proxy at `listen` for these registrars.
    pub(crate) fn start(listen: &str, mode: Mode, registrars: &[SocketAddr]) -> Self {
        Self::start_with(listen, mode, registrars, loopback(), UdpLimits::default())
    }

    pub(crate) fn start_with(
        listen: &str,
        mode: Mode,
        registrars: &[SocketAddr],
        on_link: OnLink,
        limits: UdpLimits,
    ) -> Self {
        let socket = UdpSocket::bind(listen).unwrap();
        socket.set_nonblocking(true).unwrap();
        let address = socket.local_addr().unwrap();
        let places = registrars.iter().map(|registrar| Place::new(registrar.ip().to_string(), registrar.port()));
        let places = places.collect::<Vec<_>>();
        let (advance, advances) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let socket = tokio::net::UdpSocket::from_std(socket).unwrap();
                let (_places, known) = watch::channel(places);
                let proxy = UdpProxy::new(socket, mode, known, on_link, limits).unwrap();
                tokio::spawn(advance_clock(advances));
                proxy.run(stopped).await.unwrap()
            })
        });
        Self { address, advance, stop, thread }
    }

    /// Lets this time pass for the proxy, and for nobody else.
    pub(crate) fn advance(&self, time: Duration) {
        let (sender, done) = std_mpsc::channel();
        self.advance.send((time, sender)).unwrap();
        done.recv_timeout(SAFETY_LIMIT).expect("the clock was advanced");
    }

    /// Stops the proxy, and returns what it has done.
    pub(crate) fn stop(self) -> UdpCounters {
        self.stop.send_replace(true);
        self.thread.join().unwrap()
    }
}

async fn advance_clock(mut advances: mpsc::UnboundedReceiver<(Duration, std_mpsc::Sender<()>)>) {
    while let Some((time, done)) = advances.recv().await {
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
        // All that is due then runs before what comes next.
        for _ in 0..32 {
            tokio::task::yield_now().await;
        }
        done.send(()).unwrap();
    }
}
