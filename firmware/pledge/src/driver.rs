//! The driver of the pledge's machine: its commands become connections, keys and memory, and what comes of them its inputs.
//!
//! What must always hold: commands are executed in their order; what a command answers at once is an input before anything
//! else is waited for; an input of a connection that was closed never comes.

use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::{CertificateDer, IpAddr, Ipv6Addr, ServerName};
use terse_brski::certificate::SerialNumberField;
use terse_brski::pledge::{
    Command, ConfigError, ConnectionId, Enrollment, Event, Identity, Input, Paths, Pledge, PledgeConfig, Presented,
    Proxy, Request, Target,
};
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng};
use terse_tls::{ApiMisuse, ClientConfig, Connection, Credential, Instant, Now, PresentedPeer, ServerAddress};

use crate::board::{Board, Received};
use crate::exchange::{Exchange, Lost};
use crate::keys::{self, Kind, NewKey};

/// A pledge on its device, which speaks in one way.
pub struct Driver<'a, B: Board, E: Exchange> {
    board: &'a mut B,
    provider: &'a CryptoProvider,
    kind: Kind,
    pledge: Pledge<E::Form>,
    /// The configuration of connections with the IDevID.
    idevid: Arc<ClientConfig>,
    /// The same with the LDevID, once it is stored.
    ldevid: Option<Arc<ClientConfig>>,
    key: Option<NewKey>,
    link: Option<Link<E>>,
    /// What commands have answered at once.
    answers: VecDeque<Input<'static>>,
    buffer: Vec<u8>,
    is_enrolled: bool,
}

/// A connection.
struct Link<E> {
    id: ConnectionId,
    authority: String,
    connection: Connection,
    exchange: E,
    /// Room for the data of a record.
    data: Vec<u8>,
    /// Whether the pledge knows that there is a connection.
    is_reported: bool,
}

/// Why there is no pledge on a device.
#[derive(Debug)]
pub enum SetupFailed {
    /// Its IDevID, or an anchor of its manufacturer, cannot be used.
    Pledge(ConfigError),
    /// The provider lacks what connections need.
    Connections(ApiMisuse),
}

impl From<ConfigError> for SetupFailed {
    fn from(error: ConfigError) -> Self {
        Self::Pledge(error)
    }
}

impl From<ApiMisuse> for SetupFailed {
    fn from(error: ApiMisuse) -> Self {
        Self::Connections(error)
    }
}

impl<'a, B: Board, E: Exchange> Driver<'a, B, E> {
    /// Returns the pledge with this IDevID, whose vouchers are signed under one of the certificates `manufacturer`. The LDevID
    /// has a key of `kind`, and `paths` is how chains are validated.
    pub fn new(
        board: &'a mut B,
        provider: &'a CryptoProvider,
        kind: Kind,
        idevid: Credential,
        manufacturer: Vec<CertificateDer<'static>>,
        paths: Paths,
    ) -> Result<Self, SetupFailed> {
        let connections = E::config(provider, idevid.clone())?;
        let field = SerialNumberField::default();
        let config = PledgeConfig::with_paths(E::Form::default(), provider, idevid, manufacturer, field, paths)?;
        Ok(Self {
            board,
            provider,
            kind,
            pledge: Pledge::new(Arc::new(config)),
            idevid: Arc::new(connections),
            ldevid: None,
            key: None,
            link: None,
            answers: VecDeque::new(),
            buffer: vec![0; BUFFER_LEN],
            is_enrolled: false,
        })
    }

    /// Looks for a domain through these proxies until the device has its LDevID.
    pub fn run(&mut self, proxies: &[Proxy]) {
        self.find(proxies);
        while !self.is_enrolled {
            self.step();
        }
    }

    /// Tells the pledge that these proxies were found.
    pub fn find(&mut self, proxies: &[Proxy]) {
        self.give(Input::Found(proxies));
    }

