//! An LDevID is the certificate that a domain gives to a device (IEEE 802.1AR), for a key that the device made: the device
//! sends a certification request (RFC 7030, 4.2; RFC 8995, 5.9), and a policy decides.
//!
//! What must always hold: the certificate has what the policy says, and of the request only what the policy takes from it;
//! it is never that of a CA; it does not outlive its CA.

use pki_types::CertificateDer;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyUsagePurpose};
use x509_parser::extensions::{GeneralName, ParsedExtension};

use crate::authority::{Template, params, parse};
use crate::leaf::{address, general_name};
use crate::{Authority, CertificationRequest, CrlUrl, Error, KeyAlgorithm, RequestError, Subject, Validity};

mod check;

pub use check::NotAsRequested;

/// Where the subject of an LDevID comes from.
#[derive(Clone, Debug)]
pub enum SubjectPolicy {
    /// It is this one, whatever the request asks for.
    Fixed(Subject),
    /// It is this one, and a request for another is refused: the subject of the IDevID in constrained BRSKI, and that of
    /// the earlier certificate in a re-enrolment (RFC 7030, 4.2.2). String types may differ; the certificate has these.
    Required(Subject),
    /// It is what the request asks for, if it is printable text. Only for requests that somebody has looked at: a subject
    /// is a claim.
    Requested,
}

/// Where the names in the subjectAltName of an LDevID come from. Names are DNS names and IP addresses.
#[derive(Clone, Debug)]
pub enum NamePolicy {
    /// They are these, whatever the request asks for.
    Fixed(Vec<String>),
    /// They are these, and a request for fewer, more or others is refused: those of the earlier certificate in a
    /// re-enrolment (RFC 7030, 4.2.2).
    Required(Vec<String>),
    /// They are what the request asks for, and each must be one of these. A wildcard is a name like others, and stands for
    /// none but itself.
    Among(Vec<String>),
    /// They are what the request asks for. Only for requests that somebody has looked at.
    Requested,
}

/// What becomes of the other extensions that a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtensionPolicy {
    /// They do not count; the certificate has those of the profile.
    #[default]
    Ignore,
    /// A request is refused if it asks for an extension that the certificate would not have with this value.
    Refuse,
}

/// The policy for certification requests.
///
/// | field | value |
/// |---|---|
/// | subject, subjectAltName | as the policy says |
/// | keyUsage | digitalSignature, critical |
/// | extKeyUsage | clientAuth; serverAuth too, if the policy says so |
/// | cRLDistributionPoints | if the policy says so |
/// | authorityKeyIdentifier | always, as IEEE 802.1AR requires it |
#[derive(Clone, Debug)]
pub struct LdevidPolicy {
    /// Where the subject comes from.
    pub subject: SubjectPolicy,
    /// Where the names in the subjectAltName come from.
    pub names: NamePolicy,
    /// The algorithms that keys may have; by default all.
    pub algorithms: Vec<KeyAlgorithm>,
    /// Whether the certificate authenticates servers too; by default it authenticates clients alone.
    pub server: bool,
    /// Where the CRL is that lists the certificate once it is revoked; by default the certificate does not say it.
    pub crl_url: Option<CrlUrl>,
    /// What becomes of the other extensions that a request asks for; by default they are ignored.
    pub extensions: ExtensionPolicy,
    /// The first and the last second of validity. If the CA ends earlier, so does the certificate.
    pub validity: Validity,
}

impl LdevidPolicy {
    /// Returns a policy that gives this subject and no other name.
    pub fn new(subject: Subject, validity: Validity) -> Self {
        Self {
            subject: SubjectPolicy::Fixed(subject),
            names: NamePolicy::Fixed(Vec::new()),
            algorithms: KeyAlgorithm::ALL.into(),
            server: false,
            crl_url: None,
            extensions: ExtensionPolicy::Ignore,
            validity,
        }
    }

    /// Returns a policy for a re-enrolment (RFC 7030, 4.2.2): subject and names must be those of the earlier certificate.
    /// It is an error if this one has names other than DNS names and IP addresses.
    pub fn renewal(earlier: &CertificateDer<'_>, validity: Validity) -> Result<Self, Error> {
        let subject = Subject::of(earlier)?;
        let names = NamePolicy::Required(names(earlier)?);
        Ok(Self { subject: SubjectPolicy::Required(subject.clone()), names, ..Self::new(subject, validity) })
    }

