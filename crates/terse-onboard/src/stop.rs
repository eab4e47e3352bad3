//! The end of a service.

use tokio::sync::watch;

/// Waits until `stop` becomes true, or nobody can make it so any more.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|is_stopped| *is_stopped).await;
}
