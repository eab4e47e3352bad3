//! A whole onboarding on a simulated link: from the first handshake with the IDevID to the status that the pledge sends over its
//! second connection, with its LDevID (RFC 8995; draft-ietf-anima-constrained-voucher-31).
//!
//! Pledge, registrar and MASA are those of [`terse_brski`], and the connections those of the engine. What is simulated is the link,
//! with UDP or TCP above it. Registrar and MASA are one host: what they tell each other is on no link, and takes no time; nor does
//! computing.
//!
//! ```text
//!  pledge host                                       registrar host
//!  Pledge<Coaps>, coap::Client, DTLS  --- UDP ---    Endpoint, coap::Server  \  decisions of registrar
//!  Pledge<Https>, HTTP/1.1, TLS 1.3   --- TCP ---    TLS 1.3, HTTP/1.1       /  and MASA
//! ```
//!
//! [`mesh`] has the same through a stateless join proxy in a 6TiSCH network.
//!
//! What must always hold: a run is a function of its setting, its parties and the seed; the bytes of all steps and layers add up to
//! those of the frames on the link.

use core::fmt;

use crate::tsch::ConfigError;

mod clock;
mod coaps;
mod count;
mod https;
mod journal;
mod jpy;
mod link;
pub mod mesh;
mod parties;
mod pledge;
mod run;
mod services;
mod setting;
mod step;

pub use count::{Bytes, StepCount};
pub use parties::{IssuesLdevids, Parties};
pub use run::{Outcome, run};
pub use setting::{Dtls, Protocol, Setting};
pub use step::Step;

/// Why an onboarding cannot be simulated, or did not end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failed {
    /// The parties cannot do what the setting asks for.
    Parties(String),
    /// The datagrams or the segments of the link are too short.
    LinkTooNarrow,
    /// The pledge had no LDevID when the time of the setting was over. The text says what has failed meanwhile.
    NotEnrolled(String),
    /// The network of motes cannot be built.
    Mesh(ConfigError),
    /// The queue of the link was full: what was dropped there is not known by its step.
    QueueFull,
    /// The simulator lost count of frames, packets or bytes.
    Conservation(String),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parties(cause) => f.write_str(cause),
            Self::LinkTooNarrow => f.write_str("the packets of the link are too short for DTLS: choose a greater MTU"),
            Self::NotEnrolled(cause) => write!(f, "the pledge was not enrolled in time ({cause}): try less loss"),
            Self::Mesh(cause) => cause.fmt(f),
            Self::QueueFull => f.write_str("the queue of the link was full: choose a faster link"),
            Self::Conservation(balance) => write!(f, "the simulator lost count: {balance}"),
        }
    }
}

impl core::error::Error for Failed {}
