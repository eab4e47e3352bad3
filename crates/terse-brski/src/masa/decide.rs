//! Decides on a registrar's voucher request that was verified: whether there is a voucher, and what it says (RFC 8995, 5.5
//! and 5.6).
//!
//! What must always hold: a voucher has a nonce or it expires, and never after the certificates that it relies on; each
//! comes with the entry for the audit log that must be stored before it leaves; none leaves, not even again, for a blocked
//! device or to a registrar whose revocation is not settled.

use alloc::boxed::Box;

use pki_types::UnixTime;
use terse_tls::{Expect, KeyPurposeId};

use super::pin::expires_on;
use super::record::{Buyer, Device, IssuedVoucher, LogEntry};
use super::request::Saw;
use super::{Claims, Masa, Nonceless, PinChoice, Proximity, Refusal, RegistrarRequest};
use crate::certificate::is_same_issuer;
use crate::digest::Sha256;
use crate::stored::after;
use crate::voucher::{Assertion, Voucher};

/// What the decision about a request needs, besides the request. The records are read in the transaction that stores the
/// decision, so that of two domains that ask at once one has the device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// The voucher that was issued for a request with the same SHA-256.
    pub issued: Option<&'a IssuedVoucher>,
    /// The record of the device with this serial number and issuer.
    pub device: Option<&'a Device>,
    /// The audit log of the device, in any order. Of a long one the entries with this nonce are enough, besides the newest one and
    /// those of the domainIDs in the path of the registrar.
    pub log: &'a [LogEntry],
    /// The customer as whom the registrar has authenticated itself: by a client certificate or by HTTP (RFC 8995, 5.4.1).
    pub customer: Option<&'a str>,
    /// What was learned about the revocation of the registrar's certificates.
    pub revocation: RevocationStatus,
    /// When that must be learned anew: the nextUpdate of the CRL or of the OCSP response.
    pub revocation_next_update: Option<UnixTime>,
}

/// Whether certificates of a registrar are revoked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RevocationStatus {
    /// No certificate says how that can be learned.
    NotStated,
    /// None is revoked.
    Good,
    /// One is revoked.
    Revoked,
    /// It was not looked up, or that failed.
    #[default]
    Unknown,
}

/// The decision for a voucher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// The registrar repeats a request: this voucher, signed, was issued for it.
    Repeat(&'a [u8]),
    /// A new voucher is due.
    Issue(Box<Issuance>),
}

/// A voucher that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuance {
    /// The voucher, which must be signed.
    pub voucher: Voucher,
    /// The entry for the audit log of the device. It is stored together with the signed voucher, and before the voucher is
    /// sent. Its `key` becomes the [`Device::owner`].
    pub entry: LogEntry,
}

