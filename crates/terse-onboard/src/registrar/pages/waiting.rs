//! The devices that wait for a decision.

use maud::{Markup, html};

use super::super::store::pages::Waiting;
use super::StatusPages;
use super::certificate::certificate_facts;
use super::{by_time, by_time_text, device_link};
use crate::pages::{Fields, Page, Problem, date, facts, hex, next_link, shown};

impl StatusPages {
    pub(super) async fn waiting(&self, fields: &Fields) -> Result<Page, Problem> {
        let service = self.service();
        let store = &service.inner.store;
        let joins = store.waiting(by_time(fields.text("after")), self.service().now()).await?;
        let audits = store.bad_audits(by_time(fields.text("after-audit"))).await?;
        let next =
            |name: &str, next: &Option<_>| next.as_ref().map(|next| format!("/waiting?{name}={}", by_time_text(next)));
        Ok(Page::new(
            "Devices that wait for a decision",
            html! {
                h2 { "Want to join" }
                @if joins.rows.is_empty() {
                    p.empty { "No device waits to join." }
                }
                @for device in &joins.rows { (card(device)) }
                (next_link(next("after", &joins.next)))
                h2 #audit { "Have a bad audit log" }
                @if audits.rows.is_empty() {
                    p.empty { "No device waits because of its audit log." }
                }
                @for device in &audits.rows { (card(device)) }
                (next_link(next("after-audit", &audits.next)))
            },
        ))
    }
}

fn card(device: &Waiting) -> Markup {
    let reason = match &device.audit_reason {
        Some(reason) => html! { "its audit log: " (shown(reason)) },
        None => html! { "it wants to join, and the configuration says to ask" },
    };
    html! {
        section.card {
            h3 { (device_link(&device.idevid, &device.serial_number)) " of " (shown(&device.manufacturer)) }
            (facts(&[
                ("Waits because", reason),
                ("Since", date(device.since)),
                ("MASA in its certificate", device.masa.as_deref().map_or_else(|| html! { "none" }, shown)),
            ]))
            (certificate_facts(device.certificate.as_deref()))
            (actions(&hex(&device.idevid), true, true))
        }
    }
}

/// The links to decisions.
pub(super) fn actions(id: &str, accept: bool, reject: bool) -> Markup {
    html! {
        p.actions {
            @if accept { a.button href={ "/device/accept?id=" (id) } { "Accept…" } }
            @if reject { a.button.severe href={ "/device/reject?id=" (id) } { "Reject…" } }
        }
    }
}
