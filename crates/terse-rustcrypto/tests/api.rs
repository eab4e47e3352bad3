//! The provider suite runs on this provider.

terse_testkit::provider_suite!(terse_rustcrypto::PROVIDER);

/// The provider that signs with RSA keys is the same in all else.
mod rsa_signing {
    terse_testkit::provider_suite!(terse_rustcrypto::RSA_SIGNING);
}
