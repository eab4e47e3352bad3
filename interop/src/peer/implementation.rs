//! Says all that cells, tables and the relay ask about a peer. Each question has a default answer here, which fits most
//! peers; a peer's own file answers the others.

use std::net::TcpListener;

use terse_tls::{AlertDescription, ProtocolVersion};

use super::{Absence, Remote, Role, Way};
use crate::case::{Case, Sessions};
use crate::features::Carrier;
use crate::process::listener;
use crate::tap::Wire;

/// Another implementation of TLS: how it is found and started, what it cannot do, and what it does in a way of its own.
/// Roles are ours.
pub trait Implementation: Sync {
    /// Its name in reports and in the names of cells.
    fn name(&self) -> &'static str;

    /// What it says about its version, or why it cannot be used here. A program is compiled for that if need be.
    fn version(&self) -> Result<String, String>;

    /// Whether it speaks `version` of TLS, or of DTLS.
    fn speaks(&self, version: ProtocolVersion, carrier: Carrier) -> bool;

    // These functions start the peer. A peer that is a program starts its server and its client; one in this process starts
    // either.

    /// Starts its server on a port of its own, and returns the port. `None` if it is no program.
    fn server(&self, _: &Case) -> Option<(Box<dyn Remote>, u16)> {
        None
    }

    /// Starts its client, which connects, or sends datagrams, to `way`. `None` if it is no program.
    fn client(&self, _: &Case, _way: Way) -> Option<Box<dyn Remote>> {
        None
    }

    /// Makes the peer ready to meet us over TCP. Our side has sent nothing yet.
    fn start(&self, role: Role, case: &Case) -> (Box<dyn Remote>, Box<dyn Wire>) {
        let remote = match role {
            Role::Client => self.server(case).map(|(server, _)| server),
            Role::Server => self.client(case, Way::From(listener().0)),
        };
        let mut remote = remote.expect("a peer that is no program starts in a way of its own");
        let wire = remote.wire();
        (remote, wire)
    }

    /// Lets its client, which connects to `port`, meet its server, which listens, as often as `case` says. Both exchange
    /// [`PING`](crate::datagrams::PING) and [`PONG`](crate::datagrams::PONG). Only a peer that is no program is asked.
    fn meet_itself(&self, _: &Case, _listener: &TcpListener, _port: u16) {
        panic!("{} is a program, or it is not measured", self.name());
    }

    // These functions say which cells there are, and which of them are tried.

    /// The features that it is tried with, if these are few. The others are no cells, and what its handshakes cost over
    /// TCP is not measured.
    fn only_features(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// What it does not have. These cells are listed, and not tried.
    fn absences(&self) -> &'static [Absence] {
        &[]
    }

    // These functions are about handshakes.

    /// Whether it sends the certificates between its own and the root.
    fn sends_intermediates(&self) -> bool {
        true
    }

    /// Whether it can be told to take RSASSA-PSS.
    fn can_be_told_rsa_pss(&self) -> bool {
        true
    }

    /// Whether its client asks for compatibility mode (RFC 9846, E.4) when it is told to, or not to.
    fn asks_for_compatibility_mode(&self, is_told_to: bool) -> bool {
        is_told_to
    }

    /// Whether its server of TLS 1.3 sends a HelloRetryRequest for nothing but the cookie, when it is told to send one.
    fn asks_for_a_cookie_alone(&self) -> bool {
        true
    }

    /// When its server sends a cookie over datagrams.
    fn datagram_cookies(&self) -> DatagramCookies {
        DatagramCookies::AsTold
    }

    /// Whether its server of DTLS 1.2 sends a HelloVerifyRequest before it looks at the client's versions.
    fn sends_cookies_before_it_reads_versions(&self) -> bool {
        false
    }

    /// The length that its client asks for in `max_fragment_length`: the shortest that it can live with.
    fn max_fragment_length(&self) -> usize {
        512
    }

    /// Whether it staples OCSP responses, and its client shows those that it gets.
    fn staples(&self) -> bool {
        false
    }

    /// Whether its client refuses a certificate that was revoked, as a stapled response says.
    fn heeds_stapled_revocations(&self) -> bool {
        false
    }

    // These functions are about sessions.

    /// Whether its server of TLS 1.3 sends tickets to a client that has not said how it can use any.
    fn sends_tickets_unasked(&self) -> bool {
        true
    }

    /// Whether its client, when it resumes a session, offers the group that the server took before.
    fn remembers_groups(&self) -> bool {
        false
    }

    /// The sessions in which its server takes early data.
    fn early_data_sessions(&self) -> Sessions {
        Sessions::Sealed
    }

    /// Whether its server shows the early data that it has taken.
    fn shows_early_data(&self) -> bool {
        true
    }

    // These functions are about refusals.

    /// The alert that it sends where our side would send `alert` about a certificate.
    fn alert_about_certificate(&self, _: Role, alert: AlertDescription) -> AlertDescription {
        alert
    }

    /// How its server over TCP refuses a client without a certificate.
    fn refuses_missing_certificate(&self, version: ProtocolVersion) -> Refusal {
        Refusal::Alert(match version {
            ProtocolVersion::TLS_1_3 => AlertDescription::CERTIFICATE_REQUIRED,
            _ => AlertDescription::HANDSHAKE_FAILURE,
        })
    }

    /// The alert of its server for a client that has none of its versions. `version` is the one of the table.
    fn alert_about_version(&self, _version: ProtocolVersion, _: Carrier) -> AlertDescription {
        AlertDescription::PROTOCOL_VERSION
    }

    /// Whether it just leaves when a renegotiation is refused.
    fn leaves_without_renegotiation(&self) -> bool {
        false
    }

    // These functions are about the cost of handshakes, each implementation with itself.

    /// Whether handshakes over datagrams with certificates of `chain` are measured.
    fn is_measured_with(&self, _chain: &str) -> bool {
        true
    }

    /// Whether each connection of its client over datagrams comes from another port, so that the relay can tell them apart.
    fn changes_ports(&self) -> bool {
        true
    }
}

/// When a server sends a cookie over datagrams: a HelloVerifyRequest or a HelloRetryRequest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramCookies {
    /// It sends one when it is told to.
    AsTold,
    /// It always sends one; if it is told to, it does more than that.
    Always,
    /// It never sends one.
    Never,
}

/// How a peer refuses our side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It sends an alert.
    Alert(AlertDescription),
    /// It closes without an alert.
    Leaves,
}
