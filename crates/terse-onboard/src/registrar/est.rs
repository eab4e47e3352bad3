//! EST (RFC 7030; RFC 8995, 5.9): the domain's CA certificates, CSR attributes, enrolment and re-enrolment.
//!
//! The domain's own CA issues the certificates, or an EST server to which requests are passed on (`pass_on`).
//!
//! What must always hold: a device with an IDevID is let in when its voucher and its audit log are good, and none of its
//! LDevIDs is revoked; one with an LDevID if this registrar has issued that and the domain's CA still stands for it; the same
//! certification request of the same client has the same certificate.

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::digest::{Sha256, sha256};
use terse_brski::est::CsrAttributes;
use terse_brski::registrar::{Gate, Refusal, check_certification_request, check_reenrolment};
use terse_pki::{CertificationRequest, Error, LdevidPolicy, NamePolicy, Subject, SubjectPolicy, Validity};
use terse_tls::{CertificateError, Expect, Trust};
use tokio::time::Instant;

use super::domain::{Domain, FormerCa, Issuer, OwnCa};
use super::pass_on::Errand;
use super::reply::{Content, Form, Received, Reply};
use super::settings::PROVIDER;
use super::signing::refused;
use super::store::{Issued, Known, RequestKey, Stored, StoredJoining};
use super::{Service, names};

/// A client that is let in.
pub(super) struct Admitted {
    pub(super) device: StoredJoining,
    /// The SHA-256 of the certificate that it has presented.
    client: Sha256,
    /// The trust by which that is an LDevID of the domain, if it is one.
    trust: Option<Box<Trust>>,
}

/// Whether a client is let in.
enum Admission {
    Open(Admitted),
    /// Its audit log is missing.
    Wait {
        client: Sha256,
        /// After how many seconds it should come again.
        retry_after: u32,
    },
}

impl Service {
    pub(super) async fn ca_certificates(&self, received: &Received) -> Result<Reply, Reply> {
        let (_, domain) = self.admit(received).await?;
        Ok(Reply::of(Content::CaCertificates(match &domain.issuer {
            Issuer::Own(ca) => ca.authority.certificates().rev().cloned().collect(),
            Issuer::External(ca) => self.current_ca_certificates(ca, self.held_until(received)).await?.to_vec(),
        })))
    }

    pub(super) async fn csr_attributes(&self, received: &Received) -> Result<Reply, Reply> {
        let (admitted, domain) = self.admit(received).await?;
        let subject = match &domain.issuer {
            Issuer::Own(_) => None, // whatever the request says, the CA gives the subject
            Issuer::External(_) => subject_of(domain, &admitted.device)?,
        };
        if domain.names.is_empty() && subject.is_none() {
            return Ok(Reply::nothing());
        }
        let attributes = attributes(subject.as_ref(), &names_of(domain, &admitted.device)?)?;
        Ok(Reply::of(Content::CsrAttributes(attributes.to_der())))
    }

    pub(super) async fn simple_enroll(&self, received: &Received) -> Result<Reply, Reply> {
        let (admitted, domain) = self.admit(received).await?;
        let idevid = received.chain.first().filter(|_| admitted.trust.is_none());
        let idevid = idevid.ok_or_else(|| Reply::text(403, "the client has an LDevID; send simplereenroll"))?;
        let der = received.certification_request()?;
        let request = sha256(PROVIDER, &der);
        if let Some(certificate) = self.inner.store.issued(&request, &admitted.client, self.now()).await? {
            return Ok(issued(certificate));
        }
        let names = names_of(domain, &admitted.device)?;
        let subject = subject_of(domain, &admitted.device)?;
        if received.form == Form::Coaps && subject.is_some() && matches!(domain.issuer, Issuer::External(_)) {
            return Err(Reply::text(403, SUBJECT_UNASKED));
        }
        let (asked, names) = match (received.form, &domain.issuer) {
            (Form::Https, _) => (attributes(None, &names)?, NamePolicy::Required(names)),
            // Nobody has told the device to ask for names. The own CA adds them.
            (Form::Coaps, Issuer::Own(_)) => (CsrAttributes::default(), NamePolicy::Fixed(names)),
            (Form::Coaps, Issuer::External(_)) if names.is_empty() => {
                (CsrAttributes::default(), NamePolicy::Required(names))
            }
            (Form::Coaps, Issuer::External(_)) => return Err(Reply::text(403, NAMES_UNASKED)),
        };
        check_certification_request(&der, &asked)?;
        let subject = match subject {
            Some(subject) => subject,
            None => Subject::of(idevid).map_err(|error| refused(&error))?,
        };
        let policy = LdevidPolicy {
            names,
            crl_url: self.crl_url(),
            ..LdevidPolicy::new(subject.clone(), self.validity(domain))
        };
        let policy = match &domain.issuer {
            Issuer::Own(_) => policy,
            // An EST server certifies what the request says.
            Issuer::External(_) => LdevidPolicy { subject: SubjectPolicy::Required(subject), ..policy },
        };
        self.issue(domain, admitted, &der, policy, None, self.held_until(received)).await
    }

