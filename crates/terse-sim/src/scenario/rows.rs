//! A file is a base, and rows that override some of its keys. A matrix makes a row for each combination of values.
//!
//! What must always hold: every row has a name of its own, and the order of rows is that of the file, with the last key of a
//! matrix changing first.

use super::Scenario;
use super::mistake::{Mistakes, Placed};
use super::print::{Line, Printer, quoted, tables};
use super::read::Reader;
use super::tree::{Entry, Node, Table, Value};
use super::visit::field;

/// A scenario file.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioFile {
    /// What the file is about.
    pub title: String,
    /// The keys that all rows have in common. It need not be a scenario that can be run.
    pub base: Scenario,
    /// The rows, one at least.
    pub rows: Vec<Row>,
}

/// A row of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name; no other row of the file has it.
    pub name: String,
    /// Everything that the row follows from.
    pub scenario: Scenario,
}

impl ScenarioFile {
    /// Reads the text of a file, whose name is for messages.
    pub fn parse(name: &str, source: &str) -> Result<Self, Mistakes> {
        let file = Table::parse(source).map_err(|placed| vec![placed]).and_then(Self::of);
        file.map_err(|placed| Placed::all(placed, name, source))
    }

    /// Returns the file as TOML: the base with every key, then of each row the keys that differ.
    pub fn to_toml(&self) -> String {
        let base = lines(&self.base);
        let mut text = format!("title = {}\n", quoted(&self.title));
        text += &tables(&base);
        for row in &self.rows {
            let differs = |line: &Line| !base.contains(line);
            text += &format!("\n[[row]]\nname = {}\n", quoted(&row.name));
            for line in lines(&row.scenario).into_iter().filter(differs) {
                text += &format!("{} = {}\n", line.path(), line.value);
            }
        }
        text
    }

    /// Returns the row of a name.
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn of(mut table: Table) -> Result<Self, Vec<Placed>> {
        let (rows, matrix) = (table.take("row"), table.take("matrix"));
        let mut title = String::new();
        let mut base = Scenario::default();
        let mut mistakes = Reader::read(&table, |visitor| {
            visitor.text(field("title", "title", ""), &mut title, &|_| Ok(()));
            base.visit(visitor);
        });
        table.take("title");
        let matrix = match matrix {
            Some(entry) => combinations(&entry, "matrix", &mut mistakes),
            None => vec![Combination::default()],
        };
        let overrides = match rows {
            Some(entry) => rows_of(entry, &mut mistakes),
            None => vec![Override { name: String::new(), at: 0, table: Table::default(), combinations: None }],
        };
        let mut file = Self { title, base, rows: Vec::new() };
        for over in &overrides {
            let own = over.combinations.as_deref().unwrap_or(&[]);
            let own = if own.is_empty() { vec![Combination::default()] } else { own.to_vec() };
            for first in &own {
                for second in &matrix {
                    file.add(&table, over, [first, second], &mut mistakes);
                }
            }
            if file.rows.len() > MOST_ROWS {
                mistakes.push(Placed::new(over.at, "", format!("these are too many rows: at most {MOST_ROWS}")));
                break;
            }
        }
        if mistakes.is_empty() && file.rows.is_empty() {
            mistakes.push(Placed::new(0, "", "there is no row: no combination of the matrix exists"));
        }
        if mistakes.is_empty() { Ok(file) } else { Err(mistakes) }
    }

    /// Adds a row for one combination of each matrix.
    fn add(&mut self, base: &Table, over: &Override, combinations: [&Combination; 2], mistakes: &mut Vec<Placed>) {
        let mut table = base.clone();
        table.merge(&over.table, EXCLUSIVE);
        let mut name = vec![over.name.clone()];
        for combination in combinations {
            table.merge(&combination.table, EXCLUSIVE);
            name.extend(combination.names.iter().cloned());
        }
        let mut scenario = Scenario::default();
        mistakes.extend(Reader::read(&table, |visitor| scenario.visit(visitor)));
        let is_of_matrix = combinations.iter().any(|combination| !combination.names.is_empty());
        if is_of_matrix && !scenario.exists() {
            return;
        }
        for (key, text) in scenario.contradictions() {
            mistakes.push(Placed::new(table.place(key).unwrap_or(over.at), key, text));
        }
        name.retain(|part| !part.is_empty());
        let name = if name.is_empty() { DEFAULT_NAME.into() } else { name.join(", ") };
        if self.row(&name).is_some() {
            mistakes.push(Placed::new(over.at, "row.name", format!("there are two rows {name:?}: give each its own")));
        }
        self.rows.push(Row { name, scenario });
    }
}

