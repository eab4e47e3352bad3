//! A manufacturer with a device, and a domain with a registrar; what they send each other, before somebody changes it.

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::SignatureRefused;
use terse_brski::artefact::{Format, Unsigned};
use terse_brski::certificate::{Idevid, SerialNumberField};
use terse_brski::cose;
use terse_brski::http::Posted;
use terse_brski::masa::{Context, Decision, Device, Issuance, Masa, Policy, Refusal, RegistrarRequest};
use terse_brski::registrar::{self, Manufacturer, PledgeRequest, Registrar};
use terse_brski::voucher::{Assertion, Nonce, Pin, VoucherRequest};
use terse_pki::{Authority, AuthorityOptions, Credential, IdevidOptions, RegistrarOptions, Validity};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;

pub(crate) const NOW: u64 = 1_760_000_000;

pub(crate) fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

pub(crate) fn now() -> UnixTime {
    at(NOW)
}

pub(crate) fn authority(name: &str, chain: &str) -> Authority {
    let options = AuthorityOptions::new(chain.parse().unwrap(), Validity::days(NOW - 86_400, 3650));
    Authority::new(&AuthorityOptions { name: name.into(), key_identifiers: true, ..options }).unwrap()
}

pub(crate) fn idevid(maker: &Authority, serial: &str) -> Credential {
    let masa_url = Some("masa.maker.example:9443".parse().unwrap());
    maker.issue_idevid(&IdevidOptions { masa_url, ..IdevidOptions::new(serial, NOW - 86_400) }).unwrap()
}

pub(crate) fn registrar_credential(domain: &Authority) -> Credential {
    let options = RegistrarOptions::new("registrar.plant.example", Validity::days(NOW - 86_400, 365));
    domain.issue_registrar(&options).unwrap()
}

