//! `terse sim new` asks a few questions about a network, and writes a scenario for `terse sim run` (docs/planning.md).
//!
//! What must always hold: what is written reads back as a scenario; a file that is there is only replaced if that is asked for.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use terse_sim::scenario::{EventKind, ScenarioFile};

use crate::compare::files;
use crate::failure::Failure;
use crate::output;

mod answers;
mod plan;
mod question;
#[cfg(test)]
mod tests;
mod text;

use answers::{Answers, Place, Schedule};
use plan::Fixed;
use question::{Asker, Question};

/// Each question has a default, and a word on what it means. What an option answers is not asked. A wrong answer is asked for again
/// on a terminal, and ends the command otherwise. docs/planning.md goes from a planner's question to an answer.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  terse sim new network.toml
  terse sim new network.toml --devices 500 --hops 3 --schedule fixed --duty-cycle 10 --loss 5 --yes

docs/planning.md shows how to read what terse sim run says of the file.")]
pub(crate) struct NewArgs {
    /// The file to write (- for standard output)
    #[arg(value_name = "FILE", default_value = "network.toml")]
    file: PathBuf,
    /// The number of devices, 1 to 1000
    #[arg(long, value_name = "N")]
    devices: Option<String>,
    /// How they stand: tree, field or grid
    #[arg(long, value_name = "PLACE")]
    place: Option<String>,
    /// Of a tree: the most hops to the root
    #[arg(long, value_name = "N")]
    hops: Option<String>,
    /// Of a field: the side of its square in metres
    #[arg(long, value_name = "METRES")]
    side: Option<String>,
    /// Of a grid: the distance between neighbours in metres
    #[arg(long, value_name = "METRES")]
    spacing: Option<String>,
    /// Who makes the schedule: msf for a network that forms itself, fixed for a tree whose schedule stands
    #[arg(long, value_name = "SCHEDULE")]
    schedule: Option<String>,
    /// The length of a slot in milliseconds: 10, 15 or 20
    #[arg(long, value_name = "MS")]
    slot: Option<String>,
    /// The percentage of frames that a link loses; of a grid also distance; a field's follows from distances
    #[arg(long, value_name = "PERCENT")]
    loss: Option<String>,
    /// Of a fixed schedule: the percentage of time that the busiest mote is awake
    #[arg(long, value_name = "PERCENT")]
    duty_cycle: Option<String>,
    /// What happens: power-cut, server-restart, renewal or link-fade
    #[arg(long, value_name = "EVENT")]
    event: Option<String>,
    /// The seconds between two reports of a device; 0 for none
    #[arg(long, value_name = "SECONDS")]
    report_every: Option<String>,
    /// The bytes of a report
    #[arg(long, value_name = "BYTES")]
    report_bytes: Option<String>,
    /// The handshakes to compare: modes of DTLS 1.3, and with -1.2 of DTLS 1.2, divided by commas
    #[arg(long, value_name = "LIST")]
    handshakes: Option<String>,
    /// The runs of each row
    #[arg(long, value_name = "N")]
    repetitions: Option<String>,
    /// The seconds over which devices spread their handshakes
    #[arg(long, value_name = "SECONDS")]
    spread: Option<String>,
    /// Take the default of each question that no option answers
    #[arg(long)]
    yes: bool,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// What was written, for `--json`.
#[derive(serde::Serialize)]
struct Written<'a> {
    file: &'a str,
    rows: usize,
    runs: u64,
}

