//! Tests of the effect of answers and deadlines on a path validation.

use super::*;

fn at(port: u16) -> Path {
    core::net::SocketAddr::from(([192, 0, 2, 1], port)).into()
}

/// A counter as source of randomness, so that the n-th cookie consists of bytes n.
struct Counter(u8);

impl Rng for Counter {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        for cookie in out.chunks_mut(8) {
            cookie.fill(self.0);
            self.0 += 1;
        }
        Ok(())
    }
}

fn check() -> Check {
    Check::new(at(1), &mut Counter(0)).unwrap()
}

fn response(number: u8) -> ReturnRoutabilityCheck {
    ReturnRoutabilityCheck::PathResponse([number; 8])
}

fn drop(number: u8) -> ReturnRoutabilityCheck {
    ReturnRoutabilityCheck::PathDrop([number; 8])
}

/// Challenges both addresses. Returns the cookies.
fn ask(check: &mut Check) -> Option<[PathCookie; 2]> {
    let cookies = check.ask();
    check.asked([true; 2]);
    cookies
}

/// Cookies with even numbers were sent to the old address, those with odd ones to the new one.
#[test]
fn the_first_cookie_is_enough() {
    for attempts in 1..=ATTEMPTS {
        for answered in 0..attempts as u8 {
            let begun = || {
                let mut check = check();
                for attempt in 0..attempts as u8 {
                    assert_eq!(ask(&mut check), Some([[2 * attempt; 8], [2 * attempt + 1; 8]]));
                }
                check
            };
            let mut moved = begun();
            assert_eq!(moved.heard(&response(2 * answered + 1), true), Outcome::Reachable);
            assert_eq!(moved.expired(), Outcome::Moved);
            let mut stays = begun();
            assert_eq!(stays.heard(&response(2 * answered), true), Outcome::Stays);
            assert_eq!((stays.is_kept(), stays.expired()), (true, Outcome::Over));
        }
    }
}

#[test]
fn the_old_address_has_the_last_word_in_time() {
    let mut check = check();
    ask(&mut check);
    assert_eq!(check.heard(&response(1), true), Outcome::Reachable);
    assert_eq!(check.heard(&response(0), true), Outcome::Stays);
    assert_eq!(check.heard(&response(1), true), Outcome::Nothing);
    assert_eq!(check.heard(&drop(0), false), Outcome::Nothing);
    assert_eq!(check.expired(), Outcome::Over);
}

/// RFC 9853, 5.2
#[test]
fn an_old_path_that_is_not_preferred_leaves_it_to_the_new_one() {
    let mut check = check();
    ask(&mut check);
    assert_eq!(check.heard(&drop(0), false), Outcome::Open);
    assert_eq!(check.heard(&response(0), false), Outcome::Nothing, "one answer for each challenge");
    assert_eq!(check.heard(&response(1), true), Outcome::Moved, "nothing else is waited for");
    let mut check = super::tests::check();
    ask(&mut check);
    assert_eq!(check.heard(&response(1), true), Outcome::Reachable);
    assert_eq!(check.heard(&drop(0), false), Outcome::Moved);
}

#[test]
fn what_was_not_asked_is_no_answer() {
    let mut check = check();
    assert_eq!(check.heard(&response(1), true), Outcome::Nothing);
    ask(&mut check);
    for answer in [response(2), response(3), response(99), drop(1), ReturnRoutabilityCheck::PathChallenge([1; 8])] {
        assert_eq!(check.heard(&answer, true), Outcome::Nothing, "{answer:?}");
    }
    assert_eq!(check.heard(&response(1), false), Outcome::Nothing, "from elsewhere");
    assert_eq!(check.heard(&response(1), true), Outcome::Reachable);
    assert_eq!(check.heard(&response(1), true), Outcome::Nothing, "again");
}

#[test]
fn nobody_is_asked_without_end() {
    let mut check = check();
    for _ in 0..ATTEMPTS {
        assert_eq!(check.expired(), Outcome::Ask);
        assert!(check.ask().is_some());
    }
    assert_eq!((check.expired(), check.ask()), (Outcome::Failed, None));
}

/// A challenge is not sent if too little came from the new address, or if the connection ID must not be sent to the old
/// one. An answer with its cookie is guessed.
#[test]
fn a_challenge_that_was_not_sent_has_no_answer() {
    for place in 0..2_u8 {
        let mut check = check();
        check.ask();
        check.asked([place == 1, place == 0]);
        assert_eq!(check.heard(&response(place), true), Outcome::Nothing);
        assert_ne!(check.heard(&response(1 - place), true), Outcome::Nothing);
    }
}
