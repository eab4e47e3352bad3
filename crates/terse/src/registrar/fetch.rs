//! `terse registrar fetch` and `vouchers`: vouchers for devices that come when the MASA cannot be reached.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use terse_net::Clock;
use terse_onboard::registrar::{FetchOptions, Fetched, FetchedVoucher, fetch};

use super::{Config, Device, failed, table};
use crate::failure::Failure;
use crate::output::{self, date, printable};

#[derive(Debug, Args)]
pub(super) struct Fetch {
    #[command(flatten)]
    device: Device,
    /// The certificate of the CA that has issued the IDevID [default: the manufacturer's anchor]
    #[arg(long, value_name = "FILE")]
    idevid_issuer: Option<PathBuf>,
}

impl Config {
    pub(super) async fn vouchers(self, json: bool) -> Result<(), Failure> {
        let vouchers = self.open().await?.fetched_vouchers().await.map_err(failed)?;
        if json {
            return vouchers.iter().try_for_each(output::json);
        }
        let row = |voucher: &FetchedVoucher| {
            [
                voucher.serial_number.clone(),
                voucher.manufacturer.clone(),
                voucher.expires_on.map_or("never".into(), date),
                voucher.audit.clone(),
                voucher.audit_reason.clone().unwrap_or_default(),
            ]
        };
        table(["serial number", "manufacturer", "ends", "audit log", "because"], vouchers.iter().map(row).collect())
    }
}

impl Fetch {
    pub(super) async fn run(self, json: bool) -> Result<(), Failure> {
        let serial = self.device.serial;
        let mut options = FetchOptions::new(serial.clone());
        options.manufacturer = self.device.manufacturer;
        options.idevid_issuer = self.idevid_issuer;
        let fetched = fetch(&self.device.config.config, Clock::new(), &options).await.map_err(failed)?;
        let Fetched { manufacturer, expires_on, audit, audit_reason, signer_is_known, .. } = &fetched;
        if *signer_is_known == Some(false) {
            output::warn(&"the voucher is not signed under voucher_anchors: the device may refuse it");
        }
        if json {
            return output::json(&json!({
                "serial": serial,
                "manufacturer": manufacturer,
                "expires_on": expires_on,
                "audit": audit,
                "audit_reason": audit_reason,
                "signer_is_known": signer_is_known,
            }));
        }
        let end = expires_on.map_or("has no end".into(), |end| format!("ends {}", date(end)));
        output::line(printable(&format!("the voucher for {serial} of {manufacturer} is stored, and {end}")))?;
        let audit = match (audit.as_str(), audit_reason) {
            ("good", _) => "the audit log is good: the device can join without the MASA".to_owned(),
            ("bad", reason) => {
                let reason = reason.as_deref().unwrap_or_default();
                format!("the audit log is refused: {reason}; the device gets no certificate until it is accepted")
            }
            (_, reason) => {
                let reason = reason.as_deref().unwrap_or_default();
                format!("the audit log did not come: {reason}; the device gets no certificate before that; fetch again")
            }
        };
        output::line(printable(&audit))
    }
}
