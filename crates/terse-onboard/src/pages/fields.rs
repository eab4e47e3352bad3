//! Queries, forms and cookies as they are read.
//!
//! What must always hold: a field that is there twice is refused, because two readers could take different ones; the number
//! of fields is bounded, and so is the length of all.

use axum::http::{HeaderMap, header};
use zeroize::Zeroizing;

use super::session::Cookie;

/// The fields of a query or of a form.
#[derive(Default)]
pub(crate) struct Fields(Vec<(String, Zeroizing<String>)>);

/// A query or a form that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Fields {
    /// Reads a query, or a body of the type application/x-www-form-urlencoded.
    pub(super) fn read(encoded: &[u8]) -> Result<Self, Malformed> {
        let mut fields: Vec<(String, Zeroizing<String>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(encoded) {
            if fields.len() >= MAX_FIELDS || fields.iter().any(|(other, _)| *other == name) {
                return Err(Malformed);
            }
            // PostgreSQL takes no NUL.
            fields.push((name.into_owned(), Zeroizing::new(value.replace('\0', "\u{fffd}"))));
        }
        Ok(Self(fields))
    }

    /// Returns a field, which is empty if it is not there.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }

    /// Returns a field that is a number.
    pub(crate) fn number<N: core::str::FromStr>(&self, name: &str) -> Option<N> {
        self.text(name).parse().ok()
    }

    /// Returns a field of hexadecimal digits.
    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        super::from_hex(self.text(name))
    }
}

/// Returns the cookie of this name, if there is one of it that this service could have made.
pub(super) fn cookie(headers: &HeaderMap, name: &str) -> Option<Cookie> {
    let fields = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = cookies.find(|(known, _)| *known == name)?;
    Cookie::read(value)
}

/// The most fields; no page has more.
const MAX_FIELDS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_once_each() {
        let fields = Fields::read(b"serial=WI-3005%3Cb%3E+x&days=30&id=0a1B&empty=&nul=%00").unwrap();
        assert_eq!(fields.text("serial"), "WI-3005<b> x");
        assert_eq!(fields.number::<u32>("days"), Some(30));
        assert_eq!(fields.number::<u32>("serial"), None);
        assert_eq!(fields.bytes("id"), Some(vec![0x0a, 0x1b]));
        assert_eq!(fields.bytes("serial"), None);
        assert_eq!((fields.text("empty"), fields.text("none"), fields.text("nul")), ("", "", "\u{fffd}"));
        assert!(Fields::read(b"a=1&a=2").is_err());
        let many: String = (0..=MAX_FIELDS).map(|number| format!("{number}=&")).collect();
        assert!(Fields::read(many.as_bytes()).is_err());
        assert!(Fields::read(b"").is_ok());
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let own = Cookie::new().unwrap();
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, "a=b; terse-1x=1".parse().unwrap());
        assert!(cookie(&headers, "terse-1").is_none());
        headers.append(header::COOKIE, format!("c=d; terse-1={}", own.text()).parse().unwrap());
        assert!(cookie(&headers, "terse-1") == Some(own));
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, "terse-1=<script>".parse().unwrap());
        assert!(cookie(&headers, "terse-1").is_none());
    }
}
