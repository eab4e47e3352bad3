//! Reads the keys of sections from a tree, strictly: an unknown key, another type and a value out of its range are mistakes.

use core::ops::RangeInclusive;

use super::mistake::{Placed, nearest};
use super::tree::{Node, Table, Value};
use super::visit::{Field, Visitor};

/// A visitor that sets values from a table.
pub(super) struct Reader<'t> {
    table: &'t Table,
    /// The path of the table, with a dot at its end unless it is empty.
    path: String,
    known: Vec<&'static str>,
    mistakes: Vec<Placed>,
}

impl<'t> Reader<'t> {
    /// Lets `visit` read `table`, and returns all mistakes.
    pub(super) fn read(table: &'t Table, visit: impl FnOnce(&mut dyn Visitor)) -> Vec<Placed> {
        let mut reader = Self { table, path: String::new(), known: Vec::new(), mistakes: Vec::new() };
        visit(&mut reader);
        reader.finish()
    }

    /// Reports the keys that nobody asked for.
    fn finish(mut self) -> Vec<Placed> {
        for entry in &self.table.entries {
            if self.known.contains(&entry.key.as_str()) {
                continue;
            }
            let text = match nearest(&entry.key, &self.known) {
                Some(near) => format!("there is no such key; did you mean {near}?"),
                None => {
                    let mut known = self.known.clone();
                    known.sort_unstable();
                    format!("there is no such key; there are {}", known.join(", "))
                }
            };
            self.mistakes.push(Placed::new(entry.at, format!("{}{}", self.path, entry.key), text));
        }
        self.mistakes
    }

    /// Returns the value of a key, which is then known.
    fn value(&mut self, key: &'static str) -> Option<&'t Node> {
        self.known.push(key);
        self.table.entry(key).map(|entry| &entry.node)
    }

    fn mistake(&mut self, node: &Node, key: &str, text: String) {
        self.mistakes.push(Placed::new(node.at, format!("{}{key}", self.path), text));
    }

    fn wrong(&mut self, node: &Node, field: Field, right: &str) {
        self.mistake(node, field.key, format!("{} is no {}: {right}", node.written, field.what));
    }

    fn visit_table(&mut self, key: &str, table: &'t Table, visit: &mut dyn FnMut(&mut dyn Visitor)) {
        let mut inner = Reader {
            table,
            path: format!("{}{key}.", self.path),
            known: Vec::new(),
            mistakes: core::mem::take(&mut self.mistakes),
        };
        visit(&mut inner);
        self.mistakes = inner.finish();
    }

    /// Sets `value` to what `of` makes of the node of a field.
    fn set<T>(&mut self, field: Field, value: &mut T, right: &str, of: impl FnOnce(&Node) -> Option<T>) -> bool {
        let Some(node) = self.value(field.key) else { return false };
        match of(node) {
            Some(read) => {
                *value = read;
                true
            }
            None => {
                self.wrong(node, field, right);
                false
            }
        }
    }

    /// Sets `values` to a list of what `of` makes of each node.
    fn set_list<T>(
        &mut self,
        field: Field,
        values: &mut Vec<T>,
        most: usize,
        right: &str,
        of: impl Fn(&Node) -> Option<T>,
    ) -> bool {
        let Some(node) = self.value(field.key) else { return false };
        let Value::List(list) = &node.value else {
            self.wrong(node, field, &format!("a list, of which each is {right}"));
            return false;
        };
        if list.is_empty() || list.len() > most {
            self.wrong(node, field, &format!("a list of 1 to {most}"));
            return false;
        }
        let mut read = Vec::new();
        for node in list {
            match of(node) {
                Some(value) => read.push(value),
                None => {
                    self.mistake(node, field.key, format!("{} is none of a {}: {right}", node.written, field.what));
                    return false;
                }
            }
        }
        *values = read;
        true
    }
}

impl Visitor for Reader<'_> {
    fn table(&mut self, key: &'static str, visit: &mut dyn FnMut(&mut dyn Visitor)) {
        let empty = Table::default();
        match self.value(key) {
            None => Reader::read(&empty, |visitor| visit(visitor)).clear(),
            Some(Node { value: Value::Table(table), .. }) => self.visit_table(key, table, visit),
            Some(node) => self.mistake(node, key, format!("{} is no table: [{}{key}]", node.written, self.path)),
        }
    }

    fn tables(&mut self, key: &'static str, len: &mut usize, visit: &mut dyn FnMut(usize, &mut dyn Visitor)) {
        let Some(node) = self.value(key) else { return };
        let tables = match &node.value {
            Value::List(list) => {
                list.iter().map(|node| if let Value::Table(table) = &node.value { Some(table) } else { None }).collect()
            }
            _ => None,
        };
        let tables: Option<Vec<&Table>> = tables;
        match tables {
            Some(tables) if tables.len() <= MOST_TABLES => {
                *len = tables.len();
                for (number, table) in tables.into_iter().enumerate() {
                    self.visit_table(key, table, &mut |visitor| visit(number, visitor));
                }
            }
            Some(_) => self.mistake(node, key, format!("these are too many: at most {MOST_TABLES}")),
            None => self.mistake(node, key, format!("{} is no list of tables: [[{}{key}]]", node.written, self.path)),
        }
    }

