//! The other implementations, behind one face.

use std::net::TcpListener;

use terse_tls::{AlertDescription, ProtocolVersion};

use crate::case::Case;
use crate::compile::Library;
use crate::features::Carrier;
use crate::process::{Process, connect, listener};
use crate::tap::Wire;

mod gnutls;
mod in_process;
mod openssl;
mod program;
pub(crate) mod rustls;
mod terse;

/// Which role is ours; the peer has the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Our client meets the peer's server.
    Client,
    /// Our server meets the peer's client.
    Server,
}

/// Another implementation of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// `openssl s_client` and `openssl s_server`.
    OpenSsl,
    /// `gnutls-cli` and `gnutls-serv`.
    GnuTls,
    /// Debian's wolfSSL 5.5.
    WolfSsl55,
    /// The current wolfSSL.
    WolfSsl,
    /// The current BoringSSL, for DTLS.
    BoringSsl,
    /// Debian's Mbed TLS 2.28.
    MbedTls,
    /// Debian's Bouncy Castle 1.72, for pre-shared keys in TLS 1.2.
    BouncyCastle,
    /// The `rustls` crate, in this process and without sockets.
    Rustls,
    /// Scandium of Eclipse Californium, for DTLS 1.2 with connection IDs.
    Scandium,
    /// The crate `dimpl`, for DTLS 1.3.
    Dimpl,
    /// Our own command: not one of [`Self::ALL`], but what they meet over datagrams.
    Terse,
    /// The same, without the command and in this process.
    TerseNet,
}

