//! Vouchers and voucher requests as YANG in CBOR (RFC 9254), by the SIDs of draft-ietf-anima-rfc8366bis.
//!
//! A SID is a number in place of a name. In a container it stands as its difference to the SID of that one, or whole with tag
//! 47 (RFC 9254, 3.2); names may be mixed with both (draft-ietf-anima-constrained-voucher, "Interoperability
//! Considerations"). What must always hold: every field has one SID in each kind of artefact.

use super::field::Field;
use super::fields::Kind;

mod read;
mod write;

pub(super) use read::{request as read_request, voucher as read_voucher};
pub(super) use write::{request as write_request, voucher as write_voucher};

impl Kind {
    /// Returns the SID of the container.
    const fn sid(self) -> u16 {
        match self {
            Self::Voucher => 2451,
            Self::VoucherRequest => 2501,
        }
    }

    /// Returns the difference of the SID of a field to that of the container, if this kind has such a field.
    const fn delta(self, field: Field) -> Option<u16> {
        let delta = match (field, self) {
            (Field::Assertion, _) => 1,
            (Field::CreatedOn, _) => 2,
            (Field::DomainCertRevocationChecks, _) => 3,
            (Field::ExpiresOn, _) => 4,
            (Field::IdevidIssuer, _) => 5,
            (Field::LastRenewalDate, _) => 6,
            (Field::Nonce, _) => 7,
            (Field::PinnedDomainCert, _) => 8,
            (Field::PinnedDomainPubk, Self::Voucher) => 9,
            (Field::PinnedDomainPubkSha256, Self::Voucher) => 10,
            (Field::SerialNumber, Self::Voucher) => 11,
            (Field::PriorSignedVoucherRequest, Self::VoucherRequest) => 9,
            (Field::ProximityRegistrarCert, Self::VoucherRequest) => 10,
            (Field::ProximityRegistrarPubkSha256, Self::VoucherRequest) => 11,
            (Field::ProximityRegistrarPubk, Self::VoucherRequest) => 12,
            (Field::SerialNumber, Self::VoucherRequest) => 13,
            (Field::PinnedDomainPubk, Self::VoucherRequest) => 17,
            (Field::PinnedDomainPubkSha256, Self::VoucherRequest) => 18,
            (
                Field::PriorSignedVoucherRequest
                | Field::ProximityRegistrarCert
                | Field::ProximityRegistrarPubk
                | Field::ProximityRegistrarPubkSha256,
                Self::Voucher,
            ) => return None,
        };
        Some(delta)
    }

    /// Returns the field with this SID.
    fn field_of_sid(self, sid: i128) -> Option<Field> {
        let delta = sid - i128::from(self.sid());
        Field::ALL.into_iter().find(|field| self.delta(*field).is_some_and(|known| i128::from(known) == delta))
    }
}

/// The tag of a SID that is no difference (RFC 9254, 3.2).
const ABSOLUTE_SID: u64 = 47;

#[cfg(test)]
mod tests;
