//! The status pages of a registrar.
//!
//! | path | page |
//! |---|---|
//! | `/` | `overview` |
//! | `/waiting` | the devices that wait for a decision: `waiting` |
//! | `/devices`, `/device` | all devices, and one: `devices`, `device` |
//! | `/device/accept`, `/device/reject` | the decision, to be confirmed: `device` |
//! | `/certificates`, `/failures` | what ends, and what devices say has failed: `lists` |
//!
//! What must always hold: a decision is about the device whose certificate was shown, and about no other one with its serial
//! number.

use maud::{Markup, html};
use terse_brski::digest::Sha256;

use super::Service;
use super::store::pages::{ByTime, Standing};
use crate::live::Live;
use crate::pages::{Fields, Page, Problem, Site, Visitor, hex, shown};

mod certificate;
mod device;
mod devices;
mod lists;
mod overview;
mod waiting;

/// The pages of a registrar.
pub(super) struct StatusPages {
    live: Live<Service>,
}

impl StatusPages {
    pub(super) const fn new(live: Live<Service>) -> Self {
        Self { live }
    }

    /// Returns the registrar as it is configured now.
    fn service(&self) -> Service {
        self.live.current()
    }
}

impl Site for StatusPages {
    const NAME: &'static str = "Terse registrar";

    const MENU: &'static [(&'static str, &'static str)] = &[
        ("/", "Overview"),
        ("/waiting", "Waiting"),
        ("/devices", "Devices"),
        ("/certificates", "Certificates"),
        ("/failures", "Failures"),
    ];

    async fn show(&self, path: &str, fields: &Fields, visitor: &Visitor) -> Result<Page, Problem> {
        match path {
            "/" => self.overview().await,
            "/waiting" => self.waiting(fields).await,
            "/devices" => self.devices(fields).await,
            "/device" => self.device(fields).await,
            "/device/accept" => self.confirm(fields, visitor, true).await,
            "/device/reject" => self.confirm(fields, visitor, false).await,
            "/certificates" => self.certificates(fields).await,
            "/failures" => self.failures(fields).await,
            _ => Err(Problem::NotFound),
        }
    }

    async fn change(&self, path: &str, fields: &Fields, visitor: &Visitor) -> Result<String, Problem> {
        match path {
            "/device/accept" => self.decide(fields, visitor, true).await,
            "/device/reject" => self.decide(fields, visitor, false).await,
            _ => Err(Problem::NotFound),
        }
    }
}

/// Returns the device that a page is about.
fn idevid(fields: &Fields) -> Result<Sha256, Problem> {
    let bytes = fields.bytes("id").ok_or(Problem::Malformed)?;
    bytes.try_into().map_err(|_| Problem::Malformed)
}

/// Returns the address of the page of a device.
fn device_path(idevid: &Sha256) -> String {
    format!("/device?id={}", hex(idevid))
}

/// A serial number that leads to the page of the device.
fn device_link(idevid: &Sha256, serial_number: &str) -> Markup {
    html! { a href=(device_path(idevid)) { (shown(serial_number)) } }
}

/// Reads where a page begins, of a field `TIME-DIGEST`.
fn by_time(text: &str) -> Option<ByTime> {
    let (time, digest) = text.split_once('-')?;
    Some((time.parse().ok()?, crate::pages::from_hex(digest)?))
}

fn by_time_text((time, digest): &ByTime) -> String {
    format!("{time}-{}", hex(digest))
}

/// What an operator must know of a device at first sight, at this time in seconds since 1970.
fn standing_text(standing: &Standing, now: u64) -> Markup {
    if standing.is_allowed == Some(false) {
        return html! { span.bad { "rejected" } };
    }
    if standing.is_revoked {
        return html! { span.bad { "its certificate is revoked" } };
    }
    let Some(joining) = &standing.joining else {
        return match (standing.is_allowed, standing.request.as_deref()) {
            (Some(true), _) => html! { "accepted, has no voucher yet" },
            (_, Some("awaiting-operator")) => html! { span.warn { "waits for a decision" } },
            (_, Some("forwarded" | "allowed")) => html! { "the MASA is asked" },
            _ => html! { "has asked, and has no voucher" },
        };
    };
    match (&*joining.audit, joining.voucher_status, joining.enroll_status) {
        ("bad", ..) => html! { span.warn { "audit log is bad" } },
        (_, Some(false), _) => html! { span.bad { "refuses its voucher" } },
        _ if joining.not_after.is_some_and(|end| end <= now) => html! { span.bad { "certificate has ended" } },
        (.., Some(false)) => html! { span.bad { "enrolment has failed" } },
        (.., Some(true)) => html! { span.good { "enrolled" } },
        _ if joining.has_ldevid => html! { span.good { "has a certificate" } },
        _ if joining.identity_key.is_some() => html! { span.good { "has an identity key" } },
        ("requested", ..) => html! { "audit log is awaited" },
        _ => html! { "has a voucher" },
    }
}

fn yes_or_no(value: Option<bool>) -> Markup {
    match value {
        Some(true) => html! { span.good { "good" } },
        Some(false) => html! { span.bad { "bad" } },
        None => html! { "nothing yet" },
    }
}
