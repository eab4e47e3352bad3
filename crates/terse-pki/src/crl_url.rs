//! The URL in a certificate where the CRL of its issuer is (RFC 5280, 4.2.1.13).
//!
//! What must always hold: a [`CrlUrl`] is printable ASCII without spaces, and an `http` URL with a host: whoever verifies a
//! certificate reads the CRL before any certificate is verified (RFC 5280, 8).

use core::fmt;
use core::str::FromStr;

use rcgen::CrlDistributionPoint;

use crate::Error;

/// The URL of a CRL, such as `http://registrar.plant.example:8080/crl/domain.crl`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CrlUrl(String);

impl CrlUrl {
    /// Returns the URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn distribution_point(&self) -> CrlDistributionPoint {
        CrlDistributionPoint { uris: vec![self.0.clone()] }
    }
}

impl FromStr for CrlUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (scheme, rest) = text.split_at_checked(SCHEME.len()).unwrap_or_default();
        let has_host = rest.split(['/', '?', '#']).next().is_some_and(|host| !host.is_empty());
        // RFC 3986, 2: what a URL consists of.
        let is_url = |c: u8| c.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:@/?[]".contains(&c);
        match scheme.eq_ignore_ascii_case(SCHEME) && has_host && text.len() <= MAX_LEN && rest.bytes().all(is_url) {
            true => Ok(Self(text.into())),
            false => Err(Error::InvalidCrlUrl(text.into())),
        }
    }
}

impl fmt::Display for CrlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const SCHEME: &str = "http://";

/// The most bytes of the URL, which is in every certificate.
const MAX_LEN: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_one_of_http_with_a_host() {
        for good in
            ["http://a", "HTTP://plant.example:8080/crl/domain.crl", "http://[2001:db8::1]:8080/a?b=c", "http://a/%20"]
        {
            assert_eq!(good.parse::<CrlUrl>().unwrap().as_str(), good);
        }
        let long = format!("http://{}", "a".repeat(MAX_LEN));
        for bad in [
            "",
            "http://",
            "http:///a",
            "https://a/crl",
            "ldap://a",
            "a/crl",
            "http://a b",
            "http://ä",
            "http://a\n",
            &long,
        ] {
            assert!(matches!(bad.parse::<CrlUrl>(), Err(Error::InvalidCrlUrl(text)) if text == bad), "{bad:?}");
        }
    }
}
