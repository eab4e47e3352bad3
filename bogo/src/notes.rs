//! What the report wants to know of a run, beside the runner's verdict: the version that was spoken, or what is not
//! implemented. The flag `-write-settings` says where, because the test's name is in it.

use std::path::Path;

use terse_tls::ProtocolVersion;

use crate::Failure;
use crate::options::{Refusal, Run};

/// Writes the note; without it the report says less, and nothing else is lost.
pub(crate) fn write(prefix: &Path, run: &Run, version: Option<ProtocolVersion>, failure: Option<&Failure>) {
    let note = match failure {
        Some(Failure::Refused(Refusal::Unimplemented(what))) => format!("unimplemented {what}"),
        _ => match version.or_else(|| only_version(run)) {
            Some(version) => format!("version {version}"),
            None => return,
        },
    };
    let mut path = prefix.as_os_str().to_owned();
    path.push("note");
    let _ = std::fs::write(path, note);
}

/// The version that the flags leave, if it is one.
fn only_version(run: &Run) -> Option<ProtocolVersion> {
    match run.initial.versions().ok()?[..] {
        [version] => Some(version),
        _ => None,
    }
}
