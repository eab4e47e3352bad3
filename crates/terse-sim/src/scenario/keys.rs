//! The keys of a scenario, each with its value as text.
//!
//! What must always hold: two scenarios whose runs differ under the same seed have different points.

use core::fmt::Write;

use super::Scenario;
use super::print::{Line, Printer, unquoted};

/// A key of a scenario with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key with the tables that it is in, as `topology.hops`.
    pub path: String,
    /// The value as TOML.
    pub value: String,
}

impl Key {
    /// Returns the value as text: that of a string stands without quotation marks.
    pub fn text(&self) -> String {
        unquoted(&self.value)
    }
}

impl Scenario {
    /// Returns every key that a run follows from besides its seed, defaults included, in the order of the documentation. How
    /// often the scenario is run, and from which seed, is not among them.
    pub fn keys(&self) -> Vec<Key> {
        let mut scenario = self.clone();
        let lines = Printer::lines(|visitor| scenario.visit(visitor));
        let keys = lines.into_iter().map(|line: Line| Key { path: line.path(), value: line.value });
        keys.filter(|key| !OF_REPETITIONS.contains(&key.path.as_str())).collect()
    }

    /// Returns the scenario as canonical text: each of its [keys](Self::keys) in a line of TOML. Two rows of the same text
    /// have the same runs under the same seeds, whatever they are called.
    pub fn point(&self) -> String {
        let mut text = String::new();
        for Key { path, value } in self.keys() {
            let _ = writeln!(text, "{path} = {value}"); // writing to a String cannot fail
        }
        text
    }
}

/// The keys that say how often a scenario is run, and under which seeds.
const OF_REPETITIONS: [&str; 2] = ["repetitions", "seed"];

#[cfg(test)]
mod tests {
    use super::super::{Row, ScenarioFile};
    use super::*;

    fn rows(source: &str) -> Vec<Row> {
        ScenarioFile::parse("scenario.toml", source).expect("a scenario").rows
    }

    #[test]
    fn a_point_depends_on_the_keys_alone() {
        let one = &rows("title = \"one\"\ntopology.hops = 2\nrepetitions = 3\nseed = 4\n")[0];
        let other = &rows("[[row]]\nname = \"first\"\n[[row]]\nname = \"second\"\ntopology.hops = 2\n")[1];
        assert_eq!(one.scenario.point(), other.scenario.point());
        let limited = &rows("topology.hops = 2\nlimit_ms = 5_000\n")[0];
        assert_ne!(one.scenario.point(), limited.scenario.point());
        assert!(one.scenario.point().contains("topology.hops = 2\n"), "{}", one.scenario.point());
    }

    #[test]
    fn values_are_text_without_quotation_marks() {
        let key = |value: &str| Key { path: "key".into(), value: value.into() }.text();
        assert_eq!((key("2"), key("\"TLS 1.3\""), key("[\"up\"]")), ("2".into(), "TLS 1.3".into(), "[\"up\"]".into()));
        for text in ["", "a \"b\" \\ c", "\u{1}\n", "\\u0041", "\\", "ü"] {
            assert_eq!(key(&super::super::print::quoted(text)), text);
        }
    }
}
