//! Traces of connections for the tests: one line for each value, in order.

use alloc::vec::Vec;

pub(crate) struct Trace(pub(crate) Vec<(&'static str, Vec<u8>)>);

impl Trace {
    pub(crate) fn read(text: &'static str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.map(|line| line.split_once(" = ").unwrap()).map(|(name, hex)| (name, unhex(hex))).collect())
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&[u8]> {
        self.0.iter().filter(|(other, _)| *other == name).map(|(_, bytes)| &bytes[..]).collect()
    }

    pub(crate) fn last(&self, name: &str) -> &[u8] {
        self.all(name).pop().unwrap_or_else(|| panic!("the trace has no {name}"))
    }
}

pub(crate) fn unhex(hex: &str) -> Vec<u8> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16).unwrap() as u8;
    hex.as_bytes().chunks_exact(2).map(|pair| digit(&pair[0]) << 4 | digit(&pair[1])).collect()
}