    pub(super) async fn simple_reenroll(&self, received: &Received) -> Result<Reply, Reply> {
        let (admitted, domain) = self.admit(received).await?;
        let (Some(ldevid), Some(trust)) = (received.chain.first(), &admitted.trust) else {
            return Err(Reply::text(403, "the client has no LDevID yet; send simpleenroll"));
        };
        let der = received.certification_request()?;
        let request = sha256(PROVIDER, &der);
        if let Some(certificate) = self.inner.store.issued(&request, &admitted.client, self.now()).await? {
            return Ok(issued(certificate));
        }
        check_reenrolment(PROVIDER, trust, &received.chain, &der, self.now())?;
        let policy = LdevidPolicy::renewal(ldevid, self.validity(domain)).map_err(|error| refused(&error))?;
        let mut policy = LdevidPolicy { crl_url: self.crl_url(), ..policy };
        if let (Issuer::Own(_), Some(subject)) = (&domain.issuer, subject_of(domain, &admitted.device)?) {
            policy.subject = SubjectPolicy::Fixed(subject); // that of the earlier certificate may have been the IDevID's
        }
        self.issue(domain, admitted, &der, policy, Some(ldevid.clone()), self.held_until(received)).await
    }

    /// Lets a client in that wants something of the domain's CA, or says why not.
    async fn admit(&self, received: &Received) -> Result<(Admitted, &Domain), Reply> {
        let domain = self.domain()?;
        Ok((self.admit_device(received).await?, domain))
    }

    fn domain(&self) -> Result<&Domain, Reply> {
        let domain = self.inner.settings.domain.as_ref();
        domain.ok_or_else(|| Reply::text(404, "this registrar has no CA, and issues no certificates"))
    }

    /// Lets a client in, also at a registrar without a CA, or says why not. A device asks for the CA certificates right after
    /// it has said that its voucher is good: it is kept waiting for its audit log, so that it need not come again.
    pub(super) async fn admit_device(&self, received: &Received) -> Result<Admitted, Reply> {
        let client = match self.admission(received).await? {
            Admission::Open(admitted) => return Ok(admitted),
            Admission::Wait { client, .. } => client,
        };
        self.ask_for_audit_log(&client).await?;
        self.until_audited(&client, self.held_until(received)).await;
        match self.admission(received).await? {
            Admission::Open(admitted) => Ok(admitted),
            Admission::Wait { retry_after, .. } => {
                Err(Reply::later(self.audit_retry(&client).await?.unwrap_or(retry_after)))
            }
        }
    }

    async fn admission(&self, received: &Received) -> Result<Admission, Reply> {
        let (client, known) = self.client(received).await?;
        let device = match known.ok_or(Refusal::OtherClient)? {
            Known::Joining(device) | Known::Earlier(device) => *device,
        };
        if device.is_rejected {
            return Err(Refusal::Rejected.into());
        }
        if device.joining.idevid != client {
            let (trust, former) = self.member_trust(self.domain()?, received).await?;
            let is_revoked = match received.chain.first() {
                Some(ldevid) => device.is_revoked || self.is_revoked(ldevid).await?,
                None => true,
            };
            if is_revoked {
                return Err(Refusal::Ldevid(CertificateError::Revoked).into());
            }
            if let Some(former) = former {
                self.check_former_list(former, received).await?;
            }
            return Ok(Admission::Open(Admitted { device, client, trust: Some(Box::new(trust)) }));
        }
        if !self.inner.settings.masas.contains_key(&device.manufacturer) {
            return Err(Refusal::UnknownManufacturer.into());
        }
        if device.is_revoked {
            return Err(revoked());
        }
        // Without a CA there are no LDevIDs that could be revoked.
        let trusts = match &self.inner.settings.domain {
            Some(domain) => [Some(domain.trust()), domain.former().map(|former| &former.trust)],
            None => [None; 2],
        };
        for trust in trusts.into_iter().flatten() {
            let Some(is_revoked) = trust.revoked().await else { continue };
            let ldevids = self.inner.store.standing_ldevids(&client, self.now()).await?;
            if ldevids.iter().any(|ldevid| is_revoked(ldevid)) {
                return Err(revoked());
            }
        }
        Ok(match device.joining.gate(PROVIDER, &received.chain)? {
            Gate::Open => Admission::Open(Admitted { device, client, trust: None }),
            Gate::Wait { retry_after } => Admission::Wait { client, retry_after },
        })
    }

