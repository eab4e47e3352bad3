//! `terse masa register`: the devices of another factory, by their IDevIDs.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use terse_onboard::masa::{DeviceOptions, MasaConfig, Registration, register_idevids};

use super::{Config, failed};
use crate::failure::Failure;
use crate::output::{self, printable};
use crate::pki::now;
use crate::services;

#[derive(Debug, Args)]
pub(super) struct Register {
    /// The IDevIDs, a file for each device: its certificate, then those above it that are no anchors
    #[arg(value_name = "FILE", required = true)]
    certificates: Vec<PathBuf>,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    recorded: Recorded,
}

/// What is recorded of devices when they are registered.
#[derive(Debug, Args)]
pub(super) struct Recorded {
    /// A customer to whom the device was sold, by its name in the configuration (repeatable)
    #[arg(long = "sold-to", value_name = "NAME")]
    sold_to: Vec<String>,
    /// The device supports raw public keys alone: its vouchers pin the key of the registrar, and no certificate
    #[arg(long)]
    raw_public_keys: bool,
}

impl Recorded {
    /// Checks that the configuration has the customers.
    pub(super) fn options(self, path: &Config, config: &MasaConfig) -> Result<DeviceOptions, Failure> {
        path.check_customers(config, &self.sold_to)?;
        Ok(DeviceOptions { sold_to: self.sold_to, raw_public_keys_only: self.raw_public_keys })
    }
}

impl Register {
    pub(super) fn run(self, json: bool) -> Result<(), Failure> {
        let config = self.config.read()?;
        let options = self.recorded.options(&self.config, &config)?;
        let (mut refused, mut printed) = (0, Ok(()));
        let now = now()?;
        let observe = |file: &Path, registration: &Registration| {
            refused += usize::from(matches!(registration, Registration::Refused(_)));
            if printed.is_ok() {
                printed = print(file, registration, json);
            }
        };
        let done = services::run(async {
            register_idevids(&config, &self.certificates, &options, now, observe).await.map_err(failed)
        });
        done?;
        printed?;
        match refused {
            0 => Ok(()),
            _ => Err(Failure::Failed(format!(
                "{refused} of {} were not registered; correct these files, and run the same again",
                self.certificates.len()
            ))),
        }
    }
}

/// Prints what became of a file, as soon as that is known.
fn print(file: &Path, registration: &Registration, json: bool) -> Result<(), Failure> {
    let (serial_number, state, problem) = match registration {
        Registration::New(serial_number) => (Some(serial_number), "registered", None),
        Registration::Known(serial_number) => (Some(serial_number), "registered before", None),
        Registration::Refused(problem) => (None, "refused", Some(printable(&problem.to_string()))),
        other => (None, "unknown", Some(printable(&format!("{}: {other:?}", file.display())))),
    };
    let file = file.display().to_string();
    if json {
        return output::json(&json!({
            "file": file,
            "serial_number": serial_number,
            "state": state,
            "problem": problem,
        }));
    }
    match (serial_number, problem) {
        (Some(serial_number), _) => {
            output::line(format_args!("{}  {state}  {}", printable(serial_number), printable(&file)))
        }
        (None, problem) => {
            output::warn(&problem.unwrap_or_default());
            Ok(())
        }
    }
}
