//! The whole pledge with constrained BRSKI against a scripted registrar, on a virtual clock: every request goes through the
//! mapping to CoAP, and every response comes through it.

use std::vec;
use std::vec::Vec;

use super::*;
use crate::coap::{Code, Method, PathForm, Payload, Request, Resource, Response, content_format as format};
use crate::pledge::form::{Coaps, Credentials, Proximity};

mod datagrams;
mod enrolling;
mod happy;
mod identity_keys;
mod joining;
mod pins;
mod registrar;
mod tampered;
mod vectors;
mod waiting;
mod world;

use registrar::Registrar;
use world::World;

#[test]
fn the_state_is_small() {
    assert!(size_of::<Pledge<Coaps>>() <= 96, "{}", size_of::<Pledge<Coaps>>());
    assert!(size_of::<Join<Coaps>>() <= 256, "{}", size_of::<Join<Coaps>>());
}
