//! One device with its audit log, and what can be changed.

use maud::{Markup, html};
use terse_brski::masa::Buyer;

use super::super::operator::Change;
use super::super::store::Record;
use super::lists::{state, voucher};
use super::{StatusPages, device_path, key};
use crate::pages::{
    Confirmation, Fields, Page, Problem, Visitor, confirmation, facts, hex, next_link, percent, shown, spelled, table,
};

impl StatusPages {
    pub(super) async fn device(&self, fields: &Fields) -> Result<Page, Problem> {
        let record = self.store.record(&key(fields)?).await?.ok_or(Problem::NotFound)?;
        let device = &record.device;
        let before = match fields.text("before") {
            "" => i64::MAX,
            _ => fields.number("before").ok_or(Problem::Malformed)?,
        };
        let log = self.store.log(device, before).await?;
        let rows: Vec<Vec<Markup>> = log
            .rows
            .iter()
            .map(|one| {
                let mut row = vec![html! { (one.number) }];
                row.extend(voucher(one));
                row
            })
            .collect();
        let path = device_path(&device.serial_number, &device.idevid_issuer);
        let next = log.next.map(|number| format!("{path}&before={number}"));
        let heads = ["Number", "Issued", "Domain", "Assertion", "Nonce", "Until"];
        let title = format!("Device {}", spelled(&device.serial_number));
        Ok(Page::new(
            title,
            html! {
                (summary(&record))
                (actions(&record))
                h2 { "Audit log" }
                (table("Vouchers, the newest first", &heads, &rows, "It has had no voucher."))
                (next_link(next))
            },
        ))
    }

    /// The page that asks whether a change is meant.
    pub(super) async fn confirm(&self, fields: &Fields, visitor: &Visitor, change: Change) -> Result<Page, Problem> {
        let key = key(fields)?;
        let record = self.store.record(&key).await?.ok_or(Problem::NotFound)?;
        let others = self.store.devices(&key.0).await?.len().saturating_sub(1);
        let (title, action, button, text) = match change {
            Change::Block => (
                "Block this device?",
                "/device/block",
                "Block the device",
                "No voucher is issued for it any more, until it is unblocked.",
            ),
            Change::Unblock => {
                ("Unblock this device?", "/device/unblock", "Unblock the device", "Vouchers are issued for it again.")
            }
            Change::Release => (
                "Release this device?",
                "/device/release",
                "Release the device",
                "Nobody has it any more: the next domain may claim it. A device without record is registered by this.",
            ),
        };
        let (back, issuer) = (device_path(&key.0, &key.1), hex(&key.1));
        let form = Confirmation {
            action,
            button,
            fields: &[("serial", &key.0), ("issuer", &issuer)],
            back: &back,
            is_severe: change != Change::Unblock,
        };
        Ok(Page::new(
            title,
            html! {
                p { (text) }
                @if others > 0 {
                    p.problem { "Devices of " (others) " other CAs of the manufacturer have this serial number, and are changed as well." }
                }
                (summary(&record))
                (confirmation(visitor, &form))
            },
        ))
    }

    /// Changes all devices with the serial number, as the commands do.
    pub(super) async fn carry_out(
        &self,
        fields: &Fields,
        visitor: &Visitor,
        change: Change,
    ) -> Result<String, Problem> {
        let key = key(fields)?;
        self.store.record(&key).await?.ok_or(Problem::NotFound)?;
        self.store.change(&key.0, change).await?;
        tracing::info!(serial_number = ?key.0, ?change, by = ?visitor.logged(), "a device was changed on the status pages");
        Ok(device_path(&key.0, &key.1))
    }
}

fn summary(record: &Record) -> Markup {
    let device = &record.device;
    let buyer = |buyer: &Buyer| match buyer {
        Buyer::Customer(name) => shown(name),
        other => shown(&format!("{other:?}")),
    };
    facts(&[
        ("Serial number", html! { strong { (shown(&device.serial_number)) } }),
        ("State", state(record)),
        (
            "Belongs to the domain with the key",
            match &device.owner {
                Some(owner) => html! { code { (hex(owner)) } },
                None => html! { "nobody" },
            },
        ),
        (
            "Sold to",
            match &device.sold_to[..] {
                [] => html! { "nobody in particular" },
                buyers => {
                    html! { @for (index, one) in buyers.iter().enumerate() { @if index > 0 { ", " } (buyer(one)) } }
                }
            },
        ),
        (
            "Supports",
            match device.raw_public_keys_only {
                true => html! { "raw public keys alone" },
                false => html! { "certificates" },
            },
        ),
        ("Issuer of its IDevID", html! { code { (hex(&device.idevid_issuer)) } }),
    ])
}

/// The links to what can be changed.
fn actions(record: &Record) -> Markup {
    let device = &record.device;
    let query = format!("serial={}&issuer={}", percent(&device.serial_number), hex(&device.idevid_issuer));
    html! {
        p.actions {
            a.button.quiet href={ "/device/release?" (query) } { "Release…" }
            @match device.is_blocked {
                true => a.button href={ "/device/unblock?" (query) } { "Unblock…" },
                false => a.button.severe href={ "/device/block?" (query) } { "Block…" },
            }
        }
    }
}
