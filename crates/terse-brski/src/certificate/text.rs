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

/// Whether a terminal or a log would obey the character rather than show it: controls, line separators and
/// format characters (the general categories Cc, Cf, Zl and Zp of Unicode).
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{600}'
                ..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{180e}'
        )
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}')
        || matches!(c, '\u{1d173}'..='\u{1d17a}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// The most characters of a serialNumber and of a commonName: ub-serial-number and ub-common-name (RFC 5280, A.1).
const UPPER_BOUND: usize = 64;
