//! The whole pledge against a scripted registrar, on a virtual clock.

use terse_testkit::rng::SeededRng;

use super::*;

mod coaps;
mod enrolling;
mod happy;
mod interruptions;
mod joining;
pub(in crate::pledge) mod pki;
mod random;
mod redirections;
pub(in crate::pledge) mod registrar;
mod waiting;
mod world;

use registrar::Answer;
use world::World;

const REQUEST_VOUCHER: &str = "/.well-known/brski/requestvoucher";
const VOUCHER_STATUS: &str = "/.well-known/brski/voucher_status";
const ENROLL_STATUS: &str = "/.well-known/brski/enrollstatus";
const CA_CERTS: &str = "/.well-known/est/cacerts";
const CSR_ATTRIBUTES: &str = "/.well-known/est/csrattrs";
const SIMPLE_ENROLL: &str = "/.well-known/est/simpleenroll";

#[test]
fn the_state_is_small() {
    assert!(size_of::<Pledge>() <= 96, "{}", size_of::<Pledge>());
    // Besides, it has what is on its way: a request, certificates, keys.
    assert!(size_of::<Join>() <= 256, "{}", size_of::<Join>());
    assert!(size_of::<Enroll>() <= 448, "{}", size_of::<Enroll>());
    assert!(size_of::<Outstanding>() <= 160, "{}", size_of::<Outstanding>());
}

#[test]
fn what_is_printed_has_no_certificates_and_no_keys() {
    let world = World::new(registrar::Registrar::new());
    let text = std::format!("{:?}", world.pledge);
    assert!(text.contains("WI-3005") && text.contains("Connect") && text.len() < 200, "{text}");
}
