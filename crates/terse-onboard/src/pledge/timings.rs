//! How long each stage of an onboarding took.
//!
//! What must always hold: the stages together are the whole time, whatever was repeated.

use core::time::Duration;
use std::time::Instant;

use terse_brski::pledge::Phase;

/// What a pledge did in a stretch of time: a phase of the machine, or a connection within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// A phase. For [`Phase::Connect`] it is TCP and TLS with the IDevID.
    Phase(Phase),
    /// TCP and TLS with the LDevID, before [`Phase::ReportEnrollment`] goes on with a request.
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
                Phase::ReportEnrollment => "enrollstatus",
                Phase::ReportFailure => "report_failure",
                Phase::Enrolled => "enrolled",
                _ => "other",
            },
        }
    }
}

/// The time of each stage, in the order in which they came first. A stage that was repeated has the sum.
#[derive(Clone, Debug)]
pub struct Timings {
    stages: Vec<(Stage, Duration)>,
    stage: Stage,
    since: Instant,
}

impl Timings {
    /// Begins with discovery.
    pub(super) fn begin() -> Self {
        Self { stages: Vec::new(), stage: Stage::Phase(Phase::Discover), since: Instant::now() }
    }

    /// Notes which stage it is from now on.
    pub(super) fn enter(&mut self, stage: Stage) {
        if stage == self.stage {
            return;
        }
        let now = Instant::now();
        let time = now.duration_since(self.since);
        match self.stages.iter_mut().find(|(known, _)| *known == self.stage) {
            Some((_, sum)) => *sum += time,
            None => self.stages.push((self.stage, time)), // there are at most as many as phases, and one
        }
        (self.stage, self.since) = (stage, now);
    }

    /// Whether this is the stage that is under way.
    pub(super) fn is_in(&self, stage: Stage) -> bool {
        self.stage == stage
    }

    /// Returns the stages that are over.
    pub fn stages(&self) -> impl Iterator<Item = (Stage, Duration)> {
        self.stages.iter().copied()
    }

    /// Returns the time of all stages that are over.
    pub fn total(&self) -> Duration {
        self.stages.iter().map(|(_, time)| *time).sum()
    }
}

#[cfg(test)]
mod tests;
