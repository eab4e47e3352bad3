//! Messages made by mutation of good ones. Nothing panics, nothing hangs, and `run` checks the rest.

use proptest::collection::vec;
use proptest::prelude::*;
use terse_testkit::fault::{add_extension, fix_length};
use terse_testkit::forge::plaintext;
use terse_testkit::pair::Side;
use terse_tls::{ContentType, ExtensionType, HandshakeType};

use super::attack::{Verdict, run};
use super::modes::{SCENARIOS, Sent, TLS12};

/// One change to a message.
#[derive(Clone, Debug)]
enum Mutation {
    Set(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Copy(usize, usize, usize),
    /// Changes a length field, or whatever else stands there.
    Add(usize, u16),
    Extension(u16, Vec<u8>),
}

impl Mutation {
    fn apply(&self, message: &mut Vec<u8>) {
        let at = |place: usize, message: &[u8]| place % message.len().max(1);
        match self {
            Self::Set(place, value) => {
                let place = at(*place, message);
                message.splice(place..(place + 1).min(message.len()), [*value]);
            }
            Self::Insert(place, bytes) => {
                let place = at(*place, message);
                message.splice(place..place, bytes.iter().copied());
            }
            Self::Remove(place, len) => {
                let place = at(*place, message);
                message.drain(place..(place + len).min(message.len()));
            }
            Self::Copy(from, to, len) => {
                let (from, to) = (at(*from, message), at(*to, message));
                let copied = message[from..(from + len).min(message.len())].to_vec();
                message.splice(to..to, copied);
            }
            Self::Add(place, value) => {
                let place = at(*place, message);
                if let Some(field) = message.get_mut(place..place + 2) {
                    let sum = u16::from_be_bytes([field[0], field[1]]).wrapping_add(*value);
                    field.copy_from_slice(&sum.to_be_bytes());
                }
            }
            Self::Extension(..) => {} // before the others, while the message is well-formed
        }
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let place = 0..2000usize;
    let code_point = prop_oneof![0..60u16, Just(0xff42), any::<u16>()];
    prop_oneof![
        3 => (place.clone(), any::<u8>()).prop_map(|(place, value)| Mutation::Set(place, value)),
        1 => (place.clone(), vec(any::<u8>(), 1..40)).prop_map(|(place, bytes)| Mutation::Insert(place, bytes)),
        1 => (place.clone(), 1..40usize).prop_map(|(place, len)| Mutation::Remove(place, len)),
        1 => (place.clone(), place.clone(), 1..60usize).prop_map(|(from, to, len)| Mutation::Copy(from, to, len)),
        1 => (place, prop_oneof![Just(1), Just(u16::MAX), any::<u16>()]).prop_map(|(p, v)| Mutation::Add(p, v)),
        2 => (code_point, vec(any::<u8>(), 0..30)).prop_map(|(kind, body)| Mutation::Extension(kind, body)),
    ]
}

fn mutate(message: &mut Vec<u8>, mutations: &[Mutation], fix: bool) {
    for mutation in mutations {
        if let Mutation::Extension(kind, body) = mutation {
            add_extension(message, ExtensionType(*kind), body);
        }
    }
    mutations.iter().for_each(|mutation| mutation.apply(message));
    if fix && message.len() >= 4 {
        message[0] = HandshakeType::CLIENT_HELLO.0;
        fix_length(message);
    }
}

/// Returns the first ClientHello of a scenario.
fn hello(scenario: usize) -> &'static Sent {
    &SCENARIOS[scenario].messages[0]
}

/// Hands a server a mutated ClientHello, in a record.
fn send(scenario: usize, mutations: &[Mutation], fix: bool) -> Verdict {
    let mut message = hello(scenario).bytes.clone();
    mutate(&mut message, mutations, fix);
    run(&SCENARIOS[scenario].setup, Side::Server, |pair| {
        drop(pair.deliver(Side::Server, plaintext(ContentType::HANDSHAKE, &message)));
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn client_hellos(scenario in 0..SCENARIOS.len(), mutations in vec(mutation(), 1..5), fix in prop::bool::weighted(0.9)) {
        let verdict = send(scenario, &mutations, fix);
        prop_assert!(!verdict.connected);
    }

    /// The client goes on with what it sent, so that a server that accepts it must come to the same result.
    #[test]
    fn messages_of_both_sides(
        scenario in 0..SCENARIOS.len(),
        message in 0..64usize,
        mutations in vec(mutation(), 1..4),
        fix in prop::bool::weighted(0.9),
    ) {
        let scenario = &SCENARIOS[scenario];
        let sent = &scenario.messages[message % scenario.messages.len()];
        let mut altered = sent.bytes.clone();
        mutations.iter().for_each(|mutation| mutation.apply(&mut altered));
        if fix {
            fix_length(&mut altered);
        }
        prop_assume!(altered != sent.bytes);
        let begins = altered.starts_with(&sent.bytes) && scenario.version == TLS12;
        let verdict = scenario.alter(sent.by, sent.number, move |message| message.clone_from(&altered));
        let proofs = [
            HandshakeType::CERTIFICATE,
            HandshakeType::SERVER_KEY_EXCHANGE,
            HandshakeType::CERTIFICATE_VERIFY,
        ];
        prop_assert!(!verdict.connected || !proofs.contains(&sent.kind));
        // In TLS 1.2 something may follow Finished; then the connection is over, or waits for the rest of it.
        let is_finished = sent.kind == HandshakeType::FINISHED;
        prop_assert!(!verdict.connected || !is_finished || begins, "{:?}", verdict);
    }

    /// Bytes of any kind come instead of a ClientHello.
    #[test]
    fn any_bytes(scenario in 0..SCENARIOS.len(), body in vec(any::<u8>(), 0..600), fix in any::<bool>()) {
        let mut message = [&[HandshakeType::CLIENT_HELLO.0, 0, 0, 0], &body[..]].concat();
        if fix {
            fix_length(&mut message);
        }
        let verdict = run(&SCENARIOS[scenario].setup, Side::Server, |pair| {
            drop(pair.deliver(Side::Server, plaintext(ContentType::HANDSHAKE, &message)));
        });
        prop_assert!(!verdict.connected);
    }
}