/// Signs in CMS as the holder of a credential, with these certificates.
pub(crate) fn sign(signer: &Credential, chain: &[CertificateDer<'_>], content: &[u8]) -> Vec<u8> {
    sign_in(Format::CmsJson, signer, chain, content)
}

/// Signs as the holder of a credential, with these certificates, of which the first is the signer's.
pub(crate) fn sign_in(format: Format, signer: &Credential, chain: &[CertificateDer<'_>], content: &[u8]) -> Vec<u8> {
    let key = PROVIDER.load_key(signer.key()).unwrap();
    let scheme = key.schemes()[0];
    let unsigned = Unsigned::new(format, &PROVIDER, content, chain, scheme, now()).unwrap();
    unsigned.sign(&*key, &mut SeededRng::new(7)).unwrap()
}

/// The form that this one is not.
pub(crate) fn other(format: Format) -> Format {
    match format {
        Format::CmsJson => Format::CoseCbor,
        Format::CoseCbor => Format::CmsJson,
    }
}

/// How content that was changed is refused.
pub(crate) fn changed(format: Format) -> SignatureRefused {
    match format {
        Format::CmsJson => SignatureRefused::Digest,
        Format::CoseCbor => SignatureRefused::Signature,
    }
}

/// Returns a request as it is posted.
pub(crate) fn posted(body: &[u8]) -> Posted<'_> {
    let own = Some(Format::of_artefact(body).media_type());
    Posted { content_type: own, accept: own, body }
}

pub(crate) fn nonce(text: &str) -> Option<Nonce> {
    Some(Nonce::new(text.as_bytes()).unwrap())
}

pub(crate) struct Scene {
    /// The CA of the devices.
    pub(crate) maker: Authority,
    /// The CA of the voucher signers.
    pub(crate) vouchers: Authority,
    pub(crate) domain: Authority,
    pub(crate) idevid: Credential,
    pub(crate) registrar: Credential,
    /// The device's record at the MASA.
    pub(crate) device: Device,
    /// The form of what they send.
    pub(crate) format: Format,
}

pub(crate) const SERIAL: &str = "WI-3005";

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with_domain(authority("Plant", "p256x3"))
    }

    /// The same, with artefacts of this form.
    pub(crate) fn of(format: Format) -> Self {
        Self { format, ..Self::new() }
    }

    pub(crate) fn with_domain(domain: Authority) -> Self {
        let maker = authority("Maker", "p256x2");
        let idevid = idevid(&maker, SERIAL);
        let registrar = registrar_credential(&domain);
        let device = Device::new(SERIAL.into(), issuer_of(&idevid));
        let vouchers = authority("Maker vouchers", "p256x2");
        Self { maker, vouchers, domain, idevid, registrar, device, format: Format::CmsJson }
    }

    /// The registrar's certificates up to the root, leaf first.
    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        let mut chain = self.registrar.chain().to_vec();
        chain.push(self.domain.root().clone());
        chain
    }

    /// The certificates of a registrar's request: in COSE those of the device as well.
    pub(crate) fn enclosed(&self) -> Vec<CertificateDer<'static>> {
        let mut enclosed = self.chain();
        if self.format == Format::CoseCbor {
            enclosed.extend_from_slice(self.idevid.chain());
            enclosed.push(self.maker.root().clone());
        }
        enclosed
    }

    pub(crate) fn pledge_fields(&self) -> VoucherRequest {
        let mut fields = VoucherRequest::new(SERIAL.into());
        fields.created_on = Some(now());
        fields.assertion = Some(Assertion::Proximity);
        fields.nonce = nonce("base64-or-not");
        fields.proximity_registrar = vec![Pin::Certificate(self.registrar.leaf().clone())];
        fields
    }

    pub(crate) fn pledge_request(&self, fields: &VoucherRequest) -> Vec<u8> {
        let content = self.format.encode_request(fields);
        match self.format {
            Format::CmsJson => sign(&self.idevid, self.idevid.chain(), &content),
            // A pledge sends no certificates.
            Format::CoseCbor => {
                let key = PROVIDER.load_key(self.idevid.key()).unwrap();
                let unsigned = cose::Unsigned::new(&content, self.idevid.leaf(), &[], key.schemes()[0]).unwrap();
                unsigned.sign(&*key, &mut SeededRng::new(7)).unwrap()
            }
        }
    }

    /// The registrar's request around a pledge's.
    pub(crate) fn registrar_fields(&self, pledge_request: Option<Vec<u8>>) -> VoucherRequest {
        let mut fields = VoucherRequest::new(SERIAL.into());
        fields.created_on = Some(now());
        fields.assertion = Some(Assertion::Proximity);
        fields.nonce = nonce("base64-or-not");
        fields.idevid_issuer = Some(issuer_of(&self.idevid).into());
        fields.prior_signed_voucher_request = pledge_request.map(Into::into);
        fields
    }

    pub(crate) fn registrar_request(&self, fields: &VoucherRequest) -> Vec<u8> {
        sign_in(self.format, &self.registrar, &self.enclosed(), &self.format.encode_request(fields))
    }

    /// A registrar's request around a pledge's, both as they should be.
    pub(crate) fn good_request(&self) -> Vec<u8> {
        let pledge_request = self.pledge_request(&self.pledge_fields());
        self.registrar_request(&self.registrar_fields(Some(pledge_request)))
    }

    pub(crate) fn masa(&self, policy: Policy) -> Masa {
        Masa::new(&PROVIDER, &[self.maker.root().clone()], policy).unwrap()
    }

    /// What is looked up for the device.
    pub(crate) fn context(&self) -> Context<'_> {
        Context { device: Some(&self.device), ..Context::default() }
    }

    pub(crate) fn registrar(&self, change: impl FnOnce(&mut registrar::Policy)) -> Registrar {
        let mut policy = registrar::Policy::default();
        policy.manufacturers.push(Manufacturer::new("Maker", vec![self.maker.root().to_vec()]));
        policy.own_names.push("registrar.plant.example".into());
        change(&mut policy);
        Registrar::new(&PROVIDER, self.chain(), policy).unwrap()
    }

    /// A pledge's request as it should be, as the registrar reads it.
    pub(crate) fn read_by(&self, registrar: &Registrar) -> PledgeRequest {
        let body = self.pledge_request(&self.pledge_fields());
        registrar.read_voucher_request(self.idevid.chain(), &posted(&body), now()).unwrap()
    }
}

/// The MASA's decision about a request.
pub(crate) fn decide(masa: &Masa, request: &[u8], context: &Context<'_>) -> Result<Issuance, Refusal> {
    let request = masa.read_voucher_request(&posted(request), now())?;
    issue(masa, &request, context)
}

pub(crate) fn issue(masa: &Masa, request: &RegistrarRequest, context: &Context<'_>) -> Result<Issuance, Refusal> {
    match masa.decide(request, context, now())? {
        Decision::Issue(issuance) => Ok(*issuance),
        Decision::Repeat(_) => panic!("nothing was issued yet"),
    }
}

pub(crate) fn issuer_of(idevid: &Credential) -> Vec<u8> {
    let read = Idevid::read(&PROVIDER, idevid.leaf(), SerialNumberField::SubjectSerialNumber).unwrap();
    read.issuer.unwrap()
}
