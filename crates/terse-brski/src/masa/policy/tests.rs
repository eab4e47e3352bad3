use super::{Claims, Nonceless, PinChoice, Policy, Proximity};

#[test]
fn a_policy_survives_storage() {
    let policy = Policy {
        claims: Claims::SalesList,
        devices_without_record: true,
        proximity: Proximity::Optional,
        pledge_request_is_required: false,
        pin: PinChoice::RegistrarKey,
        nonceless: Some(Nonceless { lifetime: 1_200, pin: PinChoice::Highest }),
        max_age: None,
        pledge_max_age: None,
        clock_skew: 1,
        unknown_revocation_is_accepted: true,
        serial_numbers_are_unique: true,
        max_events: 7,
    };
    let json = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
    assert!(json.contains(r#""claims":"sales-list""#) && json.contains(r#""pin":"registrar-key""#), "{json}");
}

#[test]
fn what_is_left_out_has_the_strict_default() {
    let policy: Policy = serde_json::from_str("{}").unwrap();
    assert_eq!(policy, Policy::default());
    assert_eq!(policy.claims, Claims::FirstCome);
    assert_eq!(policy.nonceless, None);
    assert!(policy.pledge_request_is_required && !policy.devices_without_record);
    assert!(!policy.unknown_revocation_is_accepted && !policy.serial_numbers_are_unique);
    assert!(serde_json::from_str::<Policy>(r#"{"claim":"always"}"#).is_err());
}
