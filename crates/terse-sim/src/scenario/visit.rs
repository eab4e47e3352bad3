//! Every section of a scenario lists its keys once, for a [`Visitor`]: one reads them from a file, one prints them, and one
//! collects their names for the documentation's test.
//!
//! What must always hold: a value that a visitor leaves behind is in the range that the section gave with it.

use core::ops::RangeInclusive;
use core::time::Duration;

/// A key of a scenario: its name, what its value is, and the unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) key: &'static str,
    /// The noun for the value, as in "0 is no length of a slotframe".
    pub(super) what: &'static str,
    /// The unit, in plural; empty if there is none.
    pub(super) unit: &'static str,
}

/// Returns a key.
pub(super) const fn field(key: &'static str, what: &'static str, unit: &'static str) -> Field {
    Field { key, what, unit }
}

/// Visits the keys of a section. Methods with a result return whether the value was set.
pub(super) trait Visitor {
    /// Visits a table of further keys.
    fn table(&mut self, key: &'static str, visit: &mut dyn FnMut(&mut dyn Visitor));

    /// Visits a list of tables. `visit` gets the number of each; `len` is how many there are, and is set first.
    fn tables(&mut self, key: &'static str, len: &mut usize, visit: &mut dyn FnMut(usize, &mut dyn Visitor));

    /// Visits a whole number.
    fn integer(&mut self, field: Field, value: &mut u64, range: RangeInclusive<u64>) -> bool;

    /// Visits a whole number that is one of a few.
    fn one_of(&mut self, field: Field, values: &[u64], value: &mut u64) -> bool;

    /// Visits a number.
    fn number(&mut self, field: Field, value: &mut f64, range: RangeInclusive<f64>) -> bool;

    /// Visits a number that may be absent.
    fn optional(&mut self, field: Field, value: &mut Option<f64>, range: RangeInclusive<f64>);

    /// Visits `true` or `false`.
    fn flag(&mut self, field: Field, value: &mut bool) -> bool;

    /// Visits one of `names`, by its number.
    fn choice(&mut self, field: Field, names: &[&'static str], value: &mut usize) -> bool;

    /// Visits a text; `check` says what would be right of one that is not.
    fn text(&mut self, field: Field, value: &mut String, check: &dyn Fn(&str) -> Result<(), String>) -> bool;

    /// Visits a list of one to `most` whole numbers.
    fn integers(&mut self, field: Field, values: &mut Vec<u64>, range: RangeInclusive<u64>, most: usize) -> bool;

    /// Visits a list of one to `most` of `names`, by their numbers.
    fn choices(&mut self, field: Field, names: &[&'static str], values: &mut Vec<usize>, most: usize) -> bool;

    /// Notes keys that have no meaning beside other keys here: a file may have them all the same, as its rows change others.
    fn without_meaning(&mut self, keys: &[&'static str]);

    /// Returns which of `keys` are to be visited, of which a file has one at most: the one at `current` if it has none.
    fn alternatives(&mut self, keys: &[&'static str], current: usize) -> Vec<usize>;
}

/// A type with a name for each value.
pub(super) trait Named: Copy + PartialEq + 'static {
    /// All values and their names.
    const NAMES: &'static [(Self, &'static str)];

    /// Returns the name of a value.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(value, _)| *value == self).map_or("", |(_, name)| name)
    }
}

/// Visits a value that has a name.
pub(super) fn choice<T: Named>(visitor: &mut dyn Visitor, field: Field, value: &mut T) -> bool {
    let names: Vec<&'static str> = T::NAMES.iter().map(|(_, name)| *name).collect();
    let mut number = number_of(*value);
    let is_set = visitor.choice(field, &names, &mut number);
    set(value, number);
    is_set
}

/// Visits a list of values that have names.
pub(super) fn choices<T: Named>(visitor: &mut dyn Visitor, field: Field, values: &mut Vec<T>, most: usize) -> bool {
    let names: Vec<&'static str> = T::NAMES.iter().map(|(_, name)| *name).collect();
    let mut numbers: Vec<usize> = values.iter().map(|value| number_of(*value)).collect();
    let is_set = visitor.choices(field, &names, &mut numbers, most);
    *values = numbers.into_iter().filter_map(|number| T::NAMES.get(number)).map(|(value, _)| *value).collect();
    is_set
}

/// Visits a time in milliseconds, of which fractions are allowed.
pub(super) fn milliseconds(
    visitor: &mut dyn Visitor,
    field: Field,
    value: &mut Duration,
    range: RangeInclusive<f64>,
) -> bool {
    let mut number = value.as_nanos() as f64 / 1e6;
    let is_set = visitor.number(field, &mut number, range);
    *value = Duration::from_nanos((number * 1e6).round() as u64);
    is_set
}

/// Visits a whole number of a smaller type; the range must fit that.
pub(super) fn small<T>(visitor: &mut dyn Visitor, field: Field, value: &mut T, range: RangeInclusive<u64>) -> bool
where
    T: Copy + TryFrom<u64>,
    u64: TryFrom<T>,
{
    let mut number = u64::try_from(*value).unwrap_or_default();
    let is_set = visitor.integer(field, &mut number, range);
    if let Ok(number) = T::try_from(number) {
        *value = number;
    }
    is_set
}

fn number_of<T: Named>(value: T) -> usize {
    T::NAMES.iter().position(|(named, _)| *named == value).unwrap_or_default()
}

fn set<T: Named>(value: &mut T, number: usize) {
    if let Some((named, _)) = T::NAMES.get(number) {
        *value = *named;
    }
}
