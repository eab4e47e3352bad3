//! What comments and pages refer to exists: sections of `docs/caching.md`, files that pages link to, and the files and tests
//! that pages and comments name.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the files of the project below `directory` whose name ends with one of `endings`, without what is built.
fn files(directory: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| name(path) != "target" && !name(path).starts_with('.'));
    paths
        .flat_map(|path| match path.is_dir() && !path.is_symlink() {
            true => files(&path, endings),
            false => vec![path],
        })
        .filter(|path| endings.iter().any(|ending| name(path).ends_with(ending)))
        .collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the numbers of the sections that `text` cites of `page`: those right after its name and a comma, in a list too,
/// such as `docs/caching.md, 3.1 and 4.5`. A citation may go on in the next line of a comment.
fn cited(text: &str, page: &str) -> Vec<String> {
    let words = text.lines().map(|line| line.trim_start().trim_start_matches(['/', '!', '#', '*']).trim());
    let text = words.collect::<Vec<_>>().join(" ");
    let is_number = |word: &str| {
        !word.is_empty() && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()))
    };
    let after = text.match_indices(page).map(|(at, name)| &text[at + name.len()..]);
    after
        .filter_map(|rest| rest.trim_start_matches('`').strip_prefix(','))
        .flat_map(|rest| {
            let words = rest.split([' ', ',']).filter(|word| !word.is_empty() && *word != "and");
            let words = words.map(|word| word.trim_matches(['`', ')', ':', ';', '.', '"']));
            words.take_while(|word| is_number(word)).map(String::from).collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the numbers of the headings of a page, such as `4.2` of `### 4.2 Two slots and lineages`.
fn sections(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let numbers = headings.filter_map(|line| line.trim_start_matches('#').split_whitespace().next());
    numbers.map(|number| number.trim_end_matches('.').to_owned()).collect()
}

/// Returns what a page links to, in Markdown's `[text](target)`.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.match_indices("](")
        .filter_map(|(at, start)| page[at + start.len()..].split_once(')').map(|(target, _)| target))
}

/// Returns the anchors of a page's headings, as the usual viewers of Markdown make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

#[test]
fn sections_that_are_cited_exist() {
    let page = "docs/caching.md";
    let sections = sections(&read(&root().join(page)));
    let mut count = 0;
    for file in files(&root(), &[".rs", ".md", ".toml"]) {
        for section in cited(&read(&file), page) {
            assert!(sections.contains(&section), "{}: {page} has no section {section}", file.display());
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn links_of_pages_lead_somewhere() {
    let mut count = 0;
    for file in files(&root(), &[".md"]) {
        let page = read(&file);
        for link in links(&page).filter(|link| !link.contains("://") && !link.contains("mailto:")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link} does not exist", file.display());
            if !anchor.is_empty() {
                assert!(anchors(&read(&target)).contains(anchor), "{}: {link} has no such heading", file.display());
            }
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}

/// What the first letter of a file stands for, as the threat model says.
const DIRECTORIES: [(&str, &str); 5] = [
    ("T", "crates/terse-tls/tests"),
    ("S", "crates/terse-tls/src"),
    ("P", "crates/terse-provider-suite/src"),
    ("N", "crates/terse-net/src"),
    ("C", "crates/terse/tests"),
];

/// Returns what stands between two backticks in one line of a page, or of a comment, but for blocks of code.
fn named(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().trim_start_matches(['/', '!', ' ']).starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// Returns where a file or directory is that `file` names, if `path` is one of this project: from its root, after one of the
/// letters of the threat model, or as `src` or `tests` of a package that `file` is in.
fn named_path(file: &Path, path: &str) -> Option<PathBuf> {
    let is_path = path.contains('/') && !path.contains([' ', '*', '$', '…', '<', '(']) && !path.contains("NAME");
    let (first, rest) = path.split_once('/').filter(|_| is_path)?;
    let directory = DIRECTORIES.iter().find(|(letter, _)| *letter == first).map(|(_, directory)| *directory);
    match first {
        // What begins with a slash is the path of a resource.
        "" | ".." | "target" => None,
        "src" | "tests" => {
            let mut within = file.ancestors().take_while(|above| *above != root());
            Some(within.find(|above| above.join("Cargo.toml").exists())?.join(path))
        }
        _ => Some(root().join(directory.unwrap_or(first)).join(rest))
            .filter(|_| directory.is_some() || root().join(first).is_dir()),
    }
}

/// Whether `code` has a function or a module of this name.
fn has_item(code: &str, name: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    ["fn ", "mod "].iter().any(|kind| {
        let item = format!("{kind}{name}");
        code.match_indices(&item).any(|(at, _)| !code[at + item.len()..].starts_with(is_name))
    })
}

/// Returns how many files, and tests as `file.rs::function`, the `text` of `file` names, and which of them do not exist.
fn count_and_dead<'a>(file: &Path, text: &'a str) -> (usize, Vec<&'a str>) {
    let mut dead = Vec::new();
    let mut count = 0;
    for name in named(text) {
        let (path, item) = name.split_once("::").map_or((name, None), |(path, item)| (path, Some(item)));
        let Some(path) = named_path(file, path) else { continue };
        let has = |item| fs::read_to_string(&path).is_ok_and(|code| has_item(&code, item));
        if !item.map_or_else(|| path.exists(), has) {
            dead.push(name);
        }
        count += 1;
    }
    (count, dead)
}

#[test]
fn files_and_tests_that_pages_and_comments_name_exist() {
    let mut counts = BTreeMap::new();
    let mut all_dead = Vec::new();
    for file in files(&root(), &[".md", ".rs"]) {
        let is_code = file.extension().is_some_and(|extension| extension == "rs");
        let text = read(&file);
        let lines = text.lines().filter(|line| !is_code || line.trim_start().starts_with("//"));
        let text = lines.collect::<Vec<_>>().join("\n");
        let (count, dead) = count_and_dead(&file, &text);
        all_dead.extend(dead.into_iter().map(|name| format!("{}: {name}", file.display())));
        counts.insert(file.file_name().unwrap().to_owned(), count);
    }
    assert_eq!(all_dead, [""; 0]);
    for (page, least) in [("threat-model.md", 200), ("conformance.md", 15), ("CONTRIBUTING.md", 10)] {
        assert!(counts[OsStr::new(page)] >= least, "{page}: {counts:?}");
    }
}

#[test]
fn a_name_of_what_does_not_exist_is_found() {
    let text = "`T/limits.rs::key_updates`, `T/limits.rs::key_updat`, `T/limits.rs::nothing`, `T/nowhere.rs`\n\
                `docs/caching.md` and `tests/modules.rs`; `docs/nothing.md`, `tests/nothing.rs`; `a/b` is not of this project\n\
                ```\n`docs/nothing.md`\n```\n/// `crates/nothing`";
    let (count, dead) = count_and_dead(&root().join("crates/terse-testkit/tests/references.rs"), text);
    let expected =
        ["T/limits.rs::key_updat", "T/limits.rs::nothing", "T/nowhere.rs", "docs/nothing.md", "tests/nothing.rs"];
    assert_eq!(dead, [&expected[..], &["crates/nothing"]].concat());
    assert_eq!(count, 9);
}

#[test]
fn a_citation_is_found_with_all_its_sections() {
    let text = "//! As it should be (docs/caching.md, 4.2,\n//! 4.3 and 5). See\n/// `docs/caching.md`, 7: and docs/caching.md.";
    assert_eq!(cited(text, "docs/caching.md"), ["4.2", "4.3", "5", "7"]);
    assert_eq!(sections("# Title\n## 4. All\ntext\n### 4.2 Two slots\n").into_iter().next_back().unwrap(), "Title");
    assert!(anchors("### 4.5 A stale entry is not used").contains("45-a-stale-entry-is-not-used"));
    assert_eq!(links("see [a](b.md#c) and [d](e)").collect::<Vec<_>>(), ["b.md#c", "e"]);
}