    fn subject(&self, request: &CertificationRequest) -> Result<Subject, RequestError> {
        let requested = request.subject();
        match &self.subject {
            SubjectPolicy::Fixed(subject) => Ok(subject.clone()),
            SubjectPolicy::Required(required) if requested.matches(required) => Ok(required.clone()),
            SubjectPolicy::Required(required) => {
                Err(RequestError::SubjectNotAllowed { requested: requested.clone(), required: required.clone() })
            }
            SubjectPolicy::Requested if requested.is_plain() => Ok(requested.clone()),
            SubjectPolicy::Requested => Err(RequestError::InvalidSubject(requested.clone())),
        }
    }

    fn names(&self, request: &CertificationRequest) -> Result<Vec<String>, RequestError> {
        let same = |one: &String, other: &String| one.eq_ignore_ascii_case(other);
        match &self.names {
            NamePolicy::Fixed(names) => Ok(names.clone()),
            NamePolicy::Requested => request.names(),
            NamePolicy::Among(allowed) => {
                let requested = request.names()?;
                let other = requested.iter().find(|name| !allowed.iter().any(|allowed| same(allowed, name)));
                other.map_or_else(|| Ok(requested.clone()), |name| Err(RequestError::NameNotAllowed(name.clone())))
            }
            NamePolicy::Required(required) => {
                let requested = request.names()?;
                if let Some(name) = requested.iter().find(|name| !required.iter().any(|required| same(required, name)))
                {
                    return Err(RequestError::NameNotAllowed(name.clone()));
                }
                let missing = required.iter().find(|name| !requested.iter().any(|requested| same(requested, name)));
                missing.map_or_else(|| Ok(required.clone()), |name| Err(RequestError::NameMissing(name.clone())))
            }
        }
    }

    /// Returns the subject and the names of a certificate for `request`.
    fn certified(&self, request: &CertificationRequest) -> Result<(Subject, Vec<String>), RequestError> {
        if !self.algorithms.contains(&request.algorithm()) {
            return Err(RequestError::KeyNotAllowed(request.algorithm()));
        }
        let (subject, names) = (self.subject(request)?, self.names(request)?);
        if subject.is_empty() && names.is_empty() { Err(RequestError::NoName) } else { Ok((subject, names)) }
    }

    /// Returns what a certificate for `request` has if it ends at `ca_end` at the latest.
    fn template(&self, request: &CertificationRequest, ca_end: u64) -> Result<Template, Error> {
        let (subject, names) = self.certified(request)?;
        let validity = Validity { not_after: self.validity.not_after.min(ca_end), ..self.validity };
        if self.validity.not_before >= ca_end {
            return Err(Error::Ended);
        }
        let mut params: CertificateParams = params(None, validity, None)?;
        params.subject_alt_names = names
            .iter()
            .map(|name| general_name(name).map_err(|_| RequestError::InvalidName(name.clone())))
            .collect::<Result<_, _>>()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if self.server {
            params.extended_key_usages.insert(0, ExtendedKeyUsagePurpose::ServerAuth);
        }
        params.crl_distribution_points = self.crl_url.iter().map(CrlUrl::distribution_point).collect();
        if !subject.is_empty() {
            params.distinguished_name.push(DnType::CommonName, ""); // the subject takes its place
        }
        let subject = Some(subject).filter(|subject| !subject.is_empty());
        Ok(Template { subject, always_names_issuer_key: true, ..Template::new(params) })
    }
}

impl Authority {
    /// Issues a certificate for the key of a request as the policy says, and returns it before the intermediates. A refusal
    /// is an [`Error::Request`].
    pub fn issue_ldevid(
        &self,
        request: &CertificationRequest,
        policy: &LdevidPolicy,
    ) -> Result<Vec<CertificateDer<'static>>, Error> {
        let chain = self.certify(request.key(), policy.template(request, self.not_after()?)?)?;
        if policy.extensions == ExtensionPolicy::Refuse {
            let certificate = parse(&chain[0])?; // `certify` puts the leaf there
            for (oid, value) in request.other_extensions() {
                let mut own = certificate.iter_extensions();
                if !own.any(|own| own.oid.to_id_string() == oid && own.value == value) {
                    return Err(RequestError::ExtensionNotAllowed(oid).into());
                }
            }
        }
        Ok(chain)
    }
}

/// Returns the DNS names and IP addresses in the subjectAltName of a certificate.
fn names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, Error> {
    let certificate = parse(certificate)?;
    let names = certificate.iter_extensions().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    let name = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Ok((*name).to_owned()),
        GeneralName::IPAddress(octets) => {
            address(octets).map(|address| address.to_string()).ok_or(Error::Malformed("the certificate"))
        }
        _ => Err(RequestError::UnsupportedName("other than dNSName and iPAddress").into()),
    };
    names.into_iter().flatten().map(name).collect()
}

#[cfg(test)]
pub(crate) mod tests;
