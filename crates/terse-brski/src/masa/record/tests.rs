use alloc::vec::Vec;
use core::time::Duration;

use pki_types::UnixTime;

use super::{Buyer, Device, IssuedVoucher, LogEntry};
use crate::voucher::{Assertion, Nonce};

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

#[test]
fn records_survive_storage() {
    let device = Device {
        is_blocked: true,
        sold_to: Vec::from([Buyer::Customer("Plant".into()), Buyer::Domain([1; 32])]),
        raw_public_keys_only: true,
        owner: Some([2; 32]),
        ..Device::new("WI-3005".into(), b"issuer".to_vec())
    };
    let json = serde_json::to_string(&device).unwrap();
    assert_eq!(serde_json::from_str::<Device>(&json).unwrap(), device);
    // As it was stored before there was the field.
    let old = json.replace(r#""raw_public_keys_only":true,"#, "");
    assert_ne!(old, json);
    assert!(!serde_json::from_str::<Device>(&old).unwrap().raw_public_keys_only);
    for expires_on in [None, Some(at(9))] {
        let voucher = IssuedVoucher { request: [3; 32], voucher: b"voucher".to_vec(), expires_on };
        let json = serde_json::to_string(&voucher).unwrap();
        assert_eq!(serde_json::from_str::<IssuedVoucher>(&json).unwrap(), voucher);
    }
    let nonce = Some(Nonce::new(b"-_XE9zK9q8Ll1qylMtLKeg").unwrap());
    let assertions = [
        (Assertion::Verified, "verified"),
        (Assertion::Logged, "logged"),
        (Assertion::Proximity, "proximity"),
        (Assertion::AgentProximity, "agent-proximity"),
    ];
    for ((assertion, name), nonce) in assertions.into_iter().zip([nonce, None].into_iter().cycle()) {
        let entry = LogEntry { date: at(7), domain_id: b"domain".to_vec(), key: [4; 32], nonce, assertion };
        let json = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<LogEntry>(&json).unwrap(), entry);
        assert!(json.contains(name), "{json}");
    }
}

#[test]
fn a_stored_nonce_is_checked_again() {
    let json = r#"{"date":7,"domain_id":[1],"key":[4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4],"nonce":NONCE,"assertion":"logged"}"#;
    let parse = |nonce: &str| serde_json::from_str::<LogEntry>(&json.replace("NONCE", nonce));
    assert!(parse("[65]").is_ok());
    assert!(parse("null").is_ok());
    assert!(parse("[]").is_err());
}
