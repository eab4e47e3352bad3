//! A scenario file as a tree of tables, in which every key and value knows its place in the text.
//!
//! What must always hold: entries of a table keep the order of the file, and a key stands in its table once.

use core::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::mistake::Placed;

/// A value, and where it begins in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) at: usize,
    /// The value as it is written, without what follows its first line.
    pub(super) written: String,
}

/// A value of TOML.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(Vec<Node>),
    Table(Table),
    /// A date or a time: nothing in a scenario is one.
    Date,
}

/// A table of TOML.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the key begins in the text.
    pub(super) at: usize,
    pub(super) node: Node,
}

impl Table {
    /// Reads a file.
    pub(super) fn parse(source: &str) -> Result<Self, Placed> {
        let parsed = DeTable::parse(source).map_err(|error| Placed::of_syntax(error.message(), error.span()))?;
        Ok(Self::of(source, parsed.get_ref()))
    }

    fn of(source: &str, parsed: &DeTable<'_>) -> Self {
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            Entry { key: name.to_string(), at: key.span().start, node: Node::of(source, value) }
        };
        let mut entries: Vec<Entry> = parsed.iter().map(entry).collect();
        entries.sort_by_key(|entry| entry.at);
        Self { entries }
    }

    /// Returns the entry of a key.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Removes an entry, and returns it.
    pub(super) fn take(&mut self, key: &str) -> Option<Entry> {
        let place = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(place))
    }

    /// Returns where the key of `path` is, or the innermost table of the path that there is.
    pub(super) fn place(&self, path: &str) -> Option<usize> {
        let (key, rest) = path.split_once('.').unwrap_or((path, ""));
        let entry = self.entry(key)?;
        let inner = match &entry.node.value {
            Value::Table(table) => table.place(rest),
            _ => None,
        };
        Some(inner.unwrap_or(entry.at))
    }

    /// Sets everything that `over` has; a list replaces a list. A key of `exclusive`, which are groups of paths, replaces the
    /// others of its group.
    pub(super) fn merge(&mut self, over: &Self, exclusive: &[&[&str]]) {
        self.merge_at("", over, exclusive);
    }

    fn merge_at(&mut self, path: &str, over: &Self, exclusive: &[&[&str]]) {
        for entry in &over.entries {
            let path = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            for group in exclusive.iter().filter(|group| group.contains(&path.as_str())) {
                let is_other = |own: &Entry| {
                    let of_group = |member: &&str| member.rsplit('.').next() == Some(own.key.as_str());
                    own.key != entry.key && group.iter().any(of_group)
                };
                self.entries.retain(|own| !is_other(own));
            }
            match self.entries.iter_mut().find(|own| own.key == entry.key) {
                Some(Entry { node: Node { value: Value::Table(own), .. }, .. })
                    if matches!(entry.node.value, Value::Table(_)) =>
                {
                    if let Value::Table(table) = &entry.node.value {
                        own.merge_at(&path, table, exclusive);
                    }
                }
                Some(own) => *own = entry.clone(),
                None => self.entries.push(entry.clone()),
            }
        }
    }
}

impl Node {
    fn of(source: &str, parsed: &Spanned<DeValue<'_>>) -> Self {
        let value = match parsed.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(integer) => whole(integer),
            DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(_) => Value::Date,
            DeValue::Array(list) => Value::List(list.iter().map(|node| Self::of(source, node)).collect()),
            DeValue::Table(table) => Value::Table(Table::of(source, table)),
        };
        let span = parsed.span();
        Self { value, at: span.start, written: written(source, span) }
    }
}

/// Returns an integer, or as a number what is too large to be one here.
fn whole(integer: &DeInteger<'_>) -> Value {
    match i64::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(integer) => Value::Integer(integer),
        Err(_) => Value::Number(f64::INFINITY),
    }
}

fn written(source: &str, span: Range<usize>) -> String {
    let text = source.get(span).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    match line.chars().count() > LONGEST_QUOTE || line.len() < text.len() {
        true => line.chars().take(LONGEST_QUOTE).chain("...".chars()).collect(),
        false => line.into(),
    }
}

/// The most characters of a value that a message repeats.
const LONGEST_QUOTE: usize = 40;

#[cfg(test)]
mod tests;
