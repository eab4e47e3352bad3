//! The vectors of project Wycheproof run through the traits that the engine uses, with both providers: the checks are
//! those of `terse_provider_suite::wycheproof`.

use terse_testkit::provider_suite::wycheproof::{Outcome, Tally};
use terse_tls::crypto::CryptoProvider;
use wycheproof::TestResult;

mod aead;
mod agreement;
mod hash;
mod signatures;

/// Returns the result that the vector states.
fn outcome(result: TestResult) -> Outcome {
    match result {
        TestResult::Valid => Outcome::Valid,
        TestResult::Invalid => Outcome::Invalid,
        TestResult::Acceptable => Outcome::Acceptable,
    }
}

/// Runs `check` with both providers, which must agree. At least `accepted` vectors must be accepted, and `refused`
/// refused.
fn with_both(accepted: usize, refused: usize, check: impl Fn(&CryptoProvider, &mut Tally)) {
    let tallies = [&terse_aws_lc::EXTERNAL_RANDOMNESS, &terse_rustcrypto::PROVIDER].map(|provider| {
        let mut tally = Tally::default();
        check(provider, &mut tally);
        tally
    });
    println!("{:?}", tallies[0]);
    assert_eq!(tallies[0], tallies[1]);
    assert!(tallies[0].accepted >= accepted && tallies[0].refused >= refused, "{:?}", tallies[0]);
    assert!(accepted > 0);
}
