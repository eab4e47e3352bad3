//! The input of a target that drives connections: a few bytes that choose the mode, then a list of operations.
//!
//! ```text
//! mode(1) tweaks(2) { shape(1) kind(1) length(2) body(length) }*
//! ```
//!
//! What must always hold: any bytes are an input, and what [`Input::to_bytes`] gives parses to an equal one.

/// What the fuzzer chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Chooses the mode of the handshake.
    pub mode: u8,
    /// Chooses what is changed in its configuration.
    pub tweaks: [u8; 2],
    /// What happens, in order.
    pub operations: Vec<Operation>,
}

/// One thing that happens to a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// See [`Shape::of`].
    pub shape: u8,
    /// A content type, a handshake type, or which call.
    pub kind: u8,
    /// The content.
    pub body: Vec<u8>,
}

/// How the body of an operation gets to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Shape {
    /// As it is.
    Raw,
    /// In an unprotected record of type `kind`.
    Record,
    /// In a protected record of type `kind`.
    Sealed,
    /// As handshake message `kind` in an unprotected record.
    Message,
    /// As handshake message `kind` in a protected record.
    SealedMessage,
    /// In a protected record of type `kind` that is not authentic.
    Forged,
    /// As the argument of a call: see [`crate::machine::Machine::call`].
    Call,
}

impl Shape {
    const ALL: [Self; 7] =
        [Self::Raw, Self::Record, Self::Sealed, Self::Message, Self::SealedMessage, Self::Forged, Self::Call];

    /// The shape that the lower bits of `byte` say.
    pub const fn of(byte: u8) -> Self {
        Self::ALL[(byte & !BYTE_BY_BYTE) as usize % Self::ALL.len()]
    }
}

/// In the `shape` of an operation: the bytes are handed over one by one.
pub const BYTE_BY_BYTE: u8 = 0x80;

impl Operation {
    /// An operation of one of the known shapes.
    pub fn new(shape: Shape, kind: u8, body: &[u8]) -> Self {
        Self { shape: shape as u8, kind, body: body.to_vec() }
    }
}

impl Input {
    /// What `data` says; what is missing is zero or empty.
    pub fn parse(data: &[u8]) -> Self {
        let (header, mut rest) = data.split_at_checked(HEADER_LEN).unwrap_or((&[0; HEADER_LEN], &[]));
        let mut operations = Vec::new();
        while let Some(([shape, kind, high, low], body)) = rest.split_first_chunk()
            && operations.len() < MAX_OPERATIONS
        {
            let len = usize::from(u16::from_be_bytes([*high, *low])).min(body.len());
            let (body, next) = body.split_at(len);
            operations.push(Operation { shape: *shape, kind: *kind, body: body.to_vec() });
            rest = next;
        }
        Self { mode: header[0], tweaks: [header[1], header[2]], operations }
    }

    /// The encoding.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.mode, self.tweaks[0], self.tweaks[1]];
        for Operation { shape, kind, body } in &self.operations {
            let len = u16::try_from(body.len()).unwrap_or(u16::MAX);
            bytes.extend([*shape, *kind]);
            bytes.extend(len.to_be_bytes());
            bytes.extend(&body[..len.into()]);
        }
        bytes
    }
}

const HEADER_LEN: usize = 3;

/// More than any handshake takes.
const MAX_OPERATIONS: usize = 200;
