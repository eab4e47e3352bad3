//! Measures in a process of its own, where the library has done nothing before: the heap, the stack and the instructions of the
//! first signature, of another one, both with all that comes before them, and of one alone.
//!
//! The library's code is in memory already when counting begins, and so are content, key and certificates, as DER. The result
//! is freed at the end.

use std::path::Path;
use std::process::Command;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::{Pledge, Signer};
use crate::measure::instructions;
use crate::probe::{CountedProbe, HeapProbe, Probe, StackProbe, Unwatched};
use crate::stack::Side;

/// What a process measures of each [`Phase`]. Callgrind counts the instructions of one phase alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Once {
    /// The heap, in bytes.
    Heap,
    /// The deepest stack, in bytes.
    Stack,
    /// The instructions of [`Phase::First`].
    CountFirst,
    /// The instructions of [`Phase::Again`].
    CountAgain,
    /// The instructions of [`Phase::Alone`].
    CountAlone,
}

/// A signature, in the order in which a process makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The first signature of the process: loading key and certificates, signing, unloading.
    First,
    /// The same again, when the library has done what it does once in a process.
    Again,
    /// Signing alone, with a key that has signed before.
    Alone,
}

impl Phase {
    /// All of them, in their order.
    pub const ALL: [Self; 3] = [Self::First, Self::Again, Self::Alone];
}

/// What a process reports, by [`Phase`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The most bytes in use at once: of heap, or of stack.
    pub peak: [i64; 3],
    /// The bytes of all requests: of heap.
    pub total: [i64; 3],
}

impl Once {
    /// Measures, in this process.
    pub fn run(self, signer: &dyn Signer, pledge: &Pledge) -> Result<Report, String> {
        signer.version()?;
        let mut signed = Vec::with_capacity(ROOM);
        let mut report = Report::default();
        for phase in Phase::ALL {
            let loaded = if phase == Phase::Alone { Some(signer.load(pledge)?) } else { None };
            let mut call = || {
                signed.clear();
                let mut take = |bytes: &[u8]| signed.extend_from_slice(bytes);
                match &loaded {
                    Some(loaded) => loaded.sign(pledge, &mut take),
                    None => signer.load(pledge)?.sign(pledge, &mut take),
                }
            };
            if phase == Phase::Alone {
                call()?;
            }
            let (peak, total) = self.measure(phase, &mut call)?;
            (report.peak[phase as usize], report.total[phase as usize]) = (peak, total);
            signer.check(pledge, &signed)?;
        }
        Ok(report)
    }

    /// Makes a call, and returns the peak and the total of what is measured.
    fn measure(self, phase: Phase, call: &mut dyn FnMut() -> Result<(), String>) -> Result<(i64, i64), String> {
        match self {
            Self::Heap => {
                let mut probe = HeapProbe::new();
                watched(&mut probe, call)?;
                let heap = probe.heap(Side::Client);
                Ok((heap.peak, heap.total))
            }
            Self::Stack => {
                let mut probe = StackProbe::default();
                watched(&mut probe, call)?;
                Ok((probe.deepest(Side::Client) as i64, 0)) // far below 2^63
            }
            _ if self == Self::count_of(phase) => watched(&mut CountedProbe(Side::Client), call).map(|()| (0, 0)),
            _ => watched(&mut Unwatched, call).map(|()| (0, 0)),
        }
    }

    const fn count_of(phase: Phase) -> Self {
        match phase {
            Phase::First => Self::CountFirst,
            Phase::Again => Self::CountAgain,
            Phase::Alone => Self::CountAlone,
        }
    }

    /// Returns the arguments of `terse-bench` for the process.
    fn arguments(self, signer: &dyn Signer, pledge: &Pledge) -> Vec<String> {
        let what = self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let directory = pledge.directory().display().to_string();
        ["voucher-once", signer.name(), &what, &directory].map(String::from).into()
    }
}

/// Makes the call through `probe`.
fn watched(probe: &mut dyn Probe, call: &mut dyn FnMut() -> Result<(), String>) -> Result<(), String> {
    let mut result = Ok(());
    probe.call(Side::Client, &mut || result = call());
    result
}

/// Measures heap or stack in a new process of `program`, which is `terse-bench`.
pub fn once(program: &Path, what: Once, signer: &dyn Signer, pledge: &Pledge) -> Result<Report, String> {
    let output = Command::new(program).args(what.arguments(signer, pledge)).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// Counts the instructions of each [`Phase`], in new processes of `program`, which is `terse-bench`.
pub fn count(program: &Path, signer: &dyn Signer, pledge: &Pledge) -> Result<[f64; 3], String> {
    let mut counts = [0.0; 3];
    for (count, phase) in counts.iter_mut().zip(Phase::ALL) {
        *count = instructions::collected(program, &Once::count_of(phase).arguments(signer, pledge))?;
    }
    Ok(counts)
}

/// Room for what is signed, so that keeping it allocates nothing.
const ROOM: usize = 16_384;
