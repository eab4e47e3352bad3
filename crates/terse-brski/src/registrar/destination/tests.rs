use alloc::string::{String, ToString};
use std::net::IpAddr;

use super::DestinationRefused::{Address, LocalName, Malformed, Own};
use super::{DestinationRefused, MasaUrl};

fn own_names() -> [String; 3] {
    ["registrar.plant.example".into(), "9.9.9.9".into(), "2a00:1450::1".into()]
}

fn refusal(url: &str) -> Option<DestinationRefused> {
    MasaUrl::of_idevid(url, &own_names()).err()
}

#[test]
fn a_public_masa_is_followed() {
    for (url, base) in [
        ("masa.maker.example", "https://masa.maker.example/.well-known/brski"),
        ("masa.maker.example:9443", "https://masa.maker.example:9443/.well-known/brski"),
        ("https://masa.maker.example/masa", "https://masa.maker.example/masa"),
        ("1.1.1.1:443", "https://1.1.1.1:443/.well-known/brski"),
        ("[2001:4860:4860::8888]:443", "https://[2001:4860:4860::8888]:443/.well-known/brski"),
        ("notlocal.example", "https://notlocal.example/.well-known/brski"),
    ] {
        let url = MasaUrl::of_idevid(url, &own_names()).unwrap();
        assert_eq!(url.base(), base);
        assert!(!url.is_configured());
    }
}

#[test]
fn the_own_network_is_not_followed() {
    for (url, expected) in [
        ("127.0.0.1", Address),
        ("https://127.0.0.1:8080/admin", Address),
        ("[::1]:443", Address),
        ("[::ffff:10.0.0.1]", Address),
        ("[fe80::1]", Address),
        ("10.0.0.1", Address),
        ("192.168.1.1:443", Address),
        ("169.254.169.254", Address),
        ("0.0.0.0", Address),
        // What resolvers take for addresses.
        ("127.1", Address),
        ("0x7f.0.0.1", Address),
        ("a.0x7f", Address),
        ("1.2.3.4.5", Address),
        ("2130706433", LocalName),
        ("localhost", LocalName),
        ("LOCALHOST:443", LocalName),
        ("a.localhost", LocalName),
        ("printer.local", LocalName),
        ("printer.LOCAL", LocalName),
        ("router.home.arpa", LocalName),
        ("metadata.google.internal", LocalName),
        ("intranet", LocalName),
        ("registrar.plant.example", Own),
        ("Registrar.Plant.Example:8443", Own),
        ("9.9.9.9", Own),
        ("[2a00:1450::1]", Own),
        ("[::ffff:9.9.9.9]", Own),
    ] {
        // A host that no name or address can be is refused before.
        let found = refusal(url);
        assert!(found == Some(expected) || matches!(found, Some(Malformed(_))), "{url}: {found:?}");
        assert_ne!(found.map(|found| found.to_string()), None);
    }
    for url in ["127.0.0.1", "[::1]:443", "localhost", "printer.local", "registrar.plant.example", "9.9.9.9"] {
        assert!(!matches!(refusal(url), Some(Malformed(_))), "{url}");
    }
}

#[test]
fn what_is_no_https_url_is_malformed() {
    for url in
        ["", "http://masa.example/", "ftp://masa.example/", "https://user@masa.example/", "masa.example:0", "a b"]
    {
        assert!(matches!(refusal(url), Some(Malformed(_))), "{url}");
    }
}

#[test]
fn a_resolver_cannot_lead_to_the_own_network() {
    let url = MasaUrl::of_idevid("masa.maker.example", &own_names()).unwrap();
    for (address, is_permitted) in [
        ("1.1.1.1", true),
        ("2001:4860:4860::8888", true),
        ("127.0.0.1", false),
        ("192.168.0.7", false),
        ("::ffff:192.168.0.7", false),
        ("fd00::7", false),
        ("9.9.9.9", false),
        ("::ffff:9.9.9.9", false),
        ("2a00:1450::1", false),
    ] {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(url.permits(address, &own_names()), is_permitted, "{address}");
    }
}

#[test]
fn an_operator_can_configure_any_masa() {
    for url in ["127.0.0.1:9443", "masa", "https://registrar.plant.example/masa", "[fd00::1]"] {
        let url = MasaUrl::configured(url).unwrap();
        assert!(url.is_configured());
        assert!(url.permits("127.0.0.1".parse().unwrap(), &own_names()));
        assert!(url.permits("9.9.9.9".parse().unwrap(), &own_names()));
    }
    assert!(MasaUrl::configured("http://masa/").is_err());
}
