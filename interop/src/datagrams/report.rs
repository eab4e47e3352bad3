//! The report of `terse` about a connection is compared with the case.

use serde_json::{Value, json};
use terse_tls::summary::AuthenticatedBy;

use crate::case::Case;
use crate::meeting::expected_peer;
use crate::peer::Role;

/// The report of a connection over datagrams.
#[derive(Clone, Debug)]
pub struct Report(pub Value);

impl Report {
    /// Checks that the connection succeeded and agreed on what `case` wants. `role` is ours.
    pub fn check(&self, role: Role, case: &Case) {
        let Self(report) = self;
        assert!(report["error"].is_null(), "{report}");
        let version = case.version().map(|version| format!("D{version}"));
        assert_eq!((&report["version"], &report["transport"]), (&json!(version), &json!("datagram")));
        if let [suite] = case.suites[..] {
            assert_eq!(report["cipher_suite"], suite.to_string());
        }
        if let [group] = case.server_groups[..] {
            assert_eq!(report["group"], group.to_string());
        }
        let (name, by) = expected_peer(role, case);
        let is_cached = ["server_certificate", "client_certificate"][usize::from(role == Role::Server)];
        let is_cached = report["cached"].as_array().is_some_and(|cached| cached.iter().any(|it| it == is_cached));
        let by = if is_cached { AuthenticatedBy::CachedCertificate } else { by };
        assert_eq!(report["peer"]["authenticated_by"], by.name());
        if let Some(name) = name {
            assert_eq!(report["peer"]["name"], name);
        }
    }

    /// Returns the mode, for example `full` or `resumed`.
    pub fn mode(&self) -> &str {
        self.0["mode"].as_str().unwrap_or_default()
    }

    /// Returns a number, such as `retransmissions`.
    pub fn number(&self, name: &str) -> u64 {
        self.0[name].as_u64().unwrap_or_else(|| panic!("no number {name}: {}", self.0))
    }
}
