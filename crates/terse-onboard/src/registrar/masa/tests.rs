use core::net::SocketAddr;

use terse_brski::registrar::{Manufacturer, Policy};
use terse_pki::{Authority, AuthorityOptions, RegistrarOptions, Validity};

use super::super::https::permitted;
use super::super::settings::PROVIDER;
use super::*;

#[test]
fn a_location_stays_on_the_server() {
    let base = "https://masa.example:9443/.well-known/brski";
    for (location, expected) in [
        ("/log/17", Some("/log/17")),
        ("https://masa.example:9443/log/17", Some("/log/17")),
        ("https://MASA.example:9443/log/17", Some("/log/17")),
        ("https://masa.example/log/17", None),
        ("https://other.example:9443/log/17", None),
        ("//other.example/log/17", None),
        ("log/17", None),
        ("http://masa.example:9443/log/17", None),
    ] {
        assert_eq!(on_same_server(base, location), expected, "{location}");
    }
}

fn registrar(masa_url: Option<&str>) -> Registrar {
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::days(1_760_000_000, 365));
    let authority = Authority::new(&options).unwrap();
    let own = authority.issue_registrar(&RegistrarOptions::new("registrar.plant.example", options.validity)).unwrap();
    let mut policy = Policy::default();
    policy.manufacturers.push(Manufacturer::new("maker", vec![authority.root().to_vec()]));
    policy.manufacturers[0].masa_url = masa_url.map(Into::into);
    policy.own_names.push("1.1.1.1".into());
    Registrar::new(PROVIDER, own.chain().to_vec(), policy).unwrap()
}

#[test]
fn a_name_of_a_certificate_may_not_resolve_to_a_local_address() {
    let addresses = |text: &[&str]| text.iter().map(|one| one.parse().unwrap()).collect::<Vec<SocketAddr>>();
    let choose = |registrar: &Registrar, found: &[&str]| {
        let url = registrar.masa_url("maker", Some("masa.example")).unwrap();
        permitted(addresses(found).into_iter(), |address| registrar.permits(&url, address))
    };
    let open = registrar(None);
    let decided = MasaError::Https(HttpsError::NotPermitted);
    assert!(decided.is_own() && !decided.is_outage());
    for local in ["127.0.0.1:443", "10.0.0.1:443", "[::1]:443", "[fe80::1]:443", "169.254.169.254:443", "1.1.1.1:443"] {
        assert!(matches!(choose(&open, &[local]), Err(HttpsError::NotPermitted)), "{local}");
        let both = choose(&open, &[local, "8.8.8.8:443"]).unwrap();
        assert_eq!(both, addresses(&["8.8.8.8:443"]), "{local}");
    }
    assert!(matches!(choose(&open, &[]), Err(HttpsError::Unresolved)));
    // An operator may know better.
    assert_eq!(choose(&registrar(Some("masa.example")), &["10.0.0.1:443"]).unwrap(), addresses(&["10.0.0.1:443"]));
    // The first few are enough.
    assert_eq!(choose(&open, &["8.8.8.8:443"; 100]).unwrap().len(), 8);
}
