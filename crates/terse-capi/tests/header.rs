//! `include/terse.h` is what cbindgen makes of the crate now, and has what the README names.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new().with_crate(folder).with_config(config).generate().unwrap();
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = folder.join("include/terse.h");
    if std::env::var_os("TERSE_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = made.lines().zip(kept.lines()).find(|(made, kept)| made != kept);
    assert!(made == kept, "include/terse.h is out of date, at {differs:?}: write it with TERSE_BLESS=1");
}

#[test]
fn the_header_has_what_the_readme_names() {
    let words = |text: &'static str| text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let header: BTreeSet<_> = words(include_str!("../include/terse.h")).collect();
    for word in words(include_str!("../README.md")).filter(|word| word.to_ascii_lowercase().starts_with("terse_")) {
        assert!(header.contains(word), "include/terse.h has no {word}");
    }
}
