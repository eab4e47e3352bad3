//! Tests run on SQLite.

/// What a configuration says for a new database: a file beside it.
pub(crate) fn new(file: &str) -> String {
    file.into()
}