    /// Returns the trust by which the domain's CA stands for the LDevID of a client, or else the CA before, and that CA then.
    async fn member_trust<'a>(
        &self,
        domain: &'a Domain,
        received: &Received,
    ) -> Result<(Trust, Option<&'a FormerCa>), Reply> {
        let check = |trust: &Trust| trust.check(PROVIDER, &received.chain, Expect::Client, Some(self.now()));
        let mut trust = self.trust(domain, self.held_until(received)).await?;
        let mut checked = check(&trust);
        if matches!(&checked, Err(CertificateError::UnknownIssuer))
            && let Some(newer) = self.newer_trust(domain).await?
        {
            checked = check(&newer);
            trust = newer;
        }
        // What the CA before has issued leads to another root, which may have the same name, or to the same one by a CA that the
        // list is not of. Its list is for `is_revoked` and `check_former_list`.
        let mut by = None;
        if let (Err(error), Some(former)) = (&checked, domain.former())
            && matches!(
                error,
                CertificateError::UnknownIssuer
                    | CertificateError::BadSignature
                    | CertificateError::UnknownRevocationStatus
            )
        {
            trust = former.trust.anchors();
            checked = check(&trust);
            by = Some(former);
        }
        checked.map(|_| (trust, by)).map_err(|error| Refusal::Ldevid(error).into())
    }

    /// Refuses an LDevID that only the CA before stands for while the last list of that CA is late, since a later one could name it.
    async fn check_former_list(&self, former: &FormerCa, received: &Received) -> Result<(), Reply> {
        if former.is_closed {
            return Ok(());
        }
        match former.trust.get().await.check(PROVIDER, &received.chain, Expect::Client, Some(self.now())) {
            Ok(_) => Ok(()),
            Err(CertificateError::CrlExpired | CertificateError::UnknownRevocationStatus) => {
                tracing::warn!("{LATE_LIST}");
                Err(Reply::text(403, LATE_LIST))
            }
            Err(error) => Err(Refusal::Ldevid(error).into()),
        }
    }

    /// Issues the certificate for a request that was checked, or has it issued. A renewal is that of an LDevID.
    async fn issue(
        &self,
        domain: &Domain,
        admitted: Admitted,
        der: &[u8],
        policy: LdevidPolicy,
        renewed: Option<CertificateDer<'static>>,
        until: Instant,
    ) -> Result<Reply, Reply> {
        let request = CertificationRequest::from_der(der).map_err(|error| refused(&Error::Request(error)))?;
        let idevid = admitted.device.joining.idevid;
        let key = RequestKey { request: sha256(PROVIDER, der), client: admitted.client, idevid };
        let StoredJoining { serial_number, manufacturer, .. } = admitted.device;
        let errand = Errand { key, request, policy, serial_number, manufacturer, renewed };
        match &domain.issuer {
            Issuer::Own(ca) => self.issue_here(ca, errand, until).await,
            Issuer::External(ca) => self.pass_on(ca, errand, until).await,
        }
    }

    /// Stores a certificate that the own CA has issued, and gives it to the device.
    pub(super) async fn store_certificate(
        &self,
        ca: &OwnCa,
        errand: &Errand,
        chain: &[CertificateDer<'static>],
    ) -> Result<Reply, Reply> {
        let Errand { key, policy, serial_number, manufacturer, renewed, .. } = errand;
        // It may have been revoked while the CA signed.
        if let Some(ldevid) = renewed
            && self.is_revoked(ldevid).await?
        {
            return Err(Refusal::Ldevid(CertificateError::Revoked).into());
        }
        let Some(certificate) = chain.first() else { return Err(refused(&Error::Malformed("the certificate"))) };
        let not_after = ca.authority.not_after().map_err(|error| refused(&error))?;
        let not_after = policy.validity.not_after.min(not_after);
        let record = Issued { key: *key, sha256: sha256(PROVIDER, certificate), certificate, not_after };
        let certificate = match self.inner.store.issue(&record, self.now()).await? {
            Stored::Certificate(certificate) => {
                self.inner.metrics.certificate_issued(renewed.is_some());
                certificate
            }
            Stored::Known(certificate) => certificate,
            Stored::TooMany => return Err(too_many()),
            Stored::Rejected => return Err(Refusal::Rejected.into()),
            Stored::Revoked => return Err(revoked()),
        };
        tracing::info!(serial_number, manufacturer, "a device gets a certificate");
        Ok(issued(certificate))
    }

    /// Returns until when a client is kept waiting for its answer.
    fn held_until(&self, received: &Received) -> Instant {
        received.arrived + Duration::from_millis(self.inner.settings.config.limits.hold_milliseconds.into())
    }

    /// The validity of a certificate of the own CA. An EST server decides by itself.
    fn validity(&self, domain: &Domain) -> Validity {
        let now: UnixTime = self.now();
        let days = match &domain.issuer {
            Issuer::Own(ca) => ca.days,
            Issuer::External(_) => 1,
        };
        let validity = Validity::days(now.as_secs(), days);
        Validity { not_before: validity.not_before.saturating_sub(SLOW_CLOCK), ..validity }
    }
}