impl Peer {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::OpenSsl,
        Self::GnuTls,
        Self::WolfSsl55,
        Self::WolfSsl,
        Self::BoringSsl,
        Self::MbedTls,
        Self::Scandium,
        Self::Dimpl,
        Self::Rustls,
        Self::BouncyCastle,
    ];

    /// As in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenSsl => "openssl",
            Self::GnuTls => "gnutls",
            Self::WolfSsl55 => "wolfssl55",
            Self::WolfSsl => "wolfssl",
            Self::BoringSsl => "boringssl",
            Self::MbedTls => "mbedtls",
            Self::Rustls => "rustls",
            Self::BouncyCastle => "bouncy",
            Self::Scandium => "scandium",
            Self::Dimpl => "dimpl",
            Self::Terse => "terse",
            Self::TerseNet => "terse-net",
        }
    }

    /// What it says about its version, or why it cannot be used here.
    pub fn version(self) -> Result<String, String> {
        match self {
            Self::OpenSsl => openssl::version(),
            Self::GnuTls => gnutls::version(),
            Self::WolfSsl55 => Library::WolfSsl55.version(),
            Self::WolfSsl => Library::WolfSsl.version(),
            Self::BoringSsl => Library::BoringSsl.version(),
            Self::MbedTls => Library::MbedTls.version(),
            Self::Rustls => Ok(rustls::version()),
            Self::BouncyCastle => Library::BouncyCastle.version(),
            Self::Scandium => Library::Scandium.version(),
            Self::Dimpl => Library::Dimpl.version(),
            Self::Terse => terse::version(),
            Self::TerseNet => Ok(env!("CARGO_PKG_VERSION").into()),
        }
    }

    /// Whether it speaks `version` of TLS, or of DTLS.
    pub fn speaks(self, version: ProtocolVersion, carrier: Carrier) -> bool {
        match (carrier, self) {
            (Carrier::Udp, peer) if version == ProtocolVersion::TLS_1_3 => {
                matches!(peer, Self::WolfSsl | Self::BoringSsl | Self::Dimpl)
            }
            (Carrier::Udp, peer) => !matches!(peer, Self::Rustls | Self::BouncyCastle | Self::Dimpl),
            (Carrier::Tcp, Self::Scandium | Self::BoringSsl | Self::Dimpl) => false,
            (Carrier::Tcp, Self::MbedTls | Self::BouncyCastle) => version == ProtocolVersion::TLS_1_2,
            (Carrier::Tcp, _) => true,
        }
    }

    /// Whether it is here for pre-shared keys alone.
    pub fn has_only_shared_keys(self) -> bool {
        self == Self::BouncyCastle
    }

    /// Makes the peer ready to meet us, who have `role`. Nothing has been sent yet by our side.
    pub fn start(self, role: Role, case: &Case) -> (Box<dyn Remote>, Box<dyn Wire>) {
        if self == Self::Rustls {
            return rustls::start(role, case);
        }
        let running = match role {
            Role::Client => {
                let (process, port) = self.server_program(case).expect("rustls is no program");
                Running { process, way: Way::To(port) }
            }
            Role::Server => {
                let (listener, port) = listener();
                let process = self.client_program(case, port).expect("rustls is no program");
                Running { process, way: Way::From(listener) }
            }
        };
        let mut remote = self.remote(running, case);
        let wire = remote.wire();
        (remote, wire)
    }

    /// Its server on a port of its own, and the port; `None` if it is no program.
    pub(crate) fn server(self, case: &Case) -> Option<(Box<dyn Remote>, u16)> {
        if self == Self::TerseNet {
            let (server, port) = in_process::server(case);
            return Some((Box::new(server), port));
        }
        let (process, port) = self.server_program(case)?;
        Some((self.remote(Running { process, way: Way::To(port) }, case), port))
    }

    /// Its client as a program, which connects to whoever listens there; `None` if it is no program.
    pub(crate) fn client(self, case: &Case, listener: TcpListener) -> Option<Box<dyn Remote>> {
        let process = self.client_program(case, listener.local_addr().expect("it listens").port())?;
        Some(self.remote(Running { process, way: Way::From(listener) }, case))
    }

    /// Its client, which sends datagrams to that port; `None` if it is no program.
    pub(crate) fn client_over_datagrams(self, case: &Case, port: u16) -> Option<Box<dyn Remote>> {
        if self == Self::TerseNet {
            return Some(Box::new(in_process::client(case, port)));
        }
        let process = self.client_program(case, port)?;
        Some(self.remote(Running { process, way: Way::Datagrams(port) }, case))
    }

    fn remote(self, running: Running, case: &Case) -> Box<dyn Remote> {
        match self {
            Self::OpenSsl => Box::new(openssl::Program::new(running, case)),
            Self::GnuTls => Box::new(gnutls::Program::new(running, case)),
            Self::Terse => Box::new(terse::Program::new(running, case)),
            Self::WolfSsl55
            | Self::WolfSsl
            | Self::BoringSsl
            | Self::MbedTls
            | Self::BouncyCastle
            | Self::Scandium
            | Self::Dimpl
            | Self::Rustls
            | Self::TerseNet => Box::new(program::Program::new(running, case)),
        }
    }

    fn server_program(self, case: &Case) -> Option<(Process, u16)> {
        Some(match self {
            Self::OpenSsl => openssl::server_program(case),
            Self::GnuTls => gnutls::server_program(case),
            Self::WolfSsl55 => program::server_program(Library::WolfSsl55, case),
            Self::WolfSsl => program::server_program(Library::WolfSsl, case),
            Self::BoringSsl => program::server_program(Library::BoringSsl, case),
            Self::MbedTls => program::server_program(Library::MbedTls, case),
            Self::BouncyCastle => program::server_program(Library::BouncyCastle, case),
            Self::Scandium => program::server_program(Library::Scandium, case),
            Self::Dimpl => program::server_program(Library::Dimpl, case),
            Self::Terse => terse::server_program(case),
            Self::Rustls | Self::TerseNet => return None,
        })
    }

    fn client_program(self, case: &Case, port: u16) -> Option<Process> {
        Some(match self {
            Self::OpenSsl => openssl::client_program(case, port),
            Self::GnuTls => gnutls::client_program(case, port),
            Self::WolfSsl55 => program::client_program(Library::WolfSsl55, case, port),
            Self::WolfSsl => program::client_program(Library::WolfSsl, case, port),
            Self::BoringSsl => program::client_program(Library::BoringSsl, case, port),
            Self::MbedTls => program::client_program(Library::MbedTls, case, port),
            Self::BouncyCastle => program::client_program(Library::BouncyCastle, case, port),
            Self::Scandium => program::client_program(Library::Scandium, case, port),
            Self::Dimpl => program::client_program(Library::Dimpl, case, port),
            Self::Terse => terse::client_program(case, port),
            Self::Rustls | Self::TerseNet => return None,
        })
    }
}

