//! Public test vectors, which stand beside the workspace in `../shared/vectors`, or in the directory that the environment
//! variable `TERSE_VECTORS` names.

use std::env;
use std::fs;
use std::io::{Write as _, stderr};
use std::path::Path;

/// Returns the text of the vector `name`, a path below the directory of vectors. Without it a test is skipped, which is
/// reported, or fails if `TERSE_REQUIRE_ALL=1`.
pub fn text(name: &str) -> Option<String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/vectors");
    let directory = env::var("TERSE_VECTORS").unwrap_or_else(|_| beside.into());
    let Ok(text) = fs::read_to_string(Path::new(&directory).join(name)) else {
        // The output of println! would not be shown for a passing test.
        let _ = writeln!(stderr(), "skipped: the vector {name} is not there (see TERSE_VECTORS)");
        assert_ne!(env::var("TERSE_REQUIRE_ALL").as_deref(), Ok("1"), "{name} is required");
        return None;
    };
    Some(text)
}

/// Returns the bytes of the vector `name`, which is written in hexadecimal digits.
pub fn hex(name: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text(name)?.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
