//! The modules of a crate have an order: each uses only those below it, so that one can be read, and changed, without
//! those above.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// For each top module of a crate, the others that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Returns all Rust files in a directory, and below it, except tests.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| !path.file_name().unwrap().to_str().unwrap().contains("test"));
    paths
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// Returns the names after `crate::` in `code`, alone or in a list.
fn used(code: &str) -> impl Iterator<Item = &str> {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices("crate::").flat_map(move |(at, path)| {
        let rest = &code[at + path.len()..];
        let list = rest.strip_prefix('{').and_then(|rest| rest.split('}').next()).unwrap_or(rest);
        let count = if rest.starts_with('{') { usize::MAX } else { 1 };
        list.split(move |character| !is_name(character)).filter(|name| !name.is_empty()).take(count)
    })
}

/// A configuration points up to the code that its settings bring, in this file alone.
const POINTS_UP: &str = "config/code.rs";

fn uses(source: &Path) -> Uses {
    let mut uses = Uses::new();
    let counts = |file: &PathBuf| *file != source.join("lib.rs") && !file.ends_with(POINTS_UP);
    for file in files(source).into_iter().filter(counts) {
        let module = file.strip_prefix(source).unwrap().iter().next().unwrap().to_str().unwrap();
        let module = module.trim_end_matches(".rs");
        let code = fs::read_to_string(&file).unwrap();
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<_>>().join("\n");
        let others = used(&code).filter(|name| *name != module && name.starts_with(char::is_lowercase));
        uses.entry(module.into()).or_default().extend(others.map(String::from));
    }
    uses
}

/// Returns the modules that use themselves, through others.
fn in_circles(uses: &Uses) -> Vec<String> {
    uses.keys().filter(|module| below(uses, module).contains(module)).cloned().collect()
}

/// Returns the modules that a module uses, directly or through others.
fn below<'a>(uses: &'a Uses, module: &'a String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        next.extend(uses.get(module).into_iter().flatten().filter(|other| found.insert(*other)));
    }
    found
}

#[test]
fn there_are_no_circles_among_modules() {
    for name in ["terse-brski", "terse-sim", "terse-tls"] {
        let uses = uses(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"));
        assert!(uses.values().map(BTreeSet::len).sum::<usize>() > 20, "{name}: {uses:?}");
        assert_eq!(in_circles(&uses), [""; 0], "{name}: {uses:#?}");
    }
}

#[test]
fn a_circle_is_found() {
    let uses = |pairs: &[(&str, &str)]| {
        let mut uses = Uses::new();
        for (above, below) in pairs {
            uses.entry((*above).into()).or_default().insert((*below).into());
        }
        uses
    };
    assert_eq!(in_circles(&uses(&[("a", "b"), ("b", "c"), ("a", "c")])), [""; 0]);
    assert_eq!(in_circles(&uses(&[("a", "b"), ("b", "c"), ("c", "b")])), ["b", "c"]);
    let code = "use crate::wire::{A, B};\nuse crate::{rng, Time};\nlet x = crate::summary::x();";
    assert_eq!(used(code).collect::<Vec<_>>(), ["wire", "rng", "Time", "summary"]);
}
