//! Prints the keys of sections as TOML, each with its value, defaults too.
//!
//! What must always hold: what is printed reads back as the same values.

use core::fmt::Write;
use core::ops::RangeInclusive;

use super::visit::{Field, Visitor};

/// A visitor that collects each key with its path and its value as TOML.
#[derive(Debug, Default)]
pub(super) struct Printer {
    path: Vec<String>,
    /// Whether every alternative is visited, not only the one that is in use.
    shows_alternatives: bool,
    lines: Vec<Line>,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The tables that the key is in.
    pub(super) table: String,
    pub(super) key: String,
    pub(super) value: String,
}

impl Printer {
    /// Returns all keys, with their values.
    pub(super) fn lines(visit: impl FnOnce(&mut dyn Visitor)) -> Vec<Line> {
        let mut printer = Self::default();
        visit(&mut printer);
        printer.lines
    }

    /// Returns the paths of all keys, also of those that are not in use. Lists of tables have the keys of one of them.
    #[cfg(test)]
    pub(super) fn keys(visit: impl FnOnce(&mut dyn Visitor)) -> Vec<String> {
        let mut printer = Self { shows_alternatives: true, ..Self::default() };
        visit(&mut printer);
        printer.lines.into_iter().map(|line| line.path()).collect()
    }

    fn line(&mut self, key: &str, value: String) {
        self.lines.push(Line { table: self.path.join("."), key: key.into(), value });
    }
}

impl Line {
    /// Returns the key with the tables that it is in.
    pub(super) fn path(&self) -> String {
        match self.table.is_empty() {
            true => self.key.clone(),
            false => format!("{}.{}", self.table, self.key),
        }
    }
}

/// Returns lines as the tables of a file.
pub(super) fn tables(lines: &[Line]) -> String {
    let mut text = String::new();
    let mut table = "";
    for line in lines {
        if line.table != table {
            table = &line.table;
            let _ = write!(text, "\n[{table}]\n"); // writing to a String cannot fail
        }
        let _ = writeln!(text, "{} = {}", line.key, line.value);
    }
    text
}

/// Returns a text as a string of TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(control)); // writing to a String cannot fail
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Returns the text that a string of TOML stands for if it is one that [`quoted`] returned; another value stays as it is.
pub(super) fn unquoted(value: &str) -> String {
    let inside = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let Some(mut rest) = inside else { return value.into() };
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once('\\') {
        text += before;
        let code = after.strip_prefix('u').and_then(|hex| hex.split_at_checked(4));
        let control = code.and_then(|(hex, _)| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
        let mut characters = after.chars();
        match (control, code) {
            (Some(control), Some((_, after))) => {
                text.push(control);
                rest = after;
            }
            _ => {
                text.extend(characters.next());
                rest = characters.as_str();
            }
        }
    }
    text + rest
}

impl Visitor for Printer {
    fn table(&mut self, key: &'static str, visit: &mut dyn FnMut(&mut dyn Visitor)) {
        self.path.push(key.into());
        visit(self);
        self.path.pop();
    }

    fn tables(&mut self, key: &'static str, len: &mut usize, visit: &mut dyn FnMut(usize, &mut dyn Visitor)) {
        if self.shows_alternatives {
            *len = 1;
            self.table(key, &mut |visitor| visit(0, visitor));
            return;
        }
        let tables = (0..*len).map(|number| {
            let lines = Self::lines(|visitor| visit(number, visitor));
            let entries: Vec<String> = lines.iter().map(|line| format!("{} = {}", line.key, line.value)).collect();
            format!("{{ {} }}", entries.join(", "))
        });
        let list = format!("[{}]", tables.collect::<Vec<_>>().join(", "));
        self.line(key, list);
    }

    fn integer(&mut self, field: Field, value: &mut u64, _: RangeInclusive<u64>) -> bool {
        self.line(field.key, value.to_string());
        false
    }

    fn one_of(&mut self, field: Field, _: &[u64], value: &mut u64) -> bool {
        self.line(field.key, value.to_string());
        false
    }

    fn number(&mut self, field: Field, value: &mut f64, _: RangeInclusive<f64>) -> bool {
        self.line(field.key, value.to_string());
        false
    }

    fn optional(&mut self, field: Field, value: &mut Option<f64>, _: RangeInclusive<f64>) {
        if let Some(value) = value.or(self.shows_alternatives.then_some(0.0)) {
            self.line(field.key, value.to_string());
        }
    }

    fn flag(&mut self, field: Field, value: &mut bool) -> bool {
        self.line(field.key, value.to_string());
        false
    }

    fn choice(&mut self, field: Field, names: &[&'static str], value: &mut usize) -> bool {
        self.line(field.key, quoted(names.get(*value).copied().unwrap_or_default()));
        false
    }

    fn text(&mut self, field: Field, value: &mut String, _: &dyn Fn(&str) -> Result<(), String>) -> bool {
        self.line(field.key, quoted(value));
        false
    }

    fn integers(&mut self, field: Field, values: &mut Vec<u64>, _: RangeInclusive<u64>, _: usize) -> bool {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        self.line(field.key, format!("[{}]", values.join(", ")));
        false
    }

    fn choices(&mut self, field: Field, names: &[&'static str], values: &mut Vec<usize>, _: usize) -> bool {
        let names = values.iter().map(|value| quoted(names.get(*value).copied().unwrap_or_default()));
        let list = format!("[{}]", names.collect::<Vec<_>>().join(", "));
        self.line(field.key, list);
        false
    }

    fn without_meaning(&mut self, keys: &[&'static str]) {
        if self.shows_alternatives {
            keys.iter().for_each(|key| self.line(key, String::new()));
        }
    }

    fn alternatives(&mut self, keys: &[&'static str], current: usize) -> Vec<usize> {
        if self.shows_alternatives { (0..keys.len()).collect() } else { vec![current] }
    }
}