impl Masa {
    /// Decides on a request for a voucher.
    pub fn decide<'a>(
        &self,
        request: &RegistrarRequest,
        context: &Context<'a>,
        time: UnixTime,
    ) -> Result<Decision<'a>, Refusal> {
        let device = record(request, context);
        if device.is_some_and(|device| device.is_blocked) {
            return Err(Refusal::BlockedDevice);
        }
        // RFC 8995, 5.5.3: revocation is part of the verification of each request, also of one that is repeated.
        self.check_revocation(request, context, time)?;
        if let Some(voucher) = repeated(request, context, time) {
            return Ok(Decision::Repeat(voucher));
        }
        self.check_age(request, time)?;
        self.check_pledge_age(request, time)?;
        self.check_known(request, device)?;
        self.check_pledge_request(request)?;
        let is_sold = device.is_some_and(|device| is_sold(device, request, context.customer));
        self.check_claim(request, owner(device, context.log), is_sold)?;
        self.check_nonce(request, context.log, time)?;
        let mut voucher = Voucher::new(request.serial_number().into(), self.assertion(request, is_sold, time)?);
        voucher.created_on = Some(time);
        voucher.nonce = request.nonce().cloned();
        if !self.policy.serial_numbers_are_unique {
            // In the form of the record: a registrar may have sent another.
            let issuer = device.map(|device| device.idevid_issuer.as_slice());
            voucher.idevid_issuer = issuer.or(request.idevid_issuer()).map(Into::into);
        }
        let nonceless = match voucher.nonce {
            Some(_) => None,
            None => Some(self.check_nonceless(request, context, time)?),
        };
        let pin = match device {
            Some(device) if device.raw_public_keys_only => PinChoice::RegistrarKey,
            _ => nonceless.map_or(self.policy.pin, |nonceless| nonceless.pin),
        };
        voucher.expires_on = nonceless.map(|nonceless| expires_on(request, context, nonceless.lifetime, pin, time));
        let entry = self.pin(&mut voucher, request, context.log, pin, time)?;
        Ok(Decision::Issue(Box::new(Issuance { voucher, entry })))
    }

    fn check_revocation(
        &self,
        request: &RegistrarRequest,
        context: &Context<'_>,
        time: UnixTime,
    ) -> Result<(), Refusal> {
        let is_current = context.revocation_next_update.is_none_or(|next_update| time <= next_update);
        match context.revocation {
            RevocationStatus::Revoked => Err(Refusal::Revoked),
            RevocationStatus::Good if is_current => Ok(()),
            // Nobody has to look up what no certificate states.
            _ if !request.path().states_revocation() => Ok(()),
            _ if self.policy.unknown_revocation_is_accepted => Ok(()),
            _ => Err(Refusal::RevocationUnknown),
        }
    }

    fn check_age(&self, request: &RegistrarRequest, time: UnixTime) -> Result<(), Refusal> {
        let Some(created_on) = request.fields.created_on else {
            return if self.policy.max_age.is_some() { Err(Refusal::Undated) } else { Ok(()) };
        };
        if created_on > after(time, self.policy.clock_skew) {
            return Err(Refusal::InTheFuture);
        }
        match self.policy.max_age {
            Some(max_age) if after(created_on, max_age) < time => Err(Refusal::Stale),
            _ => Ok(()),
        }
    }

    /// Checks when the pledge made its request, if that is known: whoever kept it could else show it at any time.
    fn check_pledge_age(&self, request: &RegistrarRequest, time: UnixTime) -> Result<(), Refusal> {
        let created_on = request.pledge.as_ref().and_then(|pledge| pledge.created_on);
        match created_on.zip(self.policy.pledge_max_age) {
            Some((created_on, max_age)) if after(created_on, max_age) < time => Err(Refusal::PledgeStale),
            _ => Ok(()),
        }
    }

    /// Whether the request of the pledge was made so lately that what it saw is still true.
    fn is_pledge_recent(&self, request: &RegistrarRequest, time: UnixTime) -> bool {
        let latest = after(time, self.policy.clock_skew);
        let created_on = request.pledge.as_ref().and_then(|pledge| pledge.created_on);
        // `check_pledge_age` has refused what is too old.
        self.policy.pledge_max_age.is_none() || created_on.is_some_and(|created_on| created_on <= latest)
    }

    /// Checks that the nonce of the pledge has not served before: for another domain, or so long ago that the pledge does not wait
    /// for an answer any more. Its own domain may sign the request anew meanwhile.
    fn check_nonce(&self, request: &RegistrarRequest, log: &[LogEntry], time: UnixTime) -> Result<(), Refusal> {
        let Some(nonce) = request.nonce() else { return Ok(()) };
        let has_served = |entry: &LogEntry| {
            let is_over = self.policy.pledge_max_age.is_some_and(|max_age| after(entry.date, max_age) < time);
            entry.nonce.as_ref() == Some(nonce) && (is_over || !request.path().has_key(&entry.key))
        };
        if log.iter().any(has_served) { Err(Refusal::NonceUsed) } else { Ok(()) }
    }

    fn check_known(&self, request: &RegistrarRequest, device: Option<&Device>) -> Result<(), Refusal> {
        // Its IDevID is the manufacturer's word that it exists.
        let is_known = device.is_some() || (self.policy.devices_without_record && request.has_pledge_request());
        if is_known { Ok(()) } else { Err(Refusal::UnknownDevice) }
    }

    fn check_pledge_request(&self, request: &RegistrarRequest) -> Result<(), Refusal> {
        let is_required = self.policy.pledge_request_is_required && request.nonce().is_some();
        match &request.pledge {
            None if is_required => Err(Refusal::NoPledgeRequest),
            _ => Ok(()),
        }
    }

    /// Decides who may have the device. A domain has it already if the key that its last voucher pinned is in the
    /// registrar's path: then the pledge would have accepted this registrar (RFC 8995, 5.5.1).
    fn check_claim(&self, request: &RegistrarRequest, owner: Option<Sha256>, is_sold: bool) -> Result<(), Refusal> {
        match self.policy.claims {
            Claims::Always => Ok(()),
            Claims::FirstCome if owner.is_none_or(|owner| request.path().has_key(&owner)) => Ok(()),
            Claims::FirstCome => Err(Refusal::Claimed),
            Claims::SalesList if is_sold => Ok(()),
            Claims::SalesList => Err(Refusal::NotSold),
        }
    }

    /// Returns the assertion that the request proves (RFC 8995, 5.5.5; RFC 8366, 5.3): proximity only if the pledge saw the registrar
    /// lately.
    fn assertion(&self, request: &RegistrarRequest, is_sold: bool, time: UnixTime) -> Result<Assertion, Refusal> {
        let saw = request.pledge.as_ref().map_or(Saw::NotSaid, |pledge| pledge.saw);
        match (saw, self.policy.proximity) {
            (Saw::ThisRegistrar, _) if self.is_pledge_recent(request, time) => Ok(Assertion::Proximity),
            (Saw::ThisRegistrar, Proximity::Required) if request.nonce().is_some() => Err(Refusal::PledgeUndated),
            (Saw::AnotherRegistrar, Proximity::Required | Proximity::NotContradicted) => Err(Refusal::OtherRegistrar),
            (Saw::NotSaid, Proximity::Required) if request.nonce().is_some() => Err(Refusal::NoProximity),
            _ if is_sold => Ok(Assertion::Verified),
            _ => Ok(Assertion::Logged),
        }
    }

    /// Checks that the registrar may have a voucher without a nonce.
    fn check_nonceless(
        &self,
        request: &RegistrarRequest,
        context: &Context<'_>,
        time: UnixTime,
    ) -> Result<Nonceless, Refusal> {
        let nonceless = self.policy.nonceless.ok_or(Refusal::NoncelessNotAllowed)?;
        // RFC 8995, 5.5.4.
        let is_known = context.customer.is_some() || self.is_customer(request, time);
        if is_known { Ok(nonceless) } else { Err(Refusal::RegistrarUnknown) }
    }

    /// Whether the registrar's certificate leads to an anchor of a customer.
    fn is_customer(&self, request: &RegistrarRequest, time: UnixTime) -> bool {
        let expect = Expect::Usage(KeyPurposeId::CMC_RA);
        let chain = request.path().to_chain();
        self.customers.as_ref().is_some_and(|trust| trust.check(&self.provider, &chain, expect, Some(time)).is_ok())
    }
}

