//! The overview of a registrar.

use maud::{Markup, html};

use super::super::outage::OutageReport;
use super::super::store::pages::MAX_COUNTED;
use super::StatusPages;
use crate::pages::{Page, Problem, shown, table};

impl StatusPages {
    pub(super) async fn overview(&self) -> Result<Page, Problem> {
        let service = self.service();
        let counts = match service.inner.store.overview(service.now(), SOON).await {
            Ok(counts) => counts,
            Err(error) => {
                tracing::error!(%error, "the database failed");
                return Ok(Page::new(
                    "Overview",
                    html! {
                        (health(false, &service.inner.outages.reports()))
                    },
                ));
            }
        };
        let items = [
            (counts.waiting, "/waiting", "wait for a decision"),
            (counts.bad_audits, "/waiting#audit", "have a bad audit log"),
            (counts.joined, "/devices?state=joined", "have had a voucher"),
            (counts.enrolled, "/devices?state=enrolled", "have a certificate or an identity key"),
            (counts.rejected, "/devices?state=rejected", "are rejected"),
            (counts.ending, "/certificates?days=30", "certificates end within 30 days"),
            (counts.failures, "/failures", "failures reported in the last day"),
        ];
        Ok(Page::new(
            "Overview",
            html! {
                ul.counts {
                    @for (count, target, text) in items {
                        li { strong { (counted(count)) } a href=(target) { (text) } }
                    }
                }
                (health(true, &service.inner.outages.reports()))
            },
        ))
    }
}

fn health(database: bool, outages: &[OutageReport]) -> Markup {
    let rows: Vec<Vec<Markup>> = outages
        .iter()
        .map(|outage| {
            vec![
                shown(&outage.manufacturer),
                shown(&outage.base),
                html! { (outage.failures) },
                html! { "in " (outage.wait.as_secs()) " s" },
            ]
        })
        .collect();
    html! {
        h2 { "Health" }
        @match database {
            true => p { "Database: " span.good { "it answers" } },
            false => p.problem role="alert" { "Database: " span.bad { "it does not answer" } ". The log of the registrar says why." },
        }
        @if rows.is_empty() {
            p { "MASA: " span.good { "none was found out of reach" } " when it was asked last." }
        } @else {
            p { "MASA: " span.bad { "out of reach" } ". Devices wait; those with a voucher that was fetched join." }
            (table("MASAs that cannot be reached", &["Manufacturer", "Address", "Failures in a row", "Next attempt"], &rows, ""))
        }
    }
}

fn counted(count: u64) -> String {
    match i64::try_from(count).is_ok_and(|count| count < MAX_COUNTED) {
        true => count.to_string(),
        false => format!("{MAX_COUNTED} or more"),
    }
}

/// How many days before their end certificates are counted.
const SOON: i64 = 30;
