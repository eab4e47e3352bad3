//! Tests that a cookie is valid for one client, one ClientHello, and a limited time.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::crypto::Rng;
use crate::test_crypto::SHA256;

const ADDRESS: &[u8] = b"2001:db8::1 5684";
const HELLO: &[&[u8]] = &[b"hello", b""];

/// A counter as source of randomness, so that all values differ. It fails after the last one.
struct Counter {
    drawn: u8,
    last: u8,
}

impl Rng for Counter {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        if self.drawn == self.last {
            return Err(CryptoError::RandomFailed);
        }
        self.drawn += 1;
        out.fill(self.drawn);
        Ok(())
    }
}

/// A server with its source of randomness.
struct Server {
    secrets: CookieSecrets,
    rng: Counter,
}

impl Server {
    fn new() -> Self {
        let mut rng = Counter { drawn: 0, last: u8::MAX };
        Self { secrets: CookieSecrets::new(&mut rng).unwrap(), rng }
    }

    fn make(&mut self, now: u64) -> Result<[u8; COOKIE_LEN], CryptoError> {
        self.secrets.make(Instant(now), &mut self.rng, SHA256, ADDRESS, HELLO)
    }

    fn verify(&mut self, now: u64, address: &[u8], hello: &[&[u8]], cookie: &[u8]) -> bool {
        self.secrets.verify(Instant(now), &mut self.rng, SHA256, address, hello, cookie).unwrap()
    }

    fn accepts(&mut self, now: u64, cookie: &[u8]) -> bool {
        self.verify(now, ADDRESS, HELLO, cookie)
    }
}

/// The expected values were computed from the formula with Python's `hmac`, `hashlib` and `struct`.
#[test]
fn made_as_computed_elsewhere() {
    let cookie: String = Server::new().make(0).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(cookie, "babf2bba18625a3b");
}

#[test]
fn good_for_one_address_and_one_hello() {
    let mut server = Server::new();
    let cookie = server.make(0).unwrap();
    assert!(server.accepts(0, &cookie));
    assert!(!server.verify(0, b"2001:db8::1 5683", HELLO, &cookie));
    let others: [&[&[u8]]; 7] = [
        &[b"hellp", b""],
        &[b"hello"],
        &[b"", b"hello"],
        &[b"hell", b"o"],
        &[b"hello", b"", b""],
        &[b"hello", b"x"],
        &[],
    ];
    for hello in others {
        assert!(!server.verify(0, ADDRESS, hello, &cookie), "{hello:?}");
    }
    assert!(!server.verify(0, b"2001:db8::1 5684hello", &[b""], &cookie));
    assert!(
        !Server { secrets: CookieSecrets::new(&mut Counter { drawn: 7, last: 9 }).unwrap(), ..Server::new() }
            .accepts(0, &cookie)
    );
}

#[test]
fn every_bit_and_the_length_count() {
    let mut server = Server::new();
    let cookie = server.make(0).unwrap();
    for bit in 0..8 * COOKIE_LEN {
        let mut flipped = cookie;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(!server.accepts(0, &flipped), "{bit}");
    }
    for len in 0..COOKIE_LEN {
        assert!(!server.accepts(0, &cookie[..len]), "{len}");
    }
    assert!(!server.accepts(0, &[&cookie[..], &[0]].concat()));
    assert!(server.accepts(0, &cookie));
}

#[test]
fn good_for_one_rotation_and_not_for_two() {
    const START: u64 = 5_000_000;
    for (age, last) in [(0, 119_999), (1, 119_999), (59_999, 119_999), (60_000, 179_999), (200_000, 299_999)] {
        let mut server = Server::new();
        server.make(START).unwrap();
        let cookie = server.make(START + age).unwrap();
        for now in [age, age + 60_000, last] {
            assert!(server.accepts(START + now, &cookie), "of {age} at {now}");
        }
        assert!(!server.accepts(START + last + 1, &cookie), "of {age}");
        assert!(!server.accepts(START + last + 60_001, &cookie), "of {age}");
    }
}

#[test]
fn a_long_silence_keeps_no_secret() {
    let mut server = Server::new();
    let cookie = server.make(0).unwrap();
    assert!(!server.accepts(120_000, &cookie));
    assert_eq!(server.rng.drawn, 4, "both were replaced");
    let mut server = Server::new();
    let cookie = server.make(0).unwrap();
    assert!(!server.accepts(u64::MAX, &cookie));
    assert!(!server.accepts(0, &cookie), "nor does it come back with the time");
}

#[test]
fn a_failed_draw_fails_one_call() {
    for (last, passed) in [(2, 60_000), (2, 120_000), (3, 120_000)] {
        let mut server = Server::new();
        let before = server.make(0).unwrap();
        server.rng.last = last;
        assert_eq!(server.make(passed), Err(CryptoError::RandomFailed));
        server.rng.last = u8::MAX;
        assert_eq!(server.accepts(passed, &before), passed == 60_000);
        let after = server.make(passed).unwrap();
        assert!(server.accepts(passed, &after) && after != before);
    }
    for last in 0..2 {
        assert_eq!(CookieSecrets::new(&mut Counter { drawn: 0, last }).err(), Some(CryptoError::RandomFailed));
    }
}

#[test]
fn secrets_are_not_printed() {
    let printed = format!("{:?}", Server::new().secrets);
    assert_eq!(printed, "CookieSecrets { current: Secret, previous: Secret, since: None }");
}

proptest! {
    /// For any client and time: a cookie is valid only for what it was made for, in its period and the next one.
    #[test]
    fn good_for_nothing_else(
        times in vec(0..200_000_u64, 2),
        made in (vec(any::<u8>(), 0..3), vec(vec(any::<u8>(), 0..3), 0..3)),
        asked in (vec(any::<u8>(), 0..3), vec(vec(any::<u8>(), 0..3), 0..3)),
        same in any::<bool>(),
    ) {
        let (start, passed) = (times[0], times[1]);
        let asked = if same { made.clone() } else { asked };
        let hello: Vec<_> = made.1.iter().map(|part| &part[..]).collect();
        let Server { mut secrets, mut rng } = Server::new();
        let cookie = secrets.make(Instant(start), &mut rng, SHA256, &made.0, &hello).unwrap();
        let hello: Vec<_> = asked.1.iter().map(|part| &part[..]).collect();
        let good = secrets.verify(Instant(start + passed), &mut rng, SHA256, &asked.0, &hello, &cookie).unwrap();
        prop_assert_eq!(good, made == asked && passed < 120_000);
    }
}
