//! Reads and writes ASN.1 (X.690) element by element and in place, where a type for each structure would be a burden to a
//! device.
//!
//! What must always hold: no element reaches beyond the one that contains it; whoever reads a structure either comes to its
//! end, which [`Elements::finish`] checks, or ignores the rest on purpose.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use der::asn1::{AnyRef, ObjectIdentifier};
use der::{Decode, EncodingRules, Reader, SliceReader, Tag, TagNumber, Tagged};

use crate::Malformed;

/// An element, and whether it may contain BER.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a> {
    pub(crate) tag: Tag,
    /// The whole element, with its header.
    pub(crate) encoded: &'a [u8],
    pub(crate) contents: &'a [u8],
    rules: EncodingRules,
}

impl<'a> Element<'a> {
    /// Reads DER that is one element, which an error calls `what`.
    pub(crate) fn from_der(der: &'a [u8], what: &'static str) -> Result<Self, Malformed> {
        Self::from_encoding(der, EncodingRules::Der, what)
    }

    /// Reads DER or BER that is one element.
    pub(crate) fn from_encoding(bytes: &'a [u8], rules: EncodingRules, what: &'static str) -> Result<Self, Malformed> {
        let mut elements = Elements::new(bytes, rules, what)?;
        let element = elements.read()?;
        elements.finish().map(|()| element)
    }

    /// Returns the element if it has this tag.
    pub(crate) fn expect(self, tag: Tag, what: &'static str) -> Result<Self, Malformed> {
        if self.tag == tag { Ok(self) } else { Err(Malformed::Der(what)) }
    }

    /// Returns what a SEQUENCE contains.
    pub(crate) fn sequence(self, what: &'static str) -> Result<Elements<'a>, Malformed> {
        self.expect(Tag::Sequence, what)?.elements(what)
    }

    /// Returns what a SET contains.
    pub(crate) fn set(self, what: &'static str) -> Result<Elements<'a>, Malformed> {
        self.expect(Tag::Set, what)?.elements(what)
    }

    /// Returns what a constructed element contains, whatever its tag is.
    pub(crate) fn elements(self, what: &'static str) -> Result<Elements<'a>, Malformed> {
        if self.tag.is_constructed() {
            Elements::new(self.contents, self.rules, what)
        } else {
            Err(Malformed::Der(what))
        }
    }

    /// Returns what an OCTET STRING contains. In BER it may consist of others (X.690, 8.7.3), which must be primitive.
    pub(crate) fn octets(self, what: &'static str) -> Result<Cow<'a, [u8]>, Malformed> {
        const CONSTRUCTED: u8 = 0x20;
        let is_primitive = |element: &Self| element.encoded.first().is_some_and(|tag| tag & CONSTRUCTED == 0);
        let this = self.expect(Tag::OctetString, what)?;
        if is_primitive(&this) {
            return Ok(Cow::Borrowed(this.contents));
        }
        let mut octets = Vec::with_capacity(this.contents.len());
        for segment in Elements::new(this.contents, this.rules, what)? {
            let segment = segment?.expect(Tag::OctetString, what)?;
            if !is_primitive(&segment) {
                return Err(Malformed::Der(what));
            }
            octets.extend_from_slice(segment.contents);
        }
        Ok(Cow::Owned(octets))
    }

    /// Whether this is the object identifier `oid`.
    pub(crate) fn is(self, oid: ObjectIdentifier) -> bool {
        self.tag == Tag::ObjectIdentifier && self.contents == oid.as_bytes()
    }
}

/// Elements that follow one another.
#[derive(Clone, Debug)]
pub(crate) struct Elements<'a> {
    bytes: &'a [u8],
    reader: SliceReader<'a>,
    what: &'static str,
}

impl<'a> Elements<'a> {
    fn new(bytes: &'a [u8], rules: EncodingRules, what: &'static str) -> Result<Self, Malformed> {
        let reader = SliceReader::new_with_encoding_rules(bytes, rules).map_err(|_| Malformed::Der(what))?;
        Ok(Self { bytes, reader, what })
    }

    /// Reads the next element, which must be there.
    pub(crate) fn read(&mut self) -> Result<Element<'a>, Malformed> {
        let malformed = Malformed::Der(self.what);
        let start = self.reader.position();
        let any = AnyRef::decode(&mut self.reader).map_err(|_| malformed)?;
        let at = |length| usize::try_from(length).map_err(|_| malformed);
        let encoded = self.bytes.get(at(start)?..at(self.reader.position())?).ok_or(malformed)?;
        let rules = self.reader.encoding_rules();
        let contents = match encoded {
            // An indefinite length: end-of-contents octets follow the contents (X.690, 8.1.3.6).
            [tag, 0x80, ..] if rules != EncodingRules::Der && tag & 0x1f != 0x1f => {
                any.value().strip_suffix(&[0, 0]).ok_or(malformed)?
            }
            _ => any.value(),
        };
        Ok(Element { tag: any.tag(), encoded, contents, rules })
    }

    /// Reads the next element, which must be there and have this tag.
    pub(crate) fn expect(&mut self, tag: Tag) -> Result<Element<'a>, Malformed> {
        self.read()?.expect(tag, self.what)
    }

    /// Reads the next element if there is one and it has this tag.
    pub(crate) fn optional(&mut self, tag: Tag) -> Result<Option<Element<'a>>, Malformed> {
        let mut ahead = self.clone();
        match ahead.next().transpose()?.filter(|element| element.tag == tag) {
            Some(element) => {
                *self = ahead;
                Ok(Some(element))
            }
            None => Ok(None),
        }
    }

    /// Checks that nothing follows.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.reader.is_finished() { Ok(()) } else { Err(Malformed::Der(self.what)) }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_finished() { None } else { Some(self.read()) }
    }
}

/// Returns a DER element of `parts`, one after the other.
pub(crate) fn encode(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length = parts.iter().map(|part| part.len()).sum();
    let mut element = Vec::with_capacity(encoded_len(length));
    encode_header(tag, length, &mut element);
    parts.iter().for_each(|part| element.extend_from_slice(part));
    element
}

/// Appends the header of a DER element, with the shortest encoding of its length.
pub(crate) fn encode_header(tag: u8, length: usize, out: &mut Vec<u8>) {
    let octets = length.to_be_bytes();
    let octets = octets.get(length.leading_zeros() as usize / 8..).unwrap_or_default();
    out.push(tag);
    match u8::try_from(length) {
        Ok(short @ 0..0x80) => out.push(short),
        _ => {
            out.push(0x80 | octets.len() as u8); // as many as a usize has: at most 8
            out.extend_from_slice(octets);
        }
    }
}

/// Returns how many bytes a DER element has whose contents have `length`.
pub(crate) const fn encoded_len(length: usize) -> usize {
    let octets = if length < 0x80 { 0 } else { (usize::BITS - length.leading_zeros()).div_ceil(8) as usize };
    2 + octets + length
}

/// Returns a constructed context-specific tag.
pub(crate) const fn context(number: u32) -> Tag {
    Tag::ContextSpecific { constructed: true, number: TagNumber(number) }
}

pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
/// `[0]`, constructed.
pub(crate) const CONTEXT_0: u8 = 0xa0;

#[cfg(test)]
mod tests;
