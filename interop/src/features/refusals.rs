//! What must not succeed, whichever side has to refuse it: the other side hears why.

use terse_tls::{AlertDescription, CertificateError, CipherSuite, Error};

use super::{Cell, Feature};
use crate::case::Case;
use crate::peer::{Peer, Role};
use crate::pki::Holder;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("client_refuses_unknown_ca", |cell| {
            let case = Case { server: Holder::Stranger, ..case() };
            client_refuses(cell, &case, AlertDescription::UNKNOWN_CA);
        }),
        Feature::new("client_refuses_expired_certificate", |cell| {
            let case = Case { server: Holder::Expired, ..case() };
            client_refuses(cell, &case, AlertDescription::CERTIFICATE_EXPIRED);
        }),
        Feature::new("client_refuses_wrong_name", wrong_name),
        Feature::new("server_refuses_unknown_ca", |cell| {
            let case = Case { client: Some(Holder::Stranger), ..case() };
            server_refuses(cell, &case, AlertDescription::UNKNOWN_CA);
        }),
        Feature::new("server_refuses_expired_certificate", |cell| {
            let case = Case { client: Some(Holder::Expired), ..case() };
            server_refuses(cell, &case, AlertDescription::CERTIFICATE_EXPIRED);
        }),
        Feature::new("server_refuses_missing_certificate", |cell| {
            let case = Case { client: None, ..case() };
            server_refuses(cell, &case, AlertDescription::CERTIFICATE_REQUIRED);
        }),
        Feature::new("server_refuses_when_no_suite_is_common", no_common_suite),
    ]
}

fn case() -> Case {
    Case::mutual(&terse_aws_lc::PROVIDER)
}

fn client_refuses(cell: Cell, case: &Case, alert: AlertDescription) {
    let mut meeting = cell.meet(case);
    match cell.role {
        Role::Client => drop(meeting.ours_refuses(alert)),
        Role::Server => meeting.peer_refuses(said(cell, alert)),
    }
}

fn server_refuses(cell: Cell, case: &Case, alert: AlertDescription) {
    let mut meeting = cell.meet(case);
    match cell.role {
        Role::Client => meeting.peer_refuses(said(cell, alert)),
        Role::Server => drop(meeting.ours_refuses(alert)),
    }
}

/// How a peer says `alert`: GnuTLS's programs have one alert each for whatever displeases them in a certificate.
fn said(cell: Cell, alert: AlertDescription) -> AlertDescription {
    match (cell.peer, cell.role) {
        (_, _) if alert == AlertDescription::CERTIFICATE_REQUIRED => alert,
        (Peer::GnuTls, Role::Client) => AlertDescription::ACCESS_DENIED,
        (Peer::GnuTls, Role::Server) => AlertDescription::BAD_CERTIFICATE,
        (Peer::OpenSsl | Peer::WolfSsl55 | Peer::WolfSsl | Peer::MbedTls | Peer::Rustls, _) => alert,
    }
}

fn wrong_name(cell: Cell) {
    let mut meeting = cell.meet(&Case { expects_wrong_name: true, ..case() });
    match cell.role {
        Role::Client => {
            let error = meeting.ours_refuses(AlertDescription::BAD_CERTIFICATE);
            assert_eq!(error, Error::Certificate(CertificateError::WrongName));
        }
        Role::Server => meeting.peer_refuses(AlertDescription::BAD_CERTIFICATE),
    }
}

fn no_common_suite(cell: Cell) {
    let ours = Case { suites: vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256], ..case() };
    let theirs = Case { suites: vec![CipherSuite::TLS_AES_256_GCM_SHA384], ..case() };
    let mut meeting = crate::meeting::Meeting::between(cell.peer, cell.role, &cell.case(&ours), &cell.case(&theirs));
    match cell.role {
        Role::Client => meeting.peer_refuses(AlertDescription::HANDSHAKE_FAILURE),
        Role::Server => drop(meeting.ours_refuses(AlertDescription::HANDSHAKE_FAILURE)),
    }
}
