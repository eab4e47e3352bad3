//! Takes a COSE_Sign1 apart (RFC 9052, 4.2). Nothing here is verified.

use alloc::borrow::Cow;

use minicbor::data::{Tag, Type};

use super::COSE_SIGN1;
use crate::Malformed;
use crate::cbor::Reader;
use crate::voucher::MAX_LEN;

/// The fields of a COSE_Sign1, whose unprotected header is read only as far as it reaches.
pub(super) struct Sign1<'a> {
    pub(super) protected: Cow<'a, [u8]>,
    /// The unprotected header, a map.
    pub(super) unprotected: &'a [u8],
    /// What follows it: the payload and the signature.
    #[cfg_attr(not(feature = "services"), expect(dead_code, reason = "only services copy it"))]
    pub(super) rest: &'a [u8],
    pub(super) payload: Cow<'a, [u8]>,
    pub(super) signature: Cow<'a, [u8]>,
}

impl<'a> Sign1<'a> {
    pub(super) fn read(cose: &'a [u8]) -> Result<Self, Malformed> {
        if cose.len() > MAX_LEN {
            return Err(Malformed::TooLong(MAX_LEN));
        }
        let mut reader = Reader::new(cose);
        if reader.tag()? != Tag::new(COSE_SIGN1) {
            return Err(Malformed::Cbor);
        }
        let mut fields = reader.array()?;
        let mut field = |reader: &mut Reader<'a>| if fields.next(reader)? { Ok(()) } else { Err(Malformed::Cbor) };
        field(&mut reader)?;
        let protected = reader.bytes()?;
        field(&mut reader)?;
        let unprotected = reader.skip()?;
        field(&mut reader)?;
        let start = reader.position();
        // Detached content is not there at all (RFC 9052, 4.1).
        if reader.kind()? == Type::Null {
            return Err(Malformed::Missing("payload"));
        }
        let payload = reader.bytes()?;
        field(&mut reader)?;
        let signature = reader.bytes()?;
        let rest = cose.get(start..reader.position()).ok_or(Malformed::Cbor)?;
        if fields.next(&mut reader)? {
            return Err(Malformed::Cbor);
        }
        reader.finish()?;
        Ok(Self { protected, unprotected, rest, payload, signature })
    }
}
