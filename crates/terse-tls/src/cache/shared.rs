//! This module keeps values that many records have in common, such as the fingerprint of the own Certificate, once, and
//! names each by one byte. It also has the form of a record, which begins with such numbers.
//!
//! What must always hold: a number means the same value as long as a record has it. There are few values, and peers
//! cannot make new ones; when all numbers are taken, records carry further values themselves.

use alloc::vec::Vec;

use crate::error::InvalidMessage;
use crate::wire::Reader;

/// A fingerprint, or a trust ID with zeros behind it.
pub(super) type Value = [u8; 32];

/// The shared values and their numbers.
#[derive(Debug)]
pub(super) struct Shared {
    values: Vec<Value>,
    /// How many records use each value.
    uses: Vec<u32>,
    limit: usize,
}

/// A record to be kept.
#[derive(Debug)]
pub(super) struct Record<const R: usize> {
    pub(super) shared: [Option<Value>; R],
    pub(super) body: Vec<u8>,
}

/// A record that is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a, const R: usize> {
    pub(super) shared: [Option<&'a Value>; R],
    pub(super) body: &'a [u8],
}

impl Shared {
    /// The number of a value that is absent.
    const NONE: u8 = 0;
    /// The number of a value that the record carries itself.
    const OWN: u8 = 0xff;
    const MAX: usize = 0xfe;

    /// Creates the values for a table of `capacity` records.
    pub(super) fn new(capacity: usize) -> Self {
        Self::of_at_most((capacity / 32).clamp(8, Self::MAX))
    }

    /// Creates the values for a file, which has as many as there are numbers, in the order in which they come.
    pub(super) const fn of_file() -> Self {
        Self::of_at_most(Self::MAX)
    }

    /// Creates an empty set, with which each record carries its values itself.
    pub(super) const fn none() -> Self {
        Self::of_at_most(0)
    }

    const fn of_at_most(limit: usize) -> Self {
        Self { values: Vec::new(), uses: Vec::new(), limit }
    }

    /// Reads the values that a file has.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let mut shared = Self::of_file();
        let count = reader.u8()?;
        if usize::from(count) > Self::MAX {
            return Err(InvalidMessage::IllegalLength);
        }
        for _ in 0..count {
            shared.values.push(reader.array()?);
        }
        Ok(shared)
    }

    /// Returns all values, in the order of their numbers.
    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Takes all memory that the values will ever need.
    pub(super) fn reserve(&mut self) {
        self.values.reserve_exact(self.limit);
        self.uses.reserve_exact(self.limit);
    }

    /// Returns the number of `value` for one more record. If all numbers are taken, it gives `value` that of an unused
    /// one.
    fn number(&mut self, value: &Value) -> u8 {
        let known = self.values.iter().position(|known| known == value);
        let place = known.or_else(|| {
            if self.values.len() < self.limit {
                self.values.reserve_exact(1);
                self.values.push(*value);
                self.uses.reserve_exact(1);
                self.uses.push(0);
                return Some(self.values.len() - 1);
            }
            let unused = self.uses.iter().position(|uses| *uses == 0)?;
            *self.values.get_mut(unused)? = *value;
            Some(unused)
        });
        let Some(place) = place else { return Self::OWN };
        self.uses.get_mut(place).into_iter().for_each(|uses| *uses += 1); // records are fewer than 2^32
        place as u8 + 1
    }

    /// Notes that a record with these numbers is gone.
    pub(super) fn release(&mut self, numbers: &[u8]) {
        for number in numbers.iter().filter(|number| !matches!(**number, Self::NONE | Self::OWN)) {
            self.uses.get_mut(usize::from(*number) - 1).into_iter().for_each(|uses| *uses -= 1);
        }
    }
}

/// Returns the length of the record that `bytes` begin with, or 0 if they begin with none.
pub(super) fn length_of(bytes: &[u8]) -> usize {
    bytes.first_chunk().map_or(0, |len| usize::from(u16::from_be_bytes(*len)))
}

/// Returns the numbers of the shared values of the record that `bytes` begin with.
pub(super) fn numbers_of<const R: usize>(bytes: &[u8]) -> &[u8] {
    bytes.get(LEN..LEN + R).unwrap_or_default()
}

/// The number of bytes that hold a record's length.
const LEN: usize = 2;

impl<const R: usize> Record<R> {
    /// Returns the record as bytes that carry all their values, which [`View::of_one`] reads.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.pack(&mut Shared::none())
    }

    /// Returns the record as bytes: its length in two bytes, the number of each shared value, the values that have no
    /// number, and the body. Returns no bytes if the record is longer than 64 KiB.
    pub(super) fn pack(&self, shared: &mut Shared) -> Vec<u8> {
        let mut numbers = [Shared::NONE; R];
        for (number, value) in numbers.iter_mut().zip(&self.shared) {
            *number = value.as_ref().map_or(Shared::NONE, |value| shared.number(value));
        }
        let own = self.shared.iter().zip(numbers).filter(|(_, number)| *number == Shared::OWN);
        let own: Vec<&Value> = own.filter_map(|(value, _)| value.as_ref()).collect();
        let len = LEN + R + own.len() * size_of::<Value>() + self.body.len();
        let mut bytes = Vec::with_capacity(len);
        let Ok(len) = u16::try_from(len) else {
            shared.release(&numbers);
            return bytes;
        };
        bytes.extend_from_slice(&len.to_be_bytes());
        bytes.extend_from_slice(&numbers);
        own.into_iter().for_each(|value| bytes.extend_from_slice(value));
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl<'a, const R: usize> View<'a, R> {
    /// Reads the record that `bytes` begin with.
    pub(super) fn read(bytes: &'a [u8], shared: &'a Shared) -> Result<Self, InvalidMessage> {
        Self::parse(&mut Reader::new(bytes), shared)
    }

    /// Reads the record that `bytes` are, which uses no numbers.
    pub(super) fn of_one(bytes: &'a [u8]) -> Result<Self, InvalidMessage> {
        const NOTHING: &Shared = &Shared::none();
        let mut reader = Reader::new(bytes);
        let view = Self::parse(&mut reader, NOTHING)?;
        reader.finish()?;
        Ok(view)
    }

    /// Reads the next record.
    pub(super) fn parse(reader: &mut Reader<'a>, shared: &'a Shared) -> Result<Self, InvalidMessage> {
        let len = usize::from(reader.u16()?).checked_sub(LEN).ok_or(InvalidMessage::IllegalLength)?;
        let mut reader = Reader::new(reader.take(len)?);
        let mut values = [None; R];
        for (value, number) in values.iter_mut().zip(reader.array::<R>()?) {
            *value = match number {
                Shared::NONE => None,
                Shared::OWN => Some(reader.chunk()?),
                number => Some(shared.values.get(usize::from(number) - 1).ok_or(InvalidMessage::IllegalValue)?),
            };
        }
        Ok(Self { shared: values, body: reader.rest() })
    }
}
