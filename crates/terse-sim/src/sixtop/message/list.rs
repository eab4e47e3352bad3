//! Lists of cells and signals, in memory of their own: a 6P message never needs the heap.

use core::fmt;

/// A 6P cell (RFC 8480, 3.2.4). Cells are ordered by slotOffset, then channelOffset (RFC 9033, 10).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SixpCell {
    pub(crate) slot_offset: u16,
    pub(crate) channel_offset: u16,
}

impl SixpCell {
    /// Returns the cell at these offsets.
    pub(crate) const fn new(slot_offset: u16, channel_offset: u16) -> Self {
        Self { slot_offset, channel_offset }
    }
}

impl fmt::Debug for SixpCell {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "({},{})", self.slot_offset, self.channel_offset)
    }
}

/// A list of at most [`CellList::MAX`] cells.
#[derive(Clone, Copy)]
pub(crate) struct CellList {
    cells: [SixpCell; Self::MAX],
    len: u8,
}

impl CellList {
    /// The list without cells.
    pub(crate) const EMPTY: Self = Self { cells: [SixpCell::new(0, 0); Self::MAX], len: 0 };

    /// The most cells of a message: what fits into a frame of 127 bytes beside the longest header.
    pub(crate) const MAX: usize = (super::codec::LONGEST - super::codec::LONGEST_HEADER) / 4;

    /// Adds a cell. Returns whether there was room for it.
    pub(crate) fn push(&mut self, cell: SixpCell) -> bool {
        let Some(place) = self.cells.get_mut(usize::from(self.len)) else { return false };
        *place = cell;
        self.len += 1;
        true
    }

    /// Returns the cells.
    pub(crate) fn as_slice(&self) -> &[SixpCell] {
        &self.cells[..usize::from(self.len)]
    }

    /// Returns the number of cells.
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are no cells.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the cells, one after the other.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SixpCell> {
        self.as_slice().iter().copied()
    }

    /// Whether the cell is in the list.
    pub(crate) fn contains(&self, cell: SixpCell) -> bool {
        self.as_slice().contains(&cell)
    }

    /// Whether a cell of the list has this slotOffset.
    pub(crate) fn has_slot(&self, slot_offset: u16) -> bool {
        self.iter().any(|cell| cell.slot_offset == slot_offset)
    }

    /// Whether the list names a cell more than once.
    pub(crate) fn has_repetitions(&self) -> bool {
        let cells = self.as_slice();
        cells.iter().enumerate().any(|(index, cell)| cells[..index].contains(cell))
    }
}

/// Takes as many cells as there is room for.
impl FromIterator<SixpCell> for CellList {
    fn from_iter<I: IntoIterator<Item = SixpCell>>(cells: I) -> Self {
        let mut list = Self::EMPTY;
        let _ = cells.into_iter().all(|cell| list.push(cell));
        list
    }
}

impl PartialEq for CellList {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for CellList {}

impl fmt::Debug for CellList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(out)
    }
}

/// The bytes of a SIGNAL (RFC 8480, 3.3.7), at most [`Payload::MAX`].
#[derive(Clone, Copy)]
pub(crate) struct Payload {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl Payload {
    /// The most bytes: what fits into a frame of 127 bytes beside the header and the metadata.
    pub(crate) const MAX: usize = super::codec::LONGEST - 6;

    /// Returns the payload of these bytes, if they fit.
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let mut payload = Self { bytes: [0; Self::MAX], len: u8::try_from(bytes.len()).ok()? };
        payload.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(payload)
    }

    /// Returns the bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Payload {}

impl fmt::Debug for Payload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(out)
    }
}