impl NewArgs {
    pub(super) fn run(&self, json: bool) -> Result<(), Failure> {
        let is_printed = files::is_standard_output(&self.file);
        if is_printed && json {
            return Err(Failure::Usage("--json and - both want standard output; give a file".into()));
        }
        // What cannot be written is said before the questions rather than after them.
        files::check(&self.file)?;
        if !is_printed && !self.force && self.file.exists() {
            return Err(self.is_there());
        }
        let (mut input, mut out) = (io::stdin().lock(), io::stderr().lock());
        let is_terminal = input.is_terminal();
        let mut asker = Asker { input: &mut input, output: &mut out, is_terminal, takes_defaults: self.yes };
        let (answers, fixed) = self.ask(&mut asker)?;
        drop(out);
        let text = text::of(&answers, fixed.as_ref());
        let name = self.file.display().to_string();
        let read = ScenarioFile::parse(&name, &text);
        let read =
            read.map_err(|mistakes| Failure::Failed(format!("the scenario of these answers is wrong: {mistakes}")))?;
        if is_printed {
            return output::line(text.trim_end());
        }
        self.write(&text)?;
        let rows = read.rows.len();
        if json {
            return output::json(&Written { file: &name, rows, runs: rows as u64 * answers.repetitions });
        }
        output::line(format!(
            "{name}: {rows} rows, {} runs each. What to do next:\n  {}",
            answers.repetitions,
            next(&self.file)
        ))
    }

    /// Asks all questions.
    fn ask(&self, asker: &mut Asker<'_>) -> Result<(Answers, Option<Fixed>), Failure> {
        let devices = asker.ask(&DEVICES, self.devices.as_deref(), "100", |text| {
            answers::integer(text, "number of devices", 1..=answers::MOST_DEVICES)
        })?;
        let place = self.ask_place(asker, devices)?;
        let is_tree = matches!(place, Place::Tree { .. });
        let is_fixed = match is_tree {
            true => asker.ask(&SCHEDULE, self.schedule.as_deref(), "msf", |text| {
                answers::one_of(text, "schedule", &[("msf", false), ("fixed", true)])
            })?,
            false => {
                let msf_alone = [("msf", false)];
                let given = self
                    .schedule
                    .as_deref()
                    .map(|text| answers::one_of(text, "schedule of devices without a tree", &msf_alone));
                given.transpose().map_err(|mistake| Failure::Usage(format!("--schedule: {mistake}")))?.unwrap_or(false)
            }
        };
        let slot_ms = asker.ask(&SLOT, self.slot.as_deref(), "10", |text| {
            answers::one_of(text, "length of a slot", &[("10", 10), ("15", 15), ("20", 20)])
        })?;
        let loss = match place {
            Place::Field { .. } => {
                unused(self.loss.as_deref(), "loss", "the loss of a field follows from distances").map(|()| None)?
            }
            _ => {
                let default = if is_tree { "5" } else { answers::BY_DISTANCE };
                let question = if is_tree { &LOSS } else { &LOSS_OF_A_GRID };
                asker.ask(question, self.loss.as_deref(), default, |text| answers::loss(text, !is_tree))?
            }
        };
        let (schedule, fixed) = match is_fixed {
            true => {
                let read = |text: &str| {
                    let duty_cycle = answers::number(text, "duty cycle", 0.1..=100.0)?;
                    let fixed = Fixed::new(devices, place, slot_ms, loss.unwrap_or(0.0), duty_cycle)?;
                    Ok((Schedule::Fixed { duty_cycle }, Some(fixed)))
                };
                asker.ask(&DUTY_CYCLE, self.duty_cycle.as_deref(), "10", read)?
            }
            false => {
                unused(
                    self.duty_cycle.as_deref(),
                    "duty-cycle",
                    "with msf the duty cycle is an outcome: --schedule fixed has one",
                )?;
                (Schedule::Msf, None)
            }
        };
        let event = asker
            .ask(&EVENT, self.event.as_deref(), "power-cut", |text| answers::one_of(text, "event", &answers::EVENTS))?;
        let report_every = self.ask_period(asker, event, fixed.as_ref())?;
        let report_bytes = asker.ask(&REPORT_BYTES, self.report_bytes.as_deref(), "32", |text| {
            answers::integer(text, "number of bytes of a report", 16..=900)
        })?;
        let handshakes =
            asker.ask(&HANDSHAKES, self.handshakes.as_deref(), answers::default_handshakes(event), |text| {
                answers::handshakes_after(event, text)
            })?;
        let repetitions = asker.ask(&REPETITIONS, self.repetitions.as_deref(), "3", |text| {
            answers::integer(text, "number of runs", 1..=100_000)
        })?;
        let spread = fixed.as_ref().map_or_else(|| plan::spread_of_msf(devices), Fixed::spread);
        let spread = asker.ask(&SPREAD, self.spread.as_deref(), &spread.to_string(), |text| {
            answers::integer(text, "number of seconds", 0..=plan::MOST_SPREAD)
        })?;
        let answers = Answers {
            devices,
            place,
            slot_ms,
            loss,
            schedule,
            event,
            report_every,
            report_bytes,
            handshakes,
            repetitions,
            spread,
        };
        Ok((answers, fixed))
    }

