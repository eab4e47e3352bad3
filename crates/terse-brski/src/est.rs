//! Bodies of EST (RFC 7030): base64 of DER (RFC 8951), certs-only CMS, CSR attributes (RFC 9908), certification requests.
//!
//! A pledge reads them from a registrar that it trusts by then, and a registrar reads requests of anybody who has a
//! certificate. What must always hold: a body of more than [`MAX_BODY_LEN`] bytes is not read; nothing here is verified, and
//! the certificates of a certs-only CMS are only claims until their path is.

use alloc::vec::Vec;

use crate::{Malformed, base64};

mod attribute;
mod certs_only;
#[cfg(feature = "services")]
mod check;
mod csr_attributes;
mod name;
mod request;

#[cfg(feature = "services")]
pub use certs_only::decode_certs_only_ber;
pub use certs_only::{MAX_CERTIFICATES, decode_certs_only, encode_certs_only};
#[cfg(feature = "services")]
pub use check::NotAsAsked;
pub use csr_attributes::CsrAttributes;
pub use request::UnsignedRequest;

/// The most bytes of a body, in base64 or in DER, that are read. Sixteen certificates with RSA keys of 4,096 bits have some
/// 24,000 in DER.
pub const MAX_BODY_LEN: usize = 32_768;

/// The most extensions in a request or in CSR attributes.
pub const MAX_EXTENSIONS: usize = 16;

/// Encodes a body (RFC 8951, 3.1): base64.
pub fn encode_body(der: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(base64::encoded_len(der.len()));
    base64::encode(der, &mut body);
    body
}

/// Decodes a body; white space is tolerated (RFC 8951, 3.1), and nothing else. `what` names the body in an error.
pub fn decode_body(body: &[u8], what: &'static str) -> Result<Vec<u8>, Malformed> {
    limit(body)?;
    base64::decode(core::str::from_utf8(body).map_err(|_| Malformed::Base64(what))?, what)
}

fn limit(body: &[u8]) -> Result<(), Malformed> {
    if body.len() > MAX_BODY_LEN { Err(Malformed::TooLong(MAX_BODY_LEN)) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