    /// Does what is due: an answer, or what the network or the clock brings.
    pub fn step(&mut self) {
        if let Some(answer) = self.answers.pop_front() {
            return self.give(answer);
        }
        let carried = self.carry();
        if self.report() {
            return;
        }
        if carried.is_err() {
            return self.lose();
        }
        let timeout = self.pledge.poll_timeout();
        if timeout.is_some_and(|timeout| timeout <= self.board.now().monotonic) {
            return self.give(Input::Timer);
        }
        let of_link = self.link.as_ref().and_then(Link::timeout);
        self.board.wait([timeout, of_link].into_iter().flatten().min());
    }

    /// Gives an input to the machine, and executes what it wants.
    fn give(&mut self, input: Input<'_>) {
        let now = self.board.now();
        for command in self.pledge.handle(now, self.board, input) {
            self.execute(now, command);
        }
    }

    fn execute(&mut self, now: Now, command: Command) {
        match command {
            Command::Connect { connection, to, identity } => {
                let connected = self.connect(now, connection, &to, identity).is_ok();
                self.answers.extend((!connected).then_some(Input::Lost(connection)));
            }
            Command::Send(connection, request) => {
                let sent = self.send(now, connection, &request).is_ok();
                self.answers.extend((!sent).then_some(Input::Lost(connection)));
            }
            Command::Close(connection) => self.close(now, connection),
            // Keys of this device answer at once.
            Command::Sign { signature, .. } => {
                self.answers.push_back(Input::Signed(signature, Err(CryptoError::SigningFailed)));
            }
            Command::MakeKey => {
                let key = keys::generate(self.kind, self.board);
                let answer = key.map(|new| self.key.insert(new).key.clone());
                self.answers.push_back(Input::Key(answer));
            }
            Command::Store(enrollment) => {
                let is_stored = self.store(*enrollment);
                self.answers.push_back(Input::Stored(is_stored));
            }
            Command::Inform(event) => {
                self.is_enrolled |= matches!(event, Event::Enrolled { .. });
                self.board.inform(event);
            }
            _ => {}
        }
    }

    fn connect(&mut self, now: Now, id: ConnectionId, to: &Target, identity: Identity) -> Result<(), Lost> {
        let config = match identity {
            Identity::Idevid => self.idevid.clone(),
            Identity::Ldevid => self.ldevid.clone().ok_or(Lost)?,
        };
        // No name is sent or checked, so that any stands for it (RFC 8995, 5.1).
        let nobody = ServerAddress::new(ServerName::IpAddress(IpAddr::V6(Ipv6Addr::from([0; 8]))), 0);
        let connection = Connection::client(config, nobody, now, self.board).map_err(|_| Lost)?;
        let exchange = E::new(self.board).map_err(|_| Lost)?;
        let authority = match to {
            Target::Origin(origin) => origin.to_string(),
            _ => PROXY.into(),
        };
        self.board.open(to);
        self.link = Some(Link { id, authority, connection, exchange, data: vec![0; DATA_LEN], is_reported: false });
        Ok(())
    }

    fn send(&mut self, now: Now, id: ConnectionId, request: &Request) -> Result<(), Lost> {
        let link = self.link.as_mut().filter(|link| link.id == id).ok_or(Lost)?;
        link.exchange.request(now, self.board, &link.authority, request)
    }

    /// Closes a connection, so that its peer hears of it.
    fn close(&mut self, now: Now, id: ConnectionId) {
        let Some(mut link) = self.link.take_if(|link| link.id == id) else { return };
        link.connection.close();
        while let Some(len) = link.connection.poll_transmit(now, &mut self.buffer) {
            self.board.transmit(self.buffer.get(..len).unwrap_or_default());
        }
        self.board.close();
    }

    /// Gives a connection up, and tells the machine.
    fn lose(&mut self) {
        let Some(id) = self.link.as_ref().map(|link| link.id) else { return };
        let now = self.board.now();
        self.close(now, id);
        self.give(Input::Lost(id));
    }

