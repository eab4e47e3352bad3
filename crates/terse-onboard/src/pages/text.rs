//! Values in pages: texts of others, dates, and digests.
//!
//! What must always hold: a text of somebody else is no HTML, changes nothing of the text around it, and takes a bounded
//! place; a character that cannot be seen is shown by its number.

use core::time::Duration;

use maud::{Markup, html};
use terse_brski::certificate::is_unprintable;
use x509_cert::der::DateTime;

/// Shows a text of somebody else. One that is too long is cut off; the whole is its title.
pub(crate) fn shown(text: &str) -> Markup {
    let whole = visible(text, MAX_TITLE);
    let is_long = whole.chars().count() > MAX_SHOWN;
    html! {
        @if is_long {
            bdi title=(whole) { (whole.chars().take(MAX_SHOWN).collect::<String>()) "…" }
        } @else {
            bdi { (whole) }
        }
    }
}

/// Returns a text of somebody else for a title, which has no elements.
pub(crate) fn spelled(text: &str) -> String {
    visible(text, MAX_SHOWN)
}

/// Returns the text with what cannot be seen as numbers, cut off behind so many characters.
fn visible(text: &str, max: usize) -> String {
    let mut shown = String::new();
    for (count, c) in text.chars().enumerate() {
        if count >= max {
            shown.push('…');
            break;
        }
        match is_unprintable(c) || is_hidden(c) {
            true => shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            false => shown.push(c),
        }
    }
    shown
}

/// Returns the text without what cannot be seen, for the value of an input.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !is_unprintable(*c) && !is_hidden(*c)).collect()
}

/// Whether a browser shows nothing for the character, or writes in another direction behind it.
const fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Shows a date, in seconds since 1970.
pub(crate) fn date(seconds: u64) -> Markup {
    let date = DateTime::from_unix_duration(Duration::from_secs(seconds)).map(|date| date.to_string());
    let short = |date: &str| date.get(..16).unwrap_or(date).replace('T', " ");
    html! {
        @match date {
            Ok(date) => time datetime=(date) { (short(&date)) " UTC" },
            Err(_) => "in a far future",
        }
    }
}

/// Returns hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes of hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| u8::try_from(high << 4 | low).ok()).collect()
}

/// Returns a text as a value in a query.
pub(crate) fn percent(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// The most characters of a text that are shown.
const MAX_SHOWN: usize = 96;

/// The most characters of a whole text.
const MAX_TITLE: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_html() {
        let shown = shown("<script>alert('\"&')</script>").into_string();
        assert_eq!(shown, "<bdi>&lt;script&gt;alert('&quot;&amp;')&lt;/script&gt;</bdi>");
    }

    #[test]
    fn what_cannot_be_seen_is_a_number() {
        let text = shown("a\u{202e}b\u{7}c\u{61c}d\u{feff}\n\u{e0041}").into_string();
        assert_eq!(text, "<bdi>a⟨U+202E⟩b⟨U+0007⟩c⟨U+061C⟩d⟨U+FEFF⟩⟨U+000A⟩⟨U+E0041⟩</bdi>");
    }

    /// `terse-brski` and `terse-pki` have no crate in common: what one of them issues, the other one must read.
    #[test]
    fn both_crates_know_the_same_unprintable_characters() {
        assert!((char::MIN..=char::MAX).all(|c| is_unprintable(c) == terse_pki::is_unprintable(c)));
        assert!("\u{202e}\u{2028}\u{ad}\u{e0041}\n\u{9b}".chars().all(is_unprintable));
        assert!(!"Zähler 7 №".chars().any(is_unprintable));
    }

    #[test]
    fn a_long_text_is_cut_off_and_is_whole_in_its_title() {
        let long = "\"".repeat(MAX_SHOWN + 1);
        let quotes = |count: usize| "&quot;".repeat(count);
        let expected = format!("<bdi title=\"{}\">{}…</bdi>", quotes(MAX_SHOWN + 1), quotes(MAX_SHOWN));
        assert_eq!(shown(&long).into_string(), expected);
        assert!(shown(&"x".repeat(1 << 20)).into_string().len() < 3 * MAX_TITLE);
    }

    #[test]
    fn dates_and_digits() {
        let markup = date(1_764_028_800).into_string();
        assert_eq!(markup, "<time datetime=\"2025-11-25T00:00:00Z\">2025-11-25 00:00 UTC</time>");
        assert_eq!(date(u64::MAX).into_string(), "in a far future");
        assert_eq!(hex(&[0, 255]), "00ff");
        assert_eq!(from_hex("00fF"), Some(vec![0, 255]));
        assert!(from_hex("0").is_none() && from_hex("0g").is_none() && from_hex("é0").is_none());
        assert_eq!(percent("a b&c=<\u{202e}"), "a+b%26c%3D%3C%E2%80%AE");
    }
}
