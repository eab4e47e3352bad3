//! Messages of the 6top Protocol, 6P (RFC 8480, 3.2 and 3.3), and the information elements that carry them (RFC 8137).
//!
//! What must always hold: no bytes make [`Message::parse`] panic; what it returns fits into a frame, and encodes to the same
//! bytes again, apart from reserved bits.

mod codec;
mod list;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use codec::Malformed;
pub(crate) use codec::Subtype;
pub(crate) use list::{CellList, Payload, SixpCell};

/// A 6P message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// The scheduling function that handles the message (4.1).
    pub(crate) sfid: u8,
    /// Which transaction the message belongs to.
    pub(crate) seq_num: u8,
    pub(crate) body: Body,
}

/// The type of a message (6.2.2), and what follows its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Request(Request),
    Response(ReturnCode, Answer),
    Confirmation(ReturnCode, CellList),
}

/// A request, by its command (3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Add(Change),
    Delete(Change),
    /// Moves the cells of the first list to some of the second.
    Relocate(Change, CellList),
    Count {
        metadata: u16,
        cell_options: CellOptions,
    },
    List {
        metadata: u16,
        cell_options: CellOptions,
        offset: u16,
        max_num_cells: u16,
    },
    Signal {
        metadata: u16,
        payload: Payload,
    },
    Clear {
        metadata: u16,
    },
}

/// The fields of a request that changes cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Two bytes whose meaning the scheduling function defines.
    pub(crate) metadata: u16,
    /// The kind of the cells, as the node that asks has them.
    pub(crate) cell_options: CellOptions,
    pub(crate) num_cells: u8,
    /// The candidates, the cells to delete, or those to relocate.
    pub(crate) cell_list: CellList,
}

/// What follows the header of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Nothing,
    /// To ADD, DELETE, RELOCATE and LIST.
    Cells(CellList),
    /// To COUNT.
    NumCells(u16),
    /// To SIGNAL.
    Payload(Payload),
}

impl Answer {
    /// Returns the cells of the answer, if any.
    pub(crate) const fn cells(self) -> CellList {
        match self {
            Self::Cells(cells) => cells,
            _ => CellList::EMPTY,
        }
    }
}

impl Request {
    /// Returns the command.
    pub(crate) const fn command(&self) -> Command {
        match self {
            Self::Add(_) => Command::Add,
            Self::Delete(_) => Command::Delete,
            Self::Relocate(..) => Command::Relocate,
            Self::Count { .. } => Command::Count,
            Self::List { .. } => Command::List,
            Self::Signal { .. } => Command::Signal,
            Self::Clear { .. } => Command::Clear,
        }
    }

    /// Returns the two bytes for the scheduling function.
    pub(crate) const fn metadata(&self) -> u16 {
        match self {
            Self::Add(change) | Self::Delete(change) | Self::Relocate(change, _) => change.metadata,
            Self::Count { metadata, .. }
            | Self::List { metadata, .. }
            | Self::Signal { metadata, .. }
            | Self::Clear { metadata } => *metadata,
        }
    }

    /// Whether the node that is asked selects the candidates, so that a confirmation follows (3.1.2).
    pub(crate) const fn has_three_steps(&self) -> bool {
        match self {
            Self::Add(change) => change.cell_list.is_empty(),
            Self::Relocate(_, candidates) => candidates.is_empty(),
            _ => false,
        }
    }
}

/// The command of a request (6.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Command {
    Add = 1,
    Delete,
    Relocate,
    Count,
    List,
    Signal,
    Clear,
}

impl Command {
    /// All commands.
    pub(crate) const ALL: [Self; 7] =
        [Self::Add, Self::Delete, Self::Relocate, Self::Count, Self::List, Self::Signal, Self::Clear];
}

/// How a transaction went (6.2.4). Codes that nobody has defined are errors (3.4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReturnCode(pub(crate) u8);

impl ReturnCode {
    pub(crate) const RC_SUCCESS: Self = Self(0);
    /// The list has ended.
    pub(crate) const RC_EOL: Self = Self(1);
    pub(crate) const RC_ERR: Self = Self(2);
    pub(crate) const RC_RESET: Self = Self(3);
    pub(crate) const RC_ERR_VERSION: Self = Self(4);
    pub(crate) const RC_ERR_SFID: Self = Self(5);
    pub(crate) const RC_ERR_SEQNUM: Self = Self(6);
    pub(crate) const RC_ERR_CELLLIST: Self = Self(7);
    pub(crate) const RC_ERR_BUSY: Self = Self(8);
    pub(crate) const RC_ERR_LOCKED: Self = Self(9);

    /// Whether the transaction has failed.
    pub(crate) const fn is_error(self) -> bool {
        self.0 > Self::RC_EOL.0
    }

    /// Whether the code is one that RFC 8480 defines.
    pub(crate) const fn is_known(self) -> bool {
        self.0 <= Self::RC_ERR_LOCKED.0
    }
}

/// The CellOptions bitmap (3.2.3 and 6.2.6). Reserved bits are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellOptions(pub(crate) u8);

impl CellOptions {
    pub(crate) const TX: Self = Self(1);
    pub(crate) const RX: Self = Self(2);
    pub(crate) const SHARED: Self = Self(4);

    /// Returns all options of both.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all options of `other` are set.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether cells can have these options: they are for sending, receiving, or both (figure 7).
    pub(crate) const fn is_valid(self) -> bool {
        self.0 & (Self::TX.0 | Self::RX.0) != 0
    }

    /// Returns the options that the neighbour's end of such a cell has.
    pub(crate) const fn mirrored(self) -> Self {
        let others = self.0 & !(Self::TX.0 | Self::RX.0);
        Self(others | (self.0 & Self::TX.0) << 1 | (self.0 & Self::RX.0) >> 1)
    }

    /// Whether a neighbour's COUNT or LIST with these options selects a cell that has the options `own` here (figure 8).
    pub(crate) fn selects(self, own: Self) -> bool {
        let wanted = Self(self.0 & ALL_OPTIONS).mirrored();
        match wanted.0 {
            0 => true,
            _ if wanted == Self::SHARED => own.has(Self::SHARED),
            _ => own == wanted,
        }
    }
}

const ALL_OPTIONS: u8 = 7;
