//! The reader of links (RFC 6690, 2).
//!
//! What must always hold: what is read is bounded, and borrows from the answer.

use alloc::vec::Vec;

use crate::Malformed;

/// The longest answer that is read, in bytes.
pub const MAX_LEN: usize = 4_096;

/// The most links in an answer.
pub const MAX_LINKS: usize = 32;

/// The most attributes of a link.
const MAX_ATTRIBUTES: usize = 16;

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link<'a> {
    /// What the link points to.
    pub target: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Link<'a> {
    /// Returns the value of an attribute, of the first one with the name: without quotes, and with what is escaped in them.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// Whether an attribute that is a list of values, separated by spaces, has this one (RFC 6690, 3.1).
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.attribute(name).is_some_and(|values| values.split(' ').any(|other| other == value))
    }
}

/// Reads links.
pub fn read(answer: &[u8]) -> Result<Vec<Link<'_>>, Malformed> {
    if answer.len() > MAX_LEN {
        return Err(Malformed::TooLong(MAX_LEN));
    }
    let mut rest = core::str::from_utf8(answer).map_err(|_| INVALID)?.trim_ascii();
    let mut links = Vec::new();
    while !rest.is_empty() {
        if links.len() == MAX_LINKS {
            return Err(Malformed::TooMany("links"));
        }
        let (link, after) = link(rest)?;
        links.push(link);
        rest = match after.strip_prefix(',') {
            Some(next) if !next.trim_ascii().is_empty() => next.trim_ascii_start(),
            None if after.is_empty() => after,
            _ => return Err(INVALID),
        };
    }
    Ok(links)
}

/// Reads a link, and returns what comes after it.
fn link(text: &str) -> Result<(Link<'_>, &str), Malformed> {
    let (target, mut rest) = text.strip_prefix('<').and_then(|text| text.split_once('>')).ok_or(INVALID)?;
    let mut attributes = Vec::new();
    rest = rest.trim_ascii_start();
    while let Some(attribute) = rest.strip_prefix(';') {
        if attributes.len() == MAX_ATTRIBUTES {
            return Err(Malformed::TooMany("attributes"));
        }
        let attribute = attribute.trim_ascii_start();
        let (name, after) = attribute.split_at(attribute.find(['=', ';', ',']).unwrap_or(attribute.len()));
        let (value, after) = match after.strip_prefix('=') {
            Some(after) => value(after)?,
            None => ("", after),
        };
        attributes.push((name.trim_ascii(), value));
        rest = after.trim_ascii_start();
    }
    Ok((Link { target, attributes }, rest))
}

/// Reads a value, in quotes or not, and returns what comes after it.
fn value(text: &str) -> Result<(&str, &str), Malformed> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find([';', ',']).unwrap_or(text.len()));
        return Ok((value.trim_ascii(), rest));
    };
    let mut is_escaped = false;
    let end = quoted.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    let (value, rest) = quoted.split_at(end.ok_or(INVALID)?);
    Ok((value, &rest[1..]))
}

const INVALID: Malformed = Malformed::Invalid("links");