/// A program that has been started, and how to meet it.
struct Running {
    process: Process,
    way: Way,
}

enum Way {
    /// It listens on a port.
    To(u16),
    /// It connects to us.
    From(TcpListener),
    /// It sends datagrams to a port.
    Datagrams(u16),
}

impl Running {
    /// Ours.
    const fn role(&self) -> Role {
        match self.way {
            Way::To(_) => Role::Client,
            Way::From(_) | Way::Datagrams(_) => Role::Server,
        }
    }

    fn meet(&mut self) -> Box<dyn Wire> {
        Box::new(match &self.way {
            Way::To(port) => connect(*port),
            Way::From(listener) => self.process.accept(listener),
            Way::Datagrams(_) => panic!("datagrams go through a relay"),
        })
    }
}

/// A peer during a meeting. All calls wait until what they ask for has happened, and panic if it does not, or if this peer
/// cannot do it.
pub trait Remote {
    /// Whether it sends back what it receives, and cannot send anything else.
    fn echoes(&self) -> bool {
        false
    }

    /// Sends application data: whole lines of text.
    fn send(&mut self, data: &[u8]);

    /// Has received this application data.
    fn expect(&mut self, data: &[u8]);

    /// What our side must send for the peer to replace its sending key, and what it answers, if it takes no other
    /// orders.
    fn updates_keys_on(&self) -> Option<(&'static [u8], &'static [u8])> {
        None
    }

    /// Replaces its sending key, and asks for ours to be replaced if it can.
    fn update_keys(&mut self) {
        cannot()
    }

    /// Tells the other side to use another connection ID of this side from now on (RFC 9147, 9).
    fn change_connection_id(&mut self) {
        cannot()
    }

    /// Asks for a renegotiation (RFC 5246, 7.4.1.1).
    fn renegotiate(&mut self) {
        cannot()
    }

    /// The keying material that it exports for [`crate::case::EXPORTER_LABEL`].
    fn keying_material(&mut self) -> Vec<u8> {
        cannot()
    }

    /// The name that our client asked for, as it understood it.
    fn expect_server_name(&mut self, _: &str) {
        cannot()
    }

    /// The application protocol that it agreed to.
    fn expect_protocol(&mut self, _: &str) {
        cannot()
    }

    /// It saw a good OCSP response that was stapled to our certificate.
    fn expect_staple(&mut self) {
        cannot()
    }

    /// What our side must send for the peer to close, if it takes no other orders.
    fn closes_on(&self) -> Option<&'static [u8]> {
        None
    }

    /// Closes the connection properly.
    fn close(&mut self) {
        cannot()
    }

    /// Has understood our `close_notify`.
    fn expect_close(&mut self) {
        cannot()
    }

    /// Has received this alert.
    fn expect_alert(&mut self, _: AlertDescription) {
        cannot()
    }

    /// Disappears without a farewell.
    fn vanish(&mut self) {
        cannot()
    }

    /// Whether it leaves after the first handshake of several, without a word.
    fn leaves_first(&self) -> bool {
        false
    }

    /// Gets ready for the next connection, after the last one has ended: a client offers the session that it was given,
    /// a server knows those that it gave. [`Case::connections`] says how many there are.
    fn next(&mut self) {
        cannot()
    }

    /// What it says about a connection that has ended, if it is one of ours.
    fn report(&mut self) -> Option<serde_json::Value> {
        None
    }

    /// The wire of the connection that it is ready for.
    fn wire(&mut self) -> Box<dyn Wire> {
        cannot()
    }
}

/// What a side says that is asked for something else than its cells ask for.
fn cannot() -> ! {
    panic!("this side cannot do that");
}
