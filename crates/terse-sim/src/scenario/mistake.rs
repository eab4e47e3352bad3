//! What is wrong in a scenario file: each mistake names the line, the key, and what would be right.

use core::fmt;
use core::ops::Range;

/// A mistake in a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, counted from 1.
    pub line: usize,
    /// The key with the tables that it is in, as in `schedule.slotframe`; empty if the mistake is in no key.
    pub key: String,
    /// What is wrong, and what would be right.
    pub text: String,
}

/// All mistakes of a file, one at least, in the order of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes {
    /// The name of the file, as it is printed.
    pub file: String,
    /// The mistakes.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Mistake { line, key, text }) in self.mistakes.iter().enumerate() {
            let separator = if number > 0 { "\n" } else { "" };
            let colon = if key.is_empty() { "" } else { ": " };
            write!(f, "{separator}{}:{line}: {key}{colon}{text}", self.file)?;
        }
        Ok(())
    }
}

impl core::error::Error for Mistakes {}

/// A mistake that knows its place in the text, but not its line yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) at: usize,
    pub(super) key: String,
    pub(super) text: String,
}

impl Placed {
    pub(super) fn new(at: usize, key: impl Into<String>, text: impl Into<String>) -> Self {
        Self { at, key: key.into(), text: text.into() }
    }

    /// Returns the mistake of a text that is not TOML.
    pub(super) fn of_syntax(message: &str, span: Option<Range<usize>>) -> Self {
        let message = message.lines().next().unwrap_or_default();
        Self::new(span.map_or(0, |span| span.start), "", format!("this is not TOML: {message}"))
    }

    /// Returns all mistakes in the order of their lines; each is reported once, though many rows may have it.
    pub(super) fn all(placed: Vec<Self>, file: &str, source: &str) -> Mistakes {
        let mut mistakes: Vec<Mistake> = Vec::new();
        let mut placed = placed;
        placed.sort_by_key(|placed| placed.at);
        for Self { at, key, text } in placed {
            let line = 1 + source.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
            let mistake = Mistake { line, key, text };
            if !mistakes.contains(&mistake) {
                mistakes.push(mistake);
            }
        }
        Mistakes { file: file.into(), mistakes }
    }
}

/// Returns the one of `known` that is nearest to `name`, if one is near enough to be meant.
pub(super) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let distances = known.iter().map(|known| (distance(name, known), *known));
    let (distance, known) = distances.min()?;
    (distance <= name.chars().count().max(known.chars().count()).div_ceil(3)).then_some(known)
}

/// Returns how many characters have to be inserted, removed or replaced to make `b` of `a` (Levenshtein's distance).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (row, from) in a.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, to) in b.iter().enumerate() {
            let replaced = previous[column] + usize::from(from != *to);
            current.push(replaced.min(previous[column + 1] + 1).min(current[column] + 1));
        }
        previous = current;
    }
    previous.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_changes_of_characters() {
        for (a, b, changes) in [("", "", 0), ("", "abc", 3), ("slotfame", "slotframe", 1), ("hops", "loss", 2)] {
            assert_eq!(distance(a, b), changes, "{a} {b}");
            assert_eq!(distance(b, a), changes, "{b} {a}");
        }
    }

    #[test]
    fn what_is_too_far_is_not_meant() {
        let known = ["slotframe", "duty_cycle", "cells"];
        assert_eq!(nearest("slotfame", &known), Some("slotframe"));
        assert_eq!(nearest("dutycycle", &known), Some("duty_cycle"));
        assert_eq!(nearest("retries", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
