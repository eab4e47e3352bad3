//! A note tells the report about a run, beside the runner's result: the version that was negotiated, or the feature
//! that is not implemented. The flag `-write-settings` names its path, which has the test's name in it.

use std::path::Path;

use terse_tls::ProtocolVersion;

use crate::Failure;
use crate::options::{Refusal, Run};

/// Writes the note. Without it the report is less precise, and nothing else is lost.
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

/// Returns the version that the flags leave, if there is exactly one.
fn only_version(run: &Run) -> Option<ProtocolVersion> {
    match run.initial.versions().ok()?[..] {
        [version] => Some(version),
        _ => None,
    }
}
