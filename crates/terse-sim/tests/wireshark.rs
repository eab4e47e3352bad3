//! Wireshark reads captures: the engine's handshakes over every framing, decrypted with the keys in the same file; and
//! the caching extensions, by the dissector `tools/wireshark/terse.lua`. The tests need tshark.

mod engine;
mod forming;
mod mesh;
mod scripts;
mod tshark;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use engine::{Engine, Keys, LINE, Side};
use terse_sim::capture::View;
use terse_sim::host::Host;
use terse_sim::link::{Framing, Link};
use terse_sim::network::Network;
use terse_sim::tcp::Config;
use terse_sim::{Random, Time};
use terse_testkit::setup::Setup;
use terse_tls::cache::Schemes;
use terse_tls::{Datagrams, ProtocolVersion};
use tshark::File;

const TLS12: ProtocolVersion = ProtocolVersion::TLS_1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS_1_3;

/// Returns a setup with certificates on both sides, in this version, over datagrams of this length or a stream.
fn setup(version: ProtocolVersion, datagram: Option<usize>) -> Setup {
    let provider = &terse_rustcrypto::PROVIDER;
    let setup = Setup::mutual(provider, provider, "p256x3").only(version);
    match datagram {
        Some(max_datagram) => setup.in_datagrams(Datagrams::default().max_datagram(max_datagram)),
        None => setup,
    }
}

/// Runs a connection over this link, and returns its capture.
fn capture(link: Link, mut setup: Setup, name: &str) -> File {
    let keys = Arc::new(Keys::default());
    setup.client.key_log(keys.clone());
    let is_datagrams = setup.client.config().common().datagrams().is_some();
    let ipv6 = !matches!(link.framing, Framing::Ethernet);
    let address = |last: u8| -> IpAddr {
        if ipv6 {
            Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last.into()).into()
        } else {
            Ipv4Addr::new(10, 0, 0, last).into()
        }
    };
    let tcp = (!is_datagrams).then(Config::linux);
    let server = SocketAddr::new(address(2), 4433);
    let client = Side::Client(Arc::new(setup.client.build().unwrap()), server);
    let client = Engine::new(client, tcp.clone(), Random::new(1, 10));
    let server = Engine::new(Side::Server(Arc::new(setup.server.build().unwrap())), tcp, Random::new(1, 11));

    let mut network = Network::new(1);
    let client = network.add(Host::new(address(1), client, Random::new(1, 12)));
    let server = network.add(Host::new(address(2), server, Random::new(1, 13)));
    let link = network.connect(client, server, link);
    network.capture(link, View::Frames);
    network.run_until(Time::from_millis(24 * 3_600_000));
    for node in [client, server] {
        assert_eq!(network.node(node).application.heard, LINE, "{name}");
    }
    let books = network.conservation();
    assert!(books.holds(), "{name}: {books}");
    let keys = keys.0.lock().expect("nobody panicked");
    File::new(name, &network.captured().to_pcapng(&keys))
}

#[test]
fn handshakes_over_every_framing_are_read_and_decrypted() {
    if !tshark::is_there() {
        return;
    }
    for (profile, version, datagram, protocol) in [
        ("ethernet", TLS13, None, "tls"),
        ("ethernet", TLS12, None, "tls"),
        ("ethernet-127", TLS13, None, "tls"),
        ("ethernet", TLS12, Some(1400), "dtls"),
        ("nb-iot", TLS13, None, "tls"),
        ("ieee802154", TLS13, None, "tls"),
        ("ieee802154", TLS12, Some(1024), "dtls"),
    ] {
        let name = format!("{profile} {protocol} {version:?}");
        let link: Link = profile.parse().expect("a profile");
        let file = capture(link, setup(version, datagram), &name);
        assert_eq!(file.fields("_ws.malformed || frame.cap_len != frame.len", &["frame.number"]), [""; 0], "{name}");
        // 0 is bad, 1 is good.
        let of_ip = if profile.starts_with("ethernet") { "ip" } else { "ipv6" };
        let transport = if protocol == "tls" { "tcp" } else { "udp" };
        let checksums = format!("{transport}.checksum.status == 1 && {of_ip}");
        assert_eq!(file.count(&checksums), file.count(transport), "{name}: checksums");
        assert_eq!(file.count("ip.checksum.status == 0 || wpan.fcs_ok == 0"), 0, "{name}: checks of the layers below");
        // ClientHello is not protected; Finished is visible only after decryption.
        assert_eq!(file.count(&format!("{protocol}.handshake.type == 20")), 2, "{name}: Finished");
        let line: String = LINE.iter().map(|byte| format!("{byte:02x}")).collect();
        let data = file.fields(&format!("{protocol}.app_data || data.data"), &["data.data"]);
        assert_eq!(data.iter().filter(|value| value.contains(&line)).count(), 2, "{name}: {data:?}");
    }
}

