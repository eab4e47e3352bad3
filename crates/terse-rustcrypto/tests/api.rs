//! The provider suite runs on this provider.

terse_testkit::provider_suite!(terse_rustcrypto::PROVIDER);
