//! The input of a target that runs connections has a few bytes that choose the mode, and then a list of operations.
//!
//! ```text
//! mode(1) tweaks(2) { shape(1) kind(1) length(2) body(length) }*
//! ```
//!
//! What must always hold: any bytes are an input, and the result of [`Input::to_bytes`] parses to an equal one.

/// An input, as the fuzzer chose it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The byte that chooses the mode of the handshake.
    pub mode: u8,
    /// The bytes that choose changes of its configuration.
    pub tweaks: [u8; 2],
    /// The operations, in order.
    pub operations: Vec<Operation>,
}

/// An operation on a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// The shape: see [`Shape::of`].
    pub shape: u8,
    /// A content type, a handshake type, or the number of a call.
    pub kind: u8,
    /// The content, or the argument of a call.
    pub body: Vec<u8>,
}

/// The form in which the body of an operation reaches the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Shape {
    /// The body is sent as it is.
    Raw,
    /// The body is in an unprotected record of type `kind`.
    Record,
    /// The body is in a protected record of type `kind`.
    Sealed,
    /// The body is handshake message `kind` in an unprotected record.
    Message,
    /// The body is handshake message `kind` in a protected record.
    SealedMessage,
    /// The body is in a protected record of type `kind` that is not authentic.
    Forged,
    /// The body is the argument of a call: see [`crate::machine::Machine::call`].
    Call,
}

impl Shape {
    const ALL: [Self; 7] =
        [Self::Raw, Self::Record, Self::Sealed, Self::Message, Self::SealedMessage, Self::Forged, Self::Call];

    /// Returns the shape in the lower bits of `byte`.
    pub const fn of(byte: u8) -> Self {
        Self::ALL[(byte & !BYTE_BY_BYTE) as usize % Self::ALL.len()]
    }
}

/// A bit in the `shape` of an operation: the bytes are delivered one by one.
pub const BYTE_BY_BYTE: u8 = 0x80;

impl Operation {
    /// Creates an operation of one of the known shapes.
    pub fn new(shape: Shape, kind: u8, body: &[u8]) -> Self {
        Self { shape: shape as u8, kind, body: body.to_vec() }
    }
}

impl Input {
    /// Parses `data`; missing parts are zero or empty.
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

    /// Returns the encoding.
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

/// The most operations: more than any handshake takes.
const MAX_OPERATIONS: usize = 200;
