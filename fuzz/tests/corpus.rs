//! The checked-in corpus is replayed without libFuzzer: no input panics, and together they reach deep enough. If they
//! no longer do, `tools/fuzz.sh seed` makes new ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use terse_brski::SignatureRefused;
use terse_brski::cms::Signed;
use terse_brski::cose;
use terse_fuzz::datagram_machine::DatagramMachine;
use terse_fuzz::input::Input;
use terse_fuzz::machine::Machine;
use terse_fuzz::{
    artefacts, cache_file, certificates, client, coap, datagram_client, datagram_server, endpoint, identity, jpy,
    messages, pair, path, reassembler, records, replay, requests, seeds, server, services,
};
use terse_tls::ProtocolVersion;
use terse_tls::cache::Scheme;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::summary::{EarlyDataStatus, Mode, Summary};

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let files = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

/// Checks what the complete handshakes had agreed on.
fn assert_every_mode<'a>(connected: impl Iterator<Item = &'a Summary>) {
    let reached: BTreeSet<_> = connected
        .map(|summary| {
            let is_early = summary.early_data == EarlyDataStatus::Accepted;
            (summary.version.unwrap().0, summary.mode.name(), is_early)
        })
        .collect();
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        for mode in [Mode::Full, Mode::Cached(Scheme::Rfc7924), Mode::Cached(Scheme::Bithac), Mode::Resumed, Mode::Psk]
        {
            assert!(reached.contains(&(version.0, mode.name(), false)), "{version:?} {mode}: only {reached:?}");
        }
    }
    let identity = (ProtocolVersion::TLS_1_3.0, Mode::Identity.name(), false);
    assert!(reached.contains(&identity), "no identity: only {reached:?}");
    assert!(reached.contains(&(ProtocolVersion::TLS_1_3.0, Mode::Resumed.name(), true)), "no early data");
}

/// Checks that every mode in every version was reached, with data and an orderly end.
fn assert_deep(sides: &[Machine]) {
    assert_every_mode(sides.iter().filter(|side| side.connected).map(|side| side.connection.summary()));
    assert!(sides.iter().any(|side| side.connected && !side.received.is_empty()), "no data");
    assert!(sides.iter().any(|side| side.connected && side.failure().is_none()), "nobody said goodbye");
}

#[test]
fn clients_reach_every_mode() {
    let clients: Vec<_> = corpus("client").iter().map(|bytes| client::replay(&Input::parse(bytes))).collect();
    assert_deep(&clients);
}

#[test]
fn servers_reach_every_mode() {
    let servers: Vec<_> = corpus("server").iter().map(|bytes| server::replay(&Input::parse(bytes))).collect();
    assert_deep(&servers);
}

#[test]
fn pairs_reach_every_mode() {
    let pairs = corpus("pair").into_iter().filter_map(|bytes| {
        let (who, bytes) = bytes.split_first()?;
        Some(pair::replay(*who, &Input::parse(bytes)))
    });
    let (clients, servers): (Vec<_>, Vec<_>) = pairs.map(<(Machine, Machine)>::from).unzip();
    assert_deep(&clients);
    assert_deep(&servers);
}

/// Checks that every mode was reached over datagrams, with losses, and with later keys of DTLS 1.3.
fn assert_deep_over_datagrams(sides: &[DatagramMachine]) {
    assert_every_mode(sides.iter().filter(|side| side.connected).map(|side| side.connection.summary()));
    assert!(sides.iter().any(|side| side.connected && !side.received.is_empty()), "no data");
    assert!(sides.iter().any(|side| side.connected && side.failure().is_none()), "nobody said goodbye");
    assert!(sides.iter().any(|side| side.watch().epoch() > 3), "keys were not replaced");
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let is_again = |side: &DatagramMachine| {
            let summary = side.connection.summary();
            side.connected && summary.version == Some(version) && summary.retransmissions > 0
        };
        assert!(sides.iter().any(is_again), "{version:?}: nothing was sent again");
    }
}

#[test]
fn clients_over_datagrams_reach_every_mode() {
    let clients = corpus("datagram_client");
    let clients: Vec<_> = clients.iter().map(|bytes| datagram_client::replay(&Input::parse(bytes))).collect();
    assert_deep_over_datagrams(&clients);
}

#[test]
fn servers_over_datagrams_reach_every_mode() {
    let servers = corpus("datagram_server");
    let servers: Vec<_> = servers.iter().map(|bytes| datagram_server::replay(&Input::parse(bytes))).collect();
    assert_deep_over_datagrams(&servers);
    assert!(servers.iter().any(|side| !side.early.is_empty()), "no early data");
}

#[test]
fn endpoints_have_connections_and_data() {
    let endpoints: Vec<_> = corpus("endpoint").iter().map(|bytes| endpoint::replay(&Input::parse(bytes))).collect();
    assert!(endpoints.iter().filter(|endpoint| endpoint.connected > 0 && !endpoint.received.is_empty()).count() > 10);
    assert!(endpoints.iter().any(|endpoint| endpoint.connected > 1), "one connection at most");
    assert!(endpoints.iter().any(|endpoint| !endpoint.early.is_empty()), "no early data");
}

