//! What comments and pages refer to exists: sections of `docs/caching.md`, files that pages link to, and the tests that the
//! threat model and the page on conformance name.

use std::collections::BTreeSet;
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
    ("P", "crates/terse-testkit/src/provider_suite"),
    ("N", "crates/terse-net/src"),
    ("C", "crates/terse/tests"),
];

#[test]
fn tests_that_pages_name_exist() {
    let mut missing = Vec::new();
    for (page, least) in [("docs/threat-model.md", 200), ("docs/conformance.md", 15)] {
        let page = read(&root().join(page));
        let names = page.split('`').filter_map(|word| word.split_once(".rs::").map(|name| (word, name)));
        let mut count = 0;
        for (word, (file, function)) in names {
            let (first, rest) = file.split_once('/').unwrap();
            let directory = DIRECTORIES.iter().find(|(letter, _)| *letter == first).map(|(_, directory)| *directory);
            let file = root().join(directory.unwrap_or(first)).join(format!("{rest}.rs"));
            let code = fs::read_to_string(file).unwrap_or_default();
            if !["fn ", "mod "].iter().any(|kind| code.contains(&format!("{kind}{function}"))) {
                missing.push(word.to_owned());
            }
            count += 1;
        }
        assert!(count >= least, "{count}");
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_citation_is_found_with_all_its_sections() {
    let text = "//! As it should be (docs/caching.md, 4.2,\n//! 4.3 and 5). See\n/// `docs/caching.md`, 7: and docs/caching.md.";
    assert_eq!(cited(text, "docs/caching.md"), ["4.2", "4.3", "5", "7"]);
    assert_eq!(sections("# Title\n## 4. All\ntext\n### 4.2 Two slots\n").into_iter().next_back().unwrap(), "Title");
    assert!(anchors("### 4.5 A stale entry is not used").contains("45-a-stale-entry-is-not-used"));
    assert_eq!(links("see [a](b.md#c) and [d](e)").collect::<Vec<_>>(), ["b.md#c", "e"]);
}
