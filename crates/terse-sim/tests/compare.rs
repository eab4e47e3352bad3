//! Comparisons: each mode is what it says, bytes add up, the same seed gives the same result, and what BiTHaC found
//! is found again.

mod computing;

use core::time::Duration;
use std::sync::LazyLock;

use pki_types::ServerName;
use proptest::prelude::*;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_sim::compare::{
    Bytes, Comparison, Failed, IdentityKeys, IpVersion, Mode, Parties, Row, Setting, Unwatched, Version,
};
use terse_sim::link::{Direction, Framing, Link, PROFILES};
use terse_sim::packet::Packet;
use terse_sim::{Exchange, tcp};
use terse_testkit::rng::seeds;
use terse_tls::crypto::CryptoProvider;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::resume::ExternalPsk;
use terse_tls::{
    CipherSuite, ClientAuthentication, ClientConfig, Credential, Datagrams, EndpointLimits, HandshakeType, NamedGroup,
    ServerAddress, ServerConfig, SignatureScheme, Trust,
};

const NOW: u64 = 1_760_000_000;

/// The certificates of both sides.
struct Certificates {
    chain: String,
    authority: Authority,
    client: terse_pki::Credential,
    server: terse_pki::Credential,
}

impl Certificates {
    fn new(chain: &str) -> Self {
        let validity = Validity::days(NOW - 3600, 30);
        let authority = Authority::new(&AuthorityOptions::new(chain.parse().unwrap(), validity)).unwrap();
        let issue = |name: &str| authority.issue(&LeafOptions::new(name, validity)).unwrap();
        let (client, server) = (issue("sensor17.plant.example"), issue("broker.plant.example"));
        Self { chain: chain.into(), authority, client, server }
    }
}

fn parties(provider: &CryptoProvider, certificates: &Certificates) -> Parties {
    let Certificates { chain, authority, .. } = certificates;
    let credential = |issued: &terse_pki::Credential| {
        Credential::new(issued.chain().to_vec(), provider.load_key(issued.key()).unwrap()).unwrap()
    };
    let trust = || Trust::new(core::slice::from_ref(authority.root())).unwrap();
    let mut client = ClientConfig::builder(provider);
    client.trust(trust());
    client.credentials(vec![credential(&certificates.client)]);
    let mut server = ServerConfig::builder(provider);
    server.credential(credential(&certificates.server));
    server.client_authentication(ClientAuthentication::Required(trust()));
    let is_rsa = chain.starts_with("rsa");
    for common in [client.common_mut(), server.common_mut()] {
        common.set_groups(vec![NamedGroup::X25519]);
        let (suite, schemes) = match is_rsa {
            true => (
                CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                vec![SignatureScheme::RSA_PSS_RSAE_SHA256, SignatureScheme::RSA_PKCS1_SHA256],
            ),
            false => {
                (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, vec![SignatureScheme::ECDSA_SECP256R1_SHA256])
            }
        };
        common.set_suites([CipherSuite::TLS_AES_128_GCM_SHA256, suite]).set_signature_schemes(schemes);
    }
    Parties {
        client,
        server,
        address: ServerAddress::new(ServerName::try_from("broker.plant.example").unwrap(), 8883),
        curve: (!is_rsa).then_some(NamedGroup::SECP256R1),
        psk: ExternalPsk::new(b"sensor17", &[7; 32]).unwrap(),
        ristretto255: identity_keys(IdentityAlgorithm::Ristretto255),
        bls12381: identity_keys(IdentityAlgorithm::Bls12381),
        datagrams: Datagrams::default(),
        limits: EndpointLimits::default(),
    }
}

fn identity_keys(algorithm: IdentityAlgorithm) -> IdentityKeys {
    let keys = terse_testkit::identity::IdentityKeys::shared(algorithm);
    IdentityKeys { client: keys.client.clone(), server: keys.key(&"device:broker01".parse().unwrap()) }
}

