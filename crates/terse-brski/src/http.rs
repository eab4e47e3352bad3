//! What of an HTTP request the services decide by: its body, Content-Type and Accept (RFC 9110, 8.3 and 12.5.1), as BRSKI
//! uses them (RFC 8995, 5.6).
//!
//! What must always hold: a type that is not understood is never taken for one that is.

/// A request that was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted<'a> {
    /// Content-Type.
    pub content_type: Option<&'a str>,
    /// Accept. Several of them are one, with commas between (RFC 9110, 5.3).
    pub accept: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// The type of vouchers and voucher requests in JSON (RFC 8366, 8.3).
pub const VOUCHER_CMS_JSON: &str = "application/voucher-cms+json";

/// The type of vouchers and voucher requests in CBOR (draft-ietf-anima-constrained-voucher-31).
pub const VOUCHER_COSE: &str = "application/voucher+cose";

/// The older name of [`VOUCHER_COSE`], which others still send over HTTPS.
pub const VOUCHER_COSE_CBOR: &str = "application/voucher-cose+cbor";

/// The type of telemetry in JSON and of audit logs (RFC 8995, 5.7 and 5.8.1).
pub const JSON: &str = "application/json";

/// The type of telemetry in CBOR (RFC 8949, 9.5).
pub const CBOR: &str = "application/cbor";

/// The types of vouchers that are known. The last one, of RFC 8366bis, is never issued.
const VOUCHERS: [&str; 4] = [VOUCHER_CMS_JSON, VOUCHER_COSE, VOUCHER_COSE_CBOR, "application/voucher-jws+json"];

/// Whether the value of a Content-Type is this type. Parameters do not count: none is defined for the types of BRSKI.
pub fn is(content_type: Option<&str>, expected: &str) -> bool {
    content_type.is_some_and(|value| essence(value).eq_ignore_ascii_case(expected))
}

/// What an Accept says about an answer of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acceptance {
    /// The client takes the type, or says nothing about it: then it takes what it sent itself (RFC 8995, 5.6).
    Accepted,
    /// The client takes only other types, which are known here or which it excludes: 406.
    NotAcceptable,
    /// The client takes only types that are not understood here: 415.
    NotUnderstood,
}

/// Reads what an Accept says about an answer of the type `offered`.
pub fn acceptance(accept: Option<&str>, offered: &str) -> Acceptance {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else { return Acceptance::Accepted };
    if accept.len() > MAX_ACCEPT_LEN {
        return Acceptance::NotUnderstood;
    }
    let top = offered.split('/').next().unwrap_or_default();
    // RFC 9110, 12.5.1: of several ranges that match the most specific one counts.
    let mut best = None;
    let mut is_other_known = false;
    for range in accept.split(',') {
        let essence = essence(range);
        let rank = match essence.strip_suffix("/*") {
            _ if essence.eq_ignore_ascii_case(offered) => 3,
            Some(range) if range.eq_ignore_ascii_case(top) => 2,
            Some("*") => 1,
            _ => {
                is_other_known |= VOUCHERS.iter().any(|other| essence.eq_ignore_ascii_case(other));
                continue;
            }
        };
        if best.is_none_or(|(other, _)| rank > other) {
            best = Some((rank, !is_excluded(range)));
        }
    }
    match best {
        Some((_, true)) => Acceptance::Accepted,
        Some((_, false)) => Acceptance::NotAcceptable,
        None if is_other_known => Acceptance::NotAcceptable,
        None => Acceptance::NotUnderstood,
    }
}

/// Whether an Accept names this very type. Ranges with wildcards do not, nor does what is said about parameters.
pub fn is_named(accept: Option<&str>, content_type: &str) -> bool {
    let offered = essence(content_type);
    let names_it = |range: &str| essence(range).eq_ignore_ascii_case(offered) && !is_excluded(range);
    !offered.contains('*')
        && accept.is_some_and(|accept| accept.len() <= MAX_ACCEPT_LEN && accept.split(',').any(names_it))
}

/// The most bytes of an Accept that are read.
const MAX_ACCEPT_LEN: usize = 1_024;

/// Returns a media type or range without its parameters.
fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

/// Whether the range has the weight zero (RFC 9110, 12.4.2).
fn is_excluded(range: &str) -> bool {
    range.split(';').skip(1).filter_map(|parameter| parameter.split_once('=')).any(|(name, value)| {
        let value = value.trim();
        name.trim().eq_ignore_ascii_case("q")
            && value.starts_with('0')
            && value.bytes().all(|c| matches!(c, b'0' | b'.'))
    })
}

#[cfg(test)]
mod tests;
