use alloc::vec::Vec;
use core::time::Duration;

use pki_types::UnixTime;

use super::{AuditPolicy, Devices, Manufacturer, NoncelessEvents, Policy};
use crate::certificate::SerialNumberField;
use crate::registrar::{AuditState, Joining, RequestRecord, RequestState};

#[test]
fn a_policy_survives_storage() {
    let manufacturer = Manufacturer {
        serial_number_field: SerialNumberField::CommonName,
        ignores_not_after: true,
        devices: Devices::ListedOrAsked(Vec::from(["WI-3005".into()])),
        masa_url: Some("masa.maker.example".into()),
        voucher_anchors: Vec::from([b"der".to_vec()]),
        opaque_vouchers: true,
        audit: AuditPolicy {
            is_ignored: true,
            known_domains: Vec::from([b"domain".to_vec()]),
            accepts_unknown_domains: true,
            since: Some(UnixTime::since_unix_epoch(Duration::from_secs(7))),
            nonceless: NoncelessEvents::All,
            accepts_arbitrary_truncation: true,
            accepts_later_versions: true,
        },
        ..Manufacturer::new("Maker", Vec::from([b"der".to_vec()]))
    };
    let policy = Policy { manufacturers: Vec::from([manufacturer]), own_names: Vec::from(["a.example".into()]) };
    let json = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
    assert!(json.contains(r#""serial_number_field":"common-name""#), "{json}");
    assert!(json.contains(r#""devices":{"listed-or-asked":["WI-3005"]}"#), "{json}");
}

#[test]
fn what_is_left_out_has_the_strict_default() {
    let manufacturer: Manufacturer = serde_json::from_str(r#"{"name":"Maker","anchors":[],"devices":"all"}"#).unwrap();
    assert_eq!(manufacturer, Manufacturer::new("Maker", Vec::new()));
    assert_eq!(manufacturer.audit, AuditPolicy::default());
    assert_eq!(manufacturer.audit.nonceless, NoncelessEvents::Own);
    assert_eq!(serde_json::from_str::<Policy>("{}").unwrap(), Policy::default());
    for misspelt in [r#"{"own_name":[]}"#, r#"{"manufacturers":[{"name":"a","anchors":[],"devices":"some"}]}"#] {
        assert!(serde_json::from_str::<Policy>(misspelt).is_err(), "{misspelt}");
    }
}

#[test]
fn records_survive_storage() {
    let states = [
        RequestState::AwaitingOperator,
        RequestState::Allowed,
        RequestState::Rejected,
        RequestState::Forwarded {
            created_on: UnixTime::since_unix_epoch(Duration::from_secs(9)),
            sent: UnixTime::since_unix_epoch(Duration::from_secs(10)),
            registrar_request: b"request".to_vec(),
        },
        RequestState::Answered {
            registrar_request: b"request".to_vec(),
            content_type: "application/voucher-cms+json".into(),
            voucher: b"voucher".to_vec(),
        },
    ];
    for state in states {
        let received = UnixTime::since_unix_epoch(Duration::from_secs(8));
        let record = RequestRecord { request: [3; 32], received, state };
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<RequestRecord>(&json).unwrap(), record);
    }
    for audit in [AuditState::Requested, AuditState::Good, AuditState::Bad] {
        let joining = Joining { voucher_status: Some(true), audit, ldevid: Some([4; 32]), ..Joining::new([5; 32]) };
        let json = serde_json::to_string(&joining).unwrap();
        assert_eq!(serde_json::from_str::<Joining>(&json).unwrap(), joining);
    }
}