fn comparison(provider: &CryptoProvider, chain: &str, runs: usize) -> Comparison {
    Comparison {
        parties: parties(provider, &Certificates::new(chain)),
        certificates: chain.into(),
        begins: NOW,
        runs,
        seed: 1,
        captures: true,
    }
}

fn setting(version: Version, mode: Mode, link: Link) -> Setting {
    Setting {
        version,
        mode,
        link,
        ip: IpVersion::V4,
        tcp: tcp::Config::linux(),
        limits_segments: false,
        client: 17,
        exchange: Exchange::default(),
        devices: None,
    }
}

/// With the certificates of BiTHaC, made once: their keys take a while.
fn rsa() -> &'static Comparison {
    static RSA: LazyLock<Comparison> = LazyLock::new(|| comparison(&terse_aws_lc::PROVIDER, "rsa2048x3", 1));
    &RSA
}

fn row(comparison: &Comparison, setting: &Setting) -> Row {
    comparison.measure(setting, &mut Unwatched).unwrap().row
}

#[test]
fn every_mode_is_what_it_says_and_its_bytes_add_up() {
    let comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    for version in Version::ALL {
        let mut totals = Vec::new();
        for mode in Mode::ALL.into_iter().filter(|mode| mode.exists_in(version)) {
            for mtu in [1500, 127] {
                let row = row(&comparison, &setting(version, mode, Link::ethernet(mtu)));
                let bytes = &row.bytes;
                let sum = bytes.tls + bytes.application + bytes.transport + bytes.network + bytes.link;
                assert_eq!(bytes.total, sum, "{version} {mode} {mtu}");
                assert_eq!(bytes.link, 14 * row.packets, "{version} {mode} {mtu}: headers of Ethernet");
                assert_eq!(bytes.network, 20 * row.packets, "{version} {mode} {mtu}: headers of IPv4");
                assert!(bytes.total <= row.packets * (mtu + 14), "{version} {mode} {mtu}");
                let verified = row.signatures_verified.client + row.signatures_verified.server;
                assert_eq!(verified == 4, mode == Mode::Full, "{version} {mode}: {verified} signatures");
                if mtu == 1500 {
                    totals.push(bytes.total);
                }
            }
        }
        let [full, rfc7924, bithac, compact, ..] = totals[..] else { panic!("four modes") };
        assert!(full > rfc7924 && rfc7924 > bithac && bithac > compact, "{version}: {totals:?}");
    }
}

/// A server that keeps nothing of a client until it came again answers it without a connection: by HelloVerifyRequest in
/// DTLS 1.2, by HelloRetryRequest in DTLS 1.3, which takes two datagrams where they are short. Both are of the handshake.
#[test]
fn what_a_server_sends_without_a_connection_is_of_the_handshake() {
    let with_cookie = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    let mut without = with_cookie.clone();
    without.parties.limits.require_cookie = false;
    for (version, message, sizes) in [
        (Version::Dtls12, HandshakeType::HELLO_VERIFY_REQUEST, [23, 23]),
        (Version::Dtls13, HandshakeType::SERVER_HELLO, [108, 120]),
    ] {
        for mode in [Mode::Full, Mode::Resumed] {
            for (mtu, size) in [1500, 127].into_iter().zip(sizes) {
                let setting = setting(version, mode, Link::ethernet(mtu));
                let [cookie, none] = [&with_cookie, &without].map(|comparison| row(comparison, &setting).bytes);
                assert_eq!(cookie.application, none.application, "{version} {mode} {mtu}: data");
                let more = |row: &Bytes| (row.messages.of(message), row.sent.server.of(message));
                let (of_both, of_server) = (more(&cookie), more(&none));
                let reply = (of_both.0 - of_server.0, of_both.1 - of_server.1);
                assert_eq!(reply, (size, size), "{version} {mode} {mtu}: {message}");
            }
        }
    }
}

