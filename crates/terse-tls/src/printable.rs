//! Prints names that a peer has chosen.

use core::fmt;

/// Escapes the characters that would move the cursor of a terminal, or begin a line of a log.
pub(crate) struct Printable<'a, 'b>(pub(crate) &'a mut fmt::Formatter<'b>);

impl fmt::Write for Printable<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| match character {
            '\'' | '"' | '\\' => self.0.write_char(character),
            _ => write!(self.0, "{}", character.escape_debug()),
        })
    }
}