    fn integer(&mut self, field: Field, value: &mut u64, range: RangeInclusive<u64>) -> bool {
        let right = whole(field, &range);
        self.set(field, value, &right, |node| integer(node, &range))
    }

    fn one_of(&mut self, field: Field, values: &[u64], value: &mut u64) -> bool {
        let names: Vec<String> = values.iter().map(ToString::to_string).collect();
        let right = names.join(" or ");
        self.set(field, value, &right, |node| integer(node, &(0..=u64::MAX)).filter(|value| values.contains(value)))
    }

    fn number(&mut self, field: Field, value: &mut f64, range: RangeInclusive<f64>) -> bool {
        let right = any(field, &range);
        self.set(field, value, &right, |node| number(node, &range))
    }

    fn optional(&mut self, field: Field, value: &mut Option<f64>, range: RangeInclusive<f64>) {
        let right = any(field, &range);
        self.set(field, value, &right, |node| number(node, &range).map(Some));
    }

    fn flag(&mut self, field: Field, value: &mut bool) -> bool {
        self.set(field, value, "true or false", |node| match node.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        })
    }

    fn choice(&mut self, field: Field, names: &[&'static str], value: &mut usize) -> bool {
        let Some(node) = self.value(field.key) else { return false };
        match name(node, names) {
            Some(read) => {
                *value = read;
                true
            }
            None => {
                self.wrong(node, field, &one_of(node, names));
                false
            }
        }
    }

    fn text(&mut self, field: Field, value: &mut String, check: &dyn Fn(&str) -> Result<(), String>) -> bool {
        let Some(node) = self.value(field.key) else { return false };
        let checked = match &node.value {
            Value::Text(text) => check(text).map(|()| text.clone()),
            _ => Err("a text in quotation marks".into()),
        };
        match checked {
            Ok(text) => {
                *value = text;
                true
            }
            Err(right) => {
                self.wrong(node, field, &right);
                false
            }
        }
    }

    fn integers(&mut self, field: Field, values: &mut Vec<u64>, range: RangeInclusive<u64>, most: usize) -> bool {
        let right = whole(field, &range);
        self.set_list(field, values, most, &right, |node| integer(node, &range))
    }

    fn choices(&mut self, field: Field, names: &[&'static str], values: &mut Vec<usize>, most: usize) -> bool {
        let right = format!("one of {}", quoted(names));
        self.set_list(field, values, most, &right, |node| name(node, names))
    }

    fn without_meaning(&mut self, keys: &[&'static str]) {
        self.known.extend(keys);
    }

    fn alternatives(&mut self, keys: &[&'static str], current: usize) -> Vec<usize> {
        self.known.extend(keys);
        let given: Vec<usize> = (0..keys.len()).filter(|key| self.table.entry(keys[*key]).is_some()).collect();
        if let [first, second, ..] = given[..]
            && let Some(entry) = self.table.entry(keys[second])
        {
            let text = format!("this contradicts {}{}: give one of the two", self.path, keys[first]);
            self.mistakes.push(Placed::new(entry.at, format!("{}{}", self.path, entry.key), text));
        }
        vec![given.first().copied().unwrap_or(current)]
    }
}

fn integer(node: &Node, range: &RangeInclusive<u64>) -> Option<u64> {
    let Value::Integer(integer) = node.value else { return None };
    u64::try_from(integer).ok().filter(|integer| range.contains(integer))
}

fn number(node: &Node, range: &RangeInclusive<f64>) -> Option<f64> {
    let number = match node.value {
        Value::Integer(integer) => integer as f64,
        Value::Number(number) => number,
        _ => return None,
    };
    range.contains(&number).then_some(number)
}

fn name(node: &Node, names: &[&'static str]) -> Option<usize> {
    let Value::Text(text) = &node.value else { return None };
    names.iter().position(|name| name == text)
}

/// Says what would be right where a whole number is wanted.
fn whole(field: Field, range: &RangeInclusive<u64>) -> String {
    let of = if field.unit.is_empty() { String::new() } else { format!(" of {}", field.unit) };
    let kind = if field.unit.is_empty() { "a whole number" } else { "a number" };
    format!("{kind}{of} from {} to {}", range.start(), range.end())
}

/// Says what would be right where a number is wanted.
fn any(field: Field, range: &RangeInclusive<f64>) -> String {
    let of = if field.unit.is_empty() { String::new() } else { format!(" of {}", field.unit) };
    format!("a number{of} from {} to {}", range.start(), range.end())
}

fn one_of(node: &Node, names: &[&'static str]) -> String {
    let near = match &node.value {
        Value::Text(text) => nearest(text, names).map(|near| format!("; did you mean {near:?}?")),
        _ => None,
    };
    format!("one of {}{}", quoted(names), near.unwrap_or_default())
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// The most tables in a list of them.
const MOST_TABLES: usize = 100_000;