/// docs/identity.md, its table without fall-back: of TLS 1.3, and of DTLS 1.3 with a cookie and the last ACK.
#[test]
fn identities_take_the_bytes_of_the_page() {
    let mut comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    comparison.parties.client.send_server_name(false);
    for (version, expected) in [(Version::Tls13, [394, 330, 362]), (Version::Dtls13, [817, 721, 769])] {
        for (mode, expected) in [Mode::IdentityFirst, Mode::Identity, Mode::IdentityBls12381].into_iter().zip(expected)
        {
            let row = row(&comparison, &setting(version, mode, Link::ethernet(1500)));
            assert_eq!((row.bytes.tls, mode), (expected, mode), "{version}");
            let kept = row.cache_entry_bytes;
            assert_eq!(
                kept.client > 0 && kept.server > 0,
                mode != Mode::IdentityBls12381,
                "{version} {mode}: {kept:?}"
            );
        }
    }
}

/// BiTHaC, figures 4 and 5, at MTU 1500; and more for `compact`.
#[test]
fn caching_saves_at_least_what_the_paper_found() {
    let saved = |version, mode| {
        let of = |mode| row(rsa(), &setting(version, mode, Link::ethernet(1500))).bytes.total as f64;
        100.0 * (1.0 - of(mode) / of(Mode::Full))
    };
    for (version, mode, least) in [
        (Version::Tls12, Mode::Rfc7924, 27.58),
        (Version::Tls12, Mode::Bithac, 38.86),
        (Version::Tls13, Mode::Bithac, 54.89),
        (Version::Tls13, Mode::Compact, 60.0),
    ] {
        let saved = saved(version, mode);
        assert!(saved >= least, "{version} {mode}: {saved:.2} % saved, {least} % wanted");
    }
}

/// As `terse client` and `terse server` write: the request with the client's last flight, all else by itself. (The test
/// `kernel` of the command holds it against a real TCP.)
#[test]
fn programs_write_as_ours_do() {
    let comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    // The least number of writes: the hello's flight, the message, close_notify.
    for (version, mode, from_client, from_server) in [
        (Version::Tls12, Mode::Compact, 4, 4), // the server's Finished is the last flight
        (Version::Tls12, Mode::Resumed, 3, 3),
        (Version::Tls13, Mode::Compact, 3, 3),
        (Version::Tls13, Mode::Resumed, 3, 4), // with tickets
    ] {
        let mut setting = setting(version, mode, Link::ethernet(1500));
        setting.tcp.nagle = tcp::Nagle::Off;
        let capture = comparison.measure(&setting, &mut Unwatched).unwrap().capture.capture;
        let segments = |way: Direction| {
            let frames = capture.entries().iter().filter(|entry| entry.direction == way);
            frames.filter(|frame| Packet::parse(frame.bytes[14..].to_vec()).unwrap().layers().application > 0).count()
        };
        assert_eq!([Direction::Up, Direction::Down].map(segments), [from_client, from_server], "{version} {mode}");
    }
}

/// Whatever TCP loses and retransmits, records are counted once, and no segment is longer than was agreed.
#[test]
fn records_do_not_depend_on_tcp() {
    for version in [Version::Tls12, Version::Tls13] {
        let mut records = Vec::new();
        for (config, largest) in [(tcp::Config::linux(), 1448), (tcp::Config::constrained(), 844)] {
            for (mtu, loss) in [(1500, 0.0), (576, 0.1), (127, 0.1)] {
                let link = Link::ethernet(mtu).with_paths(|path| path.loss = loss);
                let setting = Setting {
                    tcp: config.clone(),
                    limits_segments: !config.congestion_control,
                    ..setting(version, Mode::Full, link)
                };
                let measured = rsa().measure(&setting, &mut Unwatched).unwrap();
                let layers = |frame: &[u8]| Packet::parse(frame[14..].to_vec()).unwrap().layers();
                let frames = measured.capture.capture.entries().iter().map(|entry| layers(&entry.bytes));
                let longest = frames.map(|layers| layers.application).max().unwrap();
                let headers = if config.timestamps { 52 } else { 40 };
                assert_eq!(longest, largest.min(mtu - headers), "{version}, MTU {mtu}");
                assert_eq!(measured.row.lost > 0, loss > 0.0, "{version}, MTU {mtu}");
                records.push((measured.row.bytes.tls, measured.row.bytes.application));
            }
        }
        assert!(records.iter().all(|row| *row == records[0]), "{version}: {records:?}");
    }
}

