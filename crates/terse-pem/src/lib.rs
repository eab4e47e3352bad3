//! PEM (RFC 7468), and lists with one entry in each line, as editors and other programs leave them: with a byte order mark in
//! UTF-8, any line ends, blanks at line ends, blank lines, and text around the sections.
//!
//! - [`sections`], [`first`] and [`all`]: what stands between two boundaries. The caller compares labels and parses the DER.
//! - [`entries`]: the lines of a list. [`first_line`]: a passphrase or a PIN.
//!
//! What must always hold: a text that is cut or damaged is an error and never another text; no copy of a content is left in
//! memory; the work is linear in the length of the text.
#![no_std]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use base64ct::{Base64, Encoding};
use zeroize::Zeroizing;

/// Labels of a certification request: the one of RFC 7468, 7, and the one that keytool and certreq write.
pub const CERTIFICATE_REQUEST: &[&str] = &["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"];

/// Labels of a certificate (RFC 7468, 5.1).
pub const CERTIFICATE: &[&str] = &["CERTIFICATE", "X509 CERTIFICATE"];

/// The label of a CRL (RFC 7468, 6).
pub const CRL: &[&str] = &["X509 CRL"];

/// Labels of a private key that is not encrypted: PKCS #8 (RFC 7468, 10), SEC 1 (RFC 5915, 4) and PKCS #1.
pub const PRIVATE_KEY: &[&str] = &["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"];

/// The label of a public key, a SubjectPublicKeyInfo (RFC 7468, 13).
pub const PUBLIC_KEY: &[&str] = &["PUBLIC KEY"];

/// Why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// It ends within a section, or another label is at the section's end.
    Truncated,
    /// A section has something else than base64.
    NotBase64,
    /// It has no section with a wanted label.
    Missing,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "ends within a PEM block; copy the file again, whole",
            Self::NotBase64 => "has a PEM block that is not base64; copy the file again",
            Self::Missing => "has no PEM block of the expected kind; give another file",
        })
    }
}

impl core::error::Error for Error {}

/// A section of a text: a label, and the text between two boundaries.
#[derive(Clone, Copy)]
pub struct Section<'a> {
    /// The label in both boundaries.
    pub label: &'a str,
    /// The text between the boundaries.
    pub body: &'a [u8],
}

impl Section<'_> {
    /// Decodes the content. White space is ignored (RFC 7468, 2).
    pub fn decode(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut base64 = Zeroizing::new(Vec::with_capacity(self.body.len())); // it does not grow, which would leave a copy
        base64.extend(self.body.iter().filter(|byte| !byte.is_ascii_whitespace()));
        let mut content = Zeroizing::new(vec![0; base64.len().div_ceil(4) * 3]);
        let len = Base64::decode(&*base64, &mut content).map_err(|_| Error::NotBase64)?.len();
        content.truncate(len);
        Ok(content)
    }
}

/// Prints only the label: the content may be a key.
impl fmt::Debug for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Returns the sections of a text, in order. Text around them may be in any encoding, and is ignored (RFC 7468, 2). After an
/// error there are no more.
pub fn sections(text: &[u8]) -> impl Iterator<Item = Result<Section<'_>, Error>> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let section = section(after_begin(rest)?);
        rest = section.as_ref().map_or(&[], |(_, after)| after);
        Some(section.map(|(section, _)| section))
    })
}

/// Returns the content of the first section that has one of these labels.
pub fn first(text: &[u8], labels: &[&str]) -> Result<Zeroizing<Vec<u8>>, Error> {
    all(text, labels).next().unwrap_or(Err(Error::Missing))
}

/// Returns the content of each section that has one of these labels.
pub fn all(text: &[u8], labels: &[&str]) -> impl Iterator<Item = Result<Zeroizing<Vec<u8>>, Error>> {
    sections(text).filter_map(move |section| match section {
        Ok(section) => labels.contains(&section.label).then(|| section.decode()),
        Err(error) => Some(Err(error)),
    })
}

/// Returns the first line of a text, without its end and a byte order mark, as a passphrase or a PIN is written into a file.
pub fn first_line(text: &[u8]) -> &[u8] {
    let line = without_byte_order_mark(text).split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns a text without the byte order mark that some editors put before it.
pub fn without_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Returns the entries of a list, one in each line, with the number of the line, counted from 1. White space around an
/// entry, empty lines and lines that begin with `#` are ignored.
pub fn entries(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
    let lines = (1..).zip(lines).map(|(number, line)| (number, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the text after the next `BEGIN`. One within running text, or in a line that is commented out, is no boundary
/// (RFC 7468, 2): only white space, a byte order mark or the boundary of another section may be before it in its line.
fn after_begin(text: &[u8]) -> Option<&[u8]> {
    let at = (0..text.len()).find(|at| text[*at..].starts_with(BEGIN) && ends_at_line_start(&text[..*at]))?;
    Some(&text[at + BEGIN.len()..])
}

/// Whether a text ends at the start of a line, blanks aside. The text begins at one, as it does after another section.
fn ends_at_line_start(text: &[u8]) -> bool {
    let end = text.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |at| at + 1);
    let text = text[..end].strip_suffix(BYTE_ORDER_MARK).unwrap_or(&text[..end]);
    matches!(text.last(), None | Some(b'\r' | b'\n'))
}

/// Reads the rest of a section, after its first five dashes and `BEGIN`. Returns it, and the text after it.
fn section(text: &[u8]) -> Result<(Section<'_>, &[u8]), Error> {
    let (label, text) = split_once(text, DASHES).ok_or(Error::Truncated)?;
    // RFC 7468, 3: a label is of printable ASCII characters. Without a line end it cannot be the text of another boundary.
    let label = str::from_utf8(label).ok().filter(|label| !label.contains(['\r', '\n'])).ok_or(Error::Truncated)?;
    // The first end that follows must be this section's. Another section cannot begin before it: dashes are no base64.
    let (body, text) = split_once(text, b"-----END ").ok_or(Error::Truncated)?;
    let text =
        text.strip_prefix(label.as_bytes()).and_then(|text| text.strip_prefix(DASHES)).ok_or(Error::Truncated)?;
    Ok((Section { label, body }, text))
}

fn split_once<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(separator.len()).position(|window| window == separator)?;
    Some((&text[..at], &text[at + separator.len()..]))
}

const DASHES: &[u8] = b"-----";
const BEGIN: &[u8] = b"-----BEGIN ";
/// The byte order mark in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests;
