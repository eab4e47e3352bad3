//! What `terse pledge` says of a device that is enrolled.

use core::time::Duration;

use serde_json::json;
use terse_onboard::pledge::{CredentialDirectory, FormName, Onboarded, Spent};
use terse_pki::Subject;

use crate::failure::Failure;
use crate::output::{self, printable};

pub(super) fn report(
    serial_number: &str,
    credentials: &CredentialDirectory,
    onboarded: &Onboarded,
    form: FormName,
    json: bool,
) -> Result<(), Failure> {
    let ldevid = onboarded.credential.as_ref().map(|credential| Ldevid {
        subject: subject(credential),
        path: credentials.ldevid().display().to_string(),
        anchors: credentials.anchors().display().to_string(),
    });
    let identity = onboarded.identity.as_ref().map(|identity| IdentityKey {
        name: identity.to_string(),
        path: credentials.identity_key().display().to_string(),
    });
    let phases = onboarded.timings.stages();
    if json {
        let phases: Vec<_> = phases
            .map(|(stage, spent)| {
                let Spent { sent, received, .. } = spent;
                json!({ "phase": stage.name(), "ms": ms(spent.time), "sent": sent, "received": received })
            })
            .collect();
        return output::json(&json!({
            "enrolled": true,
            "serial_number": serial_number,
            "registrar": onboarded.proxy.to_string(),
            "form": form.name(),
            "assertion": onboarded.assertion.name(),
            "reported": onboarded.is_reported,
            "subject": ldevid.as_ref().map(|ldevid| &ldevid.subject),
            "ldevid": ldevid.as_ref().map(|ldevid| &ldevid.path),
            "anchors": ldevid.as_ref().map(|ldevid| &ldevid.anchors),
            "identity": identity.as_ref().map(|key| &key.name),
            "identity_key": identity.as_ref().map(|key| &key.path),
            "ms": ms(onboarded.timings.total()),
            "phases": phases,
        }));
    }
    let mut text = format!("{} is enrolled", serial_number);
    let mut row = |name: &str, value: String| text += &format!("\n  {name:<14}{value}");
    if let Some(Ldevid { subject, .. }) = &ldevid {
        row("subject", subject.clone());
    }
    row("through", onboarded.proxy.to_string());
    row("assertion", onboarded.assertion.name().into());
    if let Some(Ldevid { path, anchors, .. }) = ldevid {
        row("credential", path);
        row("trusts", anchors);
    }
    if let Some(IdentityKey { name, path }) = identity {
        row("identity", name);
        row("identity key", path);
    }
    if !onboarded.is_reported {
        row("note", "the registrar could not be told".into());
    }
    for (stage, spent) in phases {
        row("time", format!("{:8.1} ms  {}", ms(spent.time), stage.name()));
    }
    row("time", format!("{:8.1} ms  in all", ms(onboarded.timings.total())));
    output::line(text.split('\n').map(printable).collect::<Vec<_>>().join("\n"))
}

/// The certificate of a device.
struct Ldevid {
    subject: String,
    path: String,
    anchors: String,
}

/// The identity key of a device.
struct IdentityKey {
    name: String,
    path: String,
}

pub(super) fn subject(credential: &terse_tls::Credential) -> String {
    let leaf = credential.chain().first();
    leaf.and_then(|leaf| Subject::of(leaf).ok()).map(|subject| subject.to_string()).unwrap_or_default()
}

/// Returns milliseconds with the precision of microseconds.
fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