fn names_of(domain: &Domain, device: &StoredJoining) -> Result<Vec<String>, Reply> {
    names::of_device(&domain.names, &device.serial_number, &device.manufacturer).ok_or_else(|| {
        let (serial_number, manufacturer) = (&device.serial_number, &device.manufacturer);
        tracing::warn!(serial_number, manufacturer, "no DNS name can be made of this serial number");
        Reply::text(403, "no DNS name can be made of the serial number; an operator can change the names")
    })
}

/// Returns the subject that the domain gives to a device, if it decides that.
fn subject_of(domain: &Domain, device: &StoredJoining) -> Result<Option<Subject>, Reply> {
    let Some(template) = &domain.subject else { return Ok(None) };
    let (serial_number, manufacturer) = (&device.serial_number, &device.manufacturer);
    template.of_device(serial_number, manufacturer).map(Some).ok_or_else(|| {
        tracing::warn!(serial_number, manufacturer, "no subject can be made of this serial number");
        Reply::text(403, "no subject can be made of the serial number; an operator can change the subject")
    })
}

fn attributes(subject: Option<&Subject>, names: &[String]) -> Result<CsrAttributes, Reply> {
    names::attributes(subject, names).map_err(|error| {
        tracing::error!(%error, "the CSR attributes cannot be encoded");
        Reply::text(500, "the registrar cannot encode its CSR attributes; its operator must look into it")
    })
}

pub(super) fn issued(certificate: Vec<u8>) -> Reply {
    Reply::of(Content::Certificate(CertificateDer::from(certificate)))
}

pub(super) fn revoked() -> Reply {
    Reply::text(403, "an LDevID of the device is revoked; an operator can accept it again")
}

pub(super) fn too_many() -> Reply {
    Reply::text(429, "the device has got too many certificates; it can go on tomorrow").retry_after(3_600)
}

const LATE_LIST: &str = "crl.pem of former_ca has no current list, and a later one could name this device; an operator can sign one \
                         by `terse pki crl`, or set former_ca_is_closed = true if that CA signs no more lists";

const SUBJECT_UNASKED: &str = "certificates have subjects here for which no device asks over CoAPS; an operator can let the registrar's \
                               own CA issue, or write subject = [\"{idevid}\"] to take what the manufacturer has chosen";

const NAMES_UNASKED: &str = "certificates have DNS names here, for which no device asks over CoAPS; an operator can leave the \
                             names out, or let the registrar's own CA issue";

/// The seconds by which certificates start early, for devices and peers whose clocks are slow.
const SLOW_CLOCK: u64 = 3_600;
