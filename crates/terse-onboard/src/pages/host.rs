//! Where a request was sent to, and from which page it comes.
//!
//! What must always hold: a name that a stranger lets point to this machine (DNS rebinding) reaches no page; a form of
//! another site changes nothing.

use core::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, header};

/// The hosts whose pages these are.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    names: Vec<String>,
    has_tls: bool,
}

impl Hosts {
    pub(super) fn new(names: Vec<String>, has_tls: bool) -> Self {
        Self { names, has_tls }
    }

    pub(super) const fn has_tls(&self) -> bool {
        self.has_tls
    }

    /// Returns the Host of a request, if it is one of these. No stranger can give an address another meaning, as he can a
    /// name; without TLS it is one of loopback. Any port counts: a tunnel may have another one.
    pub(super) fn check<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let host = only(headers, header::HOST)?;
        let authority: Authority = host.parse().ok().filter(|_| !host.contains('@'))?;
        let name = authority.host();
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let is_own = match address.parse::<IpAddr>() {
            Ok(address) => self.has_tls || address.to_canonical().is_loopback(),
            Err(_) => {
                let is_named = self.has_tls && self.names.iter().any(|own| own.eq_ignore_ascii_case(name));
                is_named || name.eq_ignore_ascii_case("localhost")
            }
        };
        is_own.then_some(host)
    }

    /// Whether a POST comes from a page of this host, as far as the browser says so. With `Referrer-Policy: no-referrer` the
    /// Origin of an own form is `null`, so that Sec-Fetch-Site must tell then.
    pub(super) fn is_own_form(&self, headers: &HeaderMap, host: &str) -> bool {
        let scheme = if self.has_tls { "https" } else { "http" };
        let is_own = |origin: &str| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}"));
        let site = headers.get_all(SEC_FETCH_SITE).iter().next().map(|_| only(headers, SEC_FETCH_SITE));
        let origin = headers.get_all(header::ORIGIN).iter().next().map(|_| only(headers, header::ORIGIN));
        match (site, origin) {
            (None, None) => true, // no browser of today; the token of the form counts
            (Some(Some("same-origin")), None | Some(Some("null"))) => true,
            (None | Some(Some("same-origin")), Some(Some(origin))) => is_own(origin),
            _ => false,
        }
    }
}

/// Returns a header field that is there once.
pub(super) fn only(headers: &HeaderMap, name: impl Into<HeaderName>) -> Option<&str> {
    let mut values = headers.get_all(name.into()).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn plain_pages_are_at_loopback_alone() {
        let hosts = Hosts::new(vec!["plant.example".into()], false);
        let is_own = |host: &str| hosts.check(&headers(&[("host", host)])).is_some();
        for own in ["localhost", "LOCALHOST:8081", "127.0.0.1:8081", "127.8.0.1", "[::1]:8081", "[::ffff:127.0.0.1]"] {
            assert!(is_own(own), "{own}");
        }
        for other in ["plant.example", "evil.example:8081", "192.0.2.1", "localhost.evil.example", "a@localhost", ""] {
            assert!(!is_own(other), "{other}");
        }
        assert!(hosts.check(&headers(&[])).is_none());
        let mut two = headers(&[("host", "localhost")]);
        two.append(header::HOST, "localhost".parse().unwrap());
        assert!(hosts.check(&two).is_none());
    }

    #[test]
    fn pages_over_tls_have_names_and_addresses() {
        let hosts = Hosts::new(vec!["plant.example".into()], true);
        let is_own = |host: &str| hosts.check(&headers(&[("host", host)])).is_some();
        assert!(is_own("plant.example:8081") && is_own("192.0.2.1:8081") && is_own("[2001:db8::1]"));
        assert!(!is_own("other.example"));
    }

    #[test]
    fn a_form_of_another_site_is_none_of_this_one() {
        let hosts = Hosts::new(Vec::new(), false);
        let is_own = |fields: &[(&'static str, &str)]| hosts.is_own_form(&headers(fields), "localhost:8081");
        assert!(is_own(&[]));
        assert!(is_own(&[("origin", "http://localhost:8081")]));
        assert!(is_own(&[("origin", "null"), ("sec-fetch-site", "same-origin")]));
        assert!(is_own(&[("origin", "http://localhost:8081"), ("sec-fetch-site", "same-origin")]));
        for other in [
            &[("origin", "null")][..],
            &[("origin", "https://localhost:8081")],
            &[("origin", "http://localhost:8082")],
            &[("origin", "http://evil.example")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("origin", "http://localhost:8081"), ("sec-fetch-site", "cross-site")],
            &[("origin", "null"), ("sec-fetch-site", "cross-site")],
            &[("origin", "http://evil.example"), ("sec-fetch-site", "same-origin")],
        ] {
            assert!(!is_own(other), "{other:?}");
        }
    }
}