    fn store(&mut self, enrollment: Enrollment) -> bool {
        let Enrollment { credential, anchors, .. } = enrollment;
        let (Some(new), Ok(config)) = (&self.key, E::config(self.provider, credential.clone())) else { return false };
        self.ldevid = Some(Arc::new(config));
        self.board.store(credential.chain(), &new.secret[..], &anchors)
    }

    /// Carries data both ways, as far as there is any.
    fn carry(&mut self) -> Result<(), Lost> {
        let Some(link) = &mut self.link else { return Ok(()) };
        let now = self.board.now();
        match self.board.receive(&mut self.buffer) {
            Received::Nothing => {}
            Received::Bytes(len) => link.receive(now, self.board, self.buffer.get_mut(..len).ok_or(Lost)?)?,
            Received::End => return link.end(now),
        }
        link.connection.handle_timeout(now).map_err(|_| Lost)?;
        link.exchange.handle_timeout(now);
        link.transmit(now, self.board, &mut self.buffer)
    }

    /// Tells the machine what has come of the connection. Returns false if that is nothing.
    fn report(&mut self) -> bool {
        let Some(link) = &mut self.link else { return false };
        let connection = link.id;
        if link.connection.is_connected() && !link.is_reported {
            link.is_reported = true;
            let presented = link.connection.presented().into_iter().flat_map(PresentedPeer::chain);
            let chain: Vec<_> = presented.map(CertificateDer::into_owned).collect();
            self.give(Input::Connected { connection, presented: Presented::Chain(&chain) });
            return true;
        }
        match link.exchange.poll() {
            Some(Ok(answer)) => self.give(Input::Response { connection, response: E::response(&answer) }),
            Some(Err(Lost)) => self.lose(),
            None => return false,
        }
        true
    }
}

impl<E: Exchange> Link<E> {
    fn timeout(&self) -> Option<Instant> {
        [self.connection.poll_timeout(), self.exchange.timeout()].into_iter().flatten().min()
    }

    /// Takes a datagram, or a stretch of the stream.
    fn receive(&mut self, now: Now, rng: &mut dyn Rng, mut input: &mut [u8]) -> Result<(), Lost> {
        while !input.is_empty() {
            let taken = self.connection.handle_input(now, rng, input).map_err(|_| Lost)?;
            let mut is_read = false;
            loop {
                let len = self.connection.recv(&mut self.data);
                let Some(data) = self.data.get(..len).filter(|data| !data.is_empty()) else { break };
                self.exchange.receive(now, rng, data);
                is_read = true;
            }
            if taken == 0 && !is_read {
                return Err(Lost); // a signature is waited for, which no key here leaves open
            }
            input = input.get_mut(taken..).unwrap_or_default();
        }
        while let Some(event) = self.connection.poll_event() {
            if event == terse_tls::Event::PeerClosed {
                return self.end(now);
            }
        }
        Ok(())
    }

    /// The peer sends nothing more. Without its close_notify what it has sent may be cut short.
    fn end(&mut self, now: Now) -> Result<(), Lost> {
        if self.connection.handle_end_of_input(now).is_ok() {
            self.exchange.end();
        }
        Err(Lost)
    }

    /// Sends what there is to send.
    fn transmit(&mut self, now: Now, board: &mut impl Board, buffer: &mut [u8]) -> Result<(), Lost> {
        while let Some(len) = self.exchange.transmit(now, &mut self.data) {
            let data = self.data.get(..len).unwrap_or_default();
            if self.connection.send(data).map_err(|_| Lost)? < len {
                return Err(Lost); // no request is as long as what may wait
            }
        }
        while let Some(len) = self.connection.poll_transmit(now, buffer) {
            board.transmit(buffer.get(..len).unwrap_or_default());
        }
        Ok(())
    }
}

/// The host of a proxy, which has no name (RFC 9110, 7.2).
const PROXY: &str = "registrar";

/// What the board receives and sends at once, at most: an Ethernet frame, or a datagram.
const BUFFER_LEN: usize = 1_536;

/// What a connection carries at once, at most. No record of DTLS is longer.
const DATA_LEN: usize = 1_024;
