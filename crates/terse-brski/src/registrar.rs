//! The decisions of a registrar, which accepts devices into a domain (RFC 8995, 5.2 to 5.9).
//!
//! A service does, for each pledge:
//!
//! 1. [`Registrar::read_voucher_request`] verifies who the pledge is and what it asks for.
//! 2. The service looks up by [`PledgeRequest::sha256`] what became of the same request before; [`Registrar::decide`] then
//!    answers with a stored voucher, lets the pledge wait, or says what the MASA is asked and where.
//! 3. The service signs that, stores it, and sends it to the MASA, to an address that [`Registrar::permits`].
//!    [`Registrar::read_masa_response`] looks at the answer, which goes to the pledge unchanged.
//! 4. [`Registrar::read_status`] takes the pledge's telemetry. The service posts the stored request again, for the audit log,
//!    and [`AuditPolicy::check`] compares that with the policy.
//! 5. [`Joining::gate`] opens EST when both are good; [`check_certification_request`] and [`check_reenrolment`] look at what
//!    comes then.
//!
//! For a device that will come when the MASA cannot be reached, [`Registrar::fetch`] asks in advance for a voucher without a
//! nonce, which [`Registrar::use_fetched`] then takes out of the store.
//!
//! A [`Refusal`] is the answer to everything else, by its status and its text; after some the connection must be closed.
//!
//! What must always hold: a MASA URL of a certificate counts only if a trusted manufacturer has signed the certificate; a
//! pledge enrols only after it said that its voucher is good, and after its audit log was found to be.

use alloc::vec::Vec;
use core::net::IpAddr;

use pki_types::CertificateDer;
use terse_tls::crypto::CryptoProvider;

use crate::certificate::public_key;
use crate::devices::DeviceAnchors;

mod answer;
mod audit;
mod decide;
mod destination;
mod est;
mod fetch;
mod policy;
mod record;
mod refusal;
mod request;
mod telemetry;

pub use answer::{Answer, Findings, MasaResponse, ReceivedVoucher, text_for_people};
pub use audit::{AuditRefused, History, NoncelessRequest};
pub use decide::{Decision, Forward};
pub use destination::{DestinationRefused, MasaUrl};
pub use est::{Gate, check_certification_request, check_reenrolment};
pub use fetch::ExpectedDevice;
pub use policy::{AuditPolicy, Devices, Manufacturer, Misconfigured, NoncelessEvents, Policy};
pub use record::{AuditState, Joining, RequestRecord, RequestState};
pub use refusal::Refusal;
pub use request::PledgeRequest;
pub use telemetry::{Sender, Telemetry, Topic};

/// The registrar of a domain: what its decisions depend on, besides records and time.
#[derive(Clone, Debug)]
pub struct Registrar {
    provider: CryptoProvider,
    chain: Vec<CertificateDer<'static>>,
    policy: Policy,
    anchors: DeviceAnchors,
    /// The manufacturer of each anchor.
    manufacturers: Vec<usize>,
}

impl Registrar {
    /// Creates the registrar with these certificates, its own first: the one that it shows to pledges, and that signs its
    /// voucher requests.
    pub fn new(
        provider: &CryptoProvider,
        chain: Vec<CertificateDer<'static>>,
        policy: Policy,
    ) -> Result<Self, Misconfigured> {
        chain.first().and_then(|own| public_key(own).ok()).ok_or(Misconfigured::OwnCertificate)?;
        let (mut anchors, mut manufacturers, mut undated) = (Vec::<CertificateDer<'_>>::new(), Vec::new(), Vec::new());
        for (index, manufacturer) in policy.manufacturers.iter().enumerate() {
            let own: Vec<_> = manufacturer.anchors.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
            DeviceAnchors::new(&own, &[]).map_err(|misuse| Misconfigured::Anchors(index, misuse))?;
            if own.iter().any(|anchor| anchors.contains(anchor)) {
                return Err(Misconfigured::SharedAnchor(index));
            }
            if let Some(url) = &manufacturer.masa_url {
                MasaUrl::configured(url).map_err(|malformed| Misconfigured::MasaUrl(index, malformed))?;
            }
            for anchor in own {
                if manufacturer.ignores_not_after {
                    undated.push(anchors.len());
                }
                anchors.push(anchor);
                manufacturers.push(index);
            }
        }
        let anchors = DeviceAnchors::new(&anchors, &undated).map_err(|_| Misconfigured::NoManufacturer)?;
        Ok(Self { provider: *provider, chain, policy, anchors, manufacturers })
    }

    /// Whether a connection for this URL may go to an address to which its host resolved. The service asks for the very
    /// address that it then connects to: a second look-up can have another result.
    pub fn permits(&self, url: &MasaUrl, address: IpAddr) -> bool {
        url.permits(address, &self.policy.own_names)
    }

    /// Returns what counts for the manufacturer of a device.
    pub fn manufacturer(&self, request: &PledgeRequest) -> Option<&Manufacturer> {
        self.policy.manufacturers.get(request.manufacturer)
    }

    /// Returns a trust anchor by its place among those of all manufacturers.
    fn anchor(&self, place: usize) -> Option<CertificateDer<'static>> {
        let anchors = self.policy.manufacturers.iter().flat_map(|manufacturer| &manufacturer.anchors);
        anchors.into_iter().nth(place).map(|der| CertificateDer::from(der.clone()))
    }

    fn manufacturer_named(&self, name: &str) -> Result<&Manufacturer, Refusal> {
        self.policy.manufacturers.iter().find(|one| one.name == name).ok_or(Refusal::UnknownManufacturer)
    }
}
