//! Whether a certificate is one of the server that was connected to (RFC 9525, 6): only subjectAltName counts.

use pki_types::{DnsName, IpAddr, ServerName};
use x509_cert::der::Reader as _;

use crate::cert::fields::{contents, reader, sequence, tlv};
use crate::error::CertificateError;

/// Checks that `subject_alt_name`, the DER `GeneralNames` of a certificate, or nothing, has `name`.
#[inline(never)]
pub(super) fn check(name: &ServerName<'_>, subject_alt_name: &[u8]) -> Result<(), CertificateError> {
    if subject_alt_name.is_empty() {
        return Err(CertificateError::WrongName);
    }
    let mut names = reader(sequence(subject_alt_name)?)?;
    let mut is_among = false;
    while !names.is_finished() {
        is_among |= is_named(name, tlv(&mut names)?)?;
    }
    if is_among { Ok(()) } else { Err(CertificateError::WrongName) }
}

/// Whether a GeneralName (RFC 5280, 4.2.1.6) is this name or address.
fn is_named(name: &ServerName<'_>, presented: &[u8]) -> Result<bool, CertificateError> {
    let identifier = *presented.first().ok_or(CertificateError::Malformed)?;
    let presented = contents(presented, identifier)?;
    match (identifier, name) {
        (DNS_NAME, ServerName::DnsName(name)) => Ok(is_dns_name(name.as_ref().as_bytes(), presented)),
        (IP_ADDRESS, ServerName::IpAddress(IpAddr::V4(address))) => Ok(presented == address.as_ref()),
        (IP_ADDRESS, ServerName::IpAddress(IpAddr::V6(address))) => Ok(presented == address.as_ref()),
        (DNS_NAME | IP_ADDRESS, _) => Ok(false),
        _ if OTHER_NAMES.contains(&identifier) => Ok(false),
        _ => Err(CertificateError::Malformed),
    }
}

/// Whether a dNSName, which may have a wildcard as its whole first label, is this name, which may end in a dot (RFC 9525,
/// 6.3).
fn is_dns_name(name: &[u8], presented: &[u8]) -> bool {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let (name, presented) = match presented.strip_prefix(b"*.") {
        None => (name, presented),
        Some(domain) => match name.iter().position(|byte| *byte == b'.') {
            // At least two labels follow a wildcard, which stands for one label.
            Some(dot) if domain.contains(&b'.') && domain.len() <= MAX_NAME - 2 => (&name[dot + 1..], domain),
            _ => return false,
        },
    };
    is_well_formed(presented) && name.eq_ignore_ascii_case(presented)
}

/// Whether a dNSName without wildcard is in the preferred name syntax (RFC 5280, 4.2.1.6), and not absolute.
fn is_well_formed(presented: &[u8]) -> bool {
    !presented.ends_with(b".") && DnsName::try_from(presented).is_ok()
}

/// The longest dNSName, in bytes.
const MAX_NAME: usize = 253;

const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

/// otherName, rfc822Name, x400Address, directoryName, ediPartyName, uniformResourceIdentifier, registeredID.
const OTHER_NAMES: [u8; 7] = [0xa0, 0x81, 0xa3, 0xa4, 0xa5, 0x86, 0x88];