/// Returns the record of the device that the request names, if the context has it.
fn record<'a>(request: &RegistrarRequest, context: &Context<'a>) -> Option<&'a Device> {
    context.device.filter(|device| {
        device.serial_number == request.serial_number()
            && request.idevid_issuer().is_some_and(|issuer| is_same_issuer(issuer, &device.idevid_issuer))
    })
}

/// Returns the voucher that was issued for the same request, unless it has expired: then the same domain may have another
/// one (RFC 8995, 5.5.1).
fn repeated<'a>(request: &RegistrarRequest, context: &Context<'a>, time: UnixTime) -> Option<&'a [u8]> {
    let issued = context.issued.filter(|issued| issued.request == *request.sha256())?;
    issued.expires_on.is_none_or(|expires_on| time <= expires_on).then_some(&issued.voucher)
}

/// Returns the key of the domain that has a device: as its record says, or else as its last voucher says.
fn owner(device: Option<&Device>, log: &[LogEntry]) -> Option<Sha256> {
    let last = || log.iter().max_by_key(|entry| entry.date).map(|entry| entry.key);
    device.map_or_else(last, |device| device.owner)
}

/// Whether the device was sold to this customer or domain.
fn is_sold(device: &Device, request: &RegistrarRequest, customer: Option<&str>) -> bool {
    device.sold_to.iter().any(|buyer| match buyer {
        Buyer::Customer(name) => customer == Some(name.as_str()),
        Buyer::Domain(key) => request.path().has_key(key),
    })
}
