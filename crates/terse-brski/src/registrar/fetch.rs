//! Vouchers without a nonce, which a registrar has fetched for later (RFC 8995, 3.1, 5.5 and 7.3).
//!
//! What must always hold: such a voucher is for the device with this serial number and this issuer, pins the own domain, and
//! has not expired, when it is stored and when it is used.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use pki_types::UnixTime;

use super::answer::Expected;
use super::{
    Answer, Devices, Findings, Forward, Manufacturer, MasaResponse, PledgeRequest, ReceivedVoucher, Refusal, Registrar,
};
use crate::artefact::Format;
use crate::certificate::{is_same_issuer, issuer_of_ca};
use crate::http::{Acceptance, VOUCHER_CMS_JSON, acceptance, is};
use crate::voucher::{MAX_LEN, VoucherRequest};

/// A device for which a voucher is fetched. What identifies it was on its packaging, or came with its invoice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedDevice {
    /// The name of its manufacturer ([`Manufacturer::name`]).
    pub manufacturer: String,
    /// Its serial number.
    pub serial_number: String,
    /// The issuer of its IDevID, as [`issuer_of_ca`] returns it.
    pub idevid_issuer: Vec<u8>,
}

impl Registrar {
    /// Returns the issuers of IDevIDs that a manufacturer's anchors are themselves. CAs below them can be issuers, too.
    pub fn issuers(&self, manufacturer: &str) -> Result<Vec<Vec<u8>>, Refusal> {
        let mut issuers = Vec::new();
        for anchor in &self.manufacturer_named(manufacturer)?.anchors {
            if let Some(issuer) = issuer_of_ca(anchor).map_err(Refusal::IdevidField)?
                && !issuers.contains(&issuer)
            {
                issuers.push(issuer);
            }
        }
        Ok(issuers)
    }

    /// Returns what a MASA is asked for a device that may come later, and where. It is signed and stored before it is sent.
    pub fn fetch(&self, device: &ExpectedDevice, time: UnixTime) -> Result<Forward, Refusal> {
        let manufacturer = self.manufacturer_named(&device.manufacturer)?;
        if let Devices::Listed(serial_numbers) = &manufacturer.devices
            && !serial_numbers.contains(&device.serial_number)
        {
            return Err(Refusal::UnknownDevice);
        }
        // RFC 8995, 5.5: neither a nonce nor the request of a pledge, which nobody has seen.
        let mut request = VoucherRequest::new(device.serial_number.clone());
        request.created_on = Some(time);
        request.idevid_issuer = Some(Box::from(device.idevid_issuer.as_slice()));
        let (masa, enclosed) = (self.masa_url(&device.manufacturer, None)?, Vec::new());
        Ok(Forward { masa, request, format: Format::CmsJson, enclosed })
    }

    /// Looks at the response of the MASA to such a request. A voucher that this domain could not use is refused.
    pub fn read_fetched(
        &self,
        device: &ExpectedDevice,
        response: &MasaResponse<'_>,
        time: UnixTime,
    ) -> Result<Answer, Refusal> {
        if let Some(answer) = response.without_voucher() {
            return answer;
        }
        if !is(response.content_type, VOUCHER_CMS_JSON) {
            return Err(Refusal::VoucherType);
        }
        let manufacturer = self.manufacturer_named(&device.manufacturer)?;
        let findings =
            self.read_nonceless(manufacturer, &device.serial_number, &device.idevid_issuer, response.body, time)?;
        let voucher = response.body.into();
        Ok(Answer::Voucher(ReceivedVoucher {
            content_type: VOUCHER_CMS_JSON.into(),
            findings: Some(findings),
            voucher,
        }))
    }

    /// Returns a voucher that was fetched for the issuer `idevid_issuer` as the answer to a pledge, if it is one: for when the
    /// MASA cannot be reached.
    pub fn use_fetched(
        &self,
        request: &PledgeRequest,
        idevid_issuer: &[u8],
        voucher: &[u8],
        time: UnixTime,
    ) -> Result<ReceivedVoucher, Refusal> {
        // They are fetched in CMS alone.
        let is_readable = request.format() == Format::CmsJson;
        if !is_readable || acceptance(request.accept(), VOUCHER_CMS_JSON) != Acceptance::Accepted {
            return Err(Refusal::NotAcceptable);
        }
        let manufacturer = self.manufacturer(request).ok_or(Refusal::UnknownManufacturer)?;
        let own = request.idevid().issuer.as_deref().ok_or(Refusal::OtherVoucher)?;
        if !is_same_issuer(own, idevid_issuer) {
            return Err(Refusal::OtherVoucher);
        }
        let findings = self.read_nonceless(manufacturer, &request.idevid().serial_number, own, voucher, time)?;
        let content_type = VOUCHER_CMS_JSON.into();
        Ok(ReceivedVoucher { content_type, findings: Some(findings), voucher: voucher.into() })
    }

    fn read_nonceless(
        &self,
        manufacturer: &Manufacturer,
        serial_number: &str,
        idevid_issuer: &[u8],
        body: &[u8],
        time: UnixTime,
    ) -> Result<Findings, Refusal> {
        if body.len() > MAX_LEN {
            return Err(Refusal::VoucherTooLong);
        }
        let expected =
            Expected { format: Format::CmsJson, serial_number, idevid_issuer: Some(idevid_issuer), nonce: None };
        let findings = self.read_voucher(manufacturer, &expected, body, time)?;
        if findings.expires_on.is_some_and(|end| end <= time) {
            return Err(Refusal::VoucherExpired);
        }
        if findings.pins_own_chain { Ok(findings) } else { Err(Refusal::OtherDomain) }
    }
}
