//! One device, and the decision about it.

use maud::{Markup, html};

use super::super::store::pages::{DeviceHistory, Failure, Progress, Standing};
use super::StatusPages;
use super::certificate::certificate_facts;
use super::{device_path, idevid, standing_text, yes_or_no};
use crate::pages::{
    Confirmation, Fields, Page, Problem, Visitor, confirmation, date, facts, hex, shown, spelled, table,
};

impl StatusPages {
    pub(super) async fn device(&self, fields: &Fields) -> Result<Page, Problem> {
        let idevid = idevid(fields)?;
        let standing = self.service().inner.store.standing(&idevid).await?.ok_or(Problem::NotFound)?;
        let history = self.service().inner.store.device_history(&idevid).await?;
        let title = format!("Device {}", spelled(&standing.serial_number));
        let now = self.service().now().as_secs();
        Ok(Page::new(
            title,
            html! {
                (summary(&standing, &history, now))
                (actions(&hex(&idevid), &standing))
                h2 { "IDevID, the certificate of its manufacturer" }
                (certificate_facts(history.certificate.as_deref()))
                @if let Some(joining) = &standing.joining { (progress(joining)) }
                h2 { "Certificates of this network" }
                (certificates(&history, now))
                h2 { "What the device has said" }
                (messages(&history.messages))
                h2 { "Voucher requests" }
                (requests(&history))
            },
        ))
    }

    /// The page that asks whether a decision is meant.
    pub(super) async fn confirm(&self, fields: &Fields, visitor: &Visitor, accepts: bool) -> Result<Page, Problem> {
        let idevid = idevid(fields)?;
        let standing = self.service().inner.store.standing(&idevid).await?.ok_or(Problem::NotFound)?;
        let history = self.service().inner.store.device_history(&idevid).await?;
        let (id, back) = (hex(&idevid), device_path(&idevid));
        let (title, action, button) = match accepts {
            true => ("Accept this device?", "/device/accept", "Accept the device"),
            false => ("Reject this device?", "/device/reject", "Reject the device"),
        };
        let form = Confirmation { action, button, fields: &[("id", &id)], back: &back, is_severe: !accepts };
        Ok(Page::new(
            title,
            html! {
                @match accepts {
                    true => p { "It may join this network, also with the audit log that it has. Compare its serial number with the device itself." },
                    false => p { "It gets neither a voucher nor a certificate any more. A certificate that it has stays valid until " code { "terse registrar revoke" } ", or the CA behind an EST server, revokes it." },
                }
                (summary(&standing, &history, self.service().now().as_secs()))
                (confirmation(visitor, &form))
                h2 { "IDevID, the certificate of its manufacturer" }
                (certificate_facts(history.certificate.as_deref()))
            },
        ))
    }

    /// Stores a decision.
    pub(super) async fn decide(&self, fields: &Fields, visitor: &Visitor, accepts: bool) -> Result<String, Problem> {
        let idevid = idevid(fields)?;
        let device = self.service().inner.store.device(&idevid).await?.ok_or(Problem::NotFound)?;
        self.service().inner.store.decide(&device, accepts, self.service().now()).await?;
        let decision = if accepts { "accepted" } else { "rejected" };
        tracing::info!(
            serial_number = ?device.serial_number, manufacturer = ?device.manufacturer, idevid = hex(&idevid), by = ?visitor.logged(),
            "a device was {decision} on the status pages"
        );
        Ok(device_path(&idevid))
    }
}

/// Links to the decisions that would change something.
fn actions(id: &str, standing: &Standing) -> Markup {
    let is_bad = standing.joining.as_ref().is_some_and(|joining| joining.audit == "bad");
    let may_accept = standing.is_allowed != Some(true) || is_bad || standing.is_revoked;
    super::waiting::actions(id, may_accept, standing.is_allowed != Some(false))
}

fn summary(standing: &Standing, history: &DeviceHistory, now: u64) -> Markup {
    let decision = match (standing.is_allowed, history.decided) {
        (Some(true), Some(time)) => html! { "accepted on " (date(time)) },
        (Some(false), Some(time)) => html! { span.bad { "rejected" } " on " (date(time)) },
        _ => html! { "none" },
    };
    facts(&[
        ("Serial number", html! { strong { (shown(&standing.serial_number)) } }),
        ("Manufacturer", shown(&standing.manufacturer)),
        ("State", standing_text(standing, now)),
        ("Decision", decision),
    ])
}

fn progress(joining: &Progress) -> Markup {
    let audit = match &*joining.audit {
        "good" => html! { span.good { "good" } },
        "bad" => html! { span.bad { "bad" } },
        "requested" => html! { "awaited" },
        other => shown(other),
    };
    html! {
        h2 { "Voucher and audit log" }
        (facts(&[
            ("Voucher of", date(joining.voucher)),
            ("The device says of it", yes_or_no(joining.voucher_status)),
            ("Audit log", audit),
            ("Reason", joining.audit_reason.as_deref().map_or_else(|| html! { "none" }, shown)),
            ("Identity key", joining.identity_key.map_or_else(|| html! { "none" }, date)),
            ("The device says of its enrolment", yes_or_no(joining.enroll_status)),
        ]))
    }
}

fn certificates(history: &DeviceHistory, now: u64) -> Markup {
    let row = |one: &super::super::store::pages::Certificate| {
        let state = match (one.not_after <= now, history.newest == Some(one.sha256)) {
            (true, _) => html! { span.bad { "has ended" } },
            (false, true) => html! { span.good { "newest" } },
            (false, false) => html! { "earlier" },
        };
        vec![date(one.issued), date(one.not_after), state, html! { code { (hex(&one.sha256)) } }]
    };
    let rows: Vec<_> = history.certificates.iter().map(row).collect();
    table("LDevIDs, the newest first", &["Issued", "Until", "State", "SHA-256"], &rows, "It has got none.")
}

fn messages(messages: &[Failure]) -> Markup {
    let row = |one: &Failure| {
        let topic = match &*one.topic {
            "voucher" => html! { "voucher" },
            "enrolment" => html! { "enrolment" },
            other => shown(other),
        };
        let reason = one.reason.as_deref().map_or_else(|| html! { "–" }, shown);
        vec![date(one.received), topic, yes_or_no(Some(one.is_good)), reason]
    };
    let rows: Vec<_> = messages.iter().map(row).collect();
    table("Status messages, the newest first", &["When", "About", "Status", "Reason"], &rows, "It has said nothing.")
}

fn requests(history: &DeviceHistory) -> Markup {
    let row = |one: &super::super::store::pages::Asked| {
        let state = match &*one.state {
            "awaiting-operator" => html! { "waits for an operator" },
            "allowed" => html! { "may be sent to the MASA" },
            "forwarded" => html! { "sent to the MASA" },
            "answered" if one.is_fetched => html! { "answered by a voucher that was fetched in advance" },
            "answered" => html! { "answered" },
            "superseded" => html! { "answered, and asked again since" },
            other => shown(other),
        };
        let failure = match &one.failure {
            Some((status, text)) => html! { (status) ": " (shown(text)) },
            None => html! { "–" },
        };
        let masa = one.masa.as_deref().map_or_else(|| html! { "–" }, shown);
        vec![date(one.received), state, failure, masa]
    };
    let rows: Vec<_> = history.asked.iter().map(row).collect();
    let empty = "They are older than five days, and were removed.";
    table(
        "Voucher requests, the newest first",
        &["When", "State", "Answer of the MASA", "MASA in its certificate"],
        &rows,
        empty,
    )
}