    /// Asks how devices stand.
    fn ask_place(&self, asker: &mut Asker<'_>, devices: u64) -> Result<Place, Failure> {
        // An option of one kind of place says which it is.
        let implied = match (&self.side, &self.spacing) {
            (Some(_), _) => "field",
            (_, Some(_)) => "grid",
            _ => "tree",
        };
        let is_implied = self.hops.is_some() || implied != "tree";
        let given = self.place.as_deref().or(is_implied.then_some(implied));
        let kind = asker.ask(&PLACE, given, "tree", |text| {
            answers::one_of(text, "way to stand", &[("tree", "tree"), ("field", "field"), ("grid", "grid")])
        })?;
        for (option, given, of) in
            [("hops", &self.hops, "tree"), ("side", &self.side, "field"), ("spacing", &self.spacing, "grid")]
        {
            if kind != of {
                unused(given.as_deref(), option, &format!("a {kind} has none: --place {of}"))?;
            }
        }
        match kind {
            "tree" => {
                let depths = answers::depths(devices);
                let default = depths.iter().rev().find(|hops| **hops <= 3).or(depths.first()).map_or(1, |hops| *hops);
                let read = |text: &str| {
                    answers::tree(devices, answers::integer(text, "number of hops", 1..=answers::MOST_HOPS)?)
                };
                asker.ask(&HOPS, self.hops.as_deref(), &default.to_string(), read)
            }
            "field" => asker.ask(&SIDE, self.side.as_deref(), "1000", |text| {
                answers::number(text, "side of a field", 10.0..=2_000.0).map(|side| Place::Field { side })
            }),
            _ => asker.ask(&SPACING, self.spacing.as_deref(), "50", |text| {
                answers::number(text, "distance", 1.0..=100.0).map(|spacing| Place::Grid { spacing })
            }),
        }
    }

    /// Asks how often devices report, which the busiest link must be able to carry.
    fn ask_period(&self, asker: &mut Asker<'_>, event: EventKind, fixed: Option<&Fixed>) -> Result<u64, Failure> {
        let default = fixed.map_or(600, Fixed::period);
        let least = fixed.map_or(1, Fixed::least_period).max(1);
        asker.ask(&REPORT_EVERY, self.report_every.as_deref(), &default.to_string(), |text| {
            let period = answers::integer(text, "number of seconds", 0..=864_000)?;
            match period {
                0 if matches!(event, EventKind::ServerRestart | EventKind::LinkFade) => {
                    Err(format!("devices notice a {} by reports without an answer only: {least} or more", event.text()))
                }
                period if (1..least).contains(&period) => Err(format!(
                    "reports every {period} s are more than the busiest link carries: {least} or more, or 0 for none"
                )),
                period => Ok(period),
            }
        })
    }

    /// Writes the file. Without --force it must not have come there meanwhile.
    fn write(&self, text: &str) -> Result<(), Failure> {
        if self.force {
            return files::write(&self.file, text.as_bytes());
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&self.file);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(self.is_there()),
            Err(error) => Err(Failure::Failed(format!("cannot write {}: {error}", self.file.display()))),
            Ok(()) => Ok(()),
        }
    }

    fn is_there(&self) -> Failure {
        let name = self.file.display();
        Failure::Failed(format!("{name} is there already: give another name, or --force to replace it"))
    }
}

