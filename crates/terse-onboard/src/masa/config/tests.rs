//! Every mistake in a configuration is told with its line.

use std::path::Path;

use terse_brski::masa::{Claims, Policy};

use super::{Authentication, MasaConfig};

const TEXT: &str = r#"listen = "127.0.0.1:0"
database = "masa.db"
[tls]
chain = "masa.pem"
key = "/etc/keys/masa.key"
[voucher_signer]
chain = "voucher.pem"
key = "voucher.key"
[manufacturer]
anchors = "ca/ca.pem"
masa_url = "masa.maker.example:9443"
"#;

fn parse(text: &str) -> Result<MasaConfig, String> {
    MasaConfig::parse(Path::new("etc/masa.toml"), text).map_err(|error| error.to_string())
}

#[test]
fn what_is_left_out_has_its_default() {
    let config = parse(TEXT).unwrap();
    assert_eq!(config.authentication, Authentication::Optional);
    assert_eq!(config.policy, Policy::default());
    assert_eq!(config.limits.vouchers_per_device_and_day, 100);
    assert!(config.customers.is_empty());
}

#[test]
fn paths_are_relative_to_the_file() {
    let text =
        format!("{TEXT}ca = \"ca\"\n[[customer]]\nname = \"plant\"\nsecret_file = \"plant.secret\"\nca = \"x\"\n");
    let config = parse(&text).unwrap();
    assert_eq!(config.database.to_string(), "etc/masa.db");
    assert_eq!(config.tls.key, Path::new("/etc/keys/masa.key"));
    assert_eq!(config.manufacturer.ca.as_deref(), Some(Path::new("etc/ca")));
    assert_eq!(config.customers[0].secret_file.as_deref(), Some(Path::new("etc/plant.secret")));
    assert_eq!(config.customers[0].ca.as_deref(), Some(Path::new("etc/x")));
}

#[test]
fn the_policy_and_limits_are_read() {
    let text = format!(
        "authentication = \"required\"\n{TEXT}[policy]\nclaims = \"sales-list\"\n[policy.nonceless]\nlifetime = 600\npin = \"highest\"\n"
    );
    let config = parse(&text).unwrap();
    assert_eq!(config.authentication, Authentication::Required);
    assert_eq!(config.policy.claims, Claims::SalesList);
    assert_eq!(config.policy.nonceless.unwrap().lifetime, 600);
}

#[test]
fn every_mistake_names_the_file_and_the_line() {
    let cases = [
        (TEXT.replace("listen", "lisen"), "etc/masa.toml: line 1: unknown field `lisen`"),
        (TEXT.replace("127.0.0.1:0", "nowhere"), "etc/masa.toml: line 1: invalid socket address"),
        (TEXT.replace("masa.maker.example:9443", "http://x/"), "etc/masa.toml: line 11: "),
        (TEXT.replace("key = \"voucher.key\"\n", ""), "etc/masa.toml: line 6: missing field `key`"),
        (format!("{TEXT}[policy]\nclaims = \"whoever\"\n"), "etc/masa.toml: line 13: unknown variant `whoever`"),
        (format!("{TEXT}[limits]\nconnections = -1\n"), "etc/masa.toml: line 13: invalid value"),
        (format!("{TEXT}["), "etc/masa.toml: line 12: "),
    ];
    for (text, expected) in cases {
        let error = parse(&text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}
