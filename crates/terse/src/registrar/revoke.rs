//! `terse registrar revoke` and `crl`: certificates of devices that are no longer good, and the list that says so.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use terse_onboard::registrar::{Operator, Revoked, Revoker, SignedCrl};
use terse_pki::{RevocationReason, to_pem, write_file};

use super::{Config, Device, failed};
use crate::failure::Failure;
use crate::output::{self, date, printable};

#[derive(Debug, Args)]
pub(super) struct Revoke {
    #[command(flatten)]
    device: Device,
    /// Why: key-compromise, affiliation-changed, superseded, cessation-of-operation or privilege-withdrawn
    #[arg(long, value_name = "REASON")]
    reason: Option<RevocationReason>,
}

#[derive(Debug, Args)]
pub(super) struct Crl {
    #[command(flatten)]
    config: Config,
    /// Where to write it [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write DER in place of PEM
    #[arg(long, requires = "out")]
    der: bool,
}

impl Revoke {
    pub(super) async fn run(self, json: bool) -> Result<(), Failure> {
        let Self { device, reason } = self;
        let operator = device.config.open().await?;
        let revoked = operator.revoke(&device.serial, device.manufacturer.as_deref(), reason).await.map_err(failed)?;
        let Revoked { manufacturer, revoked, earlier, foreign, .. } = revoked;
        let serial = device.serial;
        if json {
            return output::json(&json!({
                "serial": serial,
                "manufacturer": manufacturer,
                "revoked": revoked,
                "revoked_before": earlier,
                "of_another_ca": foreign,
            }));
        }
        let what = match (revoked, earlier) {
            (0, 0) if foreign == 0 => "it has no certificate that has not ended".to_owned(),
            (0, 0) => "it has no certificate of this CA that has not ended".to_owned(),
            (0, _) => "its certificates were revoked before".to_owned(),
            (number, _) => format!("{} revoked, and listed by the registrar within seconds", certificates(number)),
        };
        output::line(printable(&format!("{serial} of {manufacturer}: {what}")))?;
        match foreign {
            0 => Ok(()),
            number => output::line(format_args!("{} of another CA; revoke there", certificates(number))),
        }
    }
}

impl Crl {
    pub(super) async fn run(self, json: bool) -> Result<(), Failure> {
        let SignedCrl { der, number, next_update, .. } = self.config.open().await?.crl().await.map_err(failed)?;
        let pem = to_pem("X509 CRL", &der);
        if let Some(out) = &self.out {
            let contents = if self.der { &der } else { pem.as_bytes() };
            write_file(out, contents, false, true).map_err(failed)?;
        }
        match (&self.out, json) {
            (Some(out), true) => output::json(
                &json!({ "written": [out.display().to_string()], "number": number, "next_update": next_update }),
            ),
            (None, true) => output::json(&json!({ "crl": pem, "number": number, "next_update": next_update })),
            (Some(out), false) => {
                output::line(format_args!("{}  the next one comes before {}", out.display(), date(next_update)))
            }
            (None, false) => output::line(pem.trim_end()),
        }
    }
}

/// Returns what is to be done about the certificates of a device that is rejected, if it has some.
pub(super) async fn after_rejection(
    operator: &Operator,
    serial: &str,
    manufacturer: &str,
) -> Result<Option<String>, Failure> {
    let number = operator.certificates(serial, manufacturer).await.map_err(failed)?;
    let (certificates, them) = match number {
        0 => return Ok(None),
        1 => ("a certificate that has".to_owned(), "it"),
        _ => (format!("{number} certificates that have"), "them"),
    };
    Ok(Some(match operator.revoker() {
        Revoker::Registrar(..) => {
            format!("it has {certificates} not ended: `terse registrar revoke {serial}` revokes {them}")
        }
        _ => format!("it has {certificates} not ended: the CA behind the EST server must revoke {them}"),
    }))
}

fn certificates(number: u64) -> String {
    match number {
        1 => "1 certificate is".into(),
        _ => format!("{number} certificates are"),
    }
}
