//! A whole onboarding through a stateless join proxy in a 6TiSCH network: an experiment of this project, since devices join such
//! networks by RFC 9031.
//!
//! ```text
//!  pledge ---- join proxy ---- router ---- root = gateway ---- Internet ---- registrar
//!    DTLS in link-local UDP |  the same in JPY messages, with a header for each pledge
//! ```
//!
//! The motes stand in a chain with a fixed schedule: for each hop one cell up and three down, and one shared cell, of which the
//! network of the paper on TLS over 6TiSCH has as many. The pledge has the schedule already, and no other way than the proxy.
//! Nobody takes time or charge to compute.
//!
//! The hop of the pledge is a mesh of its own, in cells of the same slotframe that the others leave free: a mesh of the simulator
//! sends everything to its root, and the pledge's datagrams end at the proxy. Their compressed headers have the routing header and
//! both interface identifiers of a packet to a root: some 20 bytes in each datagram that a link-local one would not have.
//!
//! What must always hold: a run is a function of its setting, its parties and the seed; each frame counts in the step of its
//! datagram, or, once a mote had no room for a packet, in the step that the pledge takes when it is sent.

use core::time::Duration;

use terse_brski::coap::{PathForm, Transmission};
use terse_brski::pledge::Proximity;
use terse_tls::Datagrams;

use super::setting::{Dtls, Protocol};
use super::step::Step;

mod count;
mod proxy;
mod run;
mod topology;

pub use run::run;

/// An onboarding in a chain of motes.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The version of DTLS.
    pub dtls: Dtls,
    /// How requests name their resource.
    pub path_form: PathForm,
    /// How the voucher request names the registrar.
    pub proximity: Proximity,
    /// How many hops the pledge is away from the root: 2 or more, since the join proxy is a mote before it.
    pub hops: u16,
    /// The probability that a mote loses a frame which it has acknowledged, on each hop.
    pub loss: f64,
    /// What all losses and all randomness follow from.
    pub seed: u64,
    /// When a pledge that is not enrolled is given up.
    pub limit: Duration,
}

impl Setting {
    /// Returns an onboarding with the defaults of constrained BRSKI, without losses, with a limit of a day and the seed 1.
    pub const fn new(dtls: Dtls, hops: u16) -> Self {
        let (path_form, proximity) = (PathForm::Abbreviated, Proximity::PublicKeySha256);
        Self { dtls, path_form, proximity, hops, loss: 0.0, seed: 1, limit: Duration::from_secs(86_400) }
    }

    /// Returns what pledge and registrar speak, with timers for a slow network: those of RFC 9031, 7.2, for CoAP, and of RFC
    /// 7925, 11, for DTLS.
    fn protocol(&self) -> Protocol {
        let mut transmission = Transmission::default();
        transmission.ack_timeout_ms = 10_000;
        Protocol::Coaps {
            dtls: self.dtls,
            path_form: self.path_form,
            proximity: self.proximity,
            transmission,
            datagrams: Datagrams::constrained(),
        }
    }
}

/// What an onboarding in a chain of motes has cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The steps that were taken, in their order.
    pub steps: Vec<StepCount>,
    /// From when the pledge began until it had the answer to its last status, or no longer tried to report it.
    pub enrolled: Duration,
    /// Whether the registrar was told that the pledge is enrolled.
    pub is_reported: bool,
    /// How many attempts and connections failed on the way, and were repeated.
    pub failures: usize,
    /// How many frames were lost, of those on all hops.
    pub lost: usize,
    /// The charge of the pledge, in millicoulombs, and that of a mote with the same cells that only listened meanwhile.
    pub pledge: [f64; 2],
    /// The same of the join proxy.
    pub proxy: [f64; 2],
    /// The same of the other motes together, the root included.
    pub others: [f64; 2],
}

impl Outcome {
    /// Returns the bytes of all steps.
    pub fn total(&self) -> Bytes {
        self.steps.iter().fold(Bytes::default(), |sum, count| sum + count.bytes)
    }
}

/// What a step has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepCount {
    /// The step.
    pub step: Step,
    /// The bytes of frames.
    pub bytes: Bytes,
    /// How long the pledge was in it.
    pub time: Duration,
}

/// Bytes of frames, with their acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// From the pledge to the join proxy.
    pub up: usize,
    /// From the join proxy to the pledge.
    pub down: usize,
    /// From the join proxy to the root, on all hops between them.
    pub mesh_up: usize,
    /// From the root to the join proxy.
    pub mesh_down: usize,
    /// The number of frames on all hops, without acknowledgements.
    pub frames: usize,
}

impl Bytes {
    /// Returns the bytes of all hops.
    pub const fn sum(&self) -> usize {
        self.up + self.down + self.mesh_up + self.mesh_down
    }
}

impl core::ops::Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            up: self.up + other.up,
            down: self.down + other.down,
            mesh_up: self.mesh_up + other.mesh_up,
            mesh_down: self.mesh_down + other.mesh_down,
            frames: self.frames + other.frames,
        }
    }
}
