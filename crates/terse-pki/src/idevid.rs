//! The IDevID is the certificate that a manufacturer gives to a device (IEEE 802.1AR; RFC 8995, 2.3).
//!
//! What must always hold: an IDevID names the device by the serialNumber of its subject; it names its issuer's key; it
//! restricts the usage of its key in no way; it does not expire unless that was requested.

use pki_types::CertificateDer;
use rcgen::DnType;

use crate::authority::{Template, params};
use crate::{
    Authority, CertificationRequest, Credential, Error, KeyAlgorithm, MasaUrl, NameAttribute, Subject, Validity,
};

/// The options of a new IDevID.
///
/// | field | value | why |
/// |---|---|---|
/// | subject | the other attributes, then serialNumber | voucher requests name the device by it (RFC 8995, 2.3.1) |
/// | notAfter | 99991231235959Z | the device cannot get another one (RFC 5280, 4.1.2.5; RFC 8995, 2.6.2) |
/// | authorityKeyIdentifier | always | it becomes the `idevid-issuer` of voucher requests, where serial numbers alone are not unique (RFC 8995, 5.5); IEEE 802.1AR requires it |
/// | keyUsage, extKeyUsage | none | the device signs voucher requests and authenticates TLS clients with this key, and nobody knows what else in its life (RFC 8995, 2.3) |
/// | id-pe-masa-url | where the MASA is; not critical | the registrar asks there for the voucher (RFC 8995, 2.3.2) |
#[derive(Clone, Debug)]
pub struct IdevidOptions {
    /// The serial number of the device, which is unique for the issuer. It is a PrintableString of 1 to 64 characters:
    /// letters, digits, spaces and `'()+,-./:=?`.
    pub serial_number: String,
    /// The attributes of the subject before the serialNumber, with no serialNumber among them; by default there are none.
    pub subject: Subject,
    /// Where the manufacturer signs vouchers. Without it registrars need it in their configuration.
    pub masa_url: Option<MasaUrl>,
    /// The first and the last second of validity.
    pub validity: Validity,
    /// The algorithm of its key; by default that of the CA.
    pub algorithm: Option<KeyAlgorithm>,
}

impl IdevidOptions {
    /// Returns the options of an IDevID without a MASA URL that is valid from `not_before`, in UNIX seconds, and does not
    /// expire.
    pub fn new(serial_number: &str, not_before: u64) -> Self {
        Self {
            serial_number: serial_number.into(),
            subject: Subject::empty(),
            masa_url: None,
            validity: Validity::without_end(not_before),
            algorithm: None,
        }
    }

    fn template(&self) -> Result<Template, Error> {
        let invalid = |_| Error::InvalidSerialNumber(self.serial_number.clone());
        // Checked by itself first, so that the error names the serial number rather than the subject.
        Subject::empty().with(NameAttribute::SerialNumber, &self.serial_number).map_err(invalid)?;
        if self.subject.has(NameAttribute::SerialNumber) {
            return Err(Error::InvalidSubject(self.subject.to_string())); // which one would be the device's?
        }
        let subject = self.subject.with(NameAttribute::SerialNumber, &self.serial_number)?;
        let mut params = params(None, self.validity, None)?;
        params.distinguished_name.push(DnType::CommonName, ""); // the subject takes its place
        params.custom_extensions.extend(self.masa_url.as_ref().map(MasaUrl::extension));
        Ok(Template { subject: Some(subject), always_names_issuer_key: true, ..Template::new(params) })
    }
}

impl Authority {
    /// Issues an IDevID for a new key.
    ///
    /// Its end may lie after that of the CA: RFC 8995, 2.6.2 lets registrars ignore the end of a manufacturer's
    /// certificates, and the device has no other. A CA with [`Validity::without_end`] saves them the exception.
    pub fn issue_idevid(&self, options: &IdevidOptions) -> Result<Credential, Error> {
        self.issue_by(options.algorithm, options.template()?)
    }

    /// Issues an IDevID for a key that the device made itself, and returns it before the intermediates. Of the request
    /// only the key counts.
    pub fn certify_idevid(
        &self,
        request: &CertificationRequest,
        options: &IdevidOptions,
    ) -> Result<Vec<CertificateDer<'static>>, Error> {
        self.certify(request.key(), options.template()?)
    }
}

#[cfg(test)]
mod tests;
