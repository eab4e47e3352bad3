//! The provider suite on this provider.

terse_testkit::provider_suite!(terse_aws_lc::PROVIDER);
