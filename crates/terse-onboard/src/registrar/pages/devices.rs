//! All devices, by their serial numbers.

use maud::{Markup, html};

use super::super::store::pages::Standing;
use super::StatusPages;
use super::{device_link, standing_text};
use crate::pages::{Fields, Page, Problem, date, from_hex, hex, next_link, percent, search, shown, table};

/// The states by which devices can be filtered: the value in the address, and what is said of it.
const STATES: &[(&str, &str)] = &[
    ("", "All"),
    ("waiting", "Wait for a decision"),
    ("joined", "Have had a voucher"),
    ("enrolled", "Have a certificate or an identity key"),
    ("problem", "Have a problem"),
    ("rejected", "Rejected"),
];

impl StatusPages {
    pub(super) async fn devices(&self, fields: &Fields) -> Result<Page, Problem> {
        let (serial, state) = (fields.text("serial"), fields.text("state"));
        if !STATES.iter().any(|(known, _)| *known == state) {
            return Err(Problem::Malformed);
        }
        let after = match fields.text("after-id") {
            "" => None,
            id => Some((fields.text("after").to_owned(), from_hex(id).ok_or(Problem::Malformed)?)),
        };
        let now = self.service().now().as_secs();
        let page =
            self.service().inner.store.standings(serial, after, |standing| is_wanted(standing, state, now)).await?;
        let rows: Vec<Vec<Markup>> = page.rows.iter().map(|standing| row(standing, now)).collect();
        let next = page.next.map(|(after, id)| {
            format!(
                "/devices?serial={}&state={}&after={}&after-id={}",
                percent(serial),
                percent(state),
                percent(&after),
                hex(&id)
            )
        });
        let empty = if next.is_some() {
            "None of the devices that were looked at. Go on with the next page."
        } else {
            "No device."
        };
        Ok(Page::new(
            "Devices",
            html! {
                (search("/devices", serial, Some((state, STATES))))
                (table("Devices, by serial number", &["Serial number", "Manufacturer", "State", "Voucher", "Certificate until"], &rows, empty))
                (next_link(next))
            },
        ))
    }
}

fn row(standing: &Standing, now: u64) -> Vec<Markup> {
    let joining = standing.joining.as_ref();
    let time = |time: Option<u64>| time.map_or_else(|| html! { "–" }, date);
    vec![
        device_link(&standing.idevid, &standing.serial_number),
        shown(&standing.manufacturer),
        standing_text(standing, now),
        time(joining.map(|joining| joining.voucher)),
        time(joining.and_then(|joining| joining.not_after)),
    ]
}

fn is_wanted(standing: &Standing, state: &str, now: u64) -> bool {
    let is_rejected = standing.is_allowed == Some(false);
    let joining = standing.joining.as_ref();
    match state {
        "waiting" => match joining {
            Some(joining) => joining.audit == "bad" && !is_rejected,
            None => standing.is_allowed.is_none() && standing.request.as_deref() == Some("awaiting-operator"),
        },
        "joined" => joining.is_some(),
        "enrolled" => joining.is_some_and(|joining| joining.has_ldevid || joining.identity_key.is_some()),
        "problem" => joining.is_some_and(|joining| {
            let has_failed = joining.voucher_status == Some(false) || joining.enroll_status == Some(false);
            let has_ended = joining.not_after.is_some_and(|end| end <= now);
            joining.audit == "bad" || has_failed || has_ended || standing.is_revoked
        }),
        "rejected" => is_rejected,
        _ => true,
    }
}