/// Refuses an option that has no meaning beside the others.
fn unused(given: Option<&str>, option: &str, why: &str) -> Result<(), Failure> {
    match given {
        Some(_) => Err(Failure::Usage(format!("--{option}: {why}"))),
        None => Ok(()),
    }
}

/// Returns the command that runs a scenario, with a report beside the file.
fn next(file: &Path) -> String {
    let quoted = |path: &Path| match path.display().to_string() {
        name if name.contains([' ', '\'', '"', '$']) => format!("'{}'", name.replace('\'', r"'\''")),
        name => name,
    };
    format!("terse sim run {} --html {}", quoted(file), quoted(&file.with_extension("html")))
}

const DEVICES: Question = Question {
    option: "devices",
    text: "How many devices",
    meaning: "Each device is a mote with a connection of its own; the root is not one of them.",
};

const PLACE: Question = Question {
    option: "place",
    text: "How do they stand: tree, field or grid",
    meaning: "In a tree the links are given; in a field devices stand at random in a square; in a grid at equal distances.",
};

const HOPS: Question = Question {
    option: "hops",
    text: "How many hops",
    meaning: "Each hop sends a packet once more; each mote has as few children as this allows.",
};

const SIDE: Question = Question {
    option: "side",
    text: "Side of the field in metres",
    meaning: "The root stands in the centre; the wider the field, the more hops there are.",
};

const SPACING: Question = Question {
    option: "spacing",
    text: "Distance between neighbours in metres",
    meaning: "The root stands in the centre; the farther, the weaker are links.",
};

const SCHEDULE: Question = Question {
    option: "schedule",
    text: "Who makes the schedule: msf or fixed",
    meaning: "With msf the network forms itself, and its duty cycle is an outcome; a fixed schedule stands, and you choose its duty cycle.",
};

const SLOT: Question = Question {
    option: "slot",
    text: "Length of a slot in milliseconds: 10, 15 or 20",
    meaning: "One frame and its acknowledgement take a slot: 10 as in the standard, 15 or 20 as in OpenWSN.",
};

const LOSS: Question = Question {
    option: "loss",
    text: "Loss in percent",
    meaning: "So many frames are lost on each link, and sent again.",
};

const LOSS_OF_A_GRID: Question = Question {
    option: "loss",
    text: "Loss in percent, or distance",
    meaning: "A percentage holds between neighbours alone; with distance the loss between any two devices follows from how far apart they are.",
};

const DUTY_CYCLE: Question = Question {
    option: "duty-cycle",
    text: "Duty cycle in percent",
    meaning: "The mote with the most children is awake for so much of the time; the lower, the longer batteries last and packets take.",
};

const EVENT: Question = Question {
    option: "event",
    text: "What happens: power-cut, server-restart, renewal or link-fade",
    meaning: "After the event all devices connect again, which is what is measured.",
};

const REPORT_EVERY: Question = Question {
    option: "report-every",
    text: "Seconds between reports of a device",
    meaning: "What devices send once they are connected; 0 for nothing.",
};

const REPORT_BYTES: Question = Question {
    option: "report-bytes",
    text: "Bytes of a report",
    meaning: "Before it is protected; its answer has 8 bytes.",
};

const HANDSHAKES: Question = Question {
    option: "handshakes",
    text: "Handshakes to compare",
    meaning: "A row each: modes of DTLS 1.3, and with -1.2 of DTLS 1.2.",
};

const REPETITIONS: Question = Question {
    option: "repetitions",
    text: "Runs of each row",
    meaning: "Each run has other chances; 3 are good for a first look, 20 for a result.",
};

const SPREAD: Question = Question {
    option: "spread",
    text: "Over how many seconds do devices spread their handshakes",
    meaning: "Each device waits for a random time up to this. If all connect at once, most of what they send is lost; the default \
              leaves room for full handshakes.",
};
