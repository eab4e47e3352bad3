use alloc::format;
use alloc::string::ToString;
use alloc::vec;

use super::*;

const KEY: &str = "-----BEGIN A KEY-----\nAAEC\nAwQF\n-----END A KEY-----\n";
const OTHER: &str = "-----BEGIN A KEY-----\nBBBB\n-----END A KEY-----\n";
const CONTENT: &[u8] = &[0, 1, 2, 3, 4, 5];

fn key(text: impl AsRef<[u8]>) -> Result<Vec<u8>, Error> {
    first(text.as_ref(), &["A KEY"]).map(|content| content.to_vec())
}

/// RFC 7468, 2: nothing of this may matter.
#[test]
fn files_are_read_as_editors_leave_them() {
    for (what, text) in [
        ("nothing", KEY.to_string()),
        ("a byte order mark", format!("\u{feff}{KEY}")),
        ("CRLF", KEY.replace('\n', "\r\n")),
        ("CR", KEY.replace('\n', "\r")),
        ("blanks at line ends", KEY.replace('\n', " \t\n")),
        ("blanks at line starts", KEY.replace('\n', "\n  ")),
        ("blank lines", KEY.replace('\n', "\n\n")),
        ("no newline at the end", KEY.trim_end().to_string()),
        ("text around it", format!("Bag Attributes\n - ü -----\n{KEY}-- \nregards -----END X-----\n")),
        ("another section before it", format!("-----BEGIN B-----\n!\n-----END B-----\n{KEY}")),
        ("text about boundaries", format!("-- paste -----BEGIN A KEY----- here, up to -----END\n{KEY}")),
        ("a section that is commented out", format!("# {}\n{KEY}", OTHER.trim_end().replace('\n', "\n# "))),
        ("a file before it without a newline at its end", format!("-----BEGIN B-----\nAA==\n-----END B-----{KEY}")),
        ("a byte order mark of the second of two files", format!("# notes\n\u{feff} {KEY}")),
        ("one line", KEY.replace('\n', "")),
    ] {
        assert_eq!(key(&text), Ok(CONTENT.to_vec()), "{what}");
    }
    assert_eq!(key([b"M\xfcller\n", KEY.as_bytes(), b"\xff\xfe"].concat()), Ok(CONTENT.to_vec()), "another encoding");
}

#[test]
fn damaged_files_are_refused() {
    for len in "-----BEGIN ".len()..KEY.trim_end().len() {
        assert_eq!(key(&KEY[..len]), Err(Error::Truncated), "{len}");
    }
    assert_eq!(key(KEY.replace("END A", "END B")), Err(Error::Truncated));
    assert_eq!(key(format!("{}{KEY}", &KEY[..30])), Err(Error::NotBase64), "the next one begins within it");
    assert_eq!(key(KEY.replace("AAEC", "A!EC")), Err(Error::NotBase64));
    assert_eq!(key(KEY.replace("AAEC", "AAE\u{e9}")), Err(Error::NotBase64));
    assert_eq!(key(KEY.replace("AwQF", "AwQFA")), Err(Error::NotBase64), "half a byte");
    assert_eq!(key(KEY.replace("A KEY", "B KEY")), Err(Error::Missing));
    assert_eq!(key(""), Err(Error::Missing));
}

#[test]
fn sections_come_in_order_and_end_at_an_error() {
    let text = format!("{KEY}{}{KEY}-----BEGIN ", KEY.replace("A KEY", "B KEY"));
    let labels: Vec<_> = sections(text.as_bytes()).map(|section| section.map(|section| section.label)).collect();
    assert_eq!(labels, [Ok("A KEY"), Ok("B KEY"), Ok("A KEY"), Err(Error::Truncated)]);
    assert_eq!(all(text.as_bytes(), &["A KEY", "B KEY"]).filter(Result::is_ok).count(), 3);
    let printed = format!("{:?}", sections(KEY.as_bytes()).next());
    assert!(printed.contains("A KEY") && !printed.contains("65"), "a key does not print: {printed}");
}

#[test]
fn lists_are_read_as_editors_leave_them() {
    let text = "\u{feff}one \t\r\n\n  # a comment\n two\n\n \n";
    assert_eq!(entries(text).collect::<Vec<_>>(), vec![(1, "one"), (4, "two")]);
    assert_eq!(entries("").count(), 0);
}

#[test]
fn the_first_line_of_a_file_is_all_of_it_but_its_end() {
    for text in [&b" a b "[..], b" a b \n", b" a b \r\n", b" a b \nmore\n", b"\xef\xbb\xbf a b \n"] {
        assert_eq!(first_line(text), b" a b ");
    }
    for text in [&b""[..], b"\n", b"\r\nmore"] {
        assert_eq!(first_line(text), b"");
    }
    assert_eq!(without_byte_order_mark(b"\xef\xbb\xbfx"), b"x");
    assert_eq!(without_byte_order_mark(b"x\xef\xbb\xbf"), b"x\xef\xbb\xbf");
}
