//! The other implementations, behind one face.

use terse_tls::AlertDescription;

use crate::case::Case;
use crate::process::Process;
use crate::tap::Wire;

mod gnutls;
mod openssl;
pub(crate) mod rustls;

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
    /// The `rustls` crate, in this process and without sockets.
    Rustls,
}

impl Peer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OpenSsl, Self::GnuTls, Self::Rustls];

    /// As in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenSsl => "openssl",
            Self::GnuTls => "gnutls",
            Self::Rustls => "rustls",
        }
    }

    /// What it says about its version, or why it cannot be used here.
    pub fn version(self) -> Result<String, String> {
        match self {
            Self::OpenSsl => openssl::version(),
            Self::GnuTls => gnutls::version(),
            Self::Rustls => Ok(rustls::version()),
        }
    }

    /// Makes the peer ready to meet us, who have `role`. Nothing has been sent yet by our side.
    pub fn start(self, role: Role, case: &Case) -> (Box<dyn Remote>, Box<dyn Wire>) {
        match (self, role) {
            (Self::OpenSsl, Role::Client) => openssl::server(case),
            (Self::OpenSsl, Role::Server) => openssl::client(case),
            (Self::GnuTls, Role::Client) => gnutls::server(case),
            (Self::GnuTls, Role::Server) => gnutls::client(case),
            (Self::Rustls, Role::Client) => rustls::server(case),
            (Self::Rustls, Role::Server) => rustls::client(case),
        }
    }

    /// Its server alone, as a program, and the port that it listens on; `None` if it is no program.
    pub fn server_program(self, case: &Case) -> Option<(Process, u16)> {
        match self {
            Self::OpenSsl => Some(openssl::server_program(case)),
            Self::GnuTls => Some(gnutls::server_program(case)),
            Self::Rustls => None,
        }
    }

    /// Its client alone, as a program that connects to `port`; `None` if it is no program.
    pub fn client_program(self, case: &Case, port: u16) -> Option<Process> {
        match self {
            Self::OpenSsl => Some(openssl::client_program(case, port)),
            Self::GnuTls => Some(gnutls::client_program(case, port)),
            Self::Rustls => None,
        }
    }

    /// What its client and its server say when a handshake is complete; empty if it is no program.
    pub const fn handshake_marks(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenSsl => (openssl::CLIENT_CONNECTED, openssl::SERVER_CONNECTED),
            Self::GnuTls => (gnutls::CONNECTED, gnutls::CONNECTED),
            Self::Rustls => ("", ""),
        }
    }
}

/// A peer during a meeting. All calls wait until what they ask for has happened, and panic if it does not.
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
    fn update_keys(&mut self);

    /// The keying material that it exports for [`crate::case::EXPORTER_LABEL`].
    fn keying_material(&mut self) -> Vec<u8>;

    /// The name that our client asked for, as it understood it.
    fn expect_server_name(&mut self, name: &str);

    /// The application protocol that it agreed to.
    fn expect_protocol(&mut self, name: &str);

    /// What our side must send for the peer to close, if it takes no other orders.
    fn closes_on(&self) -> Option<&'static [u8]> {
        None
    }

    /// Closes the connection properly.
    fn close(&mut self);

    /// Has understood our `close_notify`.
    fn expect_close(&mut self);

    /// Has received this alert.
    fn expect_alert(&mut self, alert: AlertDescription);

    /// Disappears without a farewell.
    fn vanish(&mut self);
}
