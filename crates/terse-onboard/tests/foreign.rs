//! Programs of others against the services of onboarding: curl and OpenSSL, Bouncy Castle's client of EST, libcoap, Californium
//! with cose-java, and avahi.
//!
//! Where one of them is missing, its tests say so and are skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.

mod avahi;
mod bouncy_castle;
mod californium;
mod crl;
mod device;
mod est;
mod libcoap;
mod libcoap_client;
mod masa;
mod programs;
mod registrar;
mod relay;
mod world;