/// Nagle's algorithm meets delayed acknowledgements: a flight longer than a segment waits once for 150 ms. In a cached
/// handshake each flight is a segment.
#[test]
fn constrained_tcp_waits_for_acknowledgements() {
    let connected = |mode, nagle| {
        let tcp = tcp::Config { nagle, ..tcp::Config::constrained() };
        let setting = Setting { tcp, limits_segments: true, ..setting(Version::Tls13, mode, Link::ethernet(1500)) };
        row(rsa(), &setting).time_ms
    };
    let (on, off) = (tcp::Nagle::On, tcp::Nagle::Off);
    assert!((150.0..151.0).contains(&connected(Mode::Full, on).connected), "the server's flight");
    for (mode, nagle) in [(Mode::Full, off), (Mode::Compact, on), (Mode::Bithac, on)] {
        let times = connected(mode, nagle);
        assert!(times.replied < 2.0, "{mode}: {times:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_result() {
    // RustCrypto signs without randomness of its own, so that all bytes are the same.
    let comparison = comparison(&terse_rustcrypto::PROVIDER, "p256x3", 3);
    let link = Link::ethernet(576).with_paths(|path| path.loss = 0.1);
    for version in Version::ALL {
        let setting = setting(version, Mode::Compact, link.clone());
        let run = || {
            let measured = comparison.measure(&setting, &mut Unwatched).unwrap();
            (serde_json::to_string(&measured.row).unwrap(), measured.capture.to_pcapng())
        };
        assert!(run() == run(), "{version}: two runs of one seed differ");
        let other = Comparison { seed: 99, ..comparison.clone() };
        let theirs = other.measure(&setting, &mut Unwatched).unwrap().capture.to_pcapng();
        assert!(theirs != run().1, "{version}: two seeds give the same");
    }
}

#[test]
fn what_is_lost_is_sent_again_and_counted() {
    let comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 20);
    let link = Link::ethernet(576).with_paths(|path| path.loss = 0.15);
    for version in Version::ALL {
        let row = row(&comparison, &setting(version, Mode::Full, link.clone()));
        assert_eq!(row.runs.failed, 0, "{version}");
        assert!(row.lost > 0 && row.retransmissions > 0, "{version}: {row:?}");
        assert!(row.runs.p95_connected_ms > 200.0, "{version}: a timer had to expire");
    }
}

#[test]
fn a_failure_says_whose_it_is_and_why() {
    let mut comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    comparison.begins = NOW + 365 * 86_400;
    for version in Version::ALL {
        let failed = comparison.measure(&setting(version, Mode::Full, Link::ethernet(1500)), &mut Unwatched);
        let Err(Failed::Connection(cause)) = failed else { panic!("{version}: an expired certificate was taken") };
        assert!(cause.contains("client") && cause.contains("expired"), "{version}: {cause}");
    }
    // Over LoRaWAN, segments of 844 bytes take longer than this TCP ever waits: the server gives up, and resets the
    // client.
    comparison.begins = NOW;
    let constrained = Setting {
        tcp: tcp::Config::constrained(),
        limits_segments: true,
        ip: IpVersion::V6,
        ..setting(Version::Tls13, Mode::Full, Link::lorawan(7))
    };
    let Err(Failed::Connection(cause)) = comparison.measure(&constrained, &mut Unwatched) else {
        panic!("it got through")
    };
    assert!(cause.contains("server: TCP: the peer stopped answering"), "{cause}");
    let narrow = setting(Version::Dtls13, Mode::Full, Link::ethernet(70));
    assert_eq!(comparison.measure(&narrow, &mut Unwatched).err(), Some(Failed::MtuTooSmall));
}

/// The cause is that of the side that refused, beside the alert that the other side received.
#[test]
fn a_server_that_refuses_says_why() {
    let mut comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    let stranger = parties(&terse_aws_lc::PROVIDER, &Certificates::new("p256x2")).server;
    let stranger = stranger.config().client_authentication().clone();
    comparison.parties.server.client_authentication(stranger);
    for version in Version::ALL {
        let failed = comparison.measure(&setting(version, Mode::Full, Link::ethernet(1500)), &mut Unwatched);
        let Err(Failed::Connection(cause)) = failed else { panic!("{version}: a stranger's certificate was taken") };
        assert!(cause.contains("server: ") && cause.contains("alert"), "{version}: {cause}");
    }
}

#[test]
fn it_is_over_when_the_last_packet_has_arrived() {
    let comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    let delay = Duration::from_millis(700);
    let link = Link::ethernet(1500).with_paths(|path| path.delay = delay);
    for version in Version::ALL {
        let measured = comparison.measure(&setting(version, Mode::Psk, link.clone()), &mut Unwatched).unwrap();
        let last = measured.capture.capture.entries().last().map(|entry| entry.at + delay).unwrap();
        let closed = measured.row.time_ms.closed;
        let expected = last.since(terse_sim::Time::ZERO).as_secs_f64() * 1e3;
        assert!((expected..expected + 1.0).contains(&closed), "{version}: {closed} ms, not {expected} ms");
    }
}

#[test]
fn packets_are_kept_only_if_they_are_wanted() {
    let comparison = Comparison { captures: false, ..comparison(&terse_aws_lc::PROVIDER, "p256x3", 1) };
    let measured = comparison.measure(&setting(Version::Tls13, Mode::Compact, Link::ethernet(576)), &mut Unwatched);
    let captured = measured.unwrap().capture;
    assert!(captured.capture.entries().is_empty() && captured.key_log.is_empty());
}

/// Returns a link of any profile, with any faults.
fn any_link() -> impl Strategy<Value = Link> {
    let profile = proptest::sample::select(PROFILES);
    let mtu = prop_oneof![Just(None), Just(Some(127)), (100_usize..1500).prop_map(Some)];
    (profile, mtu, 0.0..0.2, 0.0..0.1, 0.0..0.1).prop_map(|(name, mtu, loss, duplication, reordering)| {
        let link: Link = name.parse().expect("a profile");
        let mtu = mtu.unwrap_or(link.mtu);
        Link { mtu, ..link }.with_paths(|path| {
            (path.loss, path.duplication, path.reordering) = (loss, duplication, reordering);
            path.late_by = Duration::from_millis(20);
        })
    })
}

/// A link that gives up a fragment does not send the rest of a packet. The handshake, whose records the engine counts, then
/// takes nothing from the bytes of the application.
#[test]
fn fragments_that_were_given_up_leave_the_application_its_bytes() {
    let comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 2);
    let link: Link = "ieee802154".parse().unwrap();
    let link = Link { mtu: 127, ..link }.with_paths(|path| (path.loss, path.duplication) = (0.154, 0.066));
    let mut setting = setting(Version::Dtls13, Mode::Full, link);
    setting.ip = IpVersion::V6;
    let mut count = 0;
    for seed in seeds(60) {
        let Ok(measured) = (Comparison { seed, ..comparison.clone() }).measure(&setting, &mut Unwatched) else {
            continue;
        };
        let bytes = measured.row.bytes;
        assert!(bytes.application >= setting.exchange.request + setting.exchange.reply, "seed {seed}: {bytes:?}");
        assert_eq!(bytes.total, bytes.tls + bytes.application + bytes.transport + bytes.network + bytes.link);
        count += 1;
    }
    assert!(count > 30, "{count}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// On any link there is a row whose bytes are those of the packets on the link, or a cause.
    #[test]
    fn bytes_are_those_on_the_link_or_there_is_a_cause(
        link in any_link(),
        version in proptest::sample::select(&Version::ALL),
        mode in proptest::sample::select(&Mode::ALL),
        constrained in any::<bool>(),
        seed in any::<u64>(),
    ) {
        static P256: LazyLock<Comparison> = LazyLock::new(|| comparison(&terse_aws_lc::PROVIDER, "p256x3", 2));
        let comparison = Comparison { seed, ..P256.clone() };
        // LoRaTap precedes each frame in the file, and was never on the air.
        let (tap, v4) = match link.framing {
            Framing::LoraWan(_) => (15, false),
            Framing::Ieee802154(_) => (0, false),
            Framing::Ethernet | Framing::Ip => (0, true),
        };
        let mut setting = setting(version, mode, link);
        prop_assume!(mode.exists_in(version));
        setting.ip = if v4 { IpVersion::V4 } else { IpVersion::V6 };
        if constrained {
            setting.tcp = tcp::Config::constrained();
        }
        match comparison.measure(&setting, &mut Unwatched) {
            Ok(measured) => {
                let row = measured.row;
                let bytes = &row.bytes;
                let sum = bytes.tls + bytes.application + bytes.transport + bytes.network + bytes.link;
                prop_assert_eq!(bytes.total, sum);
                let entries = measured.capture.capture.entries();
                prop_assert_eq!(bytes.total, entries.iter().map(|entry| entry.bytes.len() - tap).sum::<usize>());
                prop_assert_eq!(row.packets, entries.len());
                prop_assert_eq!(row.lost, entries.iter().filter(|entry| entry.lost).count());
                prop_assert!(row.pure_acks <= row.packets && row.retransmissions <= row.packets);
                prop_assert!((row.runs.min_total..=row.runs.max_total).contains(&bytes.total));
                prop_assert!(row.runs.median_connected_ms <= row.runs.p95_connected_ms);
                let times = row.time_ms;
                prop_assert!(times.connected <= times.replied && times.replied <= times.closed, "{:?}", times);
                prop_assert!(bytes.tls > 0 && bytes.application > 0);
                prop_assert_eq!(row.runs.count, 2);
                prop_assert!(row.runs.failed < 2);
            }
            Err(failed) => prop_assert!(!failed.to_string().is_empty() && !failed.to_string().contains("lost count"), "{}", failed),
        }
    }
}

/// A resumed session lets the client send its request with the first flight, and the server answers with its own. So the
/// reply comes a round trip earlier than in a connection without early data.
#[test]
fn early_data_is_sent_with_the_first_flight() {
    let mut comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    comparison.parties.limits.require_cookie = false; // a cookie would reject early data over datagrams
    let link = Link::lossless().with_paths(|path| path.delay = Duration::from_millis(50));
    for (version, replied) in [(Version::Tls13, [300.0, 200.0]), (Version::Dtls13, [200.0, 100.0])] {
        let mut late = setting(version, Mode::Resumed, link.clone());
        late.tcp.nagle = tcp::Nagle::Off;
        let early = Setting { exchange: Exchange { early_data: true, ..late.exchange }, ..late.clone() };
        let [late, early] = [&late, &early].map(|setting| row(&comparison, setting));
        assert_eq!([late.round_trips, early.round_trips], [1, 0], "{version}");
        assert_eq!([late.time_ms.replied, early.time_ms.replied], replied, "{version}");
    }
    let mut full = setting(Version::Tls13, Mode::Full, link);
    full.exchange.early_data = true;
    let failed = comparison.measure(&full, &mut Unwatched).err();
    assert!(matches!(failed, Some(Failed::Connection(_))), "a full handshake has no early data: {failed:?}");
}

/// The server's application has the request when the first flight has arrived: one way after the client has begun, over
/// TCP after its handshake. All bytes of the first flight, and none of the answer, are on the link by then.
#[test]
fn early_data_is_with_the_server_after_one_way() {
    let comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    let link = Link::lossless().with_paths(|path| path.delay = Duration::from_millis(100));
    for (version, of_transport) in [(Version::Tls13, 200.0), (Version::Dtls13, 0.0)] {
        for mode in [Mode::Identity, Mode::IdentityFirst, Mode::IdentityBls12381] {
            let late = setting(version, mode, link.clone());
            let exchange = Exchange { early_data: true, ..late.exchange };
            let early = row(&comparison, &Setting { exchange, ..late.clone() });
            let late = row(&comparison, &late);
            let times = [early.time_ms.requested, early.time_ms.connected].map(f64::round);
            assert_eq!(times, [of_transport + 100.0, of_transport + 200.0], "{version} {mode}");
            // A cookie costs DTLS a round trip where no ticket stands for it.
            let cookie = if version == Version::Dtls13 { 200.0 } else { 0.0 };
            assert_eq!(late.time_ms.requested.round(), of_transport + cookie + 300.0, "{version} {mode}");
            assert!(early.bytes.until_request < late.bytes.until_request, "{version} {mode}");
            assert!(early.bytes.until_request < early.bytes.total, "{version} {mode}");
        }
    }
}

/// Exchanges follow each other: a minute has room for as many as its milliseconds over those of one exchange.
#[test]
fn exchanges_are_repeated_for_a_minute() {
    let comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    let link = Link::lossless().with_paths(|path| path.delay = Duration::from_millis(256));
    for (mode, early_data, exchanges) in [
        (Mode::Full, false, 39),
        (Mode::Compact, false, 39),
        (Mode::Resumed, true, 58),
        (Mode::Identity, false, 39),
        (Mode::Identity, true, 58),
        (Mode::IdentityFirst, true, 58),
    ] {
        let mut setting = setting(Version::Tls13, mode, link.clone());
        setting.tcp.nagle = tcp::Nagle::Off;
        setting.exchange.early_data = early_data;
        let minute = comparison.repeat(&setting, Duration::from_secs(60), 1000).unwrap();
        // Three round trips of 512 ms: TCP's, the handshake's, and that of the messages, which early data saves.
        let round_trips = if early_data { 2.0 } else { 3.0 };
        assert_eq!(
            (minute.exchanges, minute.milliseconds),
            (exchanges, exchanges as f64 * round_trips * 512.0),
            "{mode}"
        );
        let three = comparison.repeat(&setting, Duration::from_secs(60), 3).unwrap();
        assert_eq!(three.exchanges, 3);
        assert_eq!(three.per_minute(), minute.per_minute());
    }
}

/// The server's time begins with the ClientHello, a round trip after the client's, and ends with the client's Finished.
#[test]
fn the_server_measures_from_the_client_hello() {
    let comparison = comparison(&terse_aws_lc::PROVIDER, "p256x3", 1);
    let link = Link::lossless().with_paths(|path| path.delay = Duration::from_millis(100));
    for version in [Version::Tls13, Version::Dtls13] {
        let times = row(&comparison, &setting(version, Mode::Psk, link.clone())).time_ms;
        let before = if version == Version::Tls13 { 200.0 } else { 0.0 };
        let cookie = if version == Version::Tls13 { 0.0 } else { 200.0 };
        assert_eq!(times.connected, before + cookie + 200.0, "{version}");
        assert_eq!(times.server_connected, cookie + 200.0, "{version}");
    }
}
