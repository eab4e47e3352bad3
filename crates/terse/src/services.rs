//! What the services of onboarding have in common: a runtime, a log on standard error, and an end by a signal.

use alloc::sync::Arc;
use core::future::Future;
use core::time::Duration;
use std::io::{BufRead as _, Read as _};

use serde_json::json;
use terse_onboard::config::ConfigError;
use terse_onboard::pages::hash_password as hash;
use tokio::sync::watch;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::output;

/// Runs a service, or a piece of work with its database, to its end.
pub(crate) fn run<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Failed(format!("the runtime cannot start: {error}")))?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_timeout(THREADS_END); // a thread that waits for a module of PKCS #11 may never end
    outcome
}

/// Reads a password from the first line of standard input, and prints its hash for the configuration.
pub(crate) fn hash_password(json: bool) -> Result<(), Failure> {
    let mut line = Zeroizing::new(String::new());
    let mut input = std::io::stdin().lock().take(MAX_LINE);
    let cannot_read = |error| Failure::Failed(format!("cannot read the password from standard input: {error}"));
    input.read_line(&mut line).map_err(cannot_read)?;
    let password = line.trim_end_matches(['\r', '\n']);
    let hash = hash(password).map_err(|error| Failure::Failed(error.to_string()))?;
    match json {
        true => output::json(&json!({ "password_hash": hash })),
        false => output::line(hash),
    }
}

/// Writes what services do to standard error: what an operator should know, or with `verbose` also what strangers cause.
pub(crate) fn log(verbose: bool) {
    let level = if verbose { LevelFilter::DEBUG } else { LevelFilter::INFO };
    let targets = Targets::new().with_default(level).with_target("sqlx", LevelFilter::WARN);
    // Errors of the log itself are not reported: to print them panics where standard error cannot be written either.
    let lines =
        fmt::layer().with_writer(|| output::LogLine(std::io::stderr())).with_ansi(false).log_internal_errors(false);
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
}

/// Returns a value that becomes true when the process is told to stop: by SIGTERM, or Ctrl-C. A second signal ends it at once.
pub(crate) fn stop() -> Result<watch::Receiver<bool>, Failure> {
    let (stop, stopped) = watch::channel(false);
    let mut signals = Signals::new().map_err(|error| Failure::Failed(format!("signals cannot be caught: {error}")))?;
    tokio::spawn(async move {
        signals.next().await;
        stop.send_replace(true);
        signals.next().await;
        std::process::exit(1);
    });
    Ok(stopped)
}

/// Has `reload` called whenever the process gets SIGHUP, beside the tasks of the runtime, and logs what comes of it: the keys whose
/// change waits for a restart, or what is wrong.
#[cfg(unix)]
pub(crate) fn on_hangup(
    reload: impl Fn() -> Result<Vec<&'static str>, ConfigError> + Send + Sync + 'static,
) -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let uncaught = |error| Failure::Failed(format!("signals cannot be caught: {error}"));
    let mut hangups = signal(SignalKind::hangup()).map_err(uncaught)?;
    let reload = Arc::new(reload);
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            tracing::info!("the configuration is being read again"); // a token that hangs would hold that up without a word
            let reload = reload.clone();
            let Ok(reloaded) = tokio::task::spawn_blocking(move || reload()).await else { continue };
            match reloaded {
                Ok(waiting) => {
                    for key in waiting {
                        tracing::warn!(key, "this takes effect at a restart alone");
                    }
                    tracing::info!("the configuration was read again");
                }
                Err(error) => tracing::error!(%error, "the configuration is wrong; nothing was changed"),
            }
        }
    });
    Ok(())
}

/// Where there is no SIGHUP, nothing calls `reload`.
#[cfg(not(unix))]
pub(crate) fn on_hangup(
    _: impl Fn() -> Result<Vec<&'static str>, ConfigError> + Send + Sync + 'static,
) -> Result<(), Failure> {
    Ok(())
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // Without Ctrl-C the process can only be killed.
        if tokio::signal::ctrl_c().await.is_err() {
            core::future::pending::<()>().await;
        }
    }
}

/// Returns the failure of a configuration that cannot be used.
pub(crate) fn misconfigured(error: ConfigError) -> Failure {
    Failure::Failed(error.to_string())
}

/// The most bytes of a line with a password.
const MAX_LINE: u64 = 4_096;

/// How long threads beside the runtime have to end with it.
const THREADS_END: Duration = Duration::from_secs(10);
