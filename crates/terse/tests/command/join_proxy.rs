//! `terse join-proxy` by itself: its options and configuration, and what it says.

use std::fs;
use std::io::ErrorKind;

use crate::common::{Server, connect, json, run, terse};

/// Runs a command that does what it should.
fn ok(arguments: &[&str]) {
    let mut command = terse();
    command.args(arguments);
    let outcome = run(command);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

#[cfg(unix)]
#[test]
fn a_join_proxy_says_at_its_end_what_it_has_done() {
    let registrar = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = terse();
    let address = registrar.local_addr().unwrap().to_string();
    command.args(["join-proxy", "--listen", "127.0.0.1:0", "--registrar", &address, "--per-address", "1", "--json"]);
    let mut proxy = Server::start(command);
    let mut first = connect(&proxy.address);
    let (relayed, _) = registrar.accept().unwrap();
    let second = connect(&proxy.address);
    let read = std::io::Read::read(&mut first, &mut [0]);
    let is_closed = read.as_ref().map_or_else(|error| error.kind() != ErrorKind::WouldBlock, |len| *len == 0);
    assert!(is_closed, "the first one of this address makes room: {read:?}");
    let (second_end, _) = registrar.accept().unwrap();
    proxy.ask_to_end();
    let report = json(&proxy.line());
    assert_eq!((&report["relayed"], &report["made_room"]), (&2.into(), &1.into()), "{report}");
    assert_eq!(proxy.wait(), Some(0));
    drop((second, second_end, relayed));
}

/// The registrar is played by the test: it returns each message, and thereby the header with it.
#[cfg(unix)]
#[test]
fn a_join_proxy_for_datagrams_runs_from_options_and_from_its_configuration() {
    let registrar = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = registrar.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((len, from)) = registrar.recv_from(&mut buffer) {
            registrar.send_to(&buffer[..len], from).unwrap();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    ok(&["join-proxy", "init", "--out", &out, "--udp-mode", "stateful", "--udp-registrar", &address]);
    let config = folder.path().join("join-proxy.toml");
    let text = fs::read_to_string(&config)
        .unwrap()
        .replace("[::]:8443", "127.0.0.1:0")
        .replace("[fe80::1%eth0]:5684", "127.0.0.1:0");
    let text = text.replace("discovery_port = 5683", "discovery_port = 0");
    let text =
        text.replace("announce = true", "announce = false").replace("on_link = []", "on_link = [\"127.0.0.0/8\"]");
    fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    ok(&["join-proxy", "check", "--config", &config]);
    let options =
        ["--listen", "127.0.0.1:0", "--udp", "127.0.0.1:0", "--udp-mode", "stateless", "--udp-registrar", &address];
    for options in [&[&options[..], &["--on-link", "127.0.0.1/32"]].concat()[..], &["--config", &config]] {
        let mut command = terse();
        command.args(["join-proxy", "--json"]).args(options);
        let mut proxy = Server::start(command);
        let line = proxy.line();
        let pledge = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        pledge.connect(line.strip_prefix("udp ").expect("where devices send datagrams to")).unwrap();
        pledge.set_read_timeout(Some(core::time::Duration::from_millis(100))).unwrap();
        let mut buffer = [0; 100];
        let answered = (0..3_000).find_map(|_| {
            pledge.send(b"hello").unwrap();
            pledge.recv(&mut buffer).ok()
        });
        assert_eq!(&buffer[..answered.expect("an answer")], b"hello");
        proxy.ask_to_end();
        let mut line = proxy.line();
        if line.starts_with("discovery ") {
            line = proxy.line(); // the configuration has it
        }
        let report = json(&line);
        assert!(report["udp"]["answered"].as_u64() >= Some(1), "{report}");
        assert_eq!((&report["udp"]["off_link"], &report["relayed"]), (&0.into(), &0.into()), "{report}");
        assert_eq!(proxy.wait(), Some(0));
    }
    // What belongs together is said together.
    for (options, said) in [
        (vec!["--udp", "127.0.0.1:0"], "--udp-mode"),
        (vec!["--udp-mode", "stateful", "--listen", "127.0.0.1:0"], "--udp"),
        (vec!["--udp", "127.0.0.1:0", "--udp-mode", "stately", "--udp-registrar", &address], "stateful or stateless"),
        (vec![], "--listen"),
    ] {
        let mut command = terse();
        command.arg("join-proxy").args(options);
        let refused = run(command);
        refused.refused(2, &[]);
        assert!(refused.stderr.contains(said), "{refused:?}");
    }
}

#[test]
fn a_check_of_a_join_proxy_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("join-proxy.toml").display().to_string();
    let check = |text: &str| {
        fs::write(&config, text).unwrap();
        let mut command = terse();
        command.args(["join-proxy", "check", "--config", &config]);
        run(command)
    };
    let listen = "listen = \"127.0.0.1:0\"\n";
    check("listen = \"nowhere\"\n").refused(1, &["join-proxy.toml", "listen", "HOST:PORT"]);
    check("listen = \"192.0.2.1:0\"\n").refused(1, &["192.0.2.1", "choose another address"]);
    check(&format!("{listen}registrars = [\"x\"]\n")).refused(1, &["join-proxy.toml", "line 2", "HOST:PORT"]);
    check(&format!("{listen}[limits]\nper_address = 0\n")).refused(1, &["join-proxy.toml", "give 1 or more"]);
    check(&format!("{listen}[limits]\nconnections = 100000\n")).refused(1, &["65536", "give less"]);
    let udp = "[udp]\nmode = \"stateful\"\nregistrars = [\"nowhere.invalid:5684\"]\n";
    check(&format!("{udp}listen = \"nowhere\"\n")).refused(1, &["join-proxy.toml", "listen", "HOST:PORT"]);
    check(&format!("{udp}listen = \"192.0.2.1:0\"\n")).refused(1, &["192.0.2.1", "choose another address"]);
    check(&format!("{udp}listen = \"[::]:0\"\n")).refused(1, &["[::]:0", "as in [fe80::1%eth0]:5684"]);
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let discovery = format!("discovery = true\ndiscovery_port = {}\n", taken.local_addr().unwrap().port());
    check(&format!("{udp}listen = \"127.0.0.1:0\"\n{discovery}"))
        .refused(1, &["questions cannot arrive", "choose another address or port"]);
    let warned = check(&format!("announce = true\n{udp}listen = \"127.0.0.1:0\"\n"));
    assert!(warned.stdout.contains("nobody else reaches") && warned.stdout.contains("no address"), "{warned:?}");
    let many = vec!["\"[::1]:1\""; 17].join(", ");
    check(&format!("{listen}registrars = [{many}]\n")).refused(1, &["16 registrars"]);
    // Nobody listens at port 1, and nobody else reaches a loopback address.
    let warned = check(&format!("{listen}registrars = [\"127.0.0.1:1\"]\nannounce = true\n"));
    assert_eq!(warned.code, Some(0), "{warned:?}");
    for part in ["nobody else reaches a loopback address", "127.0.0.1:1 cannot be reached", "the join proxy can run"] {
        assert!(warned.stdout.contains(part), "{part}: {warned:?}");
    }
    // Nothing is replaced, and options do not go with a file.
    let mut init = terse();
    init.args(["join-proxy", "init", "--out"]).arg(folder.path());
    run(init).refused(1, &["join-proxy.toml"]);
    let mut both = terse();
    both.args(["join-proxy", "--config", &config, "--listen", "127.0.0.1:0"]);
    run(both).refused(2, &["--config"]);
}

/// The registrar is played by the test: it says by CoAP where it takes JPY, and returns each message that comes there.
#[cfg(unix)]
#[test]
fn a_join_proxy_for_datagrams_is_found_by_coap_and_finds_a_registrar() {
    use std::net::UdpSocket;
    let [core, jpy] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let (ask, links) =
        (core.local_addr().unwrap().to_string(), format!("<jpy://{}>;rt=brski.rjp", jpy.local_addr().unwrap()));
    std::thread::spawn(move || {
        answer(&core, |question| {
            assert!(question.ends_with(b"rt=brski.rjp"), "{question:?}");
            // The token of the question, and application/link-format.
            [&[0x58, 0x45, 0, 1], &question[4..12], &[0xc1, 40, 0xff], links.as_bytes()].concat()
        })
    });
    std::thread::spawn(move || answer(&jpy, <[u8]>::to_vec));
    let mut command = terse();
    command.args(["join-proxy", "--json", "--listen", "127.0.0.1:0", "--registrar", &ask]);
    command.args(["--udp", "127.0.0.1:0", "--udp-mode", "stateless", "--udp-ask", &ask]);
    command.args(["--on-link", "127.0.0.1/32", "--udp-discovery", "--udp-discovery-port", "0"]);
    let mut proxy = Server::start(command);
    let place = |line: String, name: &str| line.strip_prefix(name).unwrap_or_else(|| panic!("{line}")).to_owned();
    let (udp, discovery) = (place(proxy.line(), "udp "), place(proxy.line(), "discovery "));
    let pledge = UdpSocket::bind("127.0.0.1:0").unwrap();
    pledge.set_read_timeout(Some(core::time::Duration::from_millis(100))).unwrap();
    let ask_until_answered = |to: &str, datagram: &[u8]| {
        let mut buffer = [0; 200];
        let answered = (0..3_000).find_map(|_| {
            pledge.send_to(datagram, to).unwrap();
            pledge.recv(&mut buffer).ok()
        });
        buffer[..answered.expect("an answer")].to_vec()
    };
    let question = [&b"\x50\x01\x00\x01\xbb.well-known\x04core"[..], b"\x4abrski-jp=*"].concat();
    let links = format!("<>;brski-jp={}", udp.rsplit(':').next().unwrap());
    assert!(ask_until_answered(&discovery, &question).ends_with(links.as_bytes()));
    assert_eq!(ask_until_answered(&udp, b"hello"), b"hello");
    proxy.ask_to_end();
    let report = json(&proxy.line());
    assert!(report["udp"]["answered"].as_u64() >= Some(1), "{report}");
    assert_eq!(proxy.wait(), Some(0));
}

/// Answers datagrams for as long as there are any.
#[cfg(unix)]
fn answer(socket: &std::net::UdpSocket, answer: impl Fn(&[u8]) -> Vec<u8>) {
    let mut buffer = [0; 2_000];
    while let Ok((len, from)) = socket.recv_from(&mut buffer) {
        socket.send_to(&answer(&buffer[..len]), from).unwrap();
    }
}
