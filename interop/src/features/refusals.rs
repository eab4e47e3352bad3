//! A connection must fail, whichever side refuses it, and the other side receives the alert.

use terse_tls::{AlertDescription, CertificateError, CipherSuite, Error};

use super::{Carrier, Cell, Feature};
use crate::case::Case;
use crate::datagrams::loss::Loss;
use crate::datagrams::pair::Pair;
use crate::meeting::Meeting;
use crate::peer::{Refusal, Role};
use crate::pki::Holder;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("client_refuses_unknown_ca", |cell| {
            let case = Case { server: Holder::Stranger, ..case() };
            client_refuses(cell, &case, AlertDescription::UNKNOWN_CA);
        })
        .and_dtls(),
        Feature::new("client_refuses_expired_certificate", |cell| {
            let case = Case { server: Holder::Expired, ..case() };
            client_refuses(cell, &case, AlertDescription::CERTIFICATE_EXPIRED);
        })
        .and_dtls(),
        Feature::new("client_refuses_wrong_name", wrong_name).and_dtls(),
        Feature::new("server_refuses_unknown_ca", |cell| {
            let case = Case { client: Some(Holder::Stranger), ..case() };
            server_refuses(cell, &case, AlertDescription::UNKNOWN_CA);
        })
        .and_dtls(),
        Feature::new("server_refuses_expired_certificate", |cell| {
            let case = Case { client: Some(Holder::Expired), ..case() };
            server_refuses(cell, &case, AlertDescription::CERTIFICATE_EXPIRED);
        })
        .and_dtls(),
        Feature::new("server_refuses_missing_certificate", missing_certificate).and_dtls(),
        Feature::new("server_refuses_when_no_suite_is_common", no_common_suite).and_dtls(),
    ]
}

fn case() -> Case {
    Case::mutual(&terse_aws_lc::PROVIDER)
}

fn client_refuses(cell: Cell, case: &Case, alert: AlertDescription) {
    match cell.role {
        Role::Client => cell.ours_refuses(case, alert),
        Role::Server => cell.peer_refuses(case, cell.peer.alert_about_certificate(cell.role, alert)),
    }
}

fn server_refuses(cell: Cell, case: &Case, alert: AlertDescription) {
    match cell.role {
        Role::Client => cell.peer_refuses(case, cell.peer.alert_about_certificate(cell.role, alert)),
        Role::Server => cell.ours_refuses(case, alert),
    }
}

/// TLS 1.2 has no alert for it, and some peers send none at all.
fn missing_certificate(cell: Cell) {
    let alert =
        if cell.is_tls13() { AlertDescription::CERTIFICATE_REQUIRED } else { AlertDescription::HANDSHAKE_FAILURE };
    let case = Case { client: None, ..case() };
    if cell.carrier == Carrier::Udp {
        return server_refuses(cell, &case, alert);
    }
    let mut meeting = cell.meet(&case);
    match cell.role {
        Role::Server => {
            assert_eq!(meeting.ours_fails(), Error::Certificate(CertificateError::Required));
            meeting.remote.expect_alert(alert);
        }
        Role::Client => match cell.peer.refuses_missing_certificate(cell.version) {
            Refusal::Alert(alert) => meeting.peer_refuses(alert),
            Refusal::Leaves => meeting.peer_leaves(),
        },
    }
}

fn wrong_name(cell: Cell) {
    let case = Case { expects_wrong_name: true, ..case() };
    if cell.carrier == Carrier::Udp {
        return client_refuses(cell, &case, AlertDescription::BAD_CERTIFICATE);
    }
    let mut meeting = cell.meet(&case);
    match cell.role {
        Role::Client => {
            let error = meeting.ours_refuses(AlertDescription::BAD_CERTIFICATE);
            assert_eq!(error, Error::Certificate(CertificateError::WrongName));
        }
        Role::Server => meeting.peer_refuses(AlertDescription::BAD_CERTIFICATE),
    }
}

fn no_common_suite(cell: Cell) {
    let (one, other) = if cell.is_tls13() {
        (CipherSuite::TLS_CHACHA20_POLY1305_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384)
    } else {
        let one = CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256;
        (one, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384)
    };
    let ours = Case { suites: vec![one], ..case() };
    let theirs = Case { suites: vec![other], ..case() };
    let (ours, theirs) = (cell.case(&ours), cell.case(&theirs));
    if cell.carrier == Carrier::Udp {
        let mut pair = Pair::between(cell.peer, cell.role, &ours, &theirs, Loss::None);
        return match cell.role {
            Role::Client => pair.peer_refuses(AlertDescription::HANDSHAKE_FAILURE),
            Role::Server => pair.ours_refuses(AlertDescription::HANDSHAKE_FAILURE),
        };
    }
    let mut meeting = Meeting::between(cell.peer, cell.role, &ours, &theirs);
    match cell.role {
        Role::Client => meeting.peer_refuses(AlertDescription::HANDSHAKE_FAILURE),
        Role::Server => drop(meeting.ours_refuses(AlertDescription::HANDSHAKE_FAILURE)),
    }
}
