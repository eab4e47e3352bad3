//! All devices, and all vouchers, by serial number.

use maud::{Markup, html};

use super::super::store::Record;
use super::super::store::pages::Issued;
use super::{StatusPages, device_link};
use crate::pages::{Fields, Page, Problem, date, from_hex, hex, next_link, percent, search, shown, table};

/// The states by which devices can be filtered: the value in the address, and what is said of it.
const STATES: &[(&str, &str)] = &[
    ("", "All"),
    ("owned", "Belong to a domain"),
    ("free", "Belong to nobody"),
    ("blocked", "Blocked"),
    ("unregistered", "Without record"),
];

impl StatusPages {
    pub(super) async fn devices(&self, fields: &Fields) -> Result<Page, Problem> {
        let (serial, state) = (fields.text("serial"), fields.text("state"));
        if !STATES.iter().any(|(known, _)| *known == state) {
            return Err(Problem::Malformed);
        }
        let after = match fields.text("after") {
            "" => None,
            after => Some((after.to_owned(), from_hex(fields.text("after-issuer")).ok_or(Problem::Malformed)?)),
        };
        let page = self.store.records(serial, after, |record| is_wanted(record, state)).await?;
        let rows: Vec<Vec<Markup>> = page.rows.iter().map(row).collect();
        let next = page.next.map(|(after, issuer)| {
            let (serial, state) = (percent(serial), percent(state));
            format!("/devices?serial={serial}&state={state}&after={}&after-issuer={}", percent(&after), hex(&issuer))
        });
        let empty = match &next {
            Some(_) => "None of the devices that were looked at. Go on with the next page.",
            None => "No device.",
        };
        Ok(Page::new(
            "Devices",
            html! {
                (search("/devices", serial, Some((state, STATES))))
                (table("Devices, by serial number", &["Serial number", "State", "Belongs to", "Vouchers"], &rows, empty))
                (next_link(next))
            },
        ))
    }

    pub(super) async fn vouchers(&self, fields: &Fields) -> Result<Page, Problem> {
        let serial = fields.text("serial");
        let after = match fields.text("after") {
            "" => None,
            after => {
                let issuer = from_hex(fields.text("after-issuer")).ok_or(Problem::Malformed)?;
                Some((after.to_owned(), issuer, fields.number("number").ok_or(Problem::Malformed)?))
            }
        };
        let page = self.store.vouchers(serial, after).await?;
        let row = |one: &Issued| {
            let mut row = vec![device_link(&one.serial_number, &one.idevid_issuer)];
            row.extend(voucher(one));
            row
        };
        let rows: Vec<Vec<Markup>> = page.rows.iter().map(row).collect();
        let next = page.next.map(|(after, issuer, number)| {
            let (serial, after) = (percent(serial), percent(&after));
            format!("/vouchers?serial={serial}&after={after}&after-issuer={}&number={number}", hex(&issuer))
        });
        let heads = ["Serial number", "Issued", "Domain", "Assertion", "Nonce", "Until"];
        Ok(Page::new(
            "Vouchers",
            html! {
                (search("/vouchers", serial, None))
                (table("Vouchers, by serial number", &heads, &rows, "No voucher."))
                (next_link(next))
            },
        ))
    }
}

fn row(record: &Record) -> Vec<Markup> {
    let device = &record.device;
    vec![
        device_link(&device.serial_number, &device.idevid_issuer),
        state(record),
        match &device.owner {
            Some(_) => html! { "a domain" },
            None => html! { "nobody" },
        },
        html! { (record.entries) },
    ]
}

/// What somebody must know of a device at first sight.
pub(super) fn state(record: &Record) -> Markup {
    match (record.device.is_blocked, record.is_registered) {
        (true, _) => html! { span.bad { "blocked" } },
        (false, true) => html! { span.good { "registered" } },
        (false, false) => html! { span.warn { "without record" } },
    }
}

/// When a voucher was issued, for whom and how, and until when it counts.
pub(super) fn voucher(issued: &Issued) -> Vec<Markup> {
    let entry = &issued.entry;
    vec![
        date(entry.date.as_secs()),
        html! { code { (hex(&entry.domain_id)) } },
        html! { (entry.assertion.name()) },
        match &entry.nonce {
            // Most are texts.
            Some(nonce) => match core::str::from_utf8(nonce.as_bytes()) {
                Ok(text) => html! { code { (shown(text)) } },
                Err(_) => html! { code { (hex(nonce.as_bytes())) } },
            },
            None => html! { span.warn { "none" } },
        },
        issued.expires_on.map_or_else(|| html! { "–" }, date),
    ]
}

fn is_wanted(record: &Record, state: &str) -> bool {
    match state {
        "owned" => record.device.owner.is_some(),
        "free" => record.device.owner.is_none(),
        "blocked" => record.device.is_blocked,
        "unregistered" => !record.is_registered,
        _ => true,
    }
}