#[test]
fn lost_frames_say_so() {
    if !tshark::is_there() {
        return;
    }
    let mut link = Link::ieee802154();
    link.up.loss = 0.3;
    let file = capture(link, setup(TLS12, Some(1024)), "lost frames");
    let (lost, all) = (file.count("frame.comment == \"lost\""), file.count("frame"));
    assert!(lost > 0 && lost < all / 2, "{lost} of {all}");
    // The link layer repeats lost frames, and DTLS the flights of those that it gave up.
    assert!(file.count("dtls.handshake.type == 20") >= 2);
}

#[test]
fn lorawan_frames_are_read() {
    if !tshark::is_there() {
        return;
    }
    let link = Link::lorawan(7).with_paths(|path| path.duty_cycle = 1.0);
    let file = capture(link, setup(TLS12, Some(1200)), "lorawan");
    assert_eq!(file.count("_ws.malformed"), 0);
    let up = file.count("loratap && lorawan.mhdr.mtype == 2");
    let down = file.count("loratap && lorawan.mhdr.mtype == 3");
    assert!(up > 2 && down > 2, "{up} up, {down} down");
    assert_eq!(file.count("frame"), up + down);
    assert_eq!(file.count("lorawan.fport in {1..4, 20, 21}"), up + down);
}

/// The dissector shows the extensions of a handshake in which everything comes from the cache.
#[test]
fn the_dissector_shows_the_extensions_of_every_scheme() {
    if !tshark::is_there() {
        return;
    }
    let transports = [(TLS12, None, "tls"), (TLS13, None, "tls"), (TLS12, Some(1400), "dtls")];
    for (version, datagram, protocol) in transports {
        for (scheme, schemes) in
            [("rfc7924", Schemes::RFC7924), ("bithac", Schemes::BITHAC), ("compact", Schemes::COMPACT)]
        {
            let name = format!("{scheme} {protocol} {version:?}");
            let setup = setup(version, datagram).with_frozen_cache(schemes);
            let file = capture(Link::ethernet(1500), setup, &name);
            // The fields are those of the hello and of the answer, which in TLS 1.3 is EncryptedExtensions in the frame
            // of ServerHello. Later frames are ignored: where a Certificate is only a fingerprint, Wireshark takes it
            // for a malformed one.
            let hellos = format!("{protocol}.handshake.type in {{1, 2}}");
            let fields = [
                "terse.malformed",
                "cached_info.type",
                "cached_info.hash_value",
                "client_cached_info.type",
                "client_cached_info.ticket",
                "client_cached_info.index",
                "compact_cache.ticket",
                "compact_cache.parts",
            ];
            let lines = file.fields(&hellos, &fields);
            let (answer, offers) = lines.split_last().expect("an answer");
            assert!(!offers.is_empty() && offers.iter().all(|offer| *offer == offers[0]), "{name}: {lines:?}");
            // The numbers of hexadecimal digits of an offer: of the hash value and of the tickets.
            let offer: Vec<&str> = offers[0].split('|').collect();
            let digits = [offer[2].len(), offer[4].len(), offer[6].len()];
            let (types, expected, selection) = match scheme {
                "rfc7924" => (["1", ""], [64, 0, 0], "|1||||||"),
                "bithac" => (["1", "1"], [64, 16, 0], "|1||1||0||"),
                _ => (["", ""], [0, 0, 16], "|||||||0x07"),
            };
            assert_eq!(([offer[1], offer[3]], digits), (types, expected), "{name}: {offer:?}");
            assert_eq!(answer, selection, "{name}");
            assert_eq!(offer[0], "", "{name}: malformed");
            // The handshake was decrypted if the client's Finished is visible.
            assert_ne!(file.count(&format!("{protocol}.handshake.type == 20")), 0, "{name}: Finished");
        }
    }
}

#[test]
fn the_dissector_shows_a_first_contact() {
    if !tshark::is_there() {
        return;
    }
    let mut setup = setup(TLS13, None);
    let stores = terse_testkit::setup::Stores::default();
    let schemes = Schemes::COMPACT;
    setup.client.cache(Some(terse_tls::cache::ClientCache::new(stores.client_cache.clone(), schemes)));
    setup.server.cache(Some(terse_tls::cache::ServerCache::new(stores.server_cache.clone(), schemes)));
    let file = capture(Link::ethernet(1500), setup, "first contact");
    assert_eq!(file.count("_ws.malformed || terse.malformed"), 0);
    let support = ["client_cached_info.support_only", "compact_cache.support_only"];
    assert_eq!(file.fields("tls.handshake.type == 1", &support), ["1|1"]);
    assert_eq!(file.fields("tls.handshake.type == 8", &support), ["|1"]);
}
