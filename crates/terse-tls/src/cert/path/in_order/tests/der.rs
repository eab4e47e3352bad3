//! DER as a tree that tests change.

use alloc::vec;
use alloc::vec::Vec;

use terse_testkit::rng::SeededRng;

/// An element of DER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) tag: u8,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    /// Of constructed elements, and of those OCTET STRINGs whose contents are DER.
    Elements(Vec<Element>),
}

impl Element {
    pub(super) fn primitive(tag: u8, bytes: &[u8]) -> Self {
        Self { tag, content: Content::Bytes(bytes.to_vec()) }
    }

    pub(super) fn constructed(tag: u8, elements: &[Self]) -> Self {
        Self { tag, content: Content::Elements(elements.to_vec()) }
    }

    /// Returns an extension with the object identifier 2.5.29.`id`.
    pub(super) fn extension(id: u8, is_critical: bool, value: &[u8]) -> Self {
        let critical = if is_critical { vec![Self::primitive(1, &[0xff])] } else { Vec::new() };
        let (id, value) = (Self::primitive(6, &[0x55, 0x1d, id]), Self::primitive(4, value));
        Self::constructed(0x30, &[vec![id], critical, vec![value]].concat())
    }

    /// Returns the one element in `der`, if that is what it is.
    pub(super) fn parse(der: &[u8]) -> Option<Self> {
        match &Self::parse_all(der)?[..] {
            [element] => Some(element.clone()),
            _ => None,
        }
    }

    fn parse_all(mut der: &[u8]) -> Option<Vec<Self>> {
        let mut elements = Vec::new();
        while let [tag, first, rest @ ..] = der {
            let (len, rest) = match *first {
                len @ 0..0x80 => (usize::from(len), rest),
                form => {
                    let (len, rest) = rest.split_at_checked(usize::from(form & 3))?;
                    (len.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)), rest)
                }
            };
            let (bytes, after) = rest.split_at_checked(len)?;
            let is_nested = tag & 0x20 != 0 || *tag == 4;
            let content = match Self::parse_all(bytes) {
                Some(elements) if is_nested && !elements.is_empty() => Content::Elements(elements),
                _ => Content::Bytes(bytes.to_vec()),
            };
            elements.push(Self { tag: *tag, content });
            der = after;
        }
        der.is_empty().then_some(elements)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let content = match &self.content {
            Content::Bytes(bytes) => bytes.clone(),
            Content::Elements(elements) => elements.iter().flat_map(Self::encode).collect(),
        };
        let len = (content.len() as u32).to_be_bytes();
        let header = match content.len() {
            0..0x80 => vec![self.tag, len[3]],
            0x80..0x100 => vec![self.tag, 0x81, len[3]],
            _ => vec![self.tag, 0x82, len[2], len[3]],
        };
        [header, content].concat()
    }

    pub(super) fn children(&mut self) -> &mut Vec<Self> {
        match &mut self.content {
            Content::Elements(elements) => elements,
            Content::Bytes(bytes) => panic!("{bytes:?} are no elements"),
        }
    }

    fn count(&self) -> usize {
        match &self.content {
            Content::Elements(elements) => 1 + elements.iter().map(Self::count).sum::<usize>(),
            Content::Bytes(_) => 1,
        }
    }

    /// Changes a part of the element at random.
    pub(super) fn mutate(&mut self, rng: &mut SeededRng) {
        let mut place = rng.below(self.count());
        self.mutate_at(&mut place, rng);
    }

    fn mutate_at(&mut self, place: &mut usize, rng: &mut SeededRng) {
        if *place == 0 {
            self.change(rng);
            *place = usize::MAX;
            return;
        }
        *place -= 1;
        if let Content::Elements(elements) = &mut self.content {
            for element in elements {
                if *place != usize::MAX {
                    element.mutate_at(place, rng);
                }
            }
        }
    }

    fn change(&mut self, rng: &mut SeededRng) {
        let tags = [1, 2, 3, 4, 5, 6, 12, 0x13, 0x17, 0x18, 0x30, 0x31, 0x80, 0x82, 0x87, 0xa0, 0xa3];
        if rng.below(8) == 0 {
            self.tag = tags[rng.below(tags.len())];
            return;
        }
        match &mut self.content {
            Content::Bytes(bytes) => match rng.below(6) {
                0 => bytes.clear(),
                1 => drop(bytes.pop()),
                2 => bytes.push(rng.next_u64() as u8),
                3 => bytes.insert(0, 0),
                _ if bytes.is_empty() => bytes.push(0xff),
                4 => {
                    let at = rng.below(bytes.len());
                    bytes[at] = [0, 1, 2, 0x7f, 0x80, 0xff][rng.below(6)];
                }
                _ => {
                    let at = rng.below(bytes.len());
                    bytes[at] ^= 1 << rng.below(8);
                }
            },
            Content::Elements(elements) => {
                let at = rng.below(elements.len());
                match rng.below(4) {
                    0 => drop(elements.remove(at)),
                    1 => elements.push(elements[at].clone()),
                    2 => elements.insert(at, Self::primitive(tags[rng.below(tags.len())], &[0xff])),
                    _ => {
                        let other = rng.below(elements.len());
                        elements.swap(at, other);
                    }
                }
            }
        }
    }
}
