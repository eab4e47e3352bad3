//! The strings of names (RFC 5280, 4.1.2.4) that may be shown to people.

use der::Tag;

use crate::Malformed;
use crate::asn1::Element;

/// Returns the text of an attribute of 1 to 64 characters, if nothing in it would disturb a terminal or a log.
pub(super) fn printable<'a>(value: Element<'a>, name: &'static str) -> Result<&'a str, Malformed> {
    let text = match value.tag {
        // An IA5String is no DirectoryString, but certificates have it.
        Tag::PrintableString | Tag::Ia5String if !value.contents.is_ascii() => None,
        Tag::PrintableString | Tag::Ia5String | Tag::Utf8String => core::str::from_utf8(value.contents).ok(),
        _ => None,
    };
    let text = text.ok_or(Malformed::Der(name))?;
    let fits = (1..=UPPER_BOUND).contains(&text.chars().count());
    if fits && !text.chars().any(is_unprintable) { Ok(text) } else { Err(Malformed::Invalid(name)) }
}

/// Whether a terminal or a log would obey the character rather than show it: controls, and marks of direction.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The most characters of a serialNumber and of a commonName: ub-serial-number and ub-common-name (RFC 5280, A.1).
const UPPER_BOUND: usize = 64;
