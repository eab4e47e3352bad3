//! Public test vectors. They stand beside the workspace in `../shared/vectors`, or in the directory that the environment
//! variable `TERSE_VECTORS` names, or in a Debian package.

use std::env;
use std::fs;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};

/// Returns the text of the vector `name`, a path below the directory of vectors. Without it a test is skipped, which is
/// reported, or fails if `TERSE_REQUIRE_ALL=1`.
pub fn text(name: &str) -> Option<String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/vectors");
    let directory = env::var("TERSE_VECTORS").unwrap_or_else(|_| beside.into());
    let text = fs::read_to_string(Path::new(&directory).join(name)).ok();
    if text.is_none() {
        report_missing(name, "TERSE_VECTORS");
    }
    text
}

/// Returns the directory that the environment variable `variable` names, which is `packaged` by default. Without it a test
/// is skipped or fails, as in [`text`].
pub fn directory(variable: &str, packaged: &str) -> Option<PathBuf> {
    let directory = PathBuf::from(env::var_os(variable).unwrap_or_else(|| packaged.into()));
    if directory.is_dir() {
        return Some(directory);
    }
    report_missing(&directory.to_string_lossy(), variable);
    None
}

fn report_missing(name: &str, variable: &str) {
    // The output of println! would not be shown for a passing test.
    let _ = writeln!(stderr(), "skipped: {name} is not there (see {variable})");
    assert_ne!(env::var("TERSE_REQUIRE_ALL").as_deref(), Ok("1"), "{name} is required");
}

/// Returns the bytes of the vector `name`, which is written in hexadecimal digits.
pub fn hex(name: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text(name)?.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
