//! Protecting and deprotecting records.

pub(crate) mod stream;
