//! Whole onboardings on simulated links: they end enrolled, all bytes are accounted for, and a seed is a run.

mod made;
mod mesh;

use core::time::Duration;

use made::PARTIES;
use terse_brski::coap::PathForm;
use terse_brski::pledge::Proximity;
use terse_sim::compare::IpVersion;
use terse_sim::link::{Framing, Link, Path};
use terse_sim::onboarding::{Bytes, Dtls, Failed, Outcome, Protocol, Setting, Step, run};
use terse_testkit::rng::seeds;

/// All protocols with their defaults.
fn protocols() -> [Protocol; 3] {
    [Protocol::coaps(Dtls::V12), Protocol::coaps(Dtls::V13), Protocol::https()]
}

/// Bare IP with this MTU: 50 ms, 50 kbit/s.
fn plain(mtu: usize) -> Link {
    let path = Path::new(50_000, Duration::from_millis(50));
    Link { framing: Framing::Ip, mtu, up: path.clone(), down: path, ..Link::lossless() }
}

/// The links, on which so many frames of a hundred are lost.
fn links(percent: u8) -> [(Link, IpVersion); 3] {
    let links = [(Link::ieee802154(), IpVersion::V6), (plain(1_280), IpVersion::V6), (plain(127), IpVersion::V4)];
    links.map(|(link, ip)| (link.with_paths(|path| path.loss = f64::from(percent) / 100.0), ip))
}

fn onboard(protocol: Protocol, link: Link, ip: IpVersion, seed: u64) -> Result<Outcome, Failed> {
    run(&Setting { ip, seed, ..Setting::new(protocol, link) }, &PARTIES)
}

fn without_losses(protocol: Protocol) -> Outcome {
    onboard(protocol, Link::ieee802154(), IpVersion::V6, 1).unwrap()
}

fn step(outcome: &Outcome, step: Step) -> [Bytes; 2] {
    let found = outcome.steps.iter().find(|count| count.step == step).unwrap();
    [found.up, found.down]
}

#[test]
fn it_ends_enrolled_on_each_link() {
    for protocol in protocols() {
        for (link, ip) in links(0) {
            let name = link.name.clone();
            let outcome = onboard(protocol.clone(), link, ip, 1).unwrap();
            let counts = (outcome.failures, outcome.lost, outcome.is_reported);
            assert_eq!(counts, (0, 0, true), "{protocol:?} {name}");
            // There are no CSR attributes over CoAPS.
            let is_constrained = matches!(protocol, Protocol::Coaps { .. });
            let taken: Vec<Step> = outcome.steps.iter().map(|count| count.step).collect();
            let steps = Step::ALL.into_iter().filter(|step| !is_constrained || *step != Step::CsrAttributes);
            assert_eq!(taken, steps.collect::<Vec<_>>());
            for count in &outcome.steps {
                assert!(count.up.messages > 0 && count.down.messages > 0, "{protocol:?} {name} {count:?}");
                assert_eq!(count.both().repeated, 0, "{protocol:?} {name} {count:?}");
            }
            let times: Duration = outcome.steps.iter().map(|count| count.time).sum();
            assert_eq!(times, outcome.enrolled, "each moment is of one step");
        }
    }
}

#[test]
fn it_ends_enrolled_where_frames_are_lost() {
    for protocol in protocols() {
        for (link, ip) in links(10) {
            let run = |seed| {
                let outcome = onboard(protocol.clone(), link.clone(), ip, seed);
                outcome.unwrap_or_else(|failed| panic!("{protocol:?} {}, seed {seed}: {failed}", link.name)).lost
            };
            assert!(seeds(10).map(run).sum::<usize>() > 10, "frames are lost");
        }
    }
}

#[test]
fn a_seed_is_a_run() {
    for protocol in protocols() {
        for (link, ip) in links(10) {
            let run = |seed| onboard(protocol.clone(), link.clone(), ip, seed).unwrap();
            assert_eq!(run(7), run(7));
            assert_ne!(run(7), run(8));
        }
    }
}

