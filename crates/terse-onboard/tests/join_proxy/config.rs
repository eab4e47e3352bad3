//! The table `[udp]` of the configuration.

use std::path::Path;

use terse_onboard::discovery::Place;
use terse_onboard::discovery::coap::{Reach, Sought};
use terse_onboard::join_proxy::{JoinProxyConfig, Mode, UdpLimits};

fn parse(udp: &str) -> Result<JoinProxyConfig, String> {
    JoinProxyConfig::parse(Path::new("join-proxy.toml"), udp).map_err(|error| error.to_string())
}

const LEAST: &str = "[udp]\nmode = \"stateful\"\nlisten = \"[fe80::1%eth0]:5684\"\nregistrars = [\"a.example:5684\"]\n";

#[test]
fn what_is_not_given_is_as_the_draft_says() {
    let config = parse(LEAST).unwrap();
    assert!(config.listen.is_none());
    let udp = config.udp.unwrap();
    assert_eq!((udp.mode, udp.limits()), (Mode::Stateful, UdpLimits::default()));
}

#[test]
fn registrars_are_asked_for_where_none_is_given() {
    let reach = |more: &str| {
        let text = LEAST.replace("registrars = [\"a.example:5684\"]\n", more);
        parse(&text).unwrap().udp.unwrap().reach()
    };
    assert_eq!(reach("registrars = [\"a.example:5684\"]\n"), None);
    assert_eq!(reach(""), Some(Reach::AllLinks));
    assert_eq!(reach("registrars = []\n"), Some(Reach::AllLinks));
    assert_eq!(reach("interfaces = [\"eth1\"]\n"), Some(Reach::Links(vec!["eth1".into()])));
    assert_eq!(reach("ask = [\"r.example:5683\"]\n"), Some(Reach::Hosts(vec![Place::new("r.example", 5683)])));
    let udp = parse(LEAST).unwrap().udp.unwrap();
    assert_eq!((udp.discovery, udp.discovery_port), (false, 5683));
    assert_eq!([Mode::Stateful, Mode::Stateless].map(Mode::sought), [Sought::Registrar, Sought::StatelessRegistrar]);
}

#[test]
fn the_least_rate_is_one_datagram_for_each_share() {
    parse(&format!("{LEAST}datagrams_per_second = 10\n")).unwrap();
    parse(&format!("{}datagrams_per_second = 32\n", LEAST.replace("stateful", "stateless"))).unwrap();
}

#[test]
fn every_problem_says_what_to_do() {
    for (text, said) in [
        ("announce = true\n", "give listen, or [udp]"),
        (&LEAST.replace("stateful", "stately"), "line 2"),
        (&LEAST.replace("fe80::1%eth0", "::"), "as in [fe80::1%eth0]:5684"),
        (&LEAST.replace("[fe80::1%eth0]", "0.0.0.0"), "as in [fe80::1%eth0]:5684"),
        (&format!("{LEAST}ask = [\"a.example:5683\"]\n"), "give one of"),
        (&format!("{LEAST}interfaces = [\"eth0\"]\n"), "give one of"),
        (
            &format!("{}interfaces = [{}]\n", LEAST.replace("\"a.example:5684\"", ""), ["\"a\""; 17].join(", ")),
            "leave some out",
        ),
        (&LEAST.replace("\"a.example:5684\"", &["\"a:1\""; 17].join(", ")), "leave some out"),
        (&format!("{LEAST}mtu = 255\n"), "give more"),
        (&format!("{LEAST}per_address = 0\n"), "give 1 or more"),
        (&format!("{LEAST}idle_seconds = 0\n"), "give 1 or more"),
        (&format!("{LEAST}per_interface = 257\n"), "give less"),
        (&format!("{LEAST}datagrams_per_second = 1000001\n"), "give less"),
        (&format!("{LEAST}datagrams_per_second = 9\n"), "give 10 or more"),
        (&format!("{LEAST}per_interface = 20\ndatagrams_per_second = 19\n"), "give 20 or more"),
        (&format!("{}datagrams_per_second = 31\n", LEAST.replace("stateful", "stateless")), "give 32 or more"),
        (&format!("{LEAST}on_link = [\"2001:db8::/48\"]\n"), "64 bits or more"),
        (&format!("{LEAST}on_link = [{}]\n", ["\"::1/128\""; 7].join(", ")), "leave some out"),
        (&format!("{LEAST}colour = 1\n"), "colour"),
    ] {
        let problem = parse(text).unwrap_err();
        assert!(problem.starts_with("join-proxy.toml: ") && problem.contains(said), "{problem}");
    }
}
