//! The provider suite runs on this provider. Known answers need secrets that the test chooses.

use terse_testkit::provider_suite::groups as suite;

terse_testkit::provider_suite!(terse_aws_lc::EXTERNAL_RANDOMNESS);

#[test]
fn groups_with_the_librarys_own_randomness() {
    let provider = &terse_aws_lc::PROVIDER;
    suite::round_trips(provider);
    suite::wrong_lengths(provider);
    suite::invalid_points(provider);
    suite::low_order_points(provider);
    suite::invalid_encapsulation_keys(provider);
    suite::forged_ciphertexts(provider);
}
