//! Onboardings through a stateless join proxy in a 6TiSCH network.

use serde::Serialize;
use terse_sim::onboarding::mesh::{self, Bytes, Outcome, Setting, StepCount};
use terse_sim::onboarding::{Dtls, Parties};

use crate::compare::table::lay_out;
use crate::failure::Failure;
use crate::output;

/// Onboards a device with each version of DTLS, and prints what that costs.
pub(super) fn run(hops: u16, loss: u8, seed: u64, parties: &Parties, json: bool) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for dtls in Dtls::ALL {
        let setting = Setting { loss: f64::from(loss) / 100.0, seed, ..Setting::new(dtls, hops) };
        let outcome = mesh::run(&setting, parties);
        let outcome = outcome.map_err(|failed| Failure::Failed(format!("{}: {failed}", dtls.name())))?;
        rows.push((dtls.name(), outcome));
    }
    match json {
        true => rows.iter().try_for_each(|(form, outcome)| output::json(&Object::new(form, hops, outcome))),
        false => output::line(table(&rows).trim_end()),
    }
}

fn table(rows: &[(&'static str, Outcome)]) -> String {
    let header = [
        "",
        "seconds",
        "pledge up",
        "down",
        "mesh up",
        "down",
        "bytes",
        "frames",
        "lost",
        "repeated attempts",
        "pledge mC",
        "idle",
        "proxy mC",
        "idle",
        "others mC",
        "idle",
    ];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for (form, outcome) in rows {
        let mut line = vec![(*form).to_owned(), format!("{:.3}", outcome.enrolled.as_secs_f64())];
        line.extend(bytes(&outcome.total()));
        line.extend([outcome.lost.to_string(), outcome.failures.to_string()]);
        let charges = [outcome.pledge, outcome.proxy, outcome.others];
        line.extend(charges.iter().flatten().map(|charge| format!("{charge:.2}")));
        lines.push(line);
    }
    let mut text = lay_out(&lines);
    let unreported = rows.iter().filter(|(_, outcome)| !outcome.is_reported);
    text.push_str(&super::table::not_reported(unreported.map(|(form, _)| *form)));
    for (form, outcome) in rows {
        text.push_str(&format!("\n{form}: bytes by step\n\n{}", steps(outcome)));
    }
    text
}

fn steps(outcome: &Outcome) -> String {
    let header = ["", "seconds", "pledge up", "down", "mesh up", "down", "bytes", "frames"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for StepCount { step, bytes: of_step, time } in &outcome.steps {
        let mut line = vec![step.name().to_owned(), format!("{:.3}", time.as_secs_f64())];
        line.extend(bytes(of_step));
        lines.push(line);
    }
    lay_out(&lines)
}

fn bytes(bytes: &Bytes) -> [String; 6] {
    let Bytes { up, down, mesh_up, mesh_down, frames } = *bytes;
    [up, down, mesh_up, mesh_down, bytes.sum(), frames].map(|number| number.to_string())
}

/// An onboarding as a line of JSON.
#[derive(Debug, Serialize)]
struct Object {
    form: &'static str,
    hops: u16,
    seconds: f64,
    bytes: Numbers,
    lost_frames: usize,
    repeated_attempts: usize,
    is_reported: bool,
    pledge_mc: Charge,
    proxy_mc: Charge,
    others_mc: Charge,
    steps: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct Step {
    step: &'static str,
    seconds: f64,
    bytes: Numbers,
}

/// Bytes of frames, with their acknowledgements.
#[derive(Debug, Serialize)]
struct Numbers {
    pledge_up: usize,
    pledge_down: usize,
    mesh_up: usize,
    mesh_down: usize,
    all: usize,
    frames: usize,
}

/// What was taken, and what listening alone would have taken.
#[derive(Debug, Serialize)]
struct Charge {
    all: f64,
    idle: f64,
}

impl Object {
    fn new(form: &'static str, hops: u16, outcome: &Outcome) -> Self {
        let charge = |[all, idle]: [f64; 2]| Charge { all, idle };
        let step = |count: &StepCount| Step {
            step: count.step.name(),
            seconds: count.time.as_secs_f64(),
            bytes: Numbers::from(count.bytes),
        };
        Self {
            form,
            hops,
            seconds: outcome.enrolled.as_secs_f64(),
            bytes: outcome.total().into(),
            lost_frames: outcome.lost,
            repeated_attempts: outcome.failures,
            is_reported: outcome.is_reported,
            pledge_mc: charge(outcome.pledge),
            proxy_mc: charge(outcome.proxy),
            others_mc: charge(outcome.others),
            steps: outcome.steps.iter().map(step).collect(),
        }
    }
}

impl From<Bytes> for Numbers {
    fn from(bytes: Bytes) -> Self {
        let Bytes { up, down, mesh_up, mesh_down, frames } = bytes;
        Self { pledge_up: up, pledge_down: down, mesh_up, mesh_down, all: bytes.sum(), frames }
    }
}