/// The layers of IEEE 802.15.4 without losses, by hand: a frame has 23 bytes around its payload, and an acknowledgement 5.
#[test]
fn the_layers_add_up_to_frames() {
    for protocol in protocols() {
        for bytes in without_losses(protocol).total() {
            assert_eq!((bytes.link, bytes.repeated), (23 * bytes.frames, 0));
            assert!(bytes.frames > bytes.packets);
        }
    }
    let [up, down] = without_losses(Protocol::coaps(Dtls::V12)).total();
    assert_eq!((up.acknowledgements, down.acknowledgements), (5 * down.frames, 5 * up.frames));
    // UDP is compressed, but for its ports, which are not among the shortest.
    assert_eq!((up.transport, down.transport), (7 * up.packets, 7 * down.packets));
}

/// The options Uri-Path of /.well-known/brski/rv take 20 bytes, and that of Uri-Path-Abbrev 3 or 4.
#[test]
fn abbreviated_paths_save_16_to_18_bytes_a_request() {
    let sent = |path_form| {
        let mut protocol = Protocol::coaps(Dtls::V13);
        if let Protocol::Coaps { path_form: own, .. } = &mut protocol {
            *own = path_form;
        }
        without_losses(protocol)
    };
    let (short, long) = (sent(PathForm::Abbreviated), sent(PathForm::WellKnown));
    for of in Step::ALL.into_iter().filter(|of| of.is_request() && *of != Step::CsrAttributes) {
        let ([up_short, down_short], [up_long, down_long]) = (step(&short, of), step(&long, of));
        // Each block has a request of its own, with the same path. A close_notify follows the last request of a connection.
        let requests = up_short.packets - usize::from(matches!(of, Step::Enrollment | Step::EnrollmentStatus));
        let saved = up_long.messages - up_short.messages;
        assert!((16 * requests..=18 * requests).contains(&saved), "{of}: {saved} in {requests}");
        assert_eq!(down_short.messages, down_long.messages, "{of}");
    }
    let handshake = |outcome: &Outcome| step(outcome, Step::Handshake).map(|bytes| bytes.messages);
    assert_eq!(handshake(&short), handshake(&long));
}

#[test]
fn the_hash_of_the_key_is_the_shortest_proximity() {
    let sent = |proximity| {
        let mut protocol = Protocol::coaps(Dtls::V13);
        if let Protocol::Coaps { proximity: own, .. } = &mut protocol {
            *own = proximity;
        }
        let [up, _] = step(&without_losses(protocol), Step::VoucherRequest);
        up.messages
    };
    let (hash, key, certificate) =
        (sent(Proximity::PublicKeySha256), sent(Proximity::PublicKey), sent(Proximity::Certificate));
    // A key of P-256 as SubjectPublicKeyInfo has 91 bytes, and its hash 32; with more than 23 bytes a length takes two bytes.
    assert_eq!(key - hash, 91 - 32);
    assert!(certificate > key + 200, "{certificate} {key}");
}

#[test]
fn coaps_takes_three_fifths_of_https_at_most() {
    let bytes = |protocol| without_losses(protocol).total().iter().map(Bytes::sum).sum::<usize>();
    let https = bytes(Protocol::https());
    for dtls in Dtls::ALL {
        let coaps = bytes(Protocol::coaps(dtls));
        assert!(5 * coaps < 3 * https, "{coaps} {https}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let narrow = onboard(Protocol::coaps(Dtls::V12), plain(60), IpVersion::V6, 1);
    assert_eq!(narrow, Err(Failed::LinkTooNarrow));
    let dead = Link::ieee802154().with_paths(|path| path.loss = 1.0);
    let setting = Setting { limit: Duration::from_secs(600), ..Setting::new(Protocol::coaps(Dtls::V13), dead) };
    assert!(matches!(run(&setting, &PARTIES), Err(Failed::NotEnrolled(_))));
}
