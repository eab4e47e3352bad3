//! The status pages of a MASA.
//!
//! | path | page |
//! |---|---|
//! | `/` | the overview: here |
//! | `/devices`, `/vouchers` | all devices and all vouchers, by serial number: `lists` |
//! | `/device` | one device with its audit log: `device` |
//! | `/device/block`, `/device/unblock`, `/device/release` | the change, to be confirmed: `device` |
//!
//! What must always hold: no page changes an audit log; a change is that of the command with the same name.

use maud::{Markup, html};

use super::operator::Change;
use super::store::MasaStore;
use super::store::pages::{DeviceKey, MAX_COUNTED};
use crate::pages::{Fields, Page, Problem, Site, Visitor, from_hex, hex, percent, shown};

mod device;
mod lists;

/// The pages of a MASA.
pub(super) struct StatusPages {
    store: MasaStore,
}

impl StatusPages {
    pub(super) const fn new(store: MasaStore) -> Self {
        Self { store }
    }

    async fn overview(&self) -> Page {
        let counts = self.store.counts().await.inspect_err(|error| tracing::error!(%error, "the database failed"));
        Page::new(
            "Overview",
            html! {
                @match counts {
                    Ok(counts) => {
                        ul.counts {
                            li { strong { (counted(counts.devices)) } a href="/devices" { "devices" } }
                            li { strong { (counted(counts.blocked)) } a href="/devices?state=blocked" { "are blocked" } }
                            li { strong { (counted(counts.vouchers)) } a href="/vouchers" { "vouchers" } }
                        }
                        h2 { "Health" }
                        p { "Database: " span.good { "it answers" } }
                    },
                    Err(_) => {
                        h2 { "Health" }
                        p.problem role="alert" { "Database: " span.bad { "it does not answer" } ". The log of the MASA says why." }
                    },
                }
            },
        )
    }
}

impl Site for StatusPages {
    const NAME: &'static str = "Terse MASA";

    const MENU: &'static [(&'static str, &'static str)] =
        &[("/", "Overview"), ("/devices", "Devices"), ("/vouchers", "Vouchers")];

    async fn show(&self, path: &str, fields: &Fields, visitor: &Visitor) -> Result<Page, Problem> {
        match path {
            "/" => Ok(self.overview().await),
            "/devices" => self.devices(fields).await,
            "/vouchers" => self.vouchers(fields).await,
            "/device" => self.device(fields).await,
            _ => self.confirm(fields, visitor, change(path)?).await,
        }
    }

    async fn change(&self, path: &str, fields: &Fields, visitor: &Visitor) -> Result<String, Problem> {
        self.carry_out(fields, visitor, change(path)?).await
    }
}

/// Returns the change that is carried out at a path.
fn change(path: &str) -> Result<Change, Problem> {
    match path {
        "/device/block" => Ok(Change::Block),
        "/device/unblock" => Ok(Change::Unblock),
        "/device/release" => Ok(Change::Release),
        _ => Err(Problem::NotFound),
    }
}

/// Returns the device that a page is about.
fn key(fields: &Fields) -> Result<DeviceKey, Problem> {
    let issuer = from_hex(fields.text("issuer")).ok_or(Problem::Malformed)?;
    Ok((fields.text("serial").to_owned(), issuer))
}

/// Returns the address of the page of a device.
fn device_path(serial_number: &str, issuer: &[u8]) -> String {
    format!("/device?serial={}&issuer={}", percent(serial_number), hex(issuer))
}

/// A serial number that leads to the page of the device.
fn device_link(serial_number: &str, issuer: &[u8]) -> Markup {
    html! { a href=(device_path(serial_number, issuer)) { (shown(serial_number)) } }
}

fn counted(count: u64) -> String {
    match i64::try_from(count).is_ok_and(|count| count < MAX_COUNTED) {
        true => count.to_string(),
        false => format!("{MAX_COUNTED} or more"),
    }
}
