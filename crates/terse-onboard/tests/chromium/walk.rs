//! A walk over all pages of a service, as their own links and forms lead, and what holds on each.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::driver::{Chromium, Look};
use super::hand::TAB;

/// The questions to a page.
pub(crate) const PAGE: &str = include_str!("page.js");

/// Asks what is wrong with a page, in words.
pub(crate) fn ask(chromium: &Chromium, question: &[&str]) -> Vec<String> {
    texts(&chromium.run(PAGE, &json!(question)))
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Where a service has its pages.
pub(crate) struct Site<'a> {
    pub(crate) chromium: &'a Chromium,
    /// Scheme, host and port.
    pub(crate) origin: String,
    /// What pictures of it are named by.
    pub(crate) name: &'static str,
}

impl Site<'_> {
    /// Walks all pages from the overview on: of those that differ in their values alone, some. Nothing may be wrong with any of
    /// them, and each path in the source of the pages must have been among them.
    #[track_caller]
    pub(crate) fn walk(&self, source: &str) {
        let (mut known, mut wrong) = (vec!["/".to_owned()], Vec::new());
        let mut next = 0;
        while let Some(path) = known.get(next).cloned() {
            next += 1;
            wrong.extend(self.visit(&path));
            for target in texts(&self.chromium.run(PAGE, &json!(["ways"]))) {
                if !target.starts_with('/') {
                    wrong.push(format!("{path}: a link leads to {target}"));
                    continue;
                }
                let target = target.split("#content").next().unwrap().to_owned();
                let alike = known.iter().filter(|one| shape(one) == shape(&target)).count();
                if !known.contains(&target) && alike < ALIKE {
                    known.push(target);
                }
            }
        }
        assert!(wrong.is_empty(), "{}: {wrong:#?}", self.name);
        let walked: BTreeSet<&str> = known.iter().map(|path| path.split(['?', '#']).next().unwrap()).collect();
        let missing: Vec<&str> = paths(source).into_iter().filter(|path| !walked.contains(path)).collect();
        assert!(missing.is_empty(), "no page leads to {missing:?}, but to {known:#?}");
        println!("{}: {} pages", self.name, known.len());
    }

    /// Loads a page, and returns what is wrong with it.
    pub(crate) fn visit(&self, path: &str) -> Vec<String> {
        if path.contains('#') {
            self.chromium.go("about:blank"); // it would be no request after the page that it is a part of
        }
        self.chromium.noticed();
        self.chromium.go(&format!("{}{path}", self.origin));
        self.check(path, 200)
    }

    /// Returns what is wrong with the page that Chromium has, which came with this status.
    pub(crate) fn check(&self, path: &str, status: u64) -> Vec<String> {
        let mut wrong = ask(self.chromium, &["structure"]);
        if !path.contains('#') {
            wrong.extend(self.tab());
        }
        for (name, look) in Look::ALL {
            self.chromium.look(look);
            let mut seen = ask(self.chromium, &["contrast"]);
            if look.width == Look::TELEPHONE {
                seen.extend(texts(&self.chromium.run(PAGE, &json!(["width", look.width]))));
            }
            wrong.extend(seen.into_iter().map(|text| format!("{name}: {text}")));
            self.keep(path, name);
        }
        self.chromium.look(Look::LIGHT);
        wrong.extend(self.chromium.noticed().wrong(&self.origin, status));
        wrong.into_iter().map(|text| format!("{path}: {text}")).collect()
    }

    /// Presses Tab once for each control of the page. Returns which of them it does not reach, and which show no focus.
    fn tab(&self) -> Vec<String> {
        let controls = self.chromium.run(PAGE, &json!(["watch"])).as_u64().unwrap();
        self.chromium.press(&TAB.to_string(), usize::try_from(controls).unwrap());
        ask(self.chromium, &["focused"])
    }

    /// Takes a picture, if somebody wants pictures.
    fn keep(&self, path: &str, look: &str) {
        let Some(folder) = std::env::var_os("TERSE_PICTURES").map(PathBuf::from) else { return };
        std::fs::create_dir_all(&folder).unwrap();
        let path: String = path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(60).collect();
        self.chromium.picture(&folder.join(format!("{}{path}-{look}.png", self.name)));
    }
}

/// A path with the names of the values in it.
fn shape(path: &str) -> Vec<&str> {
    path.split(['?', '&']).map(|part| part.split('=').next().unwrap()).collect()
}

/// The paths that are texts in the source of pages.
fn paths(source: &str) -> BTreeSet<&str> {
    let texts = source.split('"').skip(1).step_by(2).filter(|text| text.starts_with('/'));
    texts.map(|text| text.split(['?', '#']).next().unwrap()).collect()
}

/// Of pages that differ in their values alone, so many are visited.
const ALIKE: usize = 6;