#[test]
fn the_other_targets_hold() {
    let replay_all = |target, run: fn(&[u8])| {
        let corpus = corpus(target);
        assert!(corpus.len() > 10, "{target}");
        corpus.iter().for_each(|bytes| run(bytes));
    };
    replay_all("records", records::run);
    replay_all("messages", messages::run);
    replay_all("reassembler", reassembler::run);
    replay_all("replay", replay::run);
    replay_all("cache_file", cache_file::run);
    replay_all("certificates", certificates::run);
    replay_all("path", |bytes| {
        path::run(bytes);
    });
    replay_all("identity", identity::run);
    replay_all("jpy", jpy::run);
    replay_all("artefacts", artefacts::run);
    replay_all("requests", requests::run);
    replay_all("services", |bytes| {
        services::run(bytes);
    });
    replay_all("coap", coap::run);
}

#[test]
fn some_paths_are_accepted() {
    let accepted = corpus("path").iter().filter(|bytes| path::run(bytes)).count();
    assert!(accepted > 10, "{accepted}");
}

#[test]
fn artefacts_are_verified() {
    let provider = terse_fuzz::provider::accepting();
    let (mut der, mut ber, mut cose) = (0, 0, 0);
    for input in corpus("artefacts") {
        let [what, encoded @ ..] = &input[..] else { continue };
        if what % 4 != 2 {
            continue;
        }
        if what & artefacts::CBOR != 0 {
            cose += usize::from(cose::Signed::verify(&provider, encoded, &[]).is_ok());
            continue;
        }
        der += usize::from(Signed::verify(&provider, encoded, &[]).is_ok());
        ber += usize::from(Signed::verify_ber(&provider, encoded, &[]).is_ok());
    }
    assert!(der > 0 && ber > der, "{der} in DER, {ber} in both");
    assert!(cose > 0, "none in COSE");
}

/// Without that, a fuzzer never gets behind the digest of what it changes.
#[test]
fn changed_content_is_behind_an_accepted_digest_and_behind_no_other() {
    let transparent = terse_fuzz::provider::transparent();
    let accepting = terse_fuzz::provider::accepting();
    for (name, input) in seeds::artefacts().into_iter().filter(|(name, _)| name.starts_with("signed-request")) {
        let mut encoded = input[1..].to_vec();
        let content = Signed::verify_ber(&accepting, &encoded, &[]).unwrap().content;
        let at = encoded.windows(content.len()).position(|window| window == content).unwrap();
        let serial_number = content.windows(4).position(|window| window == b"JADA").unwrap();
        encoded[at + serial_number] = b'X';
        let changed = Signed::verify_ber(&accepting, &encoded, &[]).unwrap().content;
        assert_ne!(changed, content, "{name}");
        assert_eq!(Signed::verify_ber(&transparent, &encoded, &[]).unwrap_err(), SignatureRefused::Digest, "{name}");
    }
}

#[test]
fn crls_say_each_thing_about_a_path() {
    use terse_brski::masa::RevocationStatus::{Good, Revoked, Unknown};
    let corpus = corpus("requests");
    let of_crls = corpus.iter().filter(|input| input.first().is_some_and(|what| what % 8 == 5));
    let reached: Vec<_> = of_crls.filter_map(|input| requests::crls(&input[1..])).collect();
    for status in [Good, Revoked, Unknown] {
        assert!(reached.contains(&status), "{status:?}: only {reached:?}");
    }
}

#[test]
fn whole_requests_reach_a_voucher() {
    let reached: Vec<_> = corpus("services").iter().map(|input| services::run(input)).collect();
    let whole = |one: &&services::Reached| {
        one.is_pledge_request && one.is_registrar_request && one.is_issued && one.is_passed_on
    };
    assert!(reached.iter().filter(whole).count() > 1, "from a pledge to its voucher, in both forms");
    assert!(reached.iter().any(|one| one.is_issued && !one.is_pledge_request), "by a request of a registrar");
    assert!(reached.iter().any(|one| one.is_passed_on && !one.is_issued), "an answer of a MASA");
}

#[test]
fn renewals_of_identity_keys_are_complete() {
    for algorithm in IdentityAlgorithm::ALL {
        let renewed = corpus("identity").into_iter().filter(|input| {
            let [what, response @ ..] = &input[..] else { return false };
            *what == (13 | (algorithm.code() - 1) << 4) && identity::own_renewal(algorithm).finish(response).is_ok()
        });
        assert!(renewed.count() > 0, "{algorithm}");
    }
}

#[test]
fn coap_has_requests_and_responses() {
    let corpus = corpus("coap");
    let sums = corpus
        .iter()
        .map(|bytes| coap::replay(bytes))
        .fold((0, 0), |(requests, responses), reached| (requests + reached.requests, responses + reached.responses));
    assert!(sums.0 > 5 && sums.1 > 5, "{sums:?}");
}

#[test]
fn seeds_reach_as_far_as_what_was_recorded() {
    for (target, seeds) in seeds::all() {
        assert!(seeds.len() > 10, "{target}");
        for (name, bytes) in seeds {
            let input = Input::parse(&bytes);
            let connected = match target {
                "client" => client::replay(&input).connected,
                "server" => server::replay(&input).connected,
                "datagram_client" => datagram_client::replay(&input).connected,
                "datagram_server" => datagram_server::replay(&input).connected,
                "endpoint" => endpoint::replay(&input).connected > 0,
                _ => continue,
            };
            assert!(connected || !name.ends_with("-0000"), "{target} {name}");
        }
    }
}

#[test]
fn any_bytes_are_an_input() {
    for (_, seeds) in seeds::all() {
        for (_, bytes) in seeds.iter().take(50) {
            let input = Input::parse(bytes);
            assert_eq!(Input::parse(&input.to_bytes()), input);
        }
    }
    assert_eq!(Input::parse(&[]), Input::default());
}