/// What a `[[row]]` has.
struct Override {
    name: String,
    at: usize,
    table: Table,
    combinations: Option<Vec<Combination>>,
}

/// One combination of a matrix.
#[derive(Clone, Debug, Default)]
struct Combination {
    /// The values, for the name of the row.
    names: Vec<String>,
    table: Table,
}

fn lines(scenario: &Scenario) -> Vec<Line> {
    let mut scenario = scenario.clone();
    Printer::lines(|visitor| scenario.visit(visitor))
}

fn rows_of(entry: Entry, mistakes: &mut Vec<Placed>) -> Vec<Override> {
    let Value::List(list) = entry.node.value else {
        let text = format!("{} is no list of tables: [[row]]", entry.node.written);
        mistakes.push(Placed::new(entry.at, "row", text));
        return Vec::new();
    };
    let mut rows = Vec::new();
    for node in list {
        let at = node.at;
        let Value::Table(mut table) = node.value else {
            mistakes.push(Placed::new(at, "row", format!("{} is no table: [[row]]", node.written)));
            continue;
        };
        let name = match table.take("name") {
            Some(Entry { node: Node { value: Value::Text(name), .. }, .. }) => name,
            Some(Entry { node, .. }) => {
                mistakes.push(Placed::new(node.at, "row.name", format!("{} is no name: a text", node.written)));
                String::new()
            }
            None => String::new(),
        };
        let combinations = table.take("matrix").map(|entry| combinations(&entry, "row.matrix", mistakes));
        rows.push(Override { name, at, table, combinations });
    }
    rows
}

/// Returns all combinations of a matrix, whose leaves are lists of values.
fn combinations(entry: &Entry, path: &str, mistakes: &mut Vec<Placed>) -> Vec<Combination> {
    let mut axes = Vec::new();
    match &entry.node.value {
        Value::Table(table) => find_axes(table, &[], path, &mut axes, mistakes),
        _ => mistakes.push(Placed::new(entry.at, path, format!("{} is no table: [{path}]", entry.node.written))),
    }
    axes.sort_by_key(|axis| axis.at);
    let count = axes.iter().try_fold(1_usize, |product, axis| product.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > MOST_ROWS) {
        mistakes.push(Placed::new(entry.at, path, format!("these are too many combinations: at most {MOST_ROWS}")));
        return Vec::new();
    }
    let mut all = vec![Combination::default()];
    for axis in &axes {
        all = all.iter().flat_map(|begun| axis.values.iter().map(|value| axis.extend(begun, value))).collect();
    }
    all
}

/// A key of a matrix, and its values.
struct Axis<'t> {
    path: Vec<&'t str>,
    at: usize,
    values: &'t [Node],
}

fn find_axes<'t>(table: &'t Table, path: &[&'t str], name: &str, axes: &mut Vec<Axis<'t>>, mistakes: &mut Vec<Placed>) {
    for Entry { key, at, node } in &table.entries {
        let path = [path, &[key.as_str()]].concat();
        match &node.value {
            Value::Table(table) => find_axes(table, &path, name, axes, mistakes),
            Value::List(values) if !values.is_empty() => axes.push(Axis { path, at: *at, values }),
            _ => {
                let text = format!("{} is no list of values: [ ... ] with one at least", node.written);
                mistakes.push(Placed::new(*at, format!("{name}.{}", path.join(".")), text));
            }
        }
    }
}

impl Axis<'_> {
    /// Returns a combination that has `value`, too.
    fn extend(&self, begun: &Combination, value: &Node) -> Combination {
        let entry = |key: &str, node: Node| Entry { key: key.into(), at: self.at, node };
        let mut keys = self.path.iter().rev();
        let Some(last) = keys.next() else { return begun.clone() };
        let mut table = Table { entries: vec![entry(last, value.clone())] };
        for key in keys {
            let node = Node { value: Value::Table(table), at: self.at, written: String::new() };
            table = Table { entries: vec![entry(key, node)] };
        }
        let mut combination = begun.clone();
        combination.table.merge(&table, &[]);
        if self.values.len() > 1 {
            combination.names.push(match &value.value {
                Value::Text(text) => text.clone(),
                _ => format!("{} {}", self.path.join("."), value.written),
            });
        }
        combination
    }
}

/// The keys that stand for each other: one of a row replaces the other ones of the base.
const EXCLUSIVE: &[&[&str]] = &[
    &["topology.hops", "topology.parents", "topology.motes", "topology.tree", "topology.grid"],
    &["schedule.slotframe", "schedule.duty_cycle"],
];

/// The name of the row of a file without rows.
const DEFAULT_NAME: &str = "scenario";

/// The most rows of a file.
const MOST_ROWS: usize = 10_000;
