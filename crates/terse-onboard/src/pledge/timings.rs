//! How long each stage of an onboarding took, and how many bytes it sent and received.
//!
//! What must always hold: the stages together are the whole time and all bytes, whatever was repeated.

use core::time::Duration;
use std::time::Instant;

use terse_brski::pledge::Phase;

use super::counted::Counters;

/// What a pledge did in a stretch of time: a phase of the machine, or a connection within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// A phase. For [`Phase::Connect`] it is the connection and the handshake with the IDevID.
    Phase(Phase),
    /// The connection and the handshake with the LDevID, before the phase after [`Phase::Store`] goes on with a request.
    ConnectLdevid,
}

impl Stage {
    /// Returns a name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectLdevid => "connect_ldevid",
            Self::Phase(phase) => match phase {
                Phase::Discover => "discover",
                Phase::Connect => "connect",
                Phase::SignVoucherRequest => "sign_voucher_request",
                Phase::RequestVoucher => "request_voucher",
                Phase::WaitForVoucher => "wait_for_voucher",
                Phase::RefuseVoucher => "refuse_voucher",
                Phase::ReportVoucher => "voucher_status",
                Phase::RequestCaCerts => "cacerts",
                Phase::RequestCsrAttributes => "csrattrs",
                Phase::MakeKey => "make_key",
                Phase::SignRequest => "sign_request",
                Phase::Enroll => "enroll",
                Phase::Store => "store",
                Phase::RequestIdentityKey => "identity_key",
                Phase::StoreIdentityKey => "store_identity_key",
                Phase::ReportEnrollment => "enrollstatus",
                Phase::ReportFailure => "report_failure",
                Phase::Enrolled => "enrolled",
                _ => "other",
            },
        }
    }
}

/// What a stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spent {
    /// How long it took.
    pub time: Duration,
    /// The bytes that TCP or UDP carried for the pledge.
    pub sent: u64,
    /// The bytes that TCP or UDP carried to the pledge.
    pub received: u64,
}

/// What each stage took, in the order in which they came first. A stage that was repeated has the sum.
#[derive(Clone, Debug)]
pub struct Timings {
    stages: Vec<(Stage, Spent)>,
    stage: Stage,
    since: Instant,
    /// What was carried when the stage began.
    carried: (u64, u64),
    counters: Counters,
}

impl Timings {
    /// Begins with discovery.
    pub(super) fn begin() -> Self {
        Self {
            stages: Vec::new(),
            stage: Stage::Phase(Phase::Discover),
            since: Instant::now(),
            carried: (0, 0),
            counters: Counters::default(),
        }
    }

    /// Returns the counters of the connections.
    pub(super) const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Notes which stage it is from now on.
    pub(super) fn enter(&mut self, stage: Stage) {
        if stage == self.stage {
            return;
        }
        let (now, carried) = (Instant::now(), self.counters.read());
        let known = self.stages.iter().position(|(known, _)| *known == self.stage).unwrap_or_else(|| {
            self.stages.push((self.stage, Spent::default())); // there are at most as many as phases, and one
            self.stages.len() - 1
        });
        let (_, spent) = &mut self.stages[known]; // found, or pushed, above
        spent.time += now.duration_since(self.since);
        spent.sent += carried.0 - self.carried.0; // counters only grow
        spent.received += carried.1 - self.carried.1;
        (self.stage, self.since, self.carried) = (stage, now, carried);
    }

    /// Whether this is the stage that is under way.
    pub(super) fn is_in(&self, stage: Stage) -> bool {
        self.stage == stage
    }

    /// Returns the stages that are over.
    pub fn stages(&self) -> impl Iterator<Item = (Stage, Spent)> {
        self.stages.iter().copied()
    }

    /// Returns the time of all stages that are over.
    pub fn total(&self) -> Duration {
        self.stages.iter().map(|(_, spent)| spent.time).sum()
    }
}

#[cfg(test)]
mod tests;
