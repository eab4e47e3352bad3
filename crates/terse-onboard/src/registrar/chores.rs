//! What a registrar does by itself, whether anybody asks or not.

use core::time::Duration;

use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::Service;
use super::reminder::Reminder;
use crate::live::Live;
use crate::stop::stopped;

/// Asks for audit logs that did not come and for the certificates of an external CA, removes old requests, and reminds of LDevIDs
/// that end, until `stop` becomes true.
pub(super) async fn do_chores(live: Live<Service>, mut stop: watch::Receiver<bool>) {
    let mut interval = tokio::time::interval(CHORES);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut last, mut more) = (None, None);
    let mut reminder = Reminder::default();
    loop {
        let outage = async {
            match more {
                Some(since) => {
                    tokio::time::sleep(NEXT_LOGS).await;
                    since
                }
                None => {
                    let service = live.current(); // all have the same outages
                    last = service.inner.outages.until_due(last).await;
                    service.now()
                }
            }
        };
        tokio::select! {
            since = outage => {
                more = live.current().ask_for_unsent_audit_logs(since).await;
                continue;
            }
            _ = interval.tick() => {}
            () = stopped(&mut stop) => return,
        }
        live.current().do_chores().await;
        live.current().remind(&mut reminder).await;
    }
}

impl Service {
    /// Does what is to be done from time to time.
    async fn do_chores(&self) {
        self.refresh_ca_certificates().await;
        self.ask_for_late_audit_logs().await;
        let (store, now) = (&self.inner.store, self.now());
        for pruned in [store.prune(now).await, store.prune_passed_on(now).await, store.prune_fetched(now).await] {
            if let Err(error) = pruned {
                tracing::error!(%error, "the database does not answer");
            }
        }
    }
}

/// How often audit logs that did not come are asked for again.
const CHORES: Duration = Duration::from_secs(60);

/// How long it takes until the next logs are asked for, of those for which the MASA could not be reached.
const NEXT_LOGS: Duration = Duration::from_secs(1);
