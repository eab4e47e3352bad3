//! Scripted handshakes and EDHOC in captures: Wireshark reads records, datagrams and CoAP messages.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use terse_sim::capture::View;
use terse_sim::edhoc::{self, Client, Identity, Server, Transfer};
use terse_sim::host::{Application, Host};
use terse_sim::link::Link;
use terse_sim::network::Network;
use terse_sim::paper::Peers;
use terse_sim::script::{Handshake, Party, Peer};
use terse_sim::tcp::{Config, Nagle};
use terse_sim::{Random, Time};

use super::tshark::{self, File};

fn address(last: u16) -> IpAddr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last).into()
}

/// Runs two programs for ten seconds on a link with 6LoWPAN, and returns its capture.
fn capture<A: Application>(client: A, server: A, name: &str) -> File {
    let mut network = Network::new(1);
    let client = network.add(Host::new(address(1), client, Random::new(1, 1)));
    let server = network.add(Host::new(address(2), server, Random::new(1, 2)));
    let link = network.connect(client, server, Link::ieee802154());
    network.capture(link, View::Frames);
    network.run_until(Time::from_millis(10_000));
    assert!(network.conservation().holds(), "{name}");
    let file = File::new(name, &network.captured().to_pcapng(""));
    assert_eq!(file.fields("_ws.malformed || frame.cap_len != frame.len", &["frame.number"]), [""; 0], "{name}");
    file
}

fn scripted(handshake: &Handshake, name: &str) -> File {
    let peers = Peers::of_paper();
    let client = Config { nagle: Nagle::Off, ..Config::constrained() };
    let server = Config { nagle: Nagle::Off, loss_probe: false, ..Config::linux() };
    let remote = SocketAddr::new(address(2), 4433);
    let client = Peer::client(handshake, remote, &client, peers.dtls_client);
    capture(client, Peer::server(handshake, 4433, &server, peers.dtls_server), name)
}

/// Returns all numbers of a field, which may stand several times in a frame.
fn numbers(file: &File, filter: &str, field: &str) -> Vec<usize> {
    let lines = file.fields(filter, &[field]);
    lines.iter().flat_map(|line| line.split(',')).map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn scripts_look_like_application_data() {
    if !tshark::is_there() {
        return;
    }
    let peers = Peers::of_paper();
    for (handshake, protocol, header, name) in [
        (&peers.tls, "tls", 5, "script tls"),
        (&peers.dtls_mfl_1024, "dtls", 13, "script dtls 1024"),
        (&peers.dtls_mfl_512, "dtls", 13, "script dtls 512"),
    ] {
        let file = scripted(handshake, name);
        for (party, port) in [(Party::Client, "dstport"), (Party::Server, "srcport")] {
            let transport = if protocol == "tls" { "tcp" } else { "udp" };
            let filter = format!("{transport}.{port} == 4433 && {protocol}.record.content_type == 23");
            let records = numbers(&file, &filter, &format!("{protocol}.record.length"));
            let expected: Vec<usize> = handshake.parts(party).iter().map(|bytes| bytes - header).collect();
            assert_eq!(records, expected, "{name}: {party:?}");
        }
    }
}

#[test]
fn edhoc_is_coap() {
    if !tshark::is_there() {
        return;
    }
    let random = |stream| Random::new(1, stream);
    let own = Identity::generate("42-50-31-FF-EF-37-32-39", &[0x2B], random(10)).expect("it fits");
    let server = Identity::generate("example.edu", &[0x32], random(11)).expect("it fits");
    let remote = SocketAddr::new(address(2), edhoc::PORT);
    let transfer = Transfer::Reference;
    let client = Client::new(own.clone(), &server, transfer, remote, random(20), None);
    let server = Server::new(server, [&own], transfer, edhoc::PORT, random(21), None);
    let (client, server) = (edhoc::Peer::Client(Box::new(client)), edhoc::Peer::Server(Box::new(server)));
    let file = capture(client, server, "edhoc");
    let fields = ["coap.type", "coap.code", "coap.opt.uri_path_recon", "coap.payload_length"];
    let lines: Vec<String> = file.fields("coap", &fields);
    let parts: Vec<Vec<&str>> = lines.iter().map(|line| line.split('|').collect()).collect();
    let of = |index: usize| -> Vec<&str> { parts.iter().map(|parts| parts[index]).collect() };
    assert_eq!(of(0), ["0", "2", "0", "2"], "CON, ACK");
    assert_eq!(of(1), ["2", "68", "2", "68"], "POST, 2.04");
    assert_eq!(of(2), ["/.well-known/edhoc", "", "/.well-known/edhoc", ""]);
    // `true` and message_1; message_2; C_R and message_3.
    assert_eq!(of(3)[..3], ["38", "45", "20"]);
}
