//! `terse-bench plant` onboards many devices at two registrars and two MASAs on one PostgreSQL, of which one of each is killed twice
//! meanwhile, and the other one of each cut off from the network for a while if that is wanted (RFC 8995).
//!
//! The services are processes of the `terse` command, behind balancers for TCP; the devices run in this process. What must always
//! hold: a run counts only if each device has its LDevID and its registrar knows that, if the audit log of the MASA has an entry
//! for each voucher that left it, and none twice, and if its chain is whole.

use std::path::PathBuf;

use serde::Serialize;

mod balancer;
mod books;
mod devices;
mod link;
mod postgres;
mod scene;

use scene::{From, Scene};

use crate::table::{lay_out, thousands};

/// What is measured.
#[derive(Clone, Debug)]
pub struct Plant {
    /// How many devices there are.
    pub pledges: usize,
    /// How many of them join at a time.
    pub at_once: usize,
    /// Whether the other registrar and the other MASA are cut off meanwhile, from their database and from their clients.
    pub has_cuts: bool,
    /// The directory for all files; by default that of temporary files.
    pub directory: Option<PathBuf>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// How many devices were enrolled, which are all.
    pub pledges: usize,
    /// How many joined at a time.
    pub at_once: usize,
    /// The seconds from the first connection to the last device that was enrolled.
    pub seconds: f64,
    /// The seconds that each device took, in order.
    pub each: Vec<f64>,
    /// How many attempts of devices have failed, and were made again.
    pub failed_attempts: usize,
    /// How often a registrar was killed, and a MASA as often.
    pub kills: usize,
    /// How often the other registrar and the other MASA were cut off.
    pub cuts: usize,
    /// The bytes that were kept back meanwhile, on the way to their database and to their clients.
    pub kept_back: [u64; 2],
    /// The vouchers that the devices have verified.
    pub verified_vouchers: usize,
    /// The entries of the audit log, one for each voucher that was issued.
    pub audit_entries: u64,
    /// Certificates that were issued.
    pub certificates: u64,
    /// Seconds of CPU time of the services that ran at the end, and of the devices with this process.
    pub cpu_seconds: Option<(f64, f64)>,
}

impl Plant {
    /// Onboards all devices. Cargo builds the command first, as this program was built.
    pub fn measure(&self) -> Result<Measured, String> {
        let program = terse_interop::compile::built_by_cargo("terse")?;
        let directory = self.directory.clone().unwrap_or_else(std::env::temp_dir);
        let scene = Scene::start(&program, &directory, self.pledges)?;
        let joined = devices::join(&scene, self.pledges, self.at_once, self.has_cuts)?;
        let books = books::check(&scene, &joined)?;
        Ok(Measured {
            pledges: self.pledges,
            at_once: self.at_once,
            seconds: joined.seconds,
            each: joined.each,
            failed_attempts: joined.failed_attempts,
            kills: joined.kills,
            cuts: joined.cuts,
            kept_back: [From::Database, From::Clients].map(|from| scene.kept_back(from)),
            verified_vouchers: joined.verified_vouchers,
            audit_entries: books.audit_entries,
            certificates: books.certificates,
            cpu_seconds: scene.cpu_seconds().zip(joined.cpu_seconds),
        })
    }
}

impl Measured {
    /// Returns the table.
    pub fn render(&self) -> String {
        let at = |share: f64| {
            let index = ((self.each.len() - 1) as f64 * share).round() as usize;
            format!("{:.2}", self.each[index])
        };
        let count = |number: usize| thousands(number as u64);
        let cpu = self.cpu_seconds.map(|(services, devices)| format!("{services:.1}, {devices:.1}"));
        let rows = [
            ("devices, all enrolled and reported", count(self.pledges)),
            ("joining at a time", count(self.at_once)),
            ("registrars and MASAs that were killed", format!("{} and {}", self.kills, self.kills)),
            ("times that the others were cut off for 5 s", self.cuts.to_string()),
            ("seconds in all", format!("{:.1}", self.seconds)),
            ("devices per second", format!("{:.1}", self.pledges as f64 / self.seconds)),
            ("seconds of a device: median, 95 %, longest", [at(0.5), at(0.95), at(1.0)].join(", ")),
            ("attempts that failed and were made again", count(self.failed_attempts)),
            ("vouchers that devices have verified", count(self.verified_vouchers)),
            ("entries of the audit log, none twice, chain whole", thousands(self.audit_entries)),
            ("certificates issued", thousands(self.certificates)),
            ("CPU seconds: services at the end, devices", cpu.unwrap_or("not known here".into())),
        ];
        let head = ("two registrars and two MASAs on PostgreSQL", String::new());
        let rows = [head].into_iter().chain(rows).map(|(name, value)| vec![name.to_owned(), value]);
        lay_out(&rows.collect::<Vec<_>>())
    }
}
