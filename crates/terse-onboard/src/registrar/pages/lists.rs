//! The certificates that end, and what devices say has failed.

use maud::{Markup, html};

use super::StatusPages;
use super::{by_time, by_time_text, device_link};
use crate::pages::{Fields, Page, Problem, date, from_hex, hex, next_link, shown, table};

impl StatusPages {
    pub(super) async fn certificates(&self, fields: &Fields) -> Result<Page, Problem> {
        let days = match fields.text("days") {
            "" => 30,
            _ => fields.number::<i64>("days").filter(|days| (1..=MAX_DAYS).contains(days)).ok_or(Problem::Malformed)?,
        };
        let now = i64::try_from(self.service().now().as_secs()).unwrap_or(i64::MAX);
        let (from, to) = (now.saturating_sub(days * 86_400), now.saturating_add(days * 86_400));
        let page = self.service().inner.store.ending(from, to, by_time(fields.text("after"))).await?;
        let row = |one: &super::super::store::pages::Ending| {
            let has_ended = i64::try_from(one.not_after).is_ok_and(|end| end <= now);
            vec![
                device_link(&one.idevid, &one.serial_number),
                shown(&one.manufacturer),
                date(one.issued),
                date(one.not_after),
                match has_ended {
                    true => html! { span.bad { "has ended" } },
                    false => html! { span.warn { "ends" } },
                },
            ]
        };
        let rows: Vec<Vec<Markup>> = page.rows.iter().map(row).collect();
        let next = page.next.map(|next| format!("/certificates?days={days}&after={}", by_time_text(&next)));
        Ok(Page::new(
            "Certificates that end",
            html! {
                p { "The newest certificate of each device, if it ends within so many days, or has ended since as many, but for devices that are kept out. A device renews it by itself, if it can." }
                form.search method="get" action="/certificates" {
                    div {
                        label for="days" { "Days" }
                        input #days name="days" type="number" min="1" max=(MAX_DAYS) value=(days) required;
                    }
                    button type="submit" { "Show" }
                }
                (table("Certificates, the first to end first", &["Serial number", "Manufacturer", "Issued", "Until", "State"], &rows, "No certificate ends in this time."))
                (next_link(next))
            },
        ))
    }

    pub(super) async fn failures(&self, fields: &Fields) -> Result<Page, Problem> {
        let before = match fields.text("before") {
            "" => None,
            text => Some(before(text).ok_or(Problem::Malformed)?),
        };
        let page = self.service().inner.store.failures(before).await?;
        let row = |one: &super::super::store::pages::Failure| {
            vec![
                date(one.received),
                device_link(&one.idevid, one.serial_number.as_deref().unwrap_or("unknown")),
                shown(&one.topic),
                one.reason.as_deref().map_or_else(|| html! { "it gives none" }, shown),
            ]
        };
        let rows: Vec<Vec<Markup>> = page.rows.iter().map(row).collect();
        let next = page.next.map(|(time, id, number)| format!("/failures?before={time}-{}-{number}", hex(&id)));
        Ok(Page::new(
            "Failures",
            html! {
                p { "What devices have said themselves. Of each device the last 32 messages are kept." }
                (table("Failures, the newest first", &["When", "Serial number", "About", "Reason"], &rows, "No device has said that something failed."))
                (next_link(next))
            },
        ))
    }
}

/// Reads where the page begins, of a field `TIME-IDEVID-NUMBER`.
fn before(text: &str) -> Option<(i64, Vec<u8>, i64)> {
    let (time, rest) = text.split_once('-')?;
    let (id, number) = rest.split_once('-')?;
    Some((time.parse().ok()?, from_hex(id)?, number.parse().ok()?))
}

/// The most days: ten years.
const MAX_DAYS: i64 = 3_650;
